# SPDX-License-Identifier: MIT
"""Questions about a model or a program, with numbers as the answer: does it fit, how fast, how right, how large."""
