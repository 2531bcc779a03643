# SPDX-License-Identifier: MIT
"""Pad in any mode, Tile and Resize to the nearest element, any type: copies of runs of neighbours."""

from __future__ import annotations

from aidge_build.contract.call import Input
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.moves import MOVES, NEAREST, MoveNode
from aidge_build.contract.kernel_kit.runs import FEW_AXES, Copying, runs_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType


@kernel(MOVES, runs_spec(DType.any_1, NEAREST))
class Runs(MoveNode):
    copying = Copying("aidge_ref_copy_runs", "kit/runs.h", "aidge_kit_copy", "aidge_kit_fill_bytes")


@kernel("PadByInput", ImplSpec(IOSpec(DType.any_1, ROW_MAJOR), predicates=(REAL, FEW_AXES)))
class PadByInput(Runs):
    def fill(self):
        return Input(1)
