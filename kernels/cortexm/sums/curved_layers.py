# SPDX-License-Identifier: MIT
"""Layers of stored bytes and the function behind them (`Staircase`) as one layer: no float of them is ever in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy

from aidge_build.contract.kernel_kit.dynamic import bias_of
from aidge_build.contract.kernel_kit.linear_int8 import fewest_bits
from aidge_build.contract.kernel_kit.packing import as_words, group_starts, taps_last_channels
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.curved_products import CurvedProducts, curved_products
from aidge_build.operators.arithmetic.curved_sums import CurvedSums, ScaledSums, curved_sums, steps_of_sums
from aidge_build.operators.dynamic import DATA, FACTORS, SCALE, WEIGHTS, ZERO_POINT
from aidge_build.operators.staircase import Staircase

from ..core.conditions import FEATURES, GROUP
from ..core.limits import Limits
from .curves import Curve, curve_of
from .offset_weights import SUM
from .packed_sums import NIBBLE_BITS, fit_halfwords
from .stream import STATED, Stream
from .weights import NIBBLES, PACKED, WIDE, Weights, fit_nibbles

TYPE, PATTERN = "CurvedConv", "DynamicConv->Staircase"
MOST_CELLS = {"speed": 2048, "balanced": 1536, "size": 320}  # of 4 B
FAR_BITS = 16  # of a first channel, and of the distance in words from it to the middle of the table
SMALLEST_FACTOR = 2.0**-100  # its 256th part is a float of as many bits
_INT32 = 1 << 31


@dataclass(frozen=True, eq=False)
class CurvedLayer:
    """Weights [channels, taps], int64, taps in the order of ONNX with channels last; the sums' start in each channel, with the
    input's zero point in it, and their range; what comes behind them."""

    rows: numpy.ndarray
    starts: numpy.ndarray
    low: numpy.ndarray
    high: numpy.ndarray
    scales: numpy.ndarray  # int32 [channels, 2]: multipliers and constants, or patterns of factors and biases of whole numbers
    input_zero_point: int
    curve: Curve

    @property
    def largest(self) -> numpy.ndarray:
        """The largest |sum| of each channel."""
        return numpy.maximum(numpy.abs(self.low), numpy.abs(self.high))

    @property
    def head(self) -> list[int]:
        """The first words of the stream, the last of which fills the pads of the input."""
        return [*self.curve.head, (self.input_zero_point & 0xFF) * 0x01010101]


def layer_alone(view: NodeView) -> NodeView:
    """The convolution as if it gave the bytes itself."""
    graph = view.operator.graph
    (node,) = (node for node in graph.nodes if node.type == "DynamicConv")
    layer = replace(view.layer, whole=layer_alone(view.layer.whole)) if view.layer else None
    return replace(view, node=node, inputs=(view.inputs[DATA], *graph.input_tensors(node)[1:]), layer=layer)


def curved_layer(view: NodeView) -> CurvedLayer | None:
    """None where the function has no such form (arithmetic/curved_sums.py)."""
    convolution, staircase = view.operator.graph.nodes
    inputs = view.operator.graph.input_tensors(convolution)
    rows = taps_last_channels(inputs[WEIGHTS].data).astype(numpy.int64)
    zero_point = int(inputs[ZERO_POINT].data.reshape(()))
    starts = -zero_point * rows.sum(axis=1)
    products = [rows * end for end in inputs[DATA].dtype.range]
    low, high = (starts + ends.sum(axis=1) for ends in (numpy.minimum(*products), numpy.maximum(*products)))
    factors = (inputs[SCALE].data.reshape(()) * inputs[FACTORS].data).astype(numpy.float32)
    biases = bias_of(inputs).astype(numpy.float32)
    if (factors < SMALLEST_FACTOR).any() or not (numpy.isfinite(factors) & numpy.isfinite(biases)).all():
        return None
    numbers = numpy.stack([factors, biases]), numpy.stack([low, high])
    bounds = convolution.operator.minimum, convolution.operator.maximum
    found = _curved(*(part.tobytes() for part in numbers), bounds, staircase.operator, MOST_CELLS[view.objective])
    if found is None:
        return None
    if isinstance(found, CurvedProducts):
        scales = numpy.stack([found.multipliers, found.constants], axis=1).astype(numpy.int32)
    else:
        unit = numpy.float32(2.0**found.bits)  # of the fixed point: powers of two round nothing
        scales = numpy.stack([factors * unit, biases * unit], axis=1).view(numpy.int32)
    return CurvedLayer(rows, starts, low, high, scales, zero_point, curve_of(found))


@lru_cache(maxsize=64)  # the spec asks, and then the call
def _curved(
    scales: bytes, ends: bytes, bounds: tuple[float, float], steps: Staircase, most: int
) -> CurvedProducts | CurvedSums | None:
    factors, biases = numpy.frombuffer(scales, numpy.float32).reshape(2, -1)
    low, high = numpy.frombuffer(ends, numpy.int64).reshape(2, -1)
    keys, levels = (numpy.array(numbers, numpy.int64) for numbers in (steps.keys, steps.levels))
    sums = ScaledSums(factors, biases, low, high, *bounds)
    found = steps_of_sums(sums, keys, levels)
    return found and (curved_products(sums, found, most) or curved_sums(sums, found, most))


def pack_curved(layer: CurvedLayer, order: list[int]) -> Stream:
    """The stream of dense.h for taps in this order (-1: a tap of weight 0), an even number of them."""
    size = len(layer.rows)
    starts = group_starts(size)
    groups = [list(range(first, first + GROUP)) for first in starts]
    weights = _encoding(layer, groups, SUM in order)
    order = [tap for tap in order if tap != SUM]
    rows = numpy.where(numpy.array(order) < 0, 0, layer.rows[:, order])
    words = layer.head
    places: list[int] = []
    for channels in groups:
        words = words + weights.starts(layer.starts[channels].tolist()) + weights.words(rows[channels])
        places.append(len(words))
        words += [channels[0]]
        words += _scales(layer, channels, weights.is_packed)
    for place in places:
        words[place] |= (len(words) + layer.curve.middle - place) << FAR_BITS
    return Stream(
        as_words(words + layer.curve.entries.tolist()),
        weights,
        Limits(),
        0,
        len(starts),
        0,
        STATED,
        True,
        False,
        curve=layer.curve,
        sums=int(weights.wants_sums),
    )


def _encoding(layer: CurvedLayer, groups: list[list[int]], has_sums: bool) -> Weights:
    if has_sums and fewest_bits(layer.rows) <= NIBBLE_BITS and fit_nibbles(layer.rows, int(numpy.abs(layer.starts).max()), 128):
        return NIBBLES
    is_packed = fit_halfwords(layer.rows, groups, False) and bool((256 * layer.largest < _INT32 - 256).all())
    return PACKED if is_packed else WIDE


def _scales(layer: CurvedLayer, channels: list[int], is_packed: bool) -> list[int]:
    """Multiplier and constant of each channel; or factors and biases of each pair of channels."""
    if not layer.curve.is_float:
        return layer.scales[channels].ravel().tolist()
    floats = layer.scales[channels].view(numpy.float32).reshape(2, 2, 2)  # [pair, channel, factor or bias]
    floats[:, 1, 0] /= 256 if is_packed else 1
    return floats.transpose(0, 2, 1).ravel().view(numpy.int32).tolist()


def _unfit(view: NodeView) -> str:
    convolution = view.operator.graph.nodes[0]
    inputs = view.operator.graph.input_tensors(convolution)
    if view.any_weights:
        return "the weights may be replaced, and steps follow from them"
    if convolution.type != "DynamicConv" or any(not tensor.is_constant for tensor in inputs[1:]):
        return "zero point, scale or weights are computed at run time"
    if inputs[DATA].dtype is not DType.int8 or inputs[DATA].rank > 4:
        return f"the data is {inputs[DATA].dtype.name} of rank {inputs[DATA].rank}, wants int8 of at most 4"
    if inputs[WEIGHTS].dims[0] < GROUP:
        return f"{inputs[WEIGHTS].dims[0]} output channels, wants at least {GROUP}"
    return ""


def _is_large(view: NodeView) -> str:
    weights = view.inputs[WEIGHTS]
    words = weights.elements + 16 * weights.dims[0] + MOST_CELLS[view.objective]  # at most
    return "" if max(words, weights.dims[0]) < 1 << FAR_BITS else f"{weights.elements} weights are too many"


def _no_curve(view: NodeView) -> str:
    return "" if curved_layer(view) else f"a function that wants more than {MOST_CELLS[view.objective]} cells"


SMALL = Predicate("few weights", _is_large)


def curved_spec(*predicates: Predicate) -> ImplSpec:
    """int8 to int8; `predicates` see the convolution alone."""
    alone = tuple(Predicate(entry.name, lambda view, entry=entry: entry.rejection(layer_alone(view))) for entry in predicates)
    return ImplSpec(
        (IOSpec(DType.int8, CHANNELS_LAST), IOSpec(DType.any, ANY)),
        (IOSpec(DType.int8, CHANNELS_LAST),),
        features=FEATURES | {"fpu"},
        predicates=(
            Predicate("constants, int8, at least 4 outputs", _unfit),
            SMALL,
            *alone,
            Predicate("cells of one step", _no_curve),
        ),
        rounding="any",
    )
