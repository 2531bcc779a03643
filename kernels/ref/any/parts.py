# SPDX-License-Identifier: MIT
"""Concatenation and split: of any type where no value changes, and of int8 tensors with different scales."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.parts import ConcatNode, PartCopying, SplitNode, parts_spec
from aidge_build.contract.node import kernel

COPYING = PartCopying("aidge_ref", "kit/parts.h", "aidge_kit_copy", "aidge_kit_table_bytes")


@kernel("Concat", parts_spec())
class Concat(ConcatNode):
    copying = COPYING


@kernel("Split", parts_spec())
class Split(SplitNode):
    copying = COPYING
