# SPDX-License-Identifier: MIT
"""Layers that are computed row by row: which of them, in bands of how many rows, and what of their tensors is kept."""
