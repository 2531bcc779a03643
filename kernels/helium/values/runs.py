# SPDX-License-Identifier: MIT
"""Pad in any mode, Tile and Resize to the nearest element, any type: copies of runs of neighbours, 16 bytes at a time."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.moves import MOVES, NEAREST, MoveNode
from aidge_build.contract.kernel_kit.runs import Copying, runs_spec
from aidge_build.contract.node import kernel
from aidge_build.graph.dtype import DType

from ..core.conditions import MVE


@kernel(MOVES, runs_spec(DType.any_1, NEAREST, features=MVE))
class Runs(MoveNode):
    copying = Copying("aidge_helium_copy_runs", "values/runs.h", "aidge_helium_copy_bytes", "aidge_helium_fill_bytes")
