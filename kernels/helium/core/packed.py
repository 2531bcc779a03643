# SPDX-License-Identifier: MIT
"""Weights of 4, 2 or 1 bits that share bytes: 16 bytes hold 8 / bits vectors of weights, the first one in the highest bits.

A shift of all bytes to the left brings the next vector of weights to the top.

| way | multiplied with | instructions for 8 / bits vectors, loads included |
|---|---|---|
| joint | all weights that are still in the bytes | 8 / bits, as for bytes |
| whole | each weight alone, the last ones times 2^(8 - bits) | 2 for each but the last, which takes 1 |
| single | each weight alone, as a number of 8 bits | 2 for each; 3 if weights have one bit |
| signs | each weight alone: 16 bits say where a vector has -1 | 5 for each vector; 9 for one with fewer `lanes` |

Joint bytes are the sums of weight * 2^place. From the product of each shift 1 / 2^bits of the next product is subtracted, once
for each sum: the difference is 2^(8 - bits) times the sum. The lowest number of so many bits is no weight then.

One bit holds -1 as 1, and 1 as 0. The difference of such products is 2^6 * (sum - next sum), and the last product lacks 2^6 times
the sum of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import fewest_bits
from aidge_build.contract.spec import NodeView

from .assembly import Assembler

LANES = 16
UNSIGNED = 8  # by which weights of 4 bits are larger that are multiplied with unsigned data
MOST_TAPS = 1 << 15  # products of bytes whose sums fit 32 bits
FEWEST_JOINT = 3  # vectors of a sum
JOINT, WHOLE, SINGLE, SIGNS = "joint", "whole", "single", "signs"


def bits_of_weights(view: NodeView, weights: numpy.ndarray) -> int:
    """Returns the bits that a weight of the layer shall take in flash."""
    return fewest_bits(weights) if view.packs_weights else 8


def are_symmetric(weights: numpy.ndarray, bits: int) -> bool:
    """Whether sums of shifted weights fit their byte: the lowest number of so many bits is no weight."""
    return bits == 1 or int(weights.min(initial=0)) > -(1 << bits - 1)


@dataclass(frozen=True)
class Packing:
    """How vectors of weights share bytes: `bits` of each, and the way in which they are multiplied. `lanes`: weights of the last
    vector of a run, after which signs leave 0."""

    bits: int
    way: str
    lanes: int = LANES

    @property
    def name(self) -> str:
        """The part of a function's name that says so."""
        return f"_packed_{self.bits}_{self.way}" + f"_{self.lanes}" * (self.lanes < LANES)

    @property
    def note(self) -> str:
        """The part of a description that says so."""
        return f", weights of {self.bits} bit{'s' * (self.bits > 1)}"

    @property
    def together(self) -> int:
        """Vectors of weights in a vector of bytes."""
        return 8 // self.bits

    @property
    def place_of_bytes(self) -> int:
        """Which of two vectors of weights has the register that holds the bytes of both first."""
        return 0 if self.way == JOINT else 1

    @property
    def scale(self) -> int:
        """The exponent of two by which the sums of `emit_sums` are too large."""
        return 0 if self.way != JOINT else 6 if self.bits == 1 else 8 - self.bits

    def vectors(self, weights: numpy.ndarray) -> numpy.ndarray:
        """Returns the bytes [vectors, 16] of weights [vectors, 16] in the order in which they are multiplied with; two bytes of
        signs for each vector."""
        if self.way == SIGNS:
            return numpy.packbits(weights < 0, axis=1, bitorder="little").view(numpy.int8)
        digits = numpy.zeros((-(-len(weights) // self.together) * self.together, LANES), numpy.int64)
        digits[: len(weights)] = weights >> 1 if self.bits == 1 else weights
        if self.bits == 1 or self.way != JOINT:
            digits &= (1 << self.bits) - 1
        places = 8 - self.bits * numpy.arange(1, self.together + 1)
        return (digits.reshape(-1, self.together, LANES) << places[:, None]).sum(axis=1).astype(numpy.uint8).view(numpy.int8)

    def begun(self, bias: numpy.ndarray) -> numpy.ndarray:
        """Returns the numbers with which the sums of a vector of data begin, so that `emit_sums` leaves sums with their bias."""
        found, last = bias.astype(numpy.int64) << self.scale, self.together - 1
        if self.way == WHOLE:
            found[last :: self.together] <<= 8 - self.bits
        for position in reversed(range(len(bias) if self.way == JOINT else 0)):
            if position % self.together != last:
                following = int(bias[position + 1]) << self.scale if self.bits == 1 else 0
                found[position] += (found[position + 1] >> self.bits) - following
        return found

    def emit_weights(self, emit: Assembler, place: int, packed: str, target: str, ones: str = "") -> str:
        """Prints how the weights at this place in `packed` become a vector, and returns its register; `ones` holds bytes of 1."""
        if place:
            emit(f"vshl.i8 {target}, {packed}, #{self.bits * place}")
        found = target if place else packed
        if self.way == JOINT or self.way == WHOLE and place == self.together - 1:
            return found
        emit(f"vshr.s8 {target}, {found}, #{8 - self.bits}", *([f"vorr {target}, {target}, {ones}"] if self.bits == 1 else []))
        return target

    def emit_signs(self, emit: Assembler, address: str, target: str, is_last: bool) -> None:
        """Weights -1 and 1 from the signs at an address, of the last vector of a run or another; changes the predicate."""
        emit(f"ldrh %signs, {address}", "vmsr p0, %signs", f"vmov.i8 {target}, #1", "vpst", f"vmovt.i8 {target}, #255")
        if is_last and self.lanes < LANES:
            emit(f"movw %signs, #{0xFFFF << self.lanes & 0xFFFF}", "vmsr p0, %signs", "vpst", f"vmovt.i8 {target}, #0")

    def emit_sums(self, emit: Assembler, sums: Sequence[str], total: str) -> None:
        """Products become sums, 2^`scale` times as large; `total` is the sum of the data, for joint weights of one bit."""
        for first in range(0, len(sums), self.together):
            part = sums[first : first + self.together]
            pairs = list(zip(part, part[1:])) if self.way == JOINT else []
            emit(*(f"sub {upper}, {upper}, {lower}, asr #{self.bits}" for upper, lower in pairs))
            if self.way == WHOLE:
                emit(f"asrs {part[-1]}, {part[-1]}, #{8 - self.bits}")
            if self.way == JOINT and self.bits == 1:
                emit(f"add {part[-1]}, {part[-1]}, {total}, lsl #{self.scale}")
                emit(*(f"add {upper}, {upper}, {lower}" for upper, lower in reversed(pairs)))

    def emit_pair(self, emit: Assembler, first: str, second: str) -> None:
        """Vectors with products of weights of 4 bits, the first and the second ones in the bytes, become sums."""
        emit(f"vshr.s32 {second}, {second}, #4", why="weights of 4 bits are 16 times as large in their bytes")
        if self.way == JOINT:
            emit(f"vsub.i32 {first}, {first}, {second}", f"vshr.s32 {first}, {first}, #4")

    def loads(self, vectors: int) -> int:
        """Returns the instructions that load so many vectors of weights, nearly."""
        of_a_vector = {JOINT: 1.0, WHOLE: 2 - 1 / self.together, SINGLE: 2 + (self.bits == 1), SIGNS: 5}[self.way]
        return round(of_a_vector * vectors)

    def instructions_of_pair(self, vectors: int) -> int:
        """How many more than bytes weights of two sums take, of so many vectors each."""
        return self.loads(2 * vectors) - 2 * vectors + {JOINT: 3, WHOLE: 1}.get(self.way, 0)


def of_pairs(view: NodeView, weights: numpy.ndarray, vectors: int, is_signed: bool = True) -> Packing | None:
    """How the weights [outputs, ...] of two channels share bytes, in sums of so many vectors. None: they do not."""
    bits = bits_of_weights(view, weights)
    if bits == 8 or LANES * vectors > MOST_TAPS:
        return None
    is_joint = not is_signed or vectors >= FEWEST_JOINT and are_symmetric(weights, 4)
    return Packing(4, JOINT if is_joint else WHOLE)
