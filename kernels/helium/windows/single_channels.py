# SPDX-License-Identifier: MIT
"""The constants of kernels that compute one channel at a time."""

from __future__ import annotations

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from ..core.rounding import (
    CONSTANT_BITS,
    Fixed,
    FusedForm,
    fixed_of,
    fixed_words,
    fused_numbers,
    fused_words,
    multiplier_words,
    zero_point_word,
)

FEWEST_TILES = 32  # of a channel that pay for the four bytes of its third number
FEW_CHANNELS, FEWEST_OF_FEW = 32, 16  # where that is not much for a layer


def head_bytes(numbers: LinearConstants, bits: int) -> bytes:
    """The head of a stream."""
    return numpy.array([numbers.input_zero_point, zero_point_word(numbers, bits), numbers.low, numbers.high], "<i4").tobytes()


def channel_stream(taps: numpy.ndarray, numbers: LinearConstants, bits: int) -> numpy.ndarray:
    """`taps` [channels, ...]: the head; bias and multiplier of each channel, with fixed-point factors shift and zero point; all
    taps."""
    columns = [numbers.bias.astype("<i4"), multiplier_words(numbers)]
    columns += [fixed_words(numbers)] if fixed_of(numbers) else []
    parts = [head_bytes(numbers, bits), numpy.stack(columns, axis=1).tobytes()]
    return numpy.frombuffer(b"".join([*parts, numpy.ascontiguousarray(taps).tobytes()]), numpy.int8)


def fusing(numbers: LinearConstants, bits: int, fixed: Fixed | None, tiles: int) -> FusedForm | None:
    """The numbers of fused multiplications of a form of which each channel has so many tiles in an inference; None: they are not
    proved for all channels, or do not pay."""
    fewest = FEWEST_TILES if len(numbers.bias) > FEW_CHANNELS else FEWEST_OF_FEW
    if numbers.is_any or tiles < fewest and not fixed:
        return None
    fused = fused_numbers(numbers, bits)
    return fused if fused.is_proved.all() else None


def fused_stream(taps: numpy.ndarray, numbers: LinearConstants, bits: int, fused: FusedForm) -> numpy.ndarray:
    """As `channel_stream`, but each channel has the three numbers of a fused multiplication; their multiplier is negative."""
    words: list[int] = []
    for channel in range(len(taps)):
        base, multiplier, constant = fused_words(fused, numbers, channel, True)
        words += [base, multiplier, CONSTANT_BITS + constant]
    parts = [head_bytes(numbers, bits), numpy.array(words, "<u4").tobytes(), numpy.ascontiguousarray(taps).tobytes()]
    return numpy.frombuffer(b"".join(parts), numpy.int8)
