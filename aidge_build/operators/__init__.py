# SPDX-License-Identifier: MIT
"""The operators: one file per family."""
