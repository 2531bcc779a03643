# SPDX-License-Identifier: MIT
"""Numbers of channels that are computed one at a time, rounded by one fused multiplication where that is proved and pays."""

from __future__ import annotations

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from .planes import head_bytes
from .rounding import CONSTANT_BITS, Fixed, FusedForm, fused_numbers, fused_words, zero_point_word

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


def fused_stream(taps: numpy.ndarray, numbers: LinearConstants, bits: int, fused: FusedForm) -> numpy.ndarray:
    """As `channel_stream`, but each channel has a third number: the constant, or what the head has as zero point. A negative
    multiplier tells that it is fused."""
    words: list[int] = []
    for channel, is_proved in enumerate(fused.is_proved.tolist()):
        if is_proved:
            base, multiplier, constant = fused_words(fused, numbers, channel, True)
            words += [base, multiplier, CONSTANT_BITS + constant]
        else:
            plain = numbers.multipliers[channel : channel + 1].astype("<f4").view("<u4")
            words += [int(numbers.bias[channel]) & 0xFFFFFFFF, int(plain[0]), zero_point_word(numbers, bits) & 0xFFFFFFFF]
    parts = [head_bytes(numbers, bits), numpy.array(words, "<u4").tobytes(), numpy.ascontiguousarray(taps).tobytes()]
    return numpy.frombuffer(b"".join(parts), numpy.int8)
