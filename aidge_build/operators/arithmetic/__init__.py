# SPDX-License-Identifier: MIT
"""Multipliers, rounding, value ranges and proofs."""
