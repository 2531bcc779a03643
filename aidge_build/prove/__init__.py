# SPDX-License-Identifier: MIT
"""Proofs about a linked program: memory, code, stack, instructions, cycles."""
