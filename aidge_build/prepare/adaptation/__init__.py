# SPDX-License-Identifier: MIT
"""Chooses the kernel of each node, the storage orders of its tensors, and the conversions around it."""
