# SPDX-License-Identifier: MIT
"""int8 concatenation of inputs with different scales: each value goes through a table."""

from __future__ import annotations

import numpy

from aidge_build.backend.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.export.call import Call, Constant
from aidge_build.export.node import kernel
from aidge_build.export.tables import table_of
from aidge_build.graph.dtype import DType
from aidge_build.operators.view import Identity

from .concat import FEW_INPUTS, ConcatNode
from .conditions import ALL_QUANTIZED


def _equal(view: NodeView) -> str:
    wanted = view.outputs[0].quantization
    return "the inputs and the output have the same scale" if all(t.quantization == wanted for t in view.inputs) else ""


@kernel("Concat", ImplSpec(inputs=(IOSpec(DType.int8, SAME),), outputs=(IOSpec(DType.int8, SAME),),
                           predicates=(ALL_QUANTIZED, FEW_INPUTS, Predicate("scales differ", _equal))))
class ConcatInt8(ConcatNode):
    def call(self) -> Call:
        distinct = list(dict.fromkeys(tensor.quantization for tensor in self.inputs))
        examples = [next(tensor for tensor in self.inputs if tensor.quantization == each) for each in distinct]
        tables = numpy.stack([table_of(Identity(), tensor, self.outputs[0]) for tensor in examples])
        choice = numpy.array([distinct.index(tensor.quantization) for tensor in self.inputs], numpy.int32)
        return Call("aidge_ref_concat_int8", ("concat_int8.h",),
                    (*self.pointers(), Constant("tables", tables), Constant("choice", choice), self.shape()))
