# SPDX-License-Identifier: MIT
"""Sums of rows of bytes times data and state, both 32-bit integers: 4 rows at a time, bytes widened where they are met.

A word of weights holds one column of 4 rows, the bytes of even rows with their highest bit flipped: w0 + 128, w1, w2 + 128,
w3. Its halfwords are 256 w1 + w0 + 128 and 256 w3 + w2 + 128. The halfwords of the word shifted by a byte, highest bits
flipped, are 256 w0 + 128 and 256 w2 + w1 + 128. So SMLAW gives four products of a 32-bit number with the bytes, and the sums
are 256 S0, 256 S1 + S0, 256 S2 + S1, 256 S3 + S2, each with 128 times the sum of all numbers, which is taken off before.

A group of 4 rows: biases; for the data, then for the state, the words of columns and the factors of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.recurrent_int8 import ROWS

from ..core.assembly import Routine
from ..core.float32 import listed, values

FLIPPED = 0x80
MOST = 24  # columns in the text of a loop
PARAMETERS = (
    "const int32_t *x, float *sums, const int32_t *stream, const int32_t *end, const int32_t *state, "
    "const aidge_cortexm_recurrent_units *units"
)
_SUMS = [f"%sum{row}" for row in range(ROWS)]
_REAL, _TOTALS, _FACTORS = (values(name, ROWS) for name in ("real", "total", "factor"))


@dataclass(frozen=True)
class Sums:
    """The product of a section: how many `data` it multiplies, and how many numbers of the `state`."""

    data: int
    state: int

    @property
    def name(self) -> str:
        return f"aidge_cortexm_row_sums_{self.data}_{self.state}"

    def text(self) -> str:
        """The C text."""
        code = Routine()
        code("%enter.floats")
        code.constant("%flip", 0x80808080)
        code.label("group", "4 rows")
        code(f"vldmia %stream!, {listed(_REAL)}", "biases")
        for place, (values_of, count) in enumerate((("%x", self.data), ("%state", self.state))):
            if count:
                _side(code, values_of, count, place)
        code(f"vstmia %sums!, {listed(_REAL)}")
        code("cmp %stream, %end")
        code("bne %group")
        code("%leave")
        return code.function(
            self.name,
            PARAMETERS,
            "Groups of 4 rows: biases, and sums of bytes times data and state times factors.",
        )


def _side(code: Routine, values_of: str, count: int, place: int) -> None:
    """Adds the sums over `count` columns, times unit and factors."""
    turns = -(-count // MOST)
    block = count // turns
    code("ldr %units_of, [%argument.5]")
    code(f"ldr {_SUMS[0]}, [%units_of, #{4 * place}]")
    code(f"vldr %s.unit, [%units_of, #{8 + 4 * place}]")
    for total in _SUMS[1:]:
        code(f"mov {total}, {_SUMS[0]}")
    code(f"mov %from, {values_of}" if values_of == "%x" else "ldr %from, [%argument.4]")
    if turns > 1:
        code.constant("%last", 4 * block * turns)
        code("add %last, %last, %from")
        code("put %last")
        code.label(f"columns{place}", f"{block} columns")
    _columns(code, block)
    if turns > 1:
        code("get %last")
        code("cmp %from, %last")
        code(f"bne %columns{place}")
    _columns(code, count % turns)
    for row in range(1, ROWS):
        code(f"sub {_SUMS[row]}, {_SUMS[row]}, {_SUMS[row - 1]}, asr #8")
    for row in range(0, ROWS, 2):
        code(f"vmov {', '.join((*_TOTALS[row : row + 2], *_SUMS[row : row + 2]))}")
    code(f"vldmia %stream!, {listed(_FACTORS)}")
    for text in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, %s.unit", "vfma.f32 {1}, {0}, {2}"):
        for row in range(ROWS):
            code(text.format(_TOTALS[row], _REAL[row], _FACTORS[row]))


def _columns(code: Routine, count: int) -> None:
    words, numbers = ["%word0", "%word1", "%word2"], ["%value0", "%value1", "%value2", "%value3"]
    for column in range(count):
        for pointer, names in (("%stream", words), ("%from", numbers)):
            if column % len(names) == 0:
                _load(code, pointer, names[: count - column])
        word, value = words[column % len(words)], numbers[column % len(numbers)]
        code(f"smlawb %sum1, {value}, {word}, %sum1")
        code(f"smlawt %sum3, {value}, {word}, %sum3")
        code(f"eor {word}, %flip, {word}, lsl #8")
        code(f"smlawb %sum0, {value}, {word}, %sum0")
        code(f"smlawt %sum2, {value}, {word}, %sum2")


def _load(code: Routine, pointer: str, names: list[str]) -> None:
    code(f"ldr {names[0]}, [{pointer}], #4" if len(names) == 1 else f"ldmia {pointer}!, {listed(names)}")


def words_of_columns(rows: numpy.ndarray) -> numpy.ndarray:
    """A word for each column of 4 rows of int8."""
    found = rows.view(numpy.uint8).copy()
    found[::2] ^= FLIPPED
    return numpy.ascontiguousarray(found.T).view(numpy.int32).reshape(-1)


def most_bits(rows: numpy.ndarray) -> int:
    """The most bits of 32-bit numbers whose sums of products by such rows, over 2^16, int32 holds for all such numbers."""
    wide = 256 * numpy.abs(rows.astype(numpy.int64)) + 255 + 128  # with what is taken off before
    largest = int(wide.sum(axis=1).max(initial=1))
    return min(30, ((1 << 47) // largest).bit_length() - 1)
