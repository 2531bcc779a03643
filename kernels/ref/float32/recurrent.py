# SPDX-License-Identifier: MIT
"""float32 recurrent layers: RNN, GRU, LSTM."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output, Scratch, Struct
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import REAL

_CODES = {"tanh": 0, "sigmoid": 1, "relu": 2}


def _types(view: NodeView) -> str:
    wrong = [
        tensor.dtype.name
        for index, tensor in enumerate(view.inputs)
        if tensor is not None and index != 4 and tensor.dtype is not DType.float32
    ]
    return f"an input is {wrong[0]}, wants float32" if wrong else ""


@kernel(
    ("RNN", "GRU", "LSTM"),
    ImplSpec(
        inputs=(IOSpec(DType.float32, ROW_MAJOR), IOSpec(DType.any, ANY)),
        outputs=(IOSpec(DType.float32, ROW_MAJOR),),
        predicates=(REAL, Predicate("all but the lengths are float32", _types)),
    ),
)
class Recurrent(KernelNode):
    instructions_per_mac = 9.5

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        rows = view.operator.gates + (1 if view.node.type == "GRU" else 0)
        return Demands(scratch_bytes=4 * rows * view.operator.hidden)

    def _optional(self, index: int) -> Argument:
        return Input(index) if len(self.inputs) > index and self.inputs[index] is not None else Literal(0)

    def call(self) -> Call:
        name, operator = self.node.type.lower(), self.operator
        inputs = [Input(0), Input(1), Input(2), *map(self._optional, (3, 4, 5, 6, 7) if name == "lstm" else (3, 4, 5))]
        return Call(
            f"aidge_ref_{name}_float32",
            (f"float32/{name}_float32.h",),
            (
                *inputs,
                *map(Output, range(len(self.outputs))),
                Scratch(),
                Constant("limit", numpy.array([operator.limit], numpy.float32)),
                self._shape(),
            ),
        )

    def _shape(self) -> Struct:
        operator, data = self.operator, self.inputs[0]
        first = operator.batch_first
        steps, batches = data.dims[:2][::-1] if first else data.dims[:2]
        x, y, h = (tensor.layout.strides for tensor in (data, self.outputs[0], self.outputs[1]))
        per = len(operator.default_functions)
        functions = [0] * 6
        for direction in range(operator.directions):
            for place, function in enumerate(operator.functions[direction * per : (direction + 1) * per]):
                functions[3 * direction + place] = _CODES[function]
        return Struct(
            "aidge_ref_recurrent_shape",
            {
                "steps": steps,
                "batches": batches,
                "inputs": data.dims[2],
                "hidden": operator.hidden,
                "directions": operator.directions,
                "gates": operator.gates,
                "backwards": (int(operator.direction == "reverse"), 1),
                "functions": tuple(functions),
                "x_time": x[1 if first else 0],
                "x_batch": x[0 if first else 1],
                "y_time": y[1 if first else 0],
                "y_direction": y[2 if first else 1],
                "y_batch": y[0 if first else 2],
                "h_direction": h[1 if first else 0],
                "h_batch": h[0 if first else 1],
                "reset_after": int(getattr(operator, "reset_after", False)),
            },
        )
