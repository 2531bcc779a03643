# SPDX-License-Identifier: MIT
"""The instruction sets with code that can be compared with object files."""

from __future__ import annotations

from collections.abc import Mapping

from aidge_build.prove.elf.linked_object import LinkedObject
from aidge_build.prove.elf.references import ThumbObject
from aidge_build.prove.elf.riscv_references import RiscvObject

OBJECTS: Mapping[str, type[LinkedObject]] = {"ARM": ThumbObject, "RISCV": RiscvObject}
