# SPDX-License-Identifier: MIT
"""float32 RNN, GRU and LSTM: the products of a step as fully connected layers, weights streamed once, 8 sums at a time."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ROW_MAJOR, Demands, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import REAL
from aidge_build.kernel_kit.curves import LOGISTIC, TANH, curve
from aidge_build.kernel_kit.recurrent import CONSTANT_WEIGHTS, FLOATS, NO_PEEPHOLES, optional_input, recurrent_shape
from aidge_build.kernel_kit.recurrent_layer import RESET, Driver, Section, gate_text, layer_text, sections, sums_of

from .curve import NAME, curve_text
from .fc_float32 import OUTPUTS, row_text
from .float32 import Limits
from .packing import group_starts


def _product(number: int, section: Section) -> str:
    source = "gates + 4 * hidden" if section.source == RESET else "x" if section.weights is not None else "h"
    both = section.weights is not None and section.recurrence is not None
    count = "shape->inputs + hidden" if both else "shape->inputs" if section.weights is not None else "hidden"
    return (
        f"aidge_cortexm_row_of_fc_float32({source}, gates + {section.first} * hidden, stream + places->starts[{number}], "
        f"{count}, stream + places->starts[{number + 1}], numbers);"
    )


DRIVER = Driver(
    prefix="aidge_cortexm",
    form="float32",
    element="float",
    stream="int32_t",
    take="memcpy(x, from, (uint32_t)shape->inputs * sizeof *x);",
    x_floats="shape->inputs",
    keep="",
    curve=NAME,
    product=_product,
)


@kernel(
    ("RNN", "GRU", "LSTM"),
    ImplSpec(
        inputs=(IOSpec(DType.float32, ROW_MAJOR), IOSpec(DType.any, ANY)),
        outputs=(IOSpec(DType.float32, ROW_MAJOR),),
        features=frozenset({"dsp", "fpu"}),
        predicates=(REAL, FLOATS, CONSTANT_WEIGHTS, NO_PEEPHOLES),
    ),
)
class RecurrentFloat32(KernelNode):
    @classmethod
    def demands(cls, view) -> Demands:
        operator = view.operator
        return Demands(scratch_bytes=4 * (view.inputs[0].dims[2] + operator.hidden + sums_of(operator)))

    def call(self) -> Call:
        operator, states = self.operator, (4, 5, 6) if self.node.type == "LSTM" else (4, 5)
        streams = [[self._stream(part, d) for part in sections(operator)] for d in range(operator.directions)]
        ends = numpy.cumsum([0, *(len(one) for one in streams[0])])
        places = {"starts": (*map(int, ends), *(0,) * (4 - len(ends))), "step": int(ends[-1])}
        numbers = [[-math.inf, math.inf], curve(TANH), curve(LOGISTIC), [operator.limit]]
        return Call(
            DRIVER.name(operator),
            ("recurrent_float32.h",),
            (
                Input(0),
                *(optional_input(self, index) for index in states),
                *map(Output, range(len(self.outputs))),
                Scratch(),
                Constant("stream", numpy.concatenate([one for direction in streams for one in direction])),
                Constant("numbers", numpy.concatenate(numbers).astype(numpy.float32)),
                Struct("aidge_kit_recurrent_stream", places),
                recurrent_shape(self),
            ),
            texts=(row_text(Limits(-math.inf, math.inf))[1], curve_text(), gate_text(DRIVER), layer_text(operator, DRIVER)),
            facts=computed("8 sums"),
        )

    def _stream(self, section: Section, direction: int) -> numpy.ndarray:
        """The words of fc_float32.h."""
        weights, recurrence = (tensor.data[direction].astype(numpy.float32) for tensor in self.inputs[1:3])
        parts = ((weights, section.weights), (recurrence, section.recurrence))
        rows = numpy.concatenate([matrix[chosen] for matrix, chosen in parts if chosen is not None], axis=1)
        given = self.inputs[3].data[direction] if len(self.inputs) > 3 and self.inputs[3] is not None else None
        bias = numpy.zeros(len(rows)) if given is None else sum(given[one].astype(numpy.float64) for one in section.biases)
        found = []
        for first in group_starts(len(rows), OUTPUTS):
            block = slice(first, first + OUTPUTS)
            numbers = [bias[block].astype(numpy.float32), rows[block].T.ravel()]
            found += [numpy.array([4 * first], numpy.int32), numpy.concatenate(numbers).view(numpy.int32)]
        return numpy.concatenate(found)
