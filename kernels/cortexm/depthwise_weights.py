# SPDX-License-Identifier: MIT
"""Weights of a depthwise layer in assembly: from the stream to registers, or as bytes to where the sums load them from."""

from __future__ import annotations

from .assembly import Routine
from .depthwise_layout import NARROW_SCALE, Depthwise, Weights, row_pairs
from .offsets import plus

TOGETHER = 4  # words of pairs in one load
_BYTES, _MASK, _SPARE = "r7", "r8", "r9"  # no weights wait there where these do not fit registers
_LOADED = ("r2", "r3", "r4", "r5")
_SHIFT = NARROW_SCALE.bit_length() - 1


def place_for_weights(code: Routine, layer: Depthwise) -> None:
    """Where the weights of a channel go, for all channels; `words` is at the first one."""
    if layer.are_bytes and not layer.in_registers:
        code("mov {weights}, {words}")
        plus(code, "{weights}", layer.weights_at)


def load_weights(code: Routine, layer: Depthwise) -> None:
    """The weights at r10, which ends behind them, into their registers; or where they stand. Plain ones stand elsewhere."""
    if layer.weights is Weights.plain:
        return
    if not layer.in_registers:
        code(f"mov {_BYTES if layer.are_bytes else '{weights}'}, r10")
        plus(code, "r10", 4 * layer.stream_words)
        return
    step = 2 if layer.are_bytes else 1
    registers = [f"r{4 + step * index}" for index in range(layer.stream_words)]
    code(f"ldm r10!, {{{{{', '.join(registers)}}}}}" if len(registers) > 1 else "ldr r4, [r10], #4")


def unpack_weights(code: Routine, layer: Depthwise, is_scaled: bool) -> None:
    """Bytes become halfwords, NARROW_SCALE times as large if `is_scaled`; the registers of sums are lost."""
    if layer.weights is Weights.plain:
        _unpack_plain(code, layer, is_scaled)
    elif layer.weights is Weights.pairs:
        _unpack_pairs(code, layer, is_scaled)


def _unpack_pairs(code: Routine, layer: Depthwise, is_scaled: bool) -> None:
    if layer.in_registers:
        _mask(code, "r2", is_scaled)
        for first in range(0, layer.weight_words, 2):
            second = f"r{5 + first}" if first + 1 < layer.weight_words else ""
            _both(code, f"r{4 + first}", second, "r2", is_scaled)
        return
    _mask(code, _MASK, is_scaled)
    for begin in range(0, layer.stream_words, TOGETHER):
        loaded = _LOADED[: layer.stream_words - begin]
        code(f"ldm {_BYTES}!, {{{{{', '.join(loaded)}}}}}" if len(loaded) > 1 else f"ldr {loaded[0]}, [{_BYTES}], #4")
        for index, register in enumerate(loaded, begin):
            is_pair = 2 * index + 1 < layer.weight_words
            _both(code, register, _SPARE if is_pair else "", _MASK, is_scaled)
            code(
                f"strd {register}, {_SPARE}, [{{weights}}, #{8 * index}]"
                if is_pair
                else f"str {register}, [{{weights}}, #{8 * index}]"
            )


def _mask(code: Routine, register: str, is_scaled: bool) -> None:
    if is_scaled:
        code(f"mov {register}, #0xFF00FF00", f"bytes 1 and 3: {NARROW_SCALE} times themselves")


def _both(code: Routine, first: str, second: str, mask: str, is_scaled: bool) -> None:
    """Bytes 0 and 2 of `first` stay there, bytes 1 and 3 go to `second`, if that is a register."""
    if second:
        code(f"and {second}, {first}, {mask}" if is_scaled else f"sxtb16 {second}, {first}, ror #8")
    code(f"and {first}, {mask}, {first}, lsl #8" if is_scaled else f"sxtb16 {first}, {first}")


def _unpack_plain(code: Routine, layer: Depthwise, is_scaled: bool) -> None:
    if layer.in_registers:
        source, spares, words = "r2", ("r3", "r10", "r11"), [f"r{4 + index}" for index in range(layer.weight_words)]
    else:  # no weights wait in registers
        source, spares, words = "r7", ("r2", "r3", "r4"), ["r8", "r9"] * layer.weight_words
    code.get(source, "taps")
    height, width = layer.plane.kernel
    pairs = row_pairs(layer, list(range(1, width + 1)))  # taps of each word, from 1 on
    for row in range(height):
        loaded = 0
        for index, (low, high) in enumerate(pairs, row * len(pairs)):
            while loaded < max(low, high):
                code(f"{'ldrb' if is_scaled else 'ldrsb'} {spares[loaded % len(spares)]}, [{source}], #1")
                loaded += 1
            registers = [spares[(tap - 1) % len(spares)] if tap else "" for tap in (low, high)]
            _halves(code, words[index], *registers, is_scaled)
            if not layer.in_registers:
                _store(code, words[index], index, layer.weight_words)
    code.put("taps", source)


def _halves(code: Routine, word: str, low: str, high: str, is_scaled: bool) -> None:
    """A word of the weights in two registers; the upper half is 0 without one."""
    if high:
        code(f"pkhbt {word}, {low}, {high}, lsl #16")
        if is_scaled:
            code(f"lsl {word}, {word}, #{_SHIFT}")
    else:
        code(f"lsl {word}, {low}, #{_SHIFT}" if is_scaled else f"uxth {word}, {low}")


def _store(code: Routine, word: str, index: int, count: int) -> None:
    """Words go in pairs."""
    if index % 2:
        code(f"strd r8, r9, [{{weights}}, #{4 * index - 4}]")
    elif index + 1 == count:
        code(f"str {word}, [{{weights}}, #{4 * index}]")
