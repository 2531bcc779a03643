# SPDX-License-Identifier: MIT
"""Sums of a depthwise layer in assembly: two neighbouring outputs of one channel."""

from __future__ import annotations

from .assembly import Routine
from .depthwise_layout import Depthwise

REGISTERS = {
    "words": "r0",
    "output": "r1",
    "sum0": "r2",
    "sum1": "r3",
    "x0": "r10",
    "x1": "r11",
    "factor": "r12",
    "end": "lr",
    "bias": "lr",  # in a text of several outputs, where the end waits
    "weights": "r6",
    **{f"w{index}": f"r{4 + index}" for index in range(6)},
}
LARGEST_PAIR_OFFSET = 1020  # of a load of two words


def sums(code: Routine, layer: Depthwise, two: bool, place: int, keeps_bias: bool, advance: int = 0) -> None:
    """The sums of two neighbouring outputs (or of the first of them), whose activations begin at byte `place`. `keeps_bias`: the
    bias is in a register. `advance`: what the first load of a place 0 adds to the pointer, from which all others then differ."""
    if not keeps_bias:
        code.get("{sum0}, {sum1}" if two else "{sum0}", "bias")
    multiply, words = _Multiply(code, "bias" if keeps_bias else ""), _Words(code, advance)
    for row in range(layer.plane.kernel[0]):
        start = place + 4 * row * layer.plane.dilations[0] * layer.row_words
        weights = row * layer.row_weights
        if layer.overlaps:
            words.load(("x0", "x1"), start)
            multiply("smlad", "sum0", "x0", f"w{weights}")
            if two:
                multiply("smlatb", "sum1", "x0", f"w{weights}")
            multiply("smlabt", "sum0", "x1", f"w{weights + 1}")
            if two:
                multiply("smlad", "sum1", "x1", f"w{weights + 1}")
        elif layer.wide_stride:
            _strided_row(code, multiply, words, layer, start, weights, two)
        else:
            _dense_row(code, multiply, words, layer, start, weights, two)


class _Multiply:
    """Multiplications that are added to sums; the first one of each sum adds to `bias` where that is a register."""

    def __init__(self, code: Routine, bias: str):
        self.code, self.bias, self.begun = code, bias, {"sum0", "sum1"} if not bias else set()

    def __call__(self, operation: str, name: str, activations: str, weights: str) -> None:
        """One instruction."""
        addend = name if name in self.begun else self.bias
        self.begun.add(name)
        self.code(f"{operation} {{{name}}}, {{{activations}}}, {{{weights}}}, {{{addend}}}")


class _Words:
    """Loads of activations; the first of them moves the pointer by `advance`, which offsets behind it take into account."""

    def __init__(self, code: Routine, advance: int):
        self.code, self.advance, self.moved = code, advance, 0

    def load(self, registers: tuple[str, ...], offset: int) -> None:
        """One or two neighbouring words from byte `offset` on."""
        if self.advance:
            place = f"], #{self.advance}"
            self.advance, self.moved = 0, self.advance
        else:
            offset -= self.moved
            place = f", #{offset}]"
        if len(registers) == 2 and offset <= LARGEST_PAIR_OFFSET:
            self.code(f"ldrd {{{registers[0]}}}, {{{registers[1]}}}, [{{words}}{place}")
        elif len(registers) == 2:
            for index, register in enumerate(registers):
                self.code(f"ldr {{{register}}}, [{{words}}, #{offset + 4 * index}]")
        else:
            self.code(f"ldr {{{registers[0]}}}, [{{words}}{place}")


def _dense_row(
    code: Routine, multiply: _Multiply, activations: _Words, layer: Depthwise, start: int, weights: int, two: bool
) -> None:
    for word in range(layer.steps):
        if word % 2 == 0:
            activations.load(("x0", "x1")[: layer.steps - word], start + 4 * word)
        even, odd = f"w{weights + 2 * word}", f"w{weights + 2 * word + 1}"
        if not layer.in_registers:
            even, odd = "w0", "w1"
            _load_weights(code, 4 * (weights + 2 * word), 2)
        multiply("smlad", "sum0", f"x{word % 2}", even)
        if two:
            multiply("smlad", "sum1", f"x{word % 2}", odd)


def _strided_row(
    code: Routine, multiply: _Multiply, activations: _Words, layer: Depthwise, start: int, weights: int, two: bool
) -> None:
    words = layer.steps + int(two)
    for word in range(words):
        if word % 2 == 0:
            activations.load(("x0", "x1")[: words - word], start + 4 * word)
        # the word meets the weights of this step for the first output, and those of the step before for the second
        current, before = f"w{word % 2}", f"w{(word + 1) % 2}"
        if layer.in_registers:
            current, before = f"w{weights + word}", f"w{weights + word - 1}"
        if word < layer.steps:
            if not layer.in_registers:
                code(f"ldr {{{current}}}, [{{weights}}, #{4 * (weights + word)}]")
            multiply("smlad", "sum0", f"x{word % 2}", current)
        if two and word:
            multiply("smlad", "sum1", f"x{word % 2}", before)


def _load_weights(code: Routine, offset: int, count: int) -> None:
    if offset <= LARGEST_PAIR_OFFSET:
        code(f"ldrd {{w0}}, {{w1}}, [{{weights}}, #{offset}]")
    else:
        for index in range(count):
            code(f"ldr {{w{index}}}, [{{weights}}, #{offset + 4 * index}]")
