# SPDX-License-Identifier: MIT
"""Streams of channels that are computed one at a time, rounded by one fused multiplication where that is proved and pays."""

from __future__ import annotations

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from .rounding import (
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


def fusing(
    numbers: LinearConstants, bits: int, fixed: Fixed | None, tiles: int, in_bands: bool = False
) -> tuple[dict, FusedForm | None]:
    """What changes in a form of which each channel has so many tiles in an inference, and the numbers; None: they stay, because
    some channel is not proved or it does not pay. Whoever wants bands has flash rather than time."""
    fewest = FEWEST_TILES if len(numbers.bias) > FEW_CHANNELS and not in_bands else FEWEST_OF_FEW
    if numbers.is_any or (tiles < fewest and not fixed):
        return {}, None
    fused = fused_numbers(numbers, bits)
    return ({"fused": True, "fixed": None}, fused) if fused.is_proved.all() else ({}, None)


def channel_stream(taps: numpy.ndarray, numbers: LinearConstants, bits: int, fused: FusedForm | None = None) -> numpy.ndarray:
    """`taps` [channels, ...]: the head; bias and multiplier of each channel, with fixed-point factors shift and zero point; all
    taps. `fused` channels have a third number, the constant, and negative multipliers."""
    head = [numbers.input_zero_point, zero_point_word(numbers, bits), numbers.low, numbers.high]
    if fused is None:
        columns = [numbers.bias.astype("<i4"), multiplier_words(numbers)]
        columns += [fixed_words(numbers)] if fixed_of(numbers) else []
        words = numpy.stack(columns, axis=1)
    else:
        words = _fused_numbers(numbers, fused)
    parts = [numpy.array(head, "<i4"), words, numpy.ascontiguousarray(taps)]
    return numpy.frombuffer(b"".join(part.tobytes() for part in parts), numpy.int8)


def _fused_numbers(numbers: LinearConstants, fused: FusedForm) -> numpy.ndarray:
    words = [fused_words(fused, numbers, channel, True) for channel in range(len(fused.is_proved))]
    return numpy.array([[base, multiplier, CONSTANT_BITS + constant] for base, multiplier, constant in words], "<u4")
