# SPDX-License-Identifier: MIT
"""Concatenation and split in vectors: of any type where no value changes, and of int8 tensors with different scales."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.parts import ConcatNode, PartCopying, SplitNode, parts_spec
from aidge_build.contract.node import kernel

from ..core.assembly import FEATURES

COPYING = PartCopying("aidge_rvv", "core/bytes.h", "aidge_rvv_copy_bytes", "aidge_rvv_table_bytes")


@kernel("Concat", parts_spec(FEATURES))
class Concat(ConcatNode):
    copying = COPYING


@kernel("Split", parts_spec(FEATURES))
class Split(SplitNode):
    copying = COPYING
