# SPDX-License-Identifier: MIT
"""The contents of a linked ELF file: sections, symbols, memory and stack use, and the claims of the models in it.

Names are imported at their first use: the instructions of a core are also read where no ELF file is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aidge_build.prove.elf.claim import Claim
    from aidge_build.prove.elf.claims import read_claims
    from aidge_build.prove.elf.disassembly import read_disassembly
    from aidge_build.prove.elf.image import Image, Section, Symbol, read_image
    from aidge_build.prove.elf.regions import RegionUse, region_use
    from aidge_build.prove.elf.stack import StackBound, StackUse, stack_use

_MODULES = {
    "Claim": "claim",
    "Image": "image",
    "RegionUse": "regions",
    "Section": "image",
    "StackBound": "stack",
    "StackUse": "stack",
    "Symbol": "image",
    "read_claims": "claims",
    "read_disassembly": "disassembly",
    "read_image": "image",
    "region_use": "regions",
    "stack_use": "stack",
}
__all__ = [
    "Claim",
    "Image",
    "RegionUse",
    "Section",
    "StackBound",
    "StackUse",
    "Symbol",
    "read_claims",
    "read_disassembly",
    "read_image",
    "region_use",
    "stack_use",
]


def __getattr__(name: str):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
