# SPDX-License-Identifier: MIT
"""The build attributes of a program: the largest architecture and FPU that any of its objects requires."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import ARMAttributesSection

# Tag_CPU_arch (Arm IHI 0045), for profile M; 10 is v7 of any profile.
_ARCHITECTURES = {11: "v6-M", 12: "v6-M", 13: "v7E-M", 16: "v8-M.baseline", 17: "v8-M.mainline", 21: "v8.1-M.mainline"}
_V7, _PROFILE_M = 10, ord("M")
_FPU_VERSIONS = {1: 1, 2: 2, 3: 3, 4: 3, 5: 4, 6: 4, 7: 5, 8: 5}  # Tag_FP_arch
_SINGLE_PRECISION = 1  # Tag_ABI_HardFP_use
_MOST_ATTRIBUTES = 200  # damaged attributes may never end


@dataclass(frozen=True)
class Units:
    """The units that compiled code may use: the version of the FPU's instructions (0: none), double precision, and vectors
    (MVE)."""

    fpu_version: int = 0
    has_double: bool = False
    has_vectors: bool = False


def read_attributes(elf: ELFFile) -> tuple[str, Units | None]:
    """Returns the architecture of a Cortex-M program, e.g. "v7E-M", or "", and its units, or None, if no attribute gives them."""
    section = next((section for section in elf.iter_sections() if isinstance(section, ARMAttributesSection)), None)
    if section is None:
        return "", None
    tags = {
        attribute.tag: attribute.value
        for vendor in islice(section.iter_subsections(), _MOST_ATTRIBUTES)
        for scope in islice(vendor.iter_subsubsections(), _MOST_ATTRIBUTES)
        for attribute in islice(scope.iter_attributes(), _MOST_ATTRIBUTES)
    }
    return _architecture(tags), _units(tags)


def _architecture(tags: Mapping[str, int]) -> str:
    number = tags.get("TAG_CPU_ARCH")
    if number == _V7 and tags.get("TAG_CPU_ARCH_PROFILE") == _PROFILE_M:
        return "v7-M"
    return _ARCHITECTURES.get(number, "") if number is not None else ""


def _units(tags: Mapping[str, int]) -> Units | None:
    if "TAG_CPU_ARCH" not in tags:
        return None
    version = _FPU_VERSIONS.get(tags.get("TAG_FP_ARCH", 0), 0)
    has_double = version > 0 and tags.get("TAG_ABI_HARDFP_USE") != _SINGLE_PRECISION
    return Units(version, has_double, bool(tags.get("TAG_MVE_ARCH")))
