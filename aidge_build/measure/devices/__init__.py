# SPDX-License-Identifier: MIT
"""Chips as CMSIS packs and devicetrees describe them, to write board files from."""

from __future__ import annotations

from aidge_build.measure.devices.board_file import board_text, file_stem
from aidge_build.measure.devices.device import Device, Memory
from aidge_build.measure.devices.files import read_device

__all__ = ["Device", "Memory", "board_text", "file_stem", "read_device"]
