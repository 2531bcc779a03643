# SPDX-License-Identifier: MIT
"""Whether a model fits a board, where, and how fast: one pure question, for one board or for many."""
