# SPDX-License-Identifier: MIT
"""Pad in any mode, Tile and Resize to the nearest element, any type: copies of runs of neighbours by LDM and STM."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.moves import MOVES, NEAREST, MoveNode
from aidge_build.contract.kernel_kit.runs import Copying, runs_spec
from aidge_build.contract.node import kernel
from aidge_build.graph.dtype import DType


@kernel(MOVES, runs_spec(DType.any_1, NEAREST, features=frozenset({"dsp"})))
class Runs(MoveNode):
    copying = Copying("aidge_cortexm_copy_runs", "values/runs.h", "aidge_cortexm_copy_bytes", "aidge_kit_fill_bytes")
