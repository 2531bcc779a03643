# SPDX-License-Identifier: MIT
"""Thumb code: what its instructions do to known registers and memory, and its basic blocks."""
