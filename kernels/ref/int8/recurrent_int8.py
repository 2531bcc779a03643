# SPDX-License-Identifier: MIT
"""RNN, GRU and LSTM with weights of int8: data and state as integers with a common exponent, weights widened as they are met."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.recurrent import recurrent_call
from aidge_build.contract.kernel_kit.recurrent_int8 import byte_rows, recurrent_spec
from aidge_build.contract.kernel_kit.recurrent_layer import NUMBERS, Driver, Section, sums_of
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands
from aidge_build.graph.dtype import DType

UNITS = 2  # floats before the data
BITS = "AIDGE_REF_RECURRENT_BITS"
PLACE = "data + time * shape->x_time + batch * shape->x_batch"
INTEGERS = "(int32_t *)(void *)x"
STATE = f"{INTEGERS} + shape->inputs"


class Recurrent(KernelNode):
    """Base: a subclass says how data come into integers."""

    instructions_per_mac = 7.0
    element = "float"
    take = f"x[-2] = aidge_kit_common_exponent({PLACE}, {INTEGERS}, shape->inputs, {BITS});"

    @classmethod
    def demands(cls, view) -> Demands:
        operator = view.operator
        return Demands(scratch_bytes=4 * (UNITS + view.inputs[0].dims[2] + 2 * operator.hidden + sums_of(operator)))

    @property
    def reads_bytes(self) -> bool:
        return self.element != "float"

    def call(self) -> Call:
        driver = Driver(
            prefix="aidge_ref",
            form=f"int8_of_{self.inputs[0].dtype.name}",
            element=self.element,
            stream="int32_t",
            take=self.take,
            x_floats="(shape->inputs + shape->hidden)",
            keep=f"x[-1] = aidge_kit_common_exponent({{state}}, {STATE}, hidden, {BITS});",
            curve="aidge_kit_curve_of_5",
            product=self._product,
            head=UNITS,
        )
        data = self.inputs[0].quantization
        points = (data.zero_point,) if data is not None else ()
        return recurrent_call(self, driver, self._stream, ("int8/recurrent_int8.h",), (), points, facts=computed("1 row"))

    def _product(self, number: int, section: Section) -> str:
        features = "shape->inputs" if section.weights is not None else "0"
        hidden = "hidden" if section.recurrence is not None else "0"
        return (
            f"aidge_ref_recurrent_sums_int8({section.sums}, {section.gates} * hidden, "
            f"stream + places->starts[{number}], x - {UNITS}, {INTEGERS}, {features}, {STATE}, {hidden}, "
            f"{int(self.reads_bytes)});"
        )

    def _stream(self, section: Section, direction: int) -> numpy.ndarray:
        rows = byte_rows(self, section, direction)
        numbers = numpy.stack([rows.bias, rows.by_weights, rows.by_recurrence], axis=1)
        data = numpy.concatenate([rows.weights, rows.recurrence], axis=1)
        data = numpy.pad(data, ((0, 0), (0, -data.shape[1] % 4)))
        return numpy.concatenate([numbers.view(numpy.int8), data], axis=1).reshape(-1).view(numpy.int32)


@kernel(("RNN", "GRU", "LSTM"), recurrent_spec(DType.int8))
class RecurrentInt8(Recurrent):
    element = "int8_t"
    take = f"aidge_ref_recurrent_bytes(x - {UNITS}, {INTEGERS}, {PLACE}, shape->inputs, (int32_t)numbers[{NUMBERS + 1}]);"


@kernel(("RNN", "GRU", "LSTM"), recurrent_spec(DType.float32))
class RecurrentFloat32(Recurrent):
    pass
