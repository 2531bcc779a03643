# SPDX-License-Identifier: MIT
"""Texts of Armv6-M's instructions that name values, as assembly of RISC-V: the registers, and the instructions."""
