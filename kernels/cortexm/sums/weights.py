# SPDX-License-Identifier: MIT
"""The encodings of weights in a stream. Each is one value: it says which weights fit, packs them, and prints the steps that
multiply them. The tables at the end say which encodings a layer may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import HIGH_SHIFT, Linear
from aidge_build.operators.arithmetic.thresholds import MOST_EXTRA

from ..core.assembly import Routine
from ..core.conditions import GROUP
from .packed_sums import NIBBLE_BITS, are_rounded_small, fit_halfwords, fit_offsets, fit_sums

FIRST = [f"{{a{index}}}" for index in range(GROUP)]  # sums of a row, or of the first of two pixels
SECOND = [f"{{b{index}}}" for index in range(GROUP)]  # weights that meet a row, or sums of the second pixel
LOADS = {  # of a word of weights for each of so many outputs
    1: "ldr {b0}, [{stream}], #4",
    2: "ldrd {b0}, {b1}, [{stream}], #8",
    3: "ldm {stream}!, {{r8-r10}}",
    4: "ldm {stream}!, {{r8-r11}}",
}
NIBBLE_OFFSETS = numpy.array([[8], [8], [0], [8]])  # of the channels of a group
QUAD = [0, 2, 1, 3]  # the order in which SXTB16 unpacks a word of 4 taps

Taps = Sequence[str]  # registers of pairs of taps
Pixel = tuple[str, Sequence[str], Sequence[str]]  # a pair of taps, registers of sums, and of what is added to (none: "")
Word = tuple[str, int, Sequence[Pixel]]  # a register of weights, its first channel, the pixels that it multiplies


@dataclass(frozen=True)
class Weights:
    """Halfwords, of which a word has a pair of taps. If they are packed, two channels share a halfword: 256 times the weight of
    the odd one, plus the weight of the even one. Sums of odd channels are then 256 times their own, plus the one before."""

    name: str  # in the names of functions
    note: str
    fact: str  # the note in few words
    quad_words: int  # of 4 taps of 4 channels
    fits: Callable[[Linear, list[list[int]]], bool] = lambda linear, groups: True  # whether these groups of channels can have it
    shared: int = 1  # so many channels share a word
    is_packed: bool = False
    even: str = "sxtb16"  # makes weights of even channels
    above: int = 0  # how much larger weights of odd channels are than in the stream
    paired_step: int = 0  # each so many-th channel can have products of pairs (paired_inputs.py); 0: none
    uses_w: bool = False  # w0 and w1 in the steps of a row
    is_sparse: bool = False  # blocks without weights are left out (sparse.py)
    family: str = ""  # in the names of functions whose instructions are predicted apart from others
    minus: int = 0  # sums need the sum of taps times this at the end (`less_sums`); 0: they do not

    @property
    def wants_sums(self) -> bool:
        """Whether sums of taps follow the taps."""
        return self.above > 0

    def words(self, rows: numpy.ndarray) -> list[int]:
        """Weights [channels, taps] of a group."""
        halves = 256 * (rows[1::2] - self.above) + rows[::2] if self.is_packed else rows
        return ((halves[:, 0::2] & 0xFFFF) | ((halves[:, 1::2] & 0xFFFF) << 16)).T.ravel().tolist()

    def multiplied(self, rows: numpy.ndarray) -> numpy.ndarray:
        """The weights of a group as the registers of its sums see them, for less_products."""
        return rows

    def starts(self, sums: Sequence[int], more: Sequence[int] = (0,) * GROUP) -> list[int]:
        """The registers of the sums of a group, with something `more` in their own units."""
        found: list[int] = []
        for own, other in zip(sums, more):
            carries = self.is_packed and len(found) % 2
            found.append(256 * own + other + found[-1] if carries else own + other)
        return found

    def starts_in_text(self, code: Routine) -> None:
        """The same of biases in b0..b3."""
        for even, odd in self._carried(SECOND):
            code(f"add {odd}, {even}, {odd}, lsl #{HIGH_SHIFT}")

    def separate(self, code: Routine, sums: Sequence[str]) -> None:
        """Registers of the sums of a group hold no others."""
        for even, odd in self._carried(sums):
            code(f"sub {odd}, {odd}, {even}")

    def _carried(self, sums: Sequence[str]) -> list[Sequence[str]]:
        return [sums[:2], sums[2:]] if self.is_packed else []

    def steps(self, pairs: Sequence[Sequence[Pixel]], registers: Sequence[str], outputs: int = GROUP) -> Iterator[list[Word]]:
        """The words of pairs of taps, of one pixel or two, as often as they fill the registers."""
        uses = [(channel, pixels) for pixels in pairs for channel in range(0, outputs, 2 if self.is_packed else 1)]
        for first in range(0, len(uses), len(registers)):
            yield [(register, *use) for register, use in zip(registers, uses[first:])]

    def multiply(self, code: Routine, words: Sequence[Word], spares: Sequence[str] = ()) -> None:
        """Products of words with a pair of taps of each pixel; `spares`: a register for each word that has no other use."""
        if self.is_packed:
            _add_products(code, words, 1)
            for register, *_ in words:
                code(f"{self.even} {register}, {register}")
        _add_products(code, words, 0)

    def row_step(self, code: Routine, taps: Taps, outputs: int = GROUP, is_paired: bool = False, in_run: bool = False) -> None:
        """Products of 4 inputs with so many outputs; `is_paired` as of a Stream; `in_run`: behind loads of words."""
        for words in self.steps([[(pair, FIRST, FIRST)] for pair in taps], SECOND[:outputs], outputs):
            if in_run and self.is_packed:
                # A load behind others takes one cycle, and one of several words a cycle more than they are.
                for index in (1, 2, 3):
                    code(f"ldr {SECOND[index]}, [{{stream}}, #{4 * index}]")
                code("ldr {b0}, [{stream}], #16")
            else:
                code(LOADS[outputs], "their weights for 4 outputs" if self.is_packed else "weights of each output")
            if not is_paired:
                self.multiply(code, words)
                continue
            _add_products(code, words, 1)
            for weight, other in zip(SECOND, (taps[1], taps[1], taps[0], taps[0])):
                code(f"{self.even.replace('t', 'ta')} {weight}, {other}, {weight}")
            code("smlad {a0}, {b0}, {b2}, {a0}")
            code("smlad {a2}, {b1}, {b3}, {a2}")


def _add_products(code: Routine, words: Sequence[Word], above: int) -> None:
    """In the sums of the channels `above` the first ones, where there are as many."""
    for register, first, pixels in words:
        for taps, sums, starts in pixels:
            if first + above < len(sums):
                total, start = sums[first + above], starts[first + above]
                code(f"smlad {total}, {register}, {taps}, {start}" if start else f"smuad {total}, {register}, {taps}")


@dataclass(frozen=True)
class Bytes(Weights):
    """The bytes of the model: a word has 4 taps of a channel. For rows alone."""

    def words(self, rows: numpy.ndarray) -> list[int]:
        """The words of taps in the order of `quads`."""
        words = rows.reshape(len(rows), -1, 4)[:, :, QUAD].astype(numpy.int8)
        return numpy.ascontiguousarray(words).view("<i4")[:, :, 0].T.ravel().tolist()

    def row_step(self, code: Routine, taps: Taps, outputs: int = GROUP, is_paired: bool = False, in_run: bool = False) -> None:
        code(LOADS[outputs], "weights of each output")
        for total, weight in zip(FIRST, SECOND[:outputs]):
            if is_paired:
                code(f"sxtab16 {{w0}}, {taps[1]}, {weight}")
                code(f"sxtab16 {weight}, {taps[0]}, {weight}, ror #8")
                code(f"smlad {total}, {{w0}}, {weight}, {total}")
            else:
                code(f"sxtb16 {{w0}}, {weight}")
                code(f"sxtb16 {weight}, {weight}, ror #8")
                code(f"smlad {total}, {{w0}}, {taps[0]}, {total}")
                code(f"smlad {total}, {weight}, {taps[1]}, {total}")


@dataclass(frozen=True)
class Nibbles(Weights):
    """Four weights in a halfword: bits 0 to 3 are of channel 0, 4 to 7 of channel 3, 8 to 11 of channel 1, 12 to 15 of channel 2.
    The last one is signed, the others are 8 more than the weights. The registers of a group hold these sums (s: of the bits of a
    channel):

    | register | sum                             | its weights in each half of the word w   |
    |----------|---------------------------------|------------------------------------------|
    | 0        | s0                              | w & 0x000f000f                           |
    | 1        | 256 * s1; of a row s0 more      | w & 0x0f000f00; of a row w & 0x0f0f0f0f  |
    | 2        | 16 * s2 + s1                    | the high byte of w                       |
    | 3        | 256 * register 2 + 16 * s3 + s0 | w                                        |
    """

    is_row: bool = False  # the sum of its taps waits elsewhere

    @property
    def wants_sums(self) -> bool:
        return not self.is_row

    def words(self, rows: numpy.ndarray) -> list[int]:
        halves = self.multiplied(rows)[3]
        return ((halves[0::2] & 0xFFFF) | ((halves[1::2] & 0xFFFF) << 16)).tolist()

    def multiplied(self, rows: numpy.ndarray) -> numpy.ndarray:
        return numpy.stack(self._in_registers(rows + NIBBLE_OFFSETS))

    def starts(self, sums: Sequence[int], more: Sequence[int] = (0,) * GROUP) -> list[int]:
        return self._in_registers([own + other for own, other in zip(sums, more)])

    def _in_registers(self, channels: Sequence) -> list:
        """Numbers of the 4 channels of a group as its registers hold them."""
        first, second, third, fourth = channels
        high = 16 * third + second
        return [first, 256 * second + first * self.is_row, high, 256 * high + 16 * fourth + first]

    def starts_in_text(self, code: Routine) -> None:
        code("add {b2}, {b1}, {b2}, lsl #4")
        code("add {b1}, {b0}, {b1}, lsl #8" if self.is_row else "lsl {b1}, {b1}, #8")
        code("add {b3}, {b0}, {b3}, lsl #4")
        code("add {b3}, {b3}, {b2}, lsl #8")

    def less_sums(self, code: Routine, sums: Sequence[str], minus: str) -> None:
        """Registers hold their own sums alone, of the weights; in `minus` is the sum of all taps, times -8."""
        first, second, third, fourth = sums
        code(f"sub {fourth}, {fourth}, {third}, lsl #8")
        code(f"sub {fourth}, {fourth}, {first}")
        if self.is_row:
            code(f"sub {second}, {second}, {first}")
        code(f"sub {third}, {third}, {second}, asr #8")
        code(f"add {fourth}, {minus}, {fourth}, asr #4")
        code(f"add {second}, {minus}, {second}, asr #8")
        code(f"asr {third}, {third}, #4")
        code(f"add {first}, {first}, {minus}")

    def steps(self, pairs: Sequence[Sequence[Pixel]], registers: Sequence[str], outputs: int = GROUP) -> Iterator[list[Word]]:
        yield [(register, 0, pixels) for register, pixels in zip(registers, pairs)]

    def multiply(self, code: Routine, words: Sequence[Word], spares: Sequence[str] = ()) -> None:
        """The products of columns."""
        moved = [(spare, 0, pixels) for spare, (_, _, pixels) in zip(spares, words)]
        pairs = [(spare, word) for spare, (word, _, _) in zip(spares, words)]
        for spare, word in pairs:
            code(f"sxtb16 {spare}, {word}, ror #8")
        _add_products(code, words, 3)
        _add_products(code, moved, 2)
        for spare, word in pairs:
            code(f"and {spare}, {word}, #0x0f000f00")
            code(f"and {word}, {word}, #0x000f000f")
        _add_products(code, moved, 1)
        _add_products(code, words, 0)

    def row_step(self, code: Routine, taps: Taps, outputs: int = GROUP, is_paired: bool = False, in_run: bool = False) -> None:
        weights, parts = SECOND[:2], SECOND[2:]
        whole, halves = ([(one, 0, [(pair, FIRST, FIRST)]) for one, pair in zip(ones, taps)] for ones in (weights, parts))

        def add_parts(channel: int, extend: str, rotation: str = "") -> None:
            """Bytes of the weights times their taps, or with those of the other pair times each other."""
            for part, weight, other in zip(parts, weights, reversed(taps)):
                code(
                    f"{extend}tab16 {part}, {other}, {weight}{rotation}"
                    if is_paired
                    else f"{extend}tb16 {part}, {weight}{rotation}"
                )
            if is_paired:
                code(f"smlad {FIRST[channel]}, {parts[0]}, {parts[1]}, {FIRST[channel]}")
            else:
                _add_products(code, halves, channel)

        if in_run:  # as of all weights
            code("ldr {b1}, [{stream}, #4]")
            code("ldr {b0}, [{stream}], #8")
        else:
            code(LOADS[2], "their weights for 4 outputs")
        add_parts(2, "sx", ", ror #8")
        _add_products(code, whole, 3)
        for weight in weights:
            code(f"and {weight}, {weight}, #0x0f0f0f0f")
        _add_products(code, whole, 1)
        add_parts(0, "ux")


def fit_nibbles(rows: numpy.ndarray, start: int, most: int) -> bool:
    """Whether 256 times any sum of taps of at most `most`, from `start` + MOST_EXTRA on, with weights 8 larger fits a word."""
    largest = most * int((rows + 8).sum(axis=1).max())
    return 257 * (largest + start + MOST_EXTRA) < 1 << 31


def _fit_nibbles(linear: Linear, groups: list[list[int]]) -> bool:
    are_small = linear.bits <= NIBBLE_BITS and bool(are_rounded_small(linear).all())
    return are_small and fit_nibbles(linear.rows, int(numpy.abs(linear.bias).max()), 128)


def _fit_packed(linear: Linear, groups: list[list[int]]) -> bool:
    return fit_halfwords(linear.rows, groups, linear.is_any) and fit_sums(linear, groups)


def _want_offsets(linear: Linear, groups: list[list[int]]) -> bool:
    fit_without = fit_halfwords(linear.rows, groups, False) and not linear.is_any
    return not fit_without and fit_offsets(linear.rows) and fit_sums(linear, groups)


WIDE = Weights("wide", "int16 weights", "int16", 8)
BYTES = Bytes("bytes", "int8 weights", "int8", 4, paired_step=1, uses_w=True)
NIBBLES = Nibbles(
    "w4", "four weights per halfword", "4 per halfword", 2, _fit_nibbles, shared=4, paired_step=2, family="_nibbles", minus=-8
)
BITS = Weights("w1", "8 weights per byte", "8 per byte", 0, family="_bits")  # they stand elsewhere (fc_bits.py)
ROW_NIBBLES = replace(NIBBLES, is_row=True)
PACKED = Weights("packed", "two weights per halfword", "2 per halfword", 4, _fit_packed, shared=2, is_packed=True, paired_step=2)
OFFSETS = replace(PACKED, note=f"{PACKED.note}, an offset for each channel", fits=_want_offsets, even="uxtb16", above=128)

# In order of preference: the last one fits all weights.
OF_PIXELS = (NIBBLES, OFFSETS, PACKED, WIDE)
OF_ROWS = (ROW_NIBBLES, OFFSETS, PACKED, BYTES, WIDE)
OF_FEW_OUTPUTS = (BYTES, WIDE)
