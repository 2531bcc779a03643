# SPDX-License-Identifier: MIT
"""Operators that other operators take the place of: one file per family."""
