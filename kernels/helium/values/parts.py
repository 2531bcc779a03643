# SPDX-License-Identifier: MIT
"""Concatenation and split, 16 bytes at a time: of any type where no value changes, and of int8 tensors with different scales."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.parts import ConcatNode, PartCopying, SplitNode, parts_spec
from aidge_build.contract.node import kernel

from ..core.conditions import MVE

COPYING = PartCopying("aidge_helium", "values/parts.h", "aidge_helium_copy_bytes", "aidge_helium_table_bytes")


@kernel("Concat", parts_spec(MVE))
class Concat(ConcatNode):
    copying = COPYING


@kernel("Split", parts_spec(MVE))
class Split(SplitNode):
    copying = COPYING
