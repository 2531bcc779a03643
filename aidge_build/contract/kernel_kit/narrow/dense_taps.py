# SPDX-License-Identifier: MIT
"""The taps of the dense core: products of the words of 6 pixels with the weights of each channel (dense.py)."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow.packing import Stream, Weights
from aidge_build.contract.kernel_kit.routine import Routine


def word_of(stream: Stream, channel: int, place: int) -> str:
    """Returns the name of a word of a channel's sums."""
    return f"sum{place}_of_{channel}" if stream.together > 1 else f"sum{place}"


def taps(code: Routine, stream: Stream) -> None:
    """Prints the taps up to the end of a chunk, some in each turn, and keeps the words of their sums where `Stream` says."""
    is_sparse = stream.weights is Weights.BLOCKS
    code.label("taps", "a block of 4 taps" if is_sparse else f"{4 * stream.turn_words} taps")
    if is_sparse:
        code("ldm %stream!, {%weight}")
        code("adds %columns, %columns, %weight", "past blocks of zeros")
    if stream.weights is Weights.NIBBLES:
        for _ in range(stream.turn_words // 2):
            _packed_taps(code, stream)
    elif code.loads_bytes_anywhere:
        _byte_by_byte(code, stream, 4 if is_sparse else 4 * stream.turn_words)
    else:
        for _ in range(1 if is_sparse else stream.turn_words):
            _word_of_taps(code)
    code("cmp %columns, %end")
    code("bne %taps")
    for channel in range(stream.together):
        for place in range(4):
            word = word_of(stream, channel, place)
            if stream.has_one_text:
                code(f"str %{word}, [sp, %frame.words.{4 * channel + place}]")
            elif stream.has_texts:
                code(f"put %{word}")


def _word_of_taps(code: Routine) -> None:
    """Prints 4 taps of one channel, with a word of weights."""
    code("ldm %stream!, {%weights}", "4 weights")
    for tap in range(4):
        weight = "weight" if tap < 3 else "weights"
        if tap < 3:
            code("sxtb %weight, %weights")
            code("asrs %weights, %weights, #8")
        _tap_of_one(code, weight)


def _tap_of_one(code: Routine, weight: str) -> None:
    """A tap of one channel on a core where a product replaces a factor."""
    code("ldm %columns!, {%x0, %x1, %x2, %x3}")
    for value in range(4):
        code(f"muls %x{value}, %{weight}")
    for value in range(4):
        code(f"add %sum{value}, %x{value}")


def _packed_taps(code: Routine, stream: Stream) -> None:
    """8 taps, with words of 8 weights: the highest bits are the next one."""
    for place in range(8 * stream.together):
        tap, channel = divmod(place, stream.together)
        if place % 8 == 0:
            code("ldm %stream!, {%weights}", "8 weights")
        code("asrs %weight, %weights, #28")
        if place % 8 < 7:
            code("lsls %weights, %weights, #4")
        if not code.loads_bytes_anywhere:
            _tap_of_one(code, "weight")
            continue
        if channel == 0:
            code("ldm %columns!, {%x0, %x1, %x2, %x3}", f"tap {tap}")
        _products_of_tap(code, stream, channel)


def _byte_by_byte(code: Routine, stream: Stream, count: int) -> None:
    """So many taps, on a core that loads a byte from any distance with its sign."""
    for tap in range(count):
        code("ldm %columns!, {%x0, %x1, %x2, %x3}")
        for channel in range(stream.together):
            code(f"ldrsb %weight, [%stream, #{stream.together * tap + channel}]")
            _products_of_tap(code, stream, channel)
    code(f"add %stream, %stream, #{count * stream.together}")


def _products_of_tap(code: Routine, stream: Stream, channel: int) -> None:
    for pair in ((0, 1), (2, 3)):
        for place in pair:
            code(f"muls %product{place % 2}, %x{place}, %weight")
        for place in pair:
            word = word_of(stream, channel, place)
            code(f"adds %{word}, %{word}, %product{place % 2}")
