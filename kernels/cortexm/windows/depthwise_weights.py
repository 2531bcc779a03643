# SPDX-License-Identifier: MIT
"""Weights of a depthwise layer in assembly: from the stream to registers, or as bytes to where the sums load them from."""

from __future__ import annotations

from ..core.assembly import Routine
from ..core.offsets import plus
from .depthwise_layout import NARROW_SCALE, Depthwise, row_pairs

_SHIFT = NARROW_SCALE.bit_length() - 1


def place_for_weights(code: Routine, layer: Depthwise) -> None:
    """Finds the place for the weights of a channel, for all channels; `words` is at the first one."""
    if layer.are_bytes and not layer.in_registers:
        code("mov %weights, %words")
        plus(code, "%weights", layer.weights_at)


def load_weights(code: Routine, layer: Depthwise) -> None:
    """The weights at `constants`, which ends past them, into their registers; or their address. Bytes are elsewhere."""
    if layer.are_bytes:
        return
    if not layer.in_registers:
        code("mov %weights, %constants")
        plus(code, "%constants", 4 * layer.weight_words)
        return
    words = [f"%w{index}" for index in range(layer.weight_words)]
    code(f"ldm %constants!, {{{', '.join(words)}}}" if len(words) > 1 else "ldr %w0, [%constants], #4")


def unpack_weights(code: Routine, layer: Depthwise, is_scaled: bool) -> None:
    """Bytes become halfwords, NARROW_SCALE times as large if `is_scaled`; the registers of sums are lost."""
    if not layer.are_bytes:
        return
    spares = ("%tap0", "%tap1", "%tap2")
    words = [f"%w{index if layer.in_registers else index % 2}" for index in range(layer.weight_words)]
    code("get %taps")
    height, width = layer.plane.kernel
    pairs = row_pairs(layer, list(range(1, width + 1)))  # taps of each word, from 1 on
    for row in range(height):
        loaded = 0
        for index, (low, high) in enumerate(pairs, row * len(pairs)):
            while loaded < min(width, (low or high) + len(spares) - 1):  # as many in a row as there are spares
                code(f"{'ldrb' if is_scaled else 'ldrsb'} {spares[loaded % len(spares)]}, [%taps, #{row * width + loaded}]")
                loaded += 1
            halves = [spares[(tap - 1) % len(spares)] if tap else "" for tap in (low, high)]
            _halves(code, words[index], *halves, is_scaled)
            if not layer.in_registers:
                _store(code, words[index], index, layer.weight_words)
    plus(code, "%taps", height * width)
    code("put %taps")


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
        code(f"strd %w0, %w1, [%weights, #{4 * index - 4}]")
    elif index + 1 == count:
        code(f"str {word}, [%weights, #{4 * index}]")
