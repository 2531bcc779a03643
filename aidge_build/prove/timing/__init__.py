# SPDX-License-Identifier: MIT
"""Cycles of code on a core: a timing table, the work of instructions, and a simulation of the pipeline."""
