# SPDX-License-Identifier: MIT
"""Rewrites that keep the meaning: one file per recipe."""
