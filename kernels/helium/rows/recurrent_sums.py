# SPDX-License-Identifier: MIT
"""Sums of rows of bytes times data and state: 16 products in an instruction; 32-bit numbers as three digits of 8 bits.

A group of 4 rows: biases; their bytes for the data, row by row, what the data's zero point adds to the sums if data are bytes,
and factors; their bytes for the state, and factors.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.assembly import Assembler, function

DIGITS = 3
BLOCK = 16  # values whose digits lie together
BITS = 22  # the highest digit is within int8, too
PARAMETERS = (
    "const int8_t *x, float *sums, const int32_t *stream, const int32_t *end, const int8_t *state, "
    "const aidge_helium_recurrent_units *units"
)


def digit_bytes(count: int) -> int:
    """The bytes of the digits of so many values."""
    return -(-count // BLOCK) * BLOCK * DIGITS


@dataclass(frozen=True)
class Sums:
    """The product of a section: how many `data` it multiplies, which are bytes or not, and how many numbers of the `state`."""

    data: int
    are_bytes: bool
    state: int

    @property
    def name(self) -> str:
        data = f"_{self.data}_{'bytes' if self.are_bytes else 'reals'}" if self.data else ""
        return f"aidge_helium_row_sums{data}{f'_{self.state}_state' if self.state else ''}"

    def text(self) -> str:
        """The C text."""
        return function(
            self.name,
            "Groups of 4 rows: biases, and sums of bytes times data and state times factors.",
            PARAMETERS,
            self._lines(),
        )

    def _lines(self):
        emit = Assembler()
        emit("%enter")
        emit.label("group")
        emit("vldrw.u32 q5, [%stream], #16", why="biases")
        if self.data:
            (_bytes if self.are_bytes else _digits)(emit, self.data, "x")
            _add(emit, None if self.are_bytes else 0)
        if self.state:
            emit("ldr %state_of, [%argument.4]")
            _digits(emit, self.state, "state_of")
            _add(emit, 4)
        emit("vstrw.32 q5, [%sums], #16", "cmp %stream, %end", "bne %group")
        emit("%leave")
        return emit.lines


def _add(emit: Assembler, unit: int | None) -> None:
    """Adds the sums in q4 times factors, and times the unit at this offset, to q5."""
    emit("vcvt.f32.s32 q4, q4")
    if unit is not None:
        emit("ldr %units_of, [%argument.5]", f"ldr %unit, [%units_of, #{unit}]", "vmul.f32 q4, q4, %unit")
    emit("vldrw.u32 q0, [%stream], #16", "vfma.f32 q5, q4, q0", why="factors")


def _bytes(emit: Assembler, count: int, source: str) -> None:
    """The sums of 4 rows into q4."""
    emit(f"movw %count, #{count}", f"mov %from, %{source}", "mov %row0, %stream")
    emit(*(f"add %row{row}, %row{row - 1}, %count" for row in range(1, 4)), "add %stream, %row3, %count")
    emit(*(f"mov %total{row}, #0" for row in range(4)), "dlstp.8 lr, %count")
    emit.label("bytes")
    emit("vldrb.u8 q0, [%from], #16")
    for row in range(4):
        emit(f"vldrb.u8 q1, [%row{row}], #16", f"vmladava.s8 %total{row}, q0, q1")
    emit("letp lr, %bytes")
    emit(*(f"vmov q4[{2 + row}], q4[{row}], %total{row}, %total{row + 2}" for row in range(2)))
    emit("vldrw.u32 q0, [%stream], #16", "vadd.i32 q4, q4, q0", why="what the zero point adds")


def _digits(emit: Assembler, count: int, source: str) -> None:
    """The sums of 4 rows over 256 into q4: two rows at a time meet all digits."""
    rows = {"first": [f"%first{digit}" for digit in range(DIGITS)], "second": [f"%second{digit}" for digit in range(DIGITS)]}
    for pair in range(2):
        emit(f"movw %count, #{count}", f"mov %from, %{source}")
        emit("mov %first, %stream", "add %second, %stream, %count, lsl #1")
        emit(f"add %stream, %{'second' if pair else 'stream'}, %count")
        emit(*(f"mov {total}, #0" for totals in rows.values() for total in totals), "dlstp.8 lr, %count")
        emit.label(f"{source}{pair}")
        emit("vldrb.u8 q1, [%from, #16]", "vldrb.u8 q2, [%from, #32]", "vldrb.u8 q0, [%from], #48")
        for row, totals in rows.items():
            emit(f"vldrb.u8 q3, [%{row}], #16")
            emit(*(f"vmladava.s8 {total}, q{digit}, q3" for digit, total in enumerate(totals)))
        emit(f"letp lr, %{source}{pair}")
        for low, middle, high in rows.values():
            emit(f"add {middle}, {middle}, {high}, lsl #8", f"add {middle}, {middle}, {low}, asr #8")
        emit(f"vmov q4[{2 + pair}], q4[{pair}], %first1, %second1")
