# SPDX-License-Identifier: MIT
"""Sums of rows of bytes times data and state: 4 rows at a time, bytes widened where they are met.

A word of weights holds one column of 4 rows, those of even rows with their highest bit flipped: w0 + 128, w1, w2 + 128, w3. Its
halfwords are 256 w1 + w0 + 128 and 256 w3 + w2 + 128, and those of the word shifted by a byte, highest bits flipped, are
256 w0 + 128 and 256 w2 + w1 + 128. So SMLAW gives four products of a 32-bit number with the bytes as they lie, whose sums are
256 S0, 256 S1 + S0, 256 S2 + S1, 256 S3 + S2, each with 128 times the sum of all numbers, which is taken off before.
Where data are bytes, a word holds two columns of 2 rows, and SMLAD takes the halfwords of two data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from .assembly import Routine
from .packing import quads

ROWS = 4
FLIPPED = 0x80
MOST_BYTES = 232  # columns whose sum of (256 w + 255) (x - zero point), and 128 times that of 4095 data, are below 2^31
_LONGEST = 32  # columns in the text
_MOST_QUADS = {False: 8, True: 2}  # loads of 4 columns in the text, where data are bytes; of short texts
_PRICE = {False: 0.05, True: 1.0}  # of an instruction in the text, in instructions of a group; of short texts
_SAVED_BYTES = 36 + 56  # r4-r11, lr, s16-s29
_WEIGHTS, _DATA = ("r9", "r10", "r11"), ("r0", "r1", "r12", "lr")  # of columns of 32-bit numbers
PARAMETERS = (
    "const int32_t *x, float *sums, const int32_t *stream, const int32_t *end, const int32_t *state, "
    "const aidge_cortexm_recurrent_units *units"
)


def _cost(columns: int, block: int, is_short: bool) -> float:
    """Instructions for the columns of a group in blocks, and the price of those in the text."""
    whole, rest = divmod(columns, block)
    one, last = (-(-part // 3) + -(-part // 4) + 5 * part for part in (block, rest))
    return whole * (one + 3 * (whole > 1)) + last + _PRICE[is_short] * (one + last)


def _block(columns: int, is_short: bool) -> int:
    """How many columns stand in the text as one turn of the loop."""
    return min(range(1, min(columns, _LONGEST) + 1), key=lambda block: _cost(columns, block, is_short))


@dataclass(frozen=True)
class Sums:
    """The product of a section: how many `data` it multiplies, which are bytes or not, and how many numbers of the `state`."""

    data: int
    are_bytes: bool
    state: int
    is_bounded: bool  # the unit of the state is part of its factors
    is_short: bool = False  # few columns in the text

    @property
    def name(self) -> str:
        data = f"_{self.data}_{'bytes' if self.are_bytes else 'reals'}" if self.data else ""
        return f"aidge_cortexm_row_sums{data}{self._state}{'_short' * self.is_short}"

    @property
    def _state(self) -> str:
        return f"_{self.state}_{'bounded' if self.is_bounded else 'state'}" if self.state else ""

    def text(self) -> str:
        """The C text."""
        code = Routine({})
        self._begin(code)
        code.label(1, "a group of 4 rows")
        if self.data:
            (self._bytes if self.are_bytes else self._real_data)(code)
        if self.state:
            _wide(code, self.state, "s17", "s22, s23", "s28", 3, self.is_short)
            if not self.data:
                code("vldmia r2!, {{s4-s7}}", "biases")
            _add(code, "" if self.is_bounded else "s24")
        code("vmov r0, r1, s18, s19")
        code("vstmia r1!, {{s4-s7}}")
        code("vmov s19, r1")
        code("cmp r2, r0")
        code("bne 1b")
        code("vpop {{s16-s29}}")
        code("pop {{r4-r11, pc}}")
        return code.function(
            self.name,
            PARAMETERS,
            "Groups of 4 rows: biases, and sums of bytes times data and state times factors.",
            f"aidge_cortexm_row_sums_c(x, sums, stream, end, state, units, {self.data}, {int(self.are_bytes)}, {self.state}, "
            f"{int(self.is_bounded)});",
        )

    def _begin(self, code: Routine) -> None:
        code("push {{r4-r11, lr}}")
        code("vpush {{s16-s29}}")
        code(f"ldrd r4, r5, [sp, #{_SAVED_BYTES}]", "state, units")
        code("vmov s16, s17, r0, r4")
        code("vmov s18, s19, r3, r1", "end, sums")
        code("vldm r5, {{s20-s25}}")
        for place, base, count in ((27, "r0", self.data), (28, "r4", self.state)):
            if count and not (place == 27 and self.are_bytes):
                code(f"add {base}, {base}, #{4 * (count - count % _block(count, self.is_short))}")
                code(f"vmov s{place}, {base}")
        code.constant("r8", 0x80808080)

    def _real_data(self, code: Routine) -> None:
        _wide(code, self.data, "s16", "s20, s21", "s27", 2, self.is_short)
        code("vldmia r2!, {{s4-s7}}", "biases")
        _add(code, "s25")

    def _bytes(self, code: Routine) -> None:
        """Data as pairs of halfwords."""
        code("vmov r3, s16")
        for first in range(0, self.data, MOST_BYTES):
            pairs = -(-min(self.data - first, MOST_BYTES) // 2)
            _pair_sums(code, pairs, "" if first else "s20, s21", 10 + first // MOST_BYTES, self.is_short)
            code("sub r5, r5, r4")
            code("sub r7, r7, r6")
            if not first:
                code("vldmia r2!, {{s4-s11}}", "biases, factors")
            _to_real(code)
            for row in range(ROWS):
                code(f"vfma.f32 s{4 + row}, s{row}, s{8 + row}")


def _pair_sums(code: Routine, count: int, start: str, label: int, is_short: bool) -> None:
    """The four sums of as many pairs of columns."""
    quads, rest = divmod(count, 2)
    block = _quads(quads, is_short)
    is_loop = quads >= 2 * block > 0
    if is_loop:
        _start(code, start)
        code(f"mov lr, #{quads // block}")
        code.label(label, f"{2 * block} pairs of columns")
        for _ in range(block):
            _pairs(code, 2)
        code("subs lr, lr, #1")
        code(f"bne {label}b")
        quads %= block
    else:
        code(f"vmov lr, {start.split(',')[0]}" if start else "mov lr, #0", "what sums begin with")
    for place, pairs in enumerate([2] * quads + [1] * rest):
        _pairs(code, pairs, has_begun=is_loop or place > 0)


def _pairs(code: Routine, count: int, has_begun: bool = True) -> None:
    """Of 4 rows as many pairs of columns, 1 or 2; sums that have not begun begin with lr."""
    words, data = ("r9", "r10", "r11", "r12")[: 2 * count], ("r0", "r1")[:count]
    code(f"ldmia r2!, {{{{{', '.join(words)}}}}}")
    code("ldmia r3!, {{r0, r1}}" if count == 2 else "ldr r0, [r3], #4")
    for place, word in enumerate(words):
        value, low = data[place // 2], 4 + 2 * (place % 2)
        first = not has_begun and place < 2
        code(f"smlad r{low + 1}, {value}, {word}, {'lr' if first else f'r{low + 1}'}")
        code(f"uxtb16 {word}, {word}")
        code(f"smlad r{low}, {value}, {word}, {'lr' if first else f'r{low}'}")


def _quads(count: int, is_short: bool) -> int:
    """How many of as many loads of 2 pairs stand in the text as one turn of the loop: the fewest turns."""
    return max((block for block in range(1, min(count, _MOST_QUADS[is_short]) + 1) if count % block <= 1), default=0)


def _start(code: Routine, pair: str) -> None:
    """Four sums that begin with what both registers hold, or with 0."""
    for total in (4, 6):
        if pair:
            code(f"vmov r{total}, r{total + 1}, {pair}")
        else:
            code(f"movs r{total}, #0")
            code(f"movs r{total + 1}, #0")


def _to_real(code: Routine) -> None:
    code("vmov s0, s1, r4, r5")
    code("vmov s2, s3, r6, r7")
    for row in range(ROWS):
        code(f"vcvt.f32.s32 s{row}, s{row}")


def _wide(code: Routine, count: int, base: str, start: str, end: str, label: int, is_short: bool) -> None:
    """The four sums of `count` columns of 32-bit numbers."""
    block = _block(count, is_short)
    code(f"vmov r3, {base}")
    _start(code, start)
    if count >= 2 * block:
        code.label(label, f"{block} columns")
    _columns(code, block)
    if count >= 2 * block:
        code(f"vmov r9, {end}")
        code("cmp r3, r9")
        code(f"bne {label}b")
    _columns(code, count % block)
    for total in (5, 6, 7):
        code(f"sub r{total}, r{total}, r{total - 1}, asr #8")


def _columns(code: Routine, count: int) -> None:
    for column in range(count):
        for pointer, registers in (("r2", _WEIGHTS), ("r3", _DATA)):
            if column % len(registers) == 0:
                _load(code, pointer, registers[: count - column])
        word, value = _WEIGHTS[column % len(_WEIGHTS)], _DATA[column % len(_DATA)]
        code(f"smlawb r5, {value}, {word}, r5")
        code(f"smlawt r7, {value}, {word}, r7")
        code(f"eor {word}, r8, {word}, lsl #8")
        code(f"smlawb r4, {value}, {word}, r4")
        code(f"smlawt r6, {value}, {word}, r6")


def _load(code: Routine, pointer: str, registers: tuple[str, ...]) -> None:
    if len(registers) == 1:
        code(f"ldr {registers[0]}, [{pointer}], #4")
    else:
        code(f"ldmia {pointer}!, {{{{{', '.join(registers)}}}}}")


def _add(code: Routine, unit: str) -> None:
    """The sums times factors, and times the unit where there is one, to s4-s7."""
    code("vldmia r2!, {{s8-s11}}", "factors")
    _to_real(code)
    for row in range(ROWS if unit else 0):
        code(f"vmul.f32 s{row}, s{row}, {unit}")
    for row in range(ROWS):
        code(f"vfma.f32 s{4 + row}, s{row}, s{8 + row}")


def words_of_columns(rows: numpy.ndarray) -> numpy.ndarray:
    """Of 4 rows of int8 a word for each column."""
    return numpy.ascontiguousarray(_flipped(rows).T).view(numpy.int32).reshape(-1)


def words_of_pairs(rows: numpy.ndarray) -> numpy.ndarray:
    """Of 4 rows of int8 two words for each pair of columns, of 4 the first with the third; weight 0 behind an odd number."""
    padded = _flipped(numpy.pad(rows, ((0, 0), (0, rows.shape[1] % 2))))
    pairs = padded[:, quads(rows.shape[1] // 4 * 4) + list(range(rows.shape[1] // 4 * 4, padded.shape[1]))]
    pairs = pairs.reshape(2, 2, -1, 2).transpose(2, 0, 3, 1)  # [pair, rows, column, row]
    return numpy.ascontiguousarray(pairs).reshape(-1).view(numpy.int32)


def _flipped(rows: numpy.ndarray) -> numpy.ndarray:
    found = rows.view(numpy.uint8).copy()
    found[::2] ^= FLIPPED
    return found.view(numpy.int8)


def most_bits(rows: numpy.ndarray) -> int:
    """The most bits of 32-bit numbers whose sums of products by such rows, over 2^16, int32 holds whatever they are."""
    wide = 256 * numpy.abs(rows.astype(numpy.int64)) + 255 + 128  # with what is taken off before
    largest = int(wide.sum(axis=1).max(initial=1))
    return min(30, ((1 << 47) // largest).bit_length() - 1)


def bounded_text(bits: int) -> tuple[str, str]:
    """Name and text of the conversion of a state within +-1 to integers of as many bits, with a bit to spare."""
    name, code = f"aidge_cortexm_recurrent_bounded_{bits}", Routine({})
    code("push {{r4-r7}}")
    code("movs r12, #0")
    code("subs r3, r3, #4")
    code("blt 2f")
    code.label(1, "4 values")
    code("vldmia r2!, {{s0-s3}}")
    for value in range(4):
        code(f"vcvt.s32.f32 s{value}, s{value}, #{bits - 1}")
    code("vmov r4, r5, s0, s1")
    code("vmov r6, r7, s2, s3")
    code("stmia r1!, {{r4-r7}}")
    for value in range(4, 8):
        code(f"sub r12, r12, r{value}, asr #9")
    code("subs r3, r3, #4")
    code("bge 1b")
    code.label(2)
    code("adds r3, r3, #4")
    code("beq 4f")
    code.label(3, "the values left over")
    code("vldmia r2!, {{s0}}")
    code(f"vcvt.s32.f32 s0, s0, #{bits - 1}")
    code("vmov r4, s0")
    code("str r4, [r1], #4")
    code("sub r12, r12, r4, asr #9")
    code("subs r3, r3, #1")
    code("bne 3b")
    code.label(4)
    code("str r12, [r0, #8]")
    code("str r12, [r0, #12]")
    code("pop {{r4-r7}}")
    code("bx lr")
    return name, code.function(
        name,
        "aidge_cortexm_recurrent_units *units, int32_t *integers, const float *values, int32_t count",
        "A state within +-1 or hardly more as integers, and what sums of products by them begin with.",
        f"aidge_cortexm_recurrent_bounded_c(units, integers, values, count, {2.0 ** (bits - 1):.1f}f);",
    )
