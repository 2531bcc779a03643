# SPDX-License-Identifier: MIT
"""What a linked program does: memory, code, stack, instructions, cycles."""
