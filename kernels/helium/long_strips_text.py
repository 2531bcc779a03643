# SPDX-License-Identifier: MIT
"""The assembly of long_strips.py: as strips_text.py, but a window is two vectors."""

from __future__ import annotations

from . import planes_text
from .assembly import BYTE_REACH, walk
from .levels_text import TOTALS
from .long_strips import VECTORS, LongStrips
from .strips_text import StripsPrinter


class LongStripsPrinter(StripsPrinter):
    """As the base, but q0, q1: the window at its first place, q2, q3: one row further; while copying r7: where rows are stored
    a third time."""

    copies = StripsPrinter.taps + 16 * VECTORS

    def __init__(self, form: LongStrips):
        super().__init__(form)
        self.targets = ("r1", "r3", "r7")[: form.copies_of_row]

    def _window(self) -> None:
        emit, shape, taps = self.emit, self.shape, self.form.taps_of_patch
        for vector in range(VECTORS):
            mask = sum(1 << lane for lane, tap in enumerate(taps[16 * vector : 16 * (vector + 1)]) if tap >= 0)
            emit(f"movw r1, #{mask}", "vmsr p0, r1", f"vldrb.u8 q5, [r2, #{self.taps + 16 * vector}]")
            emit("vpst", f"vldrbt.u8 q{vector}, [r10, q5]")
        emit.add("r10", "r10", shape.kernel_height * shape.kernel_width * (1 + self.form.halves))
        if self.form.stride == 1:
            emit("movs r0, #0", why="what is shifted out of the first vector goes into the second")
            for vector in range(VECTORS):  # of halves nothing is
                emit(f"vmov q{2 + vector}, q{vector}", f"vshlc q{2 + vector}, r0, #8")

    def _sums(self, outputs: tuple[int, int], is_begun: bool) -> list[str]:
        emit, form = self.emit, self.form
        loads, used = form.accesses(outputs)
        step = form.steps(form.axes[0])[0]
        once = 1 + form.halves  # a patch is multiplied twice
        accesses, rest = walk("r1", 0, [offset for offset, *_ in loads[::once]], BYTE_REACH, step)
        accesses = [access for access in accesses for _ in range(once)]
        registers = ("q5", "q7")
        for position, ((_, half, vector, places), access) in enumerate(zip(loads, accesses)):
            register = registers[half]
            if not (form.halves and vector):
                if access.before:
                    emit.move("r1", access.before)
                emit(f"vldrb.u8 {register}, {access.address}")
            for place in places:
                window = vector + VECTORS * (place // 2 if form.stride == 1 else 0)
                emit(f"vmladav{'a' * (vector > 0)}.s8 {TOTALS[place]}, q{window}, {register}")
            if position + 1 == len(loads) or loads[position + 1][1] != half:
                emit(*([f"vmov {register}[2], {register}[0], r0, r2"] if {0, 1} & set(used[half]) else []))
                emit(*([f"vmov {register}[3], {register}[1], r4, r6"] if {2, 3} & set(used[half]) else []))
        emit.move("r1", rest)
        return [register for register, places in zip(registers, used) if places]


def text_of(form: LongStrips) -> str:
    """The C text of the function."""
    return planes_text.text_of(form, LongStripsPrinter(form))
