# SPDX-License-Identifier: MIT
"""Runs a program on a board, through whatever serves GDB's remote protocol for its debug probe, or on QEMU."""
