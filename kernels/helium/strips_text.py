# SPDX-License-Identifier: MIT
"""The assembly of strips.py: as planes_text.py, but each row is stored twice, and patches are runs of bytes."""

from __future__ import annotations

from collections.abc import Sequence

from . import planes_text
from .planes_text import PlanesPrinter
from .strips import MOST_CHUNKS, REACH, Strips

MOST_PREDICATED = 4  # instructions behind one VPST
GATHERS = ("q5", "q4", "q3", "q2")  # places of the pixels of vectors side by side


class StripsPrinter(PlanesPrinter):
    """As the base, but q4: the multiplier; while copying r3: where rows are stored once more, r4: the step to the next row,
    r6: bytes of a strip, q0 to q3: places of pixels in a row of a strip."""

    stores, pixels, taps, copies = 0, 16, 32, 48
    targets, counter = ("r1", "r3"), "r4"

    @property
    def shifts(self) -> tuple[tuple[int, ...], int]:
        return ((32,), 8) if self.form.stride == 1 else ((32, 16), 0)

    def _offsets(self) -> None:
        self.emit(f"vldrh.u16 q6, [r4, #{self.stores}]")

    def _copy(self) -> None:
        emit, form = self.emit, self.form
        emit("ldrd r1, r2, [sp]", f"vldr{'h.u16' if form.together == 8 else 'b.u8'} q5, [r2, #{self.pixels}]")
        is_stored_twice = form.rows_of_strip % 2 == 0 or form.shape.top % 2 == 0
        for before, target in zip(self.targets, self.targets[1:]):
            emit.add(target, before, 2 - form.strip_bytes if is_stored_twice else 0)
        if form.periods:
            self._copy_image()
        else:
            self._copy_rows()

    def _copy_rows(self) -> None:
        emit, shape, form = self.emit, self.shape, self.form
        (rows, columns), together, size = form.copied, form.together, form.strip_bytes
        bits = 128 // together
        apart = form.rows_of_strip
        emit("movs r0, #0", *([] if apart == 4 else [f"movs r4, #{apart}"]))
        moves = form.chunks > MOST_CHUNKS  # all vectors share the places of the first one, and the targets move on
        beside = apart * together if moves else 0
        for chunk in range(1 if moves else form.chunks):
            emit(f"vidup.u{bits} q{chunk}, r0, #{4 if apart == 4 else 1}")
            emit(*([] if apart == 4 else [f"vmul.i{bits} q{chunk}, q{chunk}, r4"]))
        step = together * shape.channels
        emit(*([f"movw r0, #{step}"] if form.gathers > 1 else []))
        emit(*(f"vadd.i{bits} {GATHERS[number]}, {GATHERS[number - 1]}, r0" for number in range(1, form.gathers)))
        left = columns % together
        if left:
            emit(f"movs r0, #{left}", f"vctp.{bits} r0")
        if apart == 3 and not moves:
            self._copy_pairs(step)
            return
        back = (form.chunks - 1) * beside
        self._constant("r6", size - 2 * back)
        self._constant("r4", (size - 1 if shape.top % 2 else 1) - back)
        emit(f"movw r0, #{rows}", "dls lr, r0")
        emit.label(2)
        self._copy_row(self.targets, step, beside)
        steps, other = [f"add {target}, {target}, r4" for target in self.targets], "sub r4, r6, r4"
        emit(*([*steps, other] if apart % 2 == 0 else [steps[0], other, steps[1]]), "le lr, 2b")

    def _copy_pairs(self, step: int) -> None:
        """In strips of three rows an even row is the first of one and the last of the one before; an odd one goes to r4."""
        emit, form = self.emit, self.form
        turns, is_left = divmod(form.copied[0], 2)
        orders = [("r1", "r3"), ("r4",)]
        if form.shape.top % 2:
            orders.reverse()
            emit("mov r4, r1")
            emit.add("r1", "r4", form.strip_bytes - 1)
            emit.add("r3", "r4", 1)
        else:
            emit.add("r4", "r1", 1)
        if turns > 1:
            emit(f"movw r0, #{turns}", "dls lr, r0")
            emit.label(2)
        for targets in orders if turns else ():
            self._copy_row(targets, step, 0)
        if turns > 1 or is_left:
            for target in ("r1", "r3", "r4"):
                emit.add(target, target, form.strip_bytes)
        if turns > 1:
            emit("le lr, 2b")
        if is_left:
            self._copy_row(orders[0], step, 0)

    def _copy_row(self, targets: Sequence[str], step: int, beside: int) -> None:
        """One row of the image; vectors are `step` bytes apart, and where they go `beside`, or where their own places say."""
        emit, shape, form = self.emit, self.shape, self.form
        bits, whole = 128 // form.together, form.copied[1] // form.together
        for chunk in range(form.chunks):
            is_masked = chunk == whole
            mark, number = "t" if is_masked else "", chunk % form.gathers
            emit.add("r11", "r11", form.gathers * step if chunk and number == 0 else 0)
            copied = [f"vldrb{mark}.u{bits} q7, [r11, {GATHERS[number]}]"]
            copied += [f"vadd{mark}.i{bits} q7, q7, r8"] if self.flips else []
            copied += [f"vstrb{mark}.{bits} q7, [{register}, q{0 if beside else chunk}]" for register in targets]
            for first in range(0, len(copied), MOST_PREDICATED):
                some = copied[first : first + MOST_PREDICATED]
                emit(*([f"vps{'t' * len(some)}"] if is_masked else []), *some)
            for register in targets:
                emit.add(register, register, beside if chunk + 1 < form.chunks else 0)
        emit.add("r11", "r11", shape.in_width * shape.channels - (form.chunks - 1) // form.gathers * form.gathers * step)

    def _constant(self, register: str, value: int) -> None:
        self.emit(f"movw {register}, #{value & 0xFFFF}", *([f"movt {register}, #0xFFFF"] if value < 0 else []))

    def _patch(self, register: str, products: list[str], step: int) -> None:
        is_near = 0 < abs(step) <= REACH
        self.emit(f"vldrw.u32 {register}, [r1]{f', #{step}' if is_near else ''}", *products)
        if not is_near:
            self.emit.move("r1", step)


def text_of(form: Strips) -> str:
    """The C text of the function."""
    return planes_text.text_of(form, StripsPrinter(form))
