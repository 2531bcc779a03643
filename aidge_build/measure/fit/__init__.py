# SPDX-License-Identifier: MIT
"""Whether a model fits a board, in which memories, and how fast: one pure question, for one board or for many."""
