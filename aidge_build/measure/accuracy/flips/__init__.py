# SPDX-License-Identifier: MIT
"""Single flipped bits of the constants, and the answers of the model that they change: `aidge-build accuracy --flips N`.

Most flips run on this machine, which is fast; some run in the emulated program of a board.
"""
