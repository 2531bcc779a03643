# SPDX-License-Identifier: MIT
"""Operators that other operators replace: one file per family."""
