# SPDX-License-Identifier: MIT
"""A window that moves on by some frames, any type: all rows in one copy, 16 bytes at a time, then the new frames of each."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.conditions import MVE


def _first(view: NodeView) -> str:
    return "new frames come first" if view.operator.first else ""


LAST = Predicate("new frames come last", _first)


@kernel("Slide", ImplSpec(IOSpec(DType.any_1, SAME), features=MVE, predicates=(SAME_QUANTIZATION, LAST)))
class Slide(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(in_place=(0,))

    def call(self) -> Call:
        window, frames = self.inputs
        rows = math.prod(window.layout.stored_dims[: window.storage.position(self.operator.axis % window.rank)])
        shape = {"rows": rows, "bytes": window.size_bytes // rows, "step": frames.size_bytes // rows}
        arguments = (Input(0), Input(1), Output(0), Struct("aidge_helium_slide_shape", shape))
        return Call("aidge_helium_slide", ("values/slide.h",), arguments, facts=computed("16 bytes"))
