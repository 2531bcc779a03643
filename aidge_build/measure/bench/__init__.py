# SPDX-License-Identifier: MIT
"""Measures models on emulated boards: figures, a record of them to compare with, tables, a page, and tables of costs."""
