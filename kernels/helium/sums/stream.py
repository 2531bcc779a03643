# SPDX-License-Identifier: MIT
"""Weights and parameters of a dense layer as one stream, in the order in which product.py reads them.

16 bytes of offsets, 4 of the input's zero point; for each pair of output channels, for each row, vector and tap (taps backwards
in every other vector) 16 weights of the one and 16 of the other channel (or `last`), then int32 {bias, bias}, float {multiplier,
multiplier}, int32 step << 16 | zero point; with clamps int32 {lowest, highest}. The last pair has step 0; with an odd number of
channels it repeats one channel of the pair before.

- `adds`: the number of rounding.py takes the place of step and zero point.
- The first multiplier is negative: numbers of a fused multiplication, int32 {bits, bits}, float {multiplier, multiplier}, uint16
  {constant, constant} (rounding.py).
- `shift`: the multipliers of marked pairs, never the last one, are int32 (rounding.py).
- `fixed`: multipliers are int32, and int32 {shift, shift} follow the rest.
- `offsets`: a window of ones precedes the first pair, int32 {offset, offset} of the weights (finer.py) the biases.
- `counted`: the zero point follows the head in place of the one in each pair, and all pairs have a step of 2.
- `packed`: the weights of both channels share bytes, or are signs of two bytes for each vector (packed.py).
- `left`: of each channel the words and vectors of core/sparse.py.
- `joined`: three words take the place of biases and multipliers (joined.py).
- `floats`: int32 {missing, missing}, {sums of the weights}, float {factors}, {biases}, int32 step; the zero point is 0.
"""

from __future__ import annotations

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from ..core.floats import FloatNumbers
from ..core.rounding import BY_SHIFT, ENDS, GOES_ON, FusedForm, fused_words, large_number, multiplier_words, shift_words
from ..core.sparse import sparse_bytes
from ..values.joined import joined_numbers
from .product import LANE_PIXELS, LANES, Product

WIDEST = 21_844  # output channels: offsets of four pixels fit 16 bits


def product_stream(
    shape: Product,
    windows: numpy.ndarray,
    numbers: LinearConstants,
    fused: FusedForm | None = None,
    offsets: numpy.ndarray | None = None,
    integers: numpy.ndarray | None = None,
) -> numpy.ndarray:
    """`windows` [channels, rows, taps, bytes of a tap]; bytes that are missing in the last vector are 0. `fused`: of shapes that
    are `fused`, for the pairs of which it is proved. `offsets` [channels]: of shapes that have them. `integers` [channels]: the
    multipliers of shapes with a `shift`, 0 where they are not proved."""
    channels = len(windows)
    ordered = _in_order(shape, windows)
    parts = [_head(channels, shape.distance, numbers.input_zero_point)]
    if shape.counted:
        parts.append(
            numpy.array([large_number(numbers.zero_point) if shape.adds else numbers.zero_point & 0xFFFF], "<i4").tobytes()
        )
    if shape.offsets:
        parts.append(_side_by_side(shape, _in_order(shape, numpy.ones_like(windows[:1]))))
    firsts = _first_channels(channels)
    for first, following in zip(firsts, [*firsts[1:], firsts[-1]]):
        pair = [first, min(first + 1, channels - 1)]
        parts.append(_side_by_side(shape, ordered[pair]))
        if shape.offsets:
            parts.append(offsets[pair].astype("<i4").tobytes())
        if fused and fused.is_proved[pair].all():
            parts.append(_fused_numbers(fused, numbers, pair, following != first))
        else:
            is_by_shift = integers is not None and following != first and integers[pair].all()
            parts.append(_plain_numbers(shape, numbers, pair, following, integers if is_by_shift else None))
        parts.append(numpy.array([numbers.low, numbers.high] if shape.clamps else [], "<i4").tobytes())
        parts.append(shift_words(numbers)[pair].tobytes() if shape.fixed else b"")
    return numpy.frombuffer(b"".join(parts), numpy.int8)


def float_stream(shape: Product, windows: numpy.ndarray, numbers: FloatNumbers) -> numpy.ndarray:
    """The same for results in float32; `windows` as they are stored."""
    channels = len(windows)
    offsets = numpy.array([4 * pixel * shape.distance for pixel in LANE_PIXELS] + [0], "<i4")
    parts = [offsets.tobytes(), *([_in_order(shape, numpy.ones_like(windows[:1])).tobytes()] if shape.offsets else [])]
    ordered = _in_order(shape, windows)
    firsts = _first_channels(channels)
    for first, following in zip(firsts, [*firsts[1:], firsts[-1]]):
        pair = [first, first + 1]
        parts += [_side_by_side(shape, ordered[pair]), numbers.words(pair, 4 * (following - first))]
    return numpy.frombuffer(b"".join(parts), numpy.int8)


def _in_order(shape: Product, windows: numpy.ndarray) -> numpy.ndarray:
    """Windows as vectors, in the order in which they are multiplied."""
    padded = numpy.zeros((*windows.shape[:3], shape.vectors * LANES), windows.dtype)
    padded[..., : windows.shape[3]] = windows
    vectors = padded.reshape(len(windows), shape.rows, shape.taps, shape.vectors, LANES)
    return numpy.stack([vectors[:, row, tap, vector] for row, vector, tap in shape.reads()], axis=1)


def _side_by_side(shape: Product, ordered: numpy.ndarray) -> bytes:
    """Vectors [channels, vectors, 16] of neighbouring channels, of the last one of a tap what the stream has. With `packed` the
    channels of a pair share bytes."""
    if shape.left:
        return b"".join(sparse_bytes(channel.ravel()) for channel in ordered)
    vectors = ordered.transpose(1, 0, 2)
    if shape.packed and len(ordered) > 1:
        vectors = shape.packed.vectors(vectors.reshape(-1, LANES))[:, None]
    if not shape.last:
        return numpy.ascontiguousarray(vectors).tobytes()
    lengths = [shape.last if vector == shape.vectors - 1 else LANES for _, vector, _ in shape.reads()]
    is_stored = numpy.arange(LANES) < numpy.array(lengths)[:, None, None]
    return vectors[numpy.broadcast_to(is_stored, vectors.shape)].tobytes()


def _fused_numbers(fused: FusedForm, numbers: LinearConstants, pair: list[int], goes_on: bool) -> bytes:
    """The numbers of a pair for one fused multiplication; signs as rounding.py says."""
    first, second = (fused_words(fused, numbers, channel, sign) for channel, sign in zip(pair, (True, goes_on)))
    words = [first[0], second[0], first[1], second[1], first[2] | second[2] << 16]
    return numpy.array(words, "<u4").tobytes()


def _plain_numbers(
    shape: Product, numbers: LinearConstants, pair: list[int], following: int, integers: numpy.ndarray | None
) -> bytes:
    """Biases, multipliers, zero point and step of a pair. `integers`: the multipliers of all channels, if the pair takes them."""
    if shape.joined:
        return numpy.array(joined_numbers(numbers, pair), "<u4").tobytes()
    multipliers = multiplier_words(numbers) if integers is None else integers.astype("<i4")
    step = (following - pair[0]) << 16 | numbers.zero_point & 0xFFFF
    if shape.goes_by_twos:
        mark = GOES_ON if following != pair[0] else ENDS
        step = large_number(numbers.zero_point, mark) | (0 if integers is None else BY_SHIFT)
    words = numpy.array([] if shape.counted else [step], "<i4")
    return b"".join([numbers.bias[pair].astype("<i4").tobytes(), multipliers[pair].tobytes(), words.tobytes()])


def _first_channels(channels: int) -> list[int]:
    """The first channel of each pair; the last pair of an odd number overlaps the one before."""
    firsts = list(range(0, channels - 1, 2)) or [0]
    return [*firsts, channels - 2] if channels % 2 and channels > 1 else firsts


def _head(channels: int, distance: int, zero_point: int) -> bytes:
    second = min(1, channels - 1)
    offsets = [pixel * distance + channel for pixel in LANE_PIXELS for channel in (0, second)]
    return numpy.array(offsets, "<u2").tobytes() + numpy.array([zero_point], "<i4").tobytes()
