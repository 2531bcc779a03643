# SPDX-License-Identifier: MIT
"""Sums of rows of bytes times data and state: 16 products in an instruction; 32-bit numbers as three digits of 8 bits.

A group of 4 rows: their bytes for the data, row by row, those for the state, and vectors of 4 numbers: what the data's zero point
adds to the sums, where data are bytes, biases, factors of the data, factors of the state.
"""

from __future__ import annotations

from dataclasses import dataclass

from .assembly import Assembler, function

ROWS = 4
DIGITS = 3
BLOCK = 16  # values whose digits lie together
BITS = 22  # the highest digit is within int8, too
PARAMETERS = (
    "const int8_t *x, float *sums, const int32_t *stream, const int32_t *end, const int8_t *state, "
    "const aidge_helium_recurrent_units *units"
)
_X, _SUMS, _END, _STATE, _UNITS = range(0, 20, 4)  # places on the stack
_FRAME = 24
_DATA_UNIT, _STATE_UNIT = 0, 4  # in units
_SAVED_BYTES = 36 + 64  # r4-r11, lr and d8-d15


def digit_bytes(count: int) -> int:
    """Of the digits of as many values."""
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
            f"    aidge_helium_row_sums(x, sums, stream, end, state, units, {self.data}, {int(self.are_bytes)}, {self.state});",
        )

    def _lines(self):
        emit = Assembler()
        emit("push {r4-r11, lr}", "vpush {d8-d15}", f"sub sp, #{_FRAME}")
        emit(f"ldrd r4, r5, [sp, #{_FRAME + _SAVED_BYTES}]", why="state, units")
        emit(f"strd r0, r1, [sp, #{_X}]", f"strd r3, r4, [sp, #{_END}]", f"str r5, [sp, #{_UNITS}]", "mov r1, r2")
        emit.label(1)
        if self.data and self.are_bytes:
            _bytes(emit, self.data)
        elif self.data:
            _digits(emit, self.data, _X, "q5")
        if self.state:
            _digits(emit, self.state, _STATE, "q4")
        self._finish(emit)
        emit(f"ldr r3, [sp, #{_SUMS}]", "vstrw.32 q0, [r3], #16", f"str r3, [sp, #{_SUMS}]")
        emit(f"ldr r3, [sp, #{_END}]", "cmp r1, r3", "bne 1b")
        emit(f"add sp, #{_FRAME}", "vpop {d8-d15}", "pop {r4-r11, pc}")
        return emit.lines

    def _finish(self, emit: Assembler) -> None:
        if self.data and self.are_bytes:
            emit("vldrw.u32 q0, [r1], #16", "vadd.i32 q5, q5, q0")
        emit("vldrw.u32 q0, [r1], #16", f"ldr r3, [sp, #{_UNITS}]", why="biases")
        sides = [("q5", "" if self.are_bytes else _DATA_UNIT)] if self.data else []
        sides += [("q4", _STATE_UNIT)] if self.state else []
        for sums, unit in sides:
            emit(f"vcvt.f32.s32 {sums}, {sums}")
            if unit != "":
                emit(f"ldr r4, [r3, #{unit}]", f"vmul.f32 {sums}, {sums}, r4")
            emit("vldrw.u32 q1, [r1], #16", f"vfma.f32 q0, {sums}, q1", why="factors")


def _bytes(emit: Assembler, count: int) -> None:
    """The sums of 4 rows into q5."""
    emit(f"ldr r11, [sp, #{_X}]", f"movw r12, #{count}")
    emit("mov r3, r1", "add r5, r3, r12", "add r7, r5, r12", "add r9, r7, r12", "add r1, r9, r12")
    emit(*(f"movs r{total}, #0" for total in (0, 2, 4, 6)))
    emit("dlstp.8 lr, r12")
    emit.label(2)
    emit("vldrb.u8 q0, [r11], #16")
    for total, row in ((0, "r3"), (2, "r5"), (4, "r7"), (6, "r9")):
        emit(f"vldrb.u8 q1, [{row}], #16", f"vmladava.s8 r{total}, q0, q1")
    emit("letp lr, 2b")
    emit("vmov q5[2], q5[0], r0, r4", "vmov q5[3], q5[1], r2, r6")


def _digits(emit: Assembler, count: int, place: int, target: str) -> None:
    """The sums of 4 rows over 256: two rows at a time meet all digits."""
    for pair in range(2):
        label = 3 + pair + 2 * (place == _X)
        emit(f"ldr r9, [sp, #{place}]", f"movw r12, #{count}")
        if pair == 0:
            emit("mov r5, r1", "add r7, r1, r12, lsl #1", "add r1, r1, r12")
        else:
            emit("mov r5, r1", "add r7, r1, r12, lsl #1", "add r1, r7, r12")
        emit(*(f"mov{'s' * (total < 8)} r{total}, #0" for total in (0, 2, 4, 6, 8, 10)))
        emit("dlstp.8 lr, r12")
        emit.label(label)
        emit("vldrb.u8 q1, [r9, #16]", "vldrb.u8 q2, [r9, #32]", "vldrb.u8 q0, [r9], #48")
        for row, totals in (("r5", (0, 2, 4)), ("r7", (6, 8, 10))):
            emit(f"vldrb.u8 q3, [{row}], #16")
            emit(*(f"vmladava.s8 r{total}, q{digit}, q3" for digit, total in enumerate(totals)))
        emit(f"letp lr, {label}b")
        for low in (0, 6):
            emit(f"add r{low + 2}, r{low + 2}, r{low + 4}, lsl #8", f"add r{low + 2}, r{low + 2}, r{low}, asr #8")
        emit(f"vmov {target}[{2 + pair}], {target}[{pair}], r2, r8")
