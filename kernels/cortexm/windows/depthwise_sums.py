# SPDX-License-Identifier: MIT
"""Sums of a depthwise layer in assembly: neighbouring outputs of one channel."""

from __future__ import annotations

from collections.abc import Callable

from ..core.assembly import Routine
from .depthwise_layout import Depthwise

SUMS = ("%sum0", "%sum1", "%sum2", "%bias")  # the last one of four begins with the bias
KEPT = "%keep words, output, x0, x1, w0, w1, w2, w3, sum0, sum1, sum2, bias"
LARGEST_PAIR_OFFSET = 1020  # of a load of two words


def sums(
    code: Routine,
    layer: Depthwise,
    count: int,
    place: int,
    keeps_bias: bool,
    advance: int = 0,
    after_load: Callable[[], None] = lambda: None,
) -> None:
    """The sums of 1, 2 or 4 neighbouring outputs, whose activations begin at byte `place`. `keeps_bias`: the bias is in a
    register. `advance`: what the first load of a place 0 adds to the pointer, from which all others then differ. `after_load`
    prints what still needs the registers of sums, behind the first load."""
    if not keeps_bias:
        code("vmov %sum0, %sum1, %s.bias, %s.bias_again" if count > 1 else "vmov %sum0, %s.bias")
    multiply, words = _Multiply(code, "%bias" if keeps_bias else ""), _Words(code, advance, after_load)
    for row in range(layer.plane.kernel[0]):
        start = place + 4 * row * layer.plane.dilations[0] * layer.row_words
        weights = _Weights(code, layer, row)
        if layer.is_even:
            _even_row(multiply, words, weights, layer.steps, start, count)
        else:
            _row(multiply, words, weights, layer.plane.kernel[1], start, count)


class _Multiply:
    """Multiplications that are added to sums; the first one of each sum adds to `bias` where that is a register."""

    def __init__(self, code: Routine, bias: str):
        self.code, self.bias, self.begun = code, bias, set(SUMS) if not bias else set()

    def __call__(self, operation: str, name: str, activations: str, weights: str) -> None:
        """One instruction."""
        addend = name if name in self.begun else self.bias
        self.begun.add(name)
        self.code(f"{operation} {name}, {activations}, {weights}, {addend}")


class _Words:
    """Loads of activations; the first of them moves the pointer by `advance`, which offsets behind it take into account."""

    def __init__(self, code: Routine, advance: int, after_first: Callable[[], None]):
        self.code, self.advance, self.moved = code, advance, 0
        self.after_first, self.is_first = after_first, True

    def load(self, values: tuple[str, ...], offset: int) -> None:
        """One or two neighbouring words from byte `offset` on."""
        self._load(values, offset)
        if self.is_first:
            self.after_first()
        self.is_first = False

    def _load(self, values: tuple[str, ...], offset: int) -> None:
        if self.advance:
            place = f"], #{self.advance}"
            self.advance, self.moved = 0, self.advance
        else:
            offset -= self.moved
            place = f", #{offset}]"
        if len(values) == 2 and offset <= LARGEST_PAIR_OFFSET:
            self.code(f"ldrd {values[0]}, {values[1]}, [%words{place}")
        elif len(values) == 2:
            for index, value in enumerate(values):
                self.code(f"ldr {value}, [%words, #{offset + 4 * index}]")
        else:
            self.code(f"ldr {values[0]}, [%words{place}")


class _Weights:
    """The words of weights of a row: in registers, or loaded two at a time when the first of them is asked for."""

    def __init__(self, code: Routine, layer: Depthwise, row: int):
        self.code, self.layer, self.first, self.loaded = code, layer, row * layer.row_weights, -1

    def __call__(self, word: int) -> str:
        """The value of one; loaded ones stay until the next but one two are loaded."""
        if self.layer.in_registers:
            return f"%w{self.first + word}"
        if word // 2 > self.loaded:
            self.loaded = word // 2
            self._load(2 * self.loaded)
        return _loaded(word)

    def _load(self, word: int) -> None:
        values = [_loaded(each) for each in range(word, min(word + 2, self.layer.row_weights))]
        offset = 4 * (self.first + word)
        if len(values) == 2 and offset <= LARGEST_PAIR_OFFSET:
            self.code(f"ldrd {values[0]}, {values[1]}, [%weights, #{offset}]")
            return
        for index, value in enumerate(values):
            self.code(f"ldr {value}, [%weights, #{offset + 4 * index}]")


def _loaded(word: int) -> str:
    return f"%w{word % 4}"


def _row(multiply: _Multiply, activations: _Words, weights: _Weights, width: int, start: int, count: int) -> None:
    """Steps of 1 column: the second output of two begins in the upper half of the first word of activations, and the next two
    begin a word further. They come first: the outputs before them load weights in place of theirs."""
    own = width // 2 + 1 if count > 1 else (width + 1) // 2  # words that one or two outputs see
    words = own + int(count > 2)
    for word in range(words):
        value = f"%x{word % 2}"
        if word % 2 == 0:
            activations.load(("%x0", "%x1")[: words - word], start + 4 * word)
        for first in (2, 0) if count > 2 else (0,):
            if 0 <= word - first // 2 < own:
                _meet(multiply, SUMS[first : min(first + 2, count)], value, weights, width, word - first // 2)


def _meet(multiply: _Multiply, sums: tuple[str, ...], value: str, weights: _Weights, width: int, word: int) -> None:
    """A word of activations, for one or two outputs their word of this number."""
    middle, is_odd = divmod(width, 2)
    second = sums[1:]
    if second and word:
        is_last = not is_odd and word == middle
        multiply("smlabt" if is_last else "smlad", sums[1], value, weights(width - 2 if is_last else 2 * word - 1))
    if word < middle or width == 1:
        multiply("smlad", sums[0], value, weights(2 * word))
    elif is_odd:
        multiply("smlabt", sums[0], value, weights(width - 2))
    if second and not word:
        multiply("smlatb", sums[1], value, weights(0))


def _even_row(multiply: _Multiply, activations: _Words, weights: _Weights, steps: int, start: int, count: int) -> None:
    """Steps of 2 columns: a word meets the weights of this step for the first output, and the weights of earlier steps for the
    others."""
    words = steps + count - 1
    for word in range(words):
        value = f"%x{word % 2}"
        if word % 2 == 0:
            activations.load(("%x0", "%x1")[: words - word], start + 4 * word)
        for output in reversed(range(count)):
            if 0 <= word - output < steps:
                multiply("smlad", SUMS[output], value, weights(word - output))
