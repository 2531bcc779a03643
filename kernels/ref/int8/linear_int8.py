# SPDX-License-Identifier: MIT
"""Shared by the int8 convolutions and fully connected layers: constants of the accumulation, and their proof."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy

from aidge_build.contract.call import Argument, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import BYTES_OR_HALFWORDS, CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS
from aidge_build.contract.kernel_kit.joined import BASE, joined_words
from aidge_build.contract.kernel_kit.linear import LinearConstants, linear_constants
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.near_halves import near_is_exact
from aidge_build.operators.arithmetic.ranges import largest_accumulators

from ..double.linear import FIT

SMALLEST_NEAR = 2.0**-32  # multiplier of aidge_kit_scale_marked
SUM_BITS = 21  # of a sum with its sign, in the words that three sums share
MOST_TOGETHER, FEWEST_TOGETHER = (1024, 512, 256, 128, 64), 32  # taps of such a sum; the fewest fit with all weights
GROUP = 4  # channels whose biases and multipliers are joined


def linear_spec(form: str = CHANNELS_LAST, weights: DType = DType.any) -> ImplSpec:
    """int8 data in and out, int8 or int16 weights, int32 bias."""
    return ImplSpec(
        inputs=(IOSpec(DType.int8, form), IOSpec(weights, ANY), IOSpec(DType.int32, ANY)),
        outputs=(IOSpec(DType.int8, form),),
        predicates=(CONSTANT_PARAMETERS, BYTES_OR_HALFWORDS, QUANTIZED, SYMMETRIC_WEIGHTS),
    )


def linear_specs(form: str = CHANNELS_LAST) -> tuple[ImplSpec, ImplSpec]:
    """The same under the contracts `onnx` and `double`, of int8 weights the second."""
    fixed = linear_spec(form, DType.int8)
    return linear_spec(form), replace(fixed, predicates=(*fixed.predicates, FIT), rounding="double")


class LinearInt8(KernelNode):
    """int32 accumulation of (x - zero point) * w + bias, requantized per output channel."""

    of_output, of_each_tap = 40, 3.0  # instructions on a core without an FPU, measured

    @classmethod
    def takes_per_mac(cls, view: NodeView, is_narrow: bool) -> float:
        """Without an FPU the requantization of an output outweighs few taps."""
        usual = super().takes_per_mac(view, is_narrow)
        if "fpu" in view.features:
            return usual
        return max(usual, cls.of_output / math.prod(view.inputs[1].dims[1:]) + cls.of_each_tap)

    @property
    def together(self) -> int:
        """Outputs that the C function takes in groups of 4, of which the last may have fewer."""
        return self.inputs[1].dims[0]

    def arguments(
        self, name: str, rows: numpy.ndarray, packed: numpy.ndarray, padded: bool, is_copied: bool = False
    ) -> tuple[str, tuple[Argument, ...]]:
        """The C function, `name` or a form of it, and its leading arguments. `rows` [outputs, taps] is for the proof, `packed`
        for the kernel. Each has a form for int16 weights, one for factors of the contract `double`, one for multipliers with
        which one long product mostly suffices, and one for biases that are joined with multipliers.

        The zero point's part, -zero point * sum of the weights, is added to the bias beforehand; a kernel that leaves
        out taps (`padded`) needs the bias as it is, too, and gets both, and the begin of the second. If flash is scarce,
        the second is left out (0): the zero point is then taken from each input.
        """
        numbers = linear_constants(self.operator, self.inputs, self.outputs[0], rows)
        is_one = padded and self.view.objective == "size"
        biases = numbers.plain_bias if is_one else numpy.stack([numbers.plain_bias, numbers.bias]) if padded else numbers.bias
        begin = 0 if is_one else len(rows)
        if is_copied:
            biases, begin = numbers.bias, 0
        values = [numbers.low - numbers.zero_point, numbers.high - numbers.zero_point, numbers.zero_point]
        values = [numbers.input_zero_point, *values, begin] if padded else values
        values.append(taps_together(rows, self.view.any_weights) if self.has_blocks else 0)
        levels = Constant("levels", numpy.array(values, numpy.int32))
        leading = (Input(0), Output(0), Constant("weights", packed.astype(self.inputs[1].dtype.numpy)))
        is_fixed = self.form == "_fixed"
        if not is_fixed and (joined := self._joined(numbers, biases)):
            return f"{name}_joined", (*leading, Constant("joined", numpy.array(joined, numpy.uint32).view(numpy.int32)), levels)
        multipliers = self._marked(numbers) if self.form == "_near" else numbers.multipliers
        return (
            name + self.form + "_copied" * is_copied,
            (
                *leading,
                Constant("bias", biases.astype(numpy.int32)),
                Constant("multipliers", multipliers if numbers.per_channel else multipliers[:1]),
                levels,
                Literal((1 + is_fixed) * numbers.per_channel),
            ),
        )

    @property
    def has_blocks(self) -> bool:
        """Whether the form is one with blocks of pixels: not for float32, int16 weights and the least flash."""
        return self.form in ("_near", "_fixed") and self.view.objective != "size"

    @property
    def form(self) -> str:
        """The end of the name of a C function without joined constants."""
        if self.outputs[0].quantization.rounding == "double":
            return "_fixed"
        if self.inputs[1].dtype is DType.int16:
            return "_wide"
        return "" if "fpu" in self.view.features or self.view.objective == "size" else "_near"

    def _marked(self, numbers: LinearConstants) -> numpy.ndarray:
        """The multipliers for the form `_near`: negative where one long product is not proved to suffice (kit/near.h)."""
        largest = largest_accumulators(numbers.weights, numbers.plain_bias, numbers.input_zero_point, *self.inputs[0].dtype.range)
        factors = numbers.multipliers
        return numpy.where(near_is_exact(factors, largest) & (factors >= SMALLEST_NEAR), factors, -factors)

    def _joined(self, numbers: LinearConstants, biases: numpy.ndarray) -> list[int]:
        """Biases and multipliers of groups of channels in 6 words each, under --optimize size where they fit; else nothing."""
        whole = len(biases) == self.together or self.together % GROUP == 0
        is_fit = self.view.objective == "size" and numbers.per_channel and not numbers.is_any
        if not (is_fit and whole and self.inputs[1].dtype is DType.int8):
            return []
        spare = -len(biases) % GROUP
        own = [*biases.tolist(), *[0] * spare]
        factors = [*numbers.multipliers.view(numpy.uint32).tolist(), *[BASE] * spare]
        groups = [joined_words(own[first : first + GROUP], factors[first : first + GROUP]) for first in range(0, len(own), GROUP)]
        return [word for group in groups for word in group] if all(groups) else []


def taps_together(rows: numpy.ndarray, is_any: bool) -> int:
    """After how many taps sums of the `rows` [outputs, taps] leave the words that they share, where they may have SUM_BITS."""
    taps = rows.shape[1]
    if is_any:
        return FEWEST_TOGETHER
    if _fits(rows, taps):
        return taps + 1
    return next((size for size in MOST_TOGETHER if size < taps and _fits(rows, size)), FEWEST_TOGETHER)


def _fits(rows: numpy.ndarray, size: int) -> bool:
    parts = numpy.pad(rows.astype(numpy.int64), ((0, 0), (0, -rows.shape[1] % size))).reshape(len(rows), -1, size)
    most = numpy.maximum(-128 * parts, 127 * parts).sum(axis=2)
    least = numpy.minimum(-128 * parts, 127 * parts).sum(axis=2)
    limit = 1 << (SUM_BITS - 1)
    return bool((most < limit).all() and (least >= -limit).all())
