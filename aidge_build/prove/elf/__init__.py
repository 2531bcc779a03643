# SPDX-License-Identifier: MIT
"""The contents of a linked ELF file: sections, symbols, memory and stack use, and the claims of the models in it."""

from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.claims import read_claims
from aidge_build.prove.elf.deepest import StackBound
from aidge_build.prove.elf.image import Image, Section, Symbol, read_image
from aidge_build.prove.elf.regions import RegionUse, region_use
from aidge_build.prove.elf.stack import StackUse, stack_use

__all__ = [
    "Claim",
    "Image",
    "RegionUse",
    "Section",
    "StackBound",
    "StackUse",
    "Symbol",
    "read_claims",
    "read_image",
    "region_use",
    "stack_use",
]
