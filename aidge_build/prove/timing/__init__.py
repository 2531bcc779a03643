# SPDX-License-Identifier: MIT
"""Cycles of code on a core: its timing table, its instructions, and a simulation of its pipeline, instruction by instruction."""
