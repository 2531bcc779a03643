# SPDX-License-Identifier: MIT
"""Runs a program on a board, through a server of GDB's remote protocol for its debug probe, or on QEMU."""
