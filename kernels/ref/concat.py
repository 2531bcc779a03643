# SPDX-License-Identifier: MIT
"""Concatenation of any type, where no value changes."""

from __future__ import annotations

import math

from aidge_build.backend.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.errors import AidgeError
from aidge_build.export.call import Argument, Call, Constant, Input, Output, Struct
from aidge_build.export.node import ExportNode, kernel
from aidge_build.graph.dtype import DType

MOST_INPUTS = 8


def _rescaling(view: NodeView) -> str:
    wanted = view.outputs[0].quantization
    return "" if all(tensor.quantization == wanted for tensor in view.inputs) else "the inputs and the output differ in scale"


def _too_many(view: NodeView) -> str:
    return "" if len(view.inputs) <= MOST_INPUTS else f"{len(view.inputs)} inputs, takes {MOST_INPUTS}"


FEW_INPUTS = Predicate(f"at most {MOST_INPUTS} inputs", _too_many)


class ConcatNode(ExportNode):
    """A concatenation of tensors that all lie in the output's storage order."""

    def pointers(self) -> tuple[Argument, ...]:
        """One per input; the first input stands for those that do not exist."""
        order = self.outputs[0].storage.order
        given = [Constant(f"part_{index}", tensor.data.transpose(order)) if tensor.is_constant else Input(index)
                 for index, tensor in enumerate(self.inputs)]
        moving = next((argument for argument in given if isinstance(argument, Input)), None)
        if moving is None:
            raise AidgeError("every input is constant", code="KERNEL")
        return (*given, *[moving] * (MOST_INPUTS - len(given)), Output(0))

    def shape(self) -> Struct:
        (output,) = self.outputs
        order, position = output.storage.order, output.storage.position(self.operator.axis % output.rank)
        stored = [tuple(tensor.dims[axis] for axis in order) for tensor in self.inputs]
        sizes = [math.prod(dims[position:]) * output.dtype.size_bytes for dims in stored]
        return Struct("aidge_ref_concat_shape", {"count": len(sizes), "outer": math.prod(stored[0][:position]),
                                                 "bytes": (*sizes, *[0] * (MOST_INPUTS - len(sizes)))})


@kernel("Concat", ImplSpec(inputs=(IOSpec(DType.any_1, SAME),), outputs=(IOSpec(DType.any_1, SAME),),
                           predicates=(FEW_INPUTS, Predicate("all have the same quantization", _rescaling))))
class Concat(ConcatNode):
    def call(self) -> Call:
        return Call("aidge_ref_concat", ("concat.h",), (*self.pointers(), self.shape()))
