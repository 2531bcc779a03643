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
LEAST_SAVED = 2000  # instructions that pay for the text of both roundings


def fusing(
    numbers: LinearConstants, bits: int, fixed: Fixed | None, adds: bool, tiles: int, in_bands: bool = False
) -> tuple[dict, FusedForm | None]:
    """What changes in a form of which each channel has so many tiles in an inference, and the numbers; None: they stay. Whoever
    wants bands has flash rather than time."""
    fewest = FEWEST_TILES if len(numbers.bias) > FEW_CHANNELS and not in_bands else FEWEST_OF_FEW
    if tiles < fewest and not fixed:
        return {}, None
    fused = fused_numbers(numbers, bits)
    proved = len(fused.is_proved) if numbers.is_any else fused.is_proved.sum()  # how many are depends on the weights
    if fused.is_proved.all() and not numbers.is_any:
        return {"fused": True, "fixed": None}, fused
    if adds and 4 * tiles * proved > LEAST_SAVED:
        return {"fused": True, "mixed": True}, fused
    return {}, None


def channel_stream(taps: numpy.ndarray, numbers: LinearConstants, bits: int, fused: FusedForm | None = None) -> numpy.ndarray:
    """`taps` [channels, ...]: the head; bias and multiplier of each channel, with fixed-point factors shift and zero point; all
    taps. If some channels are `fused`, each has a third number: the constant, or what the head has as zero point; a negative
    multiplier tells that it is fused."""
    head = [numbers.input_zero_point, zero_point_word(numbers, bits), numbers.low, numbers.high]
    if fused is None:
        columns = [numbers.bias.astype("<i4"), multiplier_words(numbers)]
        columns += [fixed_words(numbers)] if fixed_of(numbers) else []
        words = numpy.stack(columns, axis=1)
    else:
        words = _fused_numbers(numbers, bits, fused)
    parts = [numpy.array(head, "<i4"), words, numpy.ascontiguousarray(taps)]
    return numpy.frombuffer(b"".join(part.tobytes() for part in parts), numpy.int8)


def _fused_numbers(numbers: LinearConstants, bits: int, fused: FusedForm) -> numpy.ndarray:
    words: list[int] = []
    for channel, is_proved in enumerate(fused.is_proved.tolist()):
        if is_proved:
            base, multiplier, constant = fused_words(fused, numbers, channel, True)
            words += [base, multiplier, CONSTANT_BITS + constant]
        else:
            plain = numbers.multipliers[channel : channel + 1].astype("<f4").view("<u4")
            words += [int(numbers.bias[channel]) & 0xFFFFFFFF, int(plain[0]), zero_point_word(numbers, bits) & 0xFFFFFFFF]
    return numpy.array(words, "<u4")
