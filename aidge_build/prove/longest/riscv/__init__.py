# SPDX-License-Identifier: MIT
"""RISC-V code: what its instructions do to known registers and memory, and its basic blocks."""
