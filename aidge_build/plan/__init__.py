# SPDX-License-Identifier: MIT
"""Layers in an order, in memory: schedule, cascades, steps, the arena and its proof."""
