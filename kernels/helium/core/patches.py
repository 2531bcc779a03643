# SPDX-License-Identifier: MIT
"""Windows laid out one after the other, each padded to whole vectors: for layers with few input channels."""

from __future__ import annotations

from dataclasses import dataclass

from ..sums.product import LANES
from .assembly import BYTE_REACH, Assembler, function, walk

ROW_POINTERS = ("r0", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10")


@dataclass(frozen=True)
class Patches:
    """Windows `pixel_step` bytes apart, of `rows` x `taps` runs of `run` bytes each."""

    pixel_step: int
    rows: int
    row_step: int
    taps: int
    tap_step: int
    run: int

    @property
    def bytes(self) -> int:
        """The bytes of one window."""
        return self.rows * self.taps * self.run

    @property
    def vectors(self) -> int:
        return -(-self.bytes // LANES)

    @property
    def name(self) -> str:
        return f"aidge_helium_patches_{self.pixel_step}_{self.rows}x{self.row_step}_{self.taps}x{self.tap_step}_{self.run}"

    @property
    def instructions(self) -> int:
        """The instructions of one window, nearly."""
        return 2 * len(self._pieces()) + 2

    def _pieces(self) -> list[tuple[int, int, int]]:
        """(row, source offset, target offset) of each vector that is copied, in order."""
        return [
            (row, row * self.row_step + tap * self.tap_step + first, (row * self.taps + tap) * self.run + first)
            for row in range(self.rows)
            for tap in range(self.taps)
            for first in range(0, self.run, LANES)
        ]

    def text(self) -> str:
        """The C text."""
        return function(
            self.name,
            f"Windows of {self.bytes} bytes side by side; whole vectors are copied, the next copy overwrites what is too much.",
            "const int8_t *x, int8_t *y, int32_t pixels",
            self._lines(),
        )

    def _lines(self):
        emit, pieces = Assembler(), self._pieces()
        pointers = self.rows if self.rows <= len(ROW_POINTERS) else 1
        homes = [row * self.row_step for row in range(pointers)]
        emit("push {r4-r11, lr}", "dls lr, r2")
        for index in reversed(range(pointers)):
            emit.add(ROW_POINTERS[index], "r0", homes[index])
        source = [row if pointers > 1 else 0 for row, _, _ in pieces]
        loads: dict[int, object] = {}
        ends = []
        for index in range(pointers):
            positions = [position for position, pointer in enumerate(source) if pointer == index]
            accesses, end = walk(
                ROW_POINTERS[index], homes[index], [pieces[position][1] for position in positions], BYTE_REACH, self.pixel_step
            )
            loads.update(zip(positions, accesses))
            ends.append(end)
        stores, last = walk("r1", 0, [target for _, _, target in pieces], BYTE_REACH, self.vectors * LANES)
        emit.label(1)
        for position, store in enumerate(stores):
            if loads[position].before:
                emit.add(ROW_POINTERS[source[position]], ROW_POINTERS[source[position]], loads[position].before)
            emit(f"vldrb.u8 q{position % 2}, {loads[position].address}")
            if store.before:
                emit.add("r1", "r1", store.before)
            emit(f"vstrb.8 q{position % 2}, {store.address}")
        for index, end in enumerate(ends):
            emit.add(ROW_POINTERS[index], ROW_POINTERS[index], end)
        emit.add("r1", "r1", last)
        emit("le lr, 1b", "pop {r4-r11, pc}")
        return emit.lines
