# SPDX-License-Identifier: MIT
"""float32 rows x outputs: four rows lie in the lanes, the weights are scalars.

One load gathers a value of four rows, one LDM loads the weights of up to twelve products, and with six outputs at a time two
values of four rows take 15 instructions for 48 multiply-accumulates, where the outputs in the lanes take 19 (strip.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Struct

from ..core.assembly import Assembler, function
from .real import clamp_lines
from .strip import GROUP, PIXELS, stream_of

LANES = 4
MOST_OUTPUTS = 6  # sums in registers, beside a value and the addresses
WEIGHTS = 12  # r0 to r11
PARAMETERS = "const float *x, float *y, const float *stream, const float *limits, const aidge_helium_gathered_float32 *shape"
SAVED = 36 + 64  # bytes of registers: the shape's address lies behind them
# Places on the stack: addresses of a value and of an output in four rows, the begin of the weights, rows left, steps, loops.
INPUTS, OUTPUTS, STREAM, ROWS, STEP, NEXT, LIMITS, COUNT, GROUPS, TURNS, MORE_GROUPS, MORE_TURNS = 0, 16, *range(32, 72, 4)
STACK = 72


@dataclass(frozen=True)
class Group:
    """So many outputs at a time, of rows of so many values behind whole turns of the loop."""

    outputs: int
    rest: int

    @classmethod
    def of(cls, outputs: int, values: int) -> Group:
        return cls(outputs, values % turn(outputs))

    def instructions(self, values: int) -> int:
        """For four rows, nearly."""
        each = self.outputs + 1 + 1 / (WEIGHTS // self.outputs)
        return round(values * each + values / turn(self.outputs) + 3 * self.outputs + 17)


def turn(outputs: int) -> int:
    """Values of a turn of the loop: those of two loads of weights."""
    return 2 * (WEIGHTS // outputs)


@dataclass(frozen=True)
class Gathered:
    """Groups of outputs, and `more`, smaller ones, behind them. `clamp`: "" for none, "relu" or "limits". `whole`: there
    are always four rows."""

    group: Group
    more: Group | None
    clamp: str
    whole: bool

    @classmethod
    def best(cls, rows: int, outputs: int, values: int, clamp: str) -> tuple[Gathered, tuple[int, int]]:
        """The form with the fewest instructions for so many outputs, and how many groups of both kinds it has."""

        def instructions(sizes: tuple[int, int], counts: tuple[int, int]) -> int:
            return sum(count * Group.of(size, values).instructions(values) for size, count in zip(sizes, counts) if count)

        sizes, counts = min(_divisions(outputs), key=lambda division: (instructions(*division), division))
        more = Group.of(sizes[1], values) if counts[1] else None
        return cls(Group.of(sizes[0], values), more, clamp, rows % LANES == 0), counts

    @property
    def name(self) -> str:
        """Tells all that the text depends on."""
        parts = "_and_".join(f"{part.outputs}{f'_rest_{part.rest}' * (part.rest > 0)}" for part in self.groups)
        return f"aidge_helium_gathered_float32_{parts}{'_whole' * self.whole}{f'_{self.clamp}' * (self.clamp != '')}"

    @property
    def groups(self) -> list[Group]:
        return [self.group, *([self.more] if self.more else [])]

    def stream(self, rows: numpy.ndarray, bias: numpy.ndarray, counts: tuple[int, int]) -> numpy.ndarray:
        """Weights [outputs, values] and biases as they are read."""
        first = counts[0] * self.group.outputs
        parts = [stream_of(rows[:first], bias[:first], self.group.outputs)]
        return numpy.concatenate(parts + ([stream_of(rows[first:], bias[first:], self.more.outputs)] if self.more else []))

    def shape(self, rows: int, values: int, outputs: int, counts: tuple[int, int], gap: int) -> Struct:
        """The struct that the text reads; `gap` values are between two rows of outputs."""
        step, more = 4 * (outputs + gap), self.more.outputs if self.more else self.group.outputs
        return Struct(
            "aidge_helium_gathered_float32",
            {
                "rows": rows,
                "input_step": 4 * values,
                "output_step": step,
                "next": LANES * step - 4 * outputs,
                "groups": counts[0],
                "turns": values // turn(self.group.outputs),
                "more_groups": counts[1],
                "more_turns": values // turn(more),
            },
        )

    def text(self) -> str:
        """The C text."""
        return function(self.name, "Rows of values of float32, four at a time.", PARAMETERS, _Printer(self).lines())


def pays(rows: int, values: int, outputs: int) -> bool:
    """Whether fewer instructions are expected than with the outputs in the lanes."""
    form, counts = Gathered.best(rows, outputs, values, "")
    four = sum(count * group.instructions(values) for group, count in zip(form.groups, counts))
    groups, left = -(-outputs // GROUP), rows % PIXELS
    beside = (0.0, 4.25, 7.0)[left] * values + 35 if left else 0
    return -(-rows // LANES) * (four + 16) < groups * (rows // PIXELS * (9.5 * values + 46) + beside)


def _divisions(outputs: int) -> Iterable[tuple[tuple[int, int], tuple[int, int]]]:
    """Sizes of groups and of smaller ones behind them, and how many there are of each."""
    for size in range(1, MOST_OUTPUTS + 1):
        for more in range(1, size + 1):
            for groups in range(1, outputs // size + 1):
                if (outputs - groups * size) % more == 0:
                    yield (size, more), (groups, (outputs - groups * size) // more)


class _Printer:
    """Prints one function. r0 to r11: weights, r12: where the next ones are, lr: loops, q6: values, q7: addresses, each 4 bytes
    before what is wanted next."""

    def __init__(self, form: Gathered):
        self.form, self.emit = form, Assembler()

    def lines(self):
        emit = self.emit
        emit.enter(STACK)
        emit(f"ldr r4, [sp, #{STACK + SAVED}]", f"str r2, [sp, #{STREAM}]", f"str r3, [sp, #{LIMITS}]", why="shape")
        emit("ldrd r5, r6, [r4]", "ldrd r7, r8, [r4, #8]", "ldrd r9, r10, [r4, #16]", "ldrd r11, r12, [r4, #24]")
        emit(f"strd r9, r10, [sp, #{GROUPS}]", f"strd r11, r12, [sp, #{MORE_GROUPS}]")
        emit("subs r0, #4", "subs r1, #4", "movs r2, #0", "vidup.u32 q0, r2, #1", why="0, 1, 2, 3")
        emit("vmul.i32 q1, q0, r7", "vadd.i32 q1, q1, r1", f"vstrw.32 q1, [sp, #{OUTPUTS}]")
        emit("vmul.i32 q0, q0, r6", "vdup.32 q7, r0", "vctp.32 r5", "vpst", "vaddt.i32 q7, q7, q0", why="rows that are")
        emit("lsls r6, r6, #2", f"strd r5, r6, [sp, #{ROWS}]", f"str r8, [sp, #{NEXT}]")
        emit.label(1)
        emit(f"vstrw.32 q7, [sp, #{INPUTS}]", f"ldr r12, [sp, #{STREAM}]", why="four rows")
        for group, count, turns in zip(self.form.groups, (GROUPS, MORE_GROUPS), (TURNS, MORE_TURNS)):
            emit(f"ldr r0, [sp, #{count}]")
            emit.label(2)
            emit(f"str r0, [sp, #{COUNT}]", why="a group of outputs")
            self._sums(group, turns)
            self._clamp(group.outputs)
            self._store(group.outputs)
            emit(f"ldr r0, [sp, #{COUNT}]", "subs r0, #1", "bne 2b")
        emit(f"ldrd r5, r6, [sp, #{ROWS}]", f"ldr r7, [sp, #{NEXT}]", "subs r5, #4", "ble 9f")
        emit(f"str r5, [sp, #{ROWS}]", "vadd.i32 q7, q7, r7", f"vstrw.32 q7, [sp, #{OUTPUTS}]")
        emit(f"vldrw.u32 q7, [sp, #{INPUTS}]", "vctp.32 r5", "vpst", "vaddt.i32 q7, q7, r6", "b 1b")
        emit.label(9)
        emit.leave(STACK)
        return emit.lines

    def _sums(self, group: Group, turns: int) -> None:
        emit, together = self.emit, WEIGHTS // group.outputs
        emit(f"vldrw.u32 q7, [sp, #{INPUTS}]")
        self._weights(1, group.outputs)
        emit(*(f"vdup.32 q{output}, r{output}" for output in range(group.outputs)))
        emit(f"ldr lr, [sp, #{turns}]", "wls lr, lr, 4f")
        emit.label(3)
        for _ in range(2):
            self._values(together, group.outputs)
        emit("le lr, 3b")
        emit.label(4)
        for left in range(group.rest, 0, -together):
            self._values(min(left, together), group.outputs)

    def _weights(self, values: int, outputs: int) -> None:
        if values * outputs == 1:
            self.emit("ldr r0, [r12], #4")
        else:
            self.emit(f"ldm r12!, {{{', '.join(f'r{number}' for number in range(values * outputs))}}}")

    def _values(self, values: int, outputs: int) -> None:
        self._weights(values, outputs)
        for value in range(values):
            self.emit("vldrw.u32 q6, [q7, #4]!")
            self.emit(*(f"vfma.f32 q{output}, q6, r{value * outputs + output}" for output in range(outputs)))

    def _clamp(self, outputs: int) -> None:
        emit, clamp = self.emit, self.form.clamp
        if clamp == "limits":
            emit(f"ldr r0, [sp, #{LIMITS}]", "ldrd r0, r1, [r0]")
        elif clamp:
            emit("vmov.i32 q6, #0")
        for output in range(outputs):
            emit(*clamp_lines(clamp, f"q{output}", "r0" if clamp == "limits" else "q6", "r1"))

    def _store(self, outputs: int) -> None:
        """Stores the outputs of rows that exist."""
        emit = self.emit
        emit(f"vldrw.u32 q7, [sp, #{OUTPUTS}]")
        if self.form.whole:
            emit(*(f"vstrw.32 q{output}, [q7, #4]!" for output in range(outputs)), f"vstrw.32 q7, [sp, #{OUTPUTS}]")
            return
        emit(f"ldr r0, [sp, #{ROWS}]", "vctp.32 r0")
        for first in range(0, outputs, 4):
            block = range(first, min(outputs, first + 4))
            emit(f"vps{'t' * len(block)}", *(f"vstrwt.32 q{output}, [q7, #4]!" for output in block))
        emit(f"vstrw.32 q7, [sp, #{OUTPUTS}]")
