# SPDX-License-Identifier: MIT
"""Layers that are computed row by row: which layers, the rows of their bands, and the rows of their tensors that are kept."""
