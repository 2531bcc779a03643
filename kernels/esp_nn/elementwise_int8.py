# SPDX-License-Identifier: MIT
"""int8 sums and products of two tensors of the same dims."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.contract.call import Call, Literal, Output
from aidge_build.contract.kernel_kit.binary_int8 import BinaryInt8
from aidge_build.contract.kernel_kit.broadcast import operand
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.double.products import product_factor
from aidge_build.operators.double.sums import sum_factors

from .layer import LARGEST_SHIFT, both_contracts, of_checkout, words

LARGEST_LEFT = 14  # of a product of 16 bits


def _other_dims(view: NodeView) -> str:
    dims = view.outputs[0].dims
    return "" if all(tensor.dims == dims for tensor in view.inputs) else "an input is broadcast"


def _sum_unfit(view: NodeView) -> str:
    found = sum_factors(view.inputs, view.outputs[0])
    shifts = [shift for _, shift in (found.first, found.second, found.total)]
    return "" if all(-LARGEST_SHIFT <= shift <= 0 for shift in shifts) else f"the shifts are {shifts}, wants -30 to 0"


def _product_unfit(view: NodeView) -> str:
    shift = product_factor(view.inputs, view.outputs[0])[1]
    return "" if -LARGEST_SHIFT <= shift <= LARGEST_LEFT else f"the shift is {shift}, wants -30 to {LARGEST_LEFT}"


def _specs(unfit: Callable[[NodeView], str]) -> list[ImplSpec]:
    predicates = (ALL_QUANTIZED, Predicate("no broadcasting", _other_dims), Predicate("shifts that ESP-NN has", unfit))
    return both_contracts(ImplSpec(IOSpec(DType.int8, SAME), predicates=predicates))


class OfTwo(BinaryInt8):
    """Element by element, in any storage order."""

    def of_two(self, glue: str, function: str, numbers: tuple[int, ...]) -> Call:
        """Returns the call; `numbers` follow zero points and levels."""
        (output,) = self.outputs
        points = [-tensor.quantization.zero_point for tensor in self.inputs]
        low, high, zero_point = self.bounds()
        arguments = (
            operand(0, "first", self.inputs[0], output),
            operand(1, "second", self.inputs[1], output),
            Output(0),
            words("numbers", [*points, zero_point, low, high, *numbers]),
            Literal(output.elements),
        )
        return of_checkout(self, glue, (function,), arguments)


@kernel("Add", _specs(_sum_unfit))
class AddInt8(OfTwo):
    def call(self) -> Call:
        found = sum_factors(self.inputs, self.outputs[0])
        numbers = (*found.first, *found.second, *found.total, found.left)
        return self.of_two("add_s8", "esp_nn_add_elementwise_s8_ansi", numbers)


@kernel("Mul", _specs(_product_unfit))
class MulInt8(OfTwo):
    def call(self) -> Call:
        return self.of_two("mul_s8", "esp_nn_mul_elementwise_s8_ansi", product_factor(self.inputs, self.outputs[0]))
