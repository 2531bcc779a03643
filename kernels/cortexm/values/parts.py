# SPDX-License-Identifier: MIT
"""Concatenation and split by LDM and STM: of any type where no value changes, and of int8 tensors with different scales."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.parts import ConcatNode, PartCopying, SplitNode, parts_spec
from aidge_build.contract.node import kernel

COPYING = PartCopying("aidge_cortexm", "values/parts.h", "aidge_cortexm_copy_bytes", "aidge_kit_table_bytes")


@kernel("Concat", parts_spec(frozenset({"dsp"})))
class Concat(ConcatNode):
    copying = COPYING


@kernel("Split", parts_spec(frozenset({"dsp"})))
class Split(SplitNode):
    copying = COPYING
