# SPDX-License-Identifier: MIT
"""Thumb instructions as values: their text, their kind, the registers that they read and write."""
