# SPDX-License-Identifier: MIT
"""int8 products of an image and one factor for each channel (squeeze and excitation), shared by kernels of several libraries."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy

from aidge_build.contract.call import Call, Constant, Literal, Output, computed
from aidge_build.contract.kernel_kit.binary_int8 import BinaryInt8, meaning_of_pairs
from aidge_build.contract.kernel_kit.broadcast import operand
from aidge_build.contract.kernel_kit.channel_pixels import TOGETHER, each_pixel, values_of_lines
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.routine import Routine
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.arithmetic.factor_lines import SLOPE_BITS, FactorLines, factor_lines
from aidge_build.operators.arithmetic.fixed_point import exact_ratio
from aidge_build.operators.base import Operator

FEWEST_PIXELS = 8  # with fewer, computing the linear integer form of a channel costs more than it saves
WHAT = "An image times a factor for each channel, channels last."
PARAMETERS = "const int8_t *data, const int8_t *factors, int8_t *output, const int32_t *numbers, int32_t channels, int32_t pixels"


def _places(view: NodeView) -> tuple[int, int]:
    """Returns the index of the image and the index of the factors among the inputs."""
    return (0, 1) if view.inputs[0].dims == view.outputs[0].dims else (1, 0)


@functools.lru_cache(64)
def _found(
    operator: Operator, _rounding: str, data: Quantization, factors: Quantization, result: Quantization, turned: bool
) -> FactorLines | None:
    """`_rounding` is the contract of the output: a key for the cache, as equality of quantizations ignores it."""
    pairs = (factors, data) if turned else (data, factors)
    meaning = meaning_of_pairs(operator, *pairs, result)
    ratio = exact_ratio(data.scale, result.scale) * exact_ratio(factors.scale)
    return factor_lines(meaning.T if turned else meaning, ratio, data.zero_point, factors.zero_point)


def lines_of(view: NodeView) -> FactorLines | None:
    """Returns the linear integer forms of a product; None if none are exact."""
    image, factors = _places(view)
    quantizations = (view.inputs[image].quantization, view.inputs[factors].quantization, view.outputs[0].quantization)
    return _found(view.operator, quantizations[-1].rounding, *quantizations, bool(image))


def _other_dims(view: NodeView) -> str:
    whole = view.layer.whole if view.layer else view
    (output,) = whole.outputs
    image, factors = (whole.inputs[place].dims for place in _places(whole))
    if image != output.dims or output.rank < 3 or factors != (1, output.dims[1], *(1,) * (output.rank - 2)):
        return (
            f"dims {list(whole.inputs[0].dims)} and {list(whole.inputs[1].dims)} are not an image and a factor for each channel"
        )
    pixels = output.elements // output.dims[1]
    return "" if pixels >= FEWEST_PIXELS else f"{pixels} pixels, wants at least {FEWEST_PIXELS}"


def _unproved(view: NodeView) -> str:
    if view.any_weights:
        return "other weights bring other scales, for which no lines need be exact"
    return "" if lines_of(view) is not None else "no lines are exact for all 65,536 pairs of values"


def factor_lines_spec(features: frozenset[str], *predicates: Predicate) -> ImplSpec:
    """Returns the spec of int8 images times a factor for each channel, channels last. The kernel is proved on all pairs of stored
    values, so every contract accepts it."""
    side = IOSpec(DType.int8, CHANNELS_LAST)
    conditions = (
        ALL_QUANTIZED,
        Predicate(f"an image of at least {FEWEST_PIXELS} pixels and a factor for each channel", _other_dims),
        Predicate("a line for each factor is proved on all 65,536 pairs", _unproved),
    )
    return ImplSpec((side, side), (side,), features=features, predicates=(*conditions, *predicates), rounding="any")


class FactorLinesInt8(BinaryInt8):
    """Base of the kernels."""

    assembly = "needed"

    def assembled(self, make: Callable[[], Routine], library: str) -> Call:
        """Returns the call of the Thumb-2 function that the library's emitter prints."""
        return self.called(library, functools.partial(factor_lines_text, make))

    def called(self, library: str, text: Callable[[str, int], str]) -> Call:
        """Returns the call of the function that `text` prints for a name and a shift in bits."""
        lines, (output,) = lines_of(self.view), self.outputs
        assert lines is not None
        name = f"aidge_{library}_mul_channels_{lines.shift}"
        numbers = numpy.array([lines.multiplier, lines.offset, lines.minus_zero, lines.first], numpy.int32)
        image, factors = _places(self.view)
        return Call(
            name,
            ("core/target.h",),
            (
                operand(image, "data", self.inputs[image], output),
                operand(factors, "factors", self.inputs[factors], output),
                Output(0),
                Constant("numbers", numbers),
                Literal(output.dims[1]),
                Literal(math.prod(output.dims) // output.dims[1]),
            ),
            texts=(text(name, lines.shift),),
            note="a line for each factor, proved on all 65,536 pairs of values",
            facts=computed(f"{TOGETHER} pixels", 1),
        )


def factor_lines_text(make: Callable[[], Routine], name: str, shift: int) -> str:
    """Returns the Thumb-2 function, 5 instructions for a value, 4 pixels in a turn, one channel after the other. `make` returns
    the library's emitter. A value is read before its place is written."""
    code = make()
    code("%enter")
    code("ldr %channels, [%argument.4]")
    code("add %end, %factors, %channels")
    code("add %thrice, %channels, %channels, lsl #1")
    code.label("channel", "a channel")
    code("ldrsb %slope, [%factors], #1")
    code("ldrd %x, %y, [%numbers]", "multiplier, offset")
    code("mla %slope, %slope, %x, %y")
    code("ldrd %x, %y, [%numbers, #8]", "the data's zero point, first")
    code(f"asr %slope, %slope, #{SLOPE_BITS}")
    code("mla %start, %slope, %x, %y")
    code("mov %read, %data")
    code("mov %written, %output")
    code("ldr %left, [%argument.5]", "pixels")
    each_pixel(code, lambda places: values_of_lines(code, [("slope", "start", shift)], places))
    code("add %data, %data, #1")
    code("add %output, %output, #1")
    code("cmp %factors, %end")
    code("bne %channel")
    code("%leave")
    return code.function(name, PARAMETERS, WHAT)
