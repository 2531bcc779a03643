# SPDX-License-Identifier: MIT
"""What a linked ELF file says: sections, symbols, memory use, and the claims of the models in it."""

from __future__ import annotations

from aidge_build.elf.claims import Claim, read_claims
from aidge_build.elf.image import Image, Section, Symbol, read_image
from aidge_build.elf.regions import RegionUse, region_use

__all__ = ["Claim", "Image", "RegionUse", "Section", "Symbol", "read_claims", "read_image", "region_use"]
