# SPDX-License-Identifier: MIT
"""What single flipped bits of the constants do to the answers of a model: `aidge-build accuracy --flips N`.

Most flips run on this machine, which is fast; some run in the emulated program of a board.
"""
