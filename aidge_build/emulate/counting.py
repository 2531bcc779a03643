# SPDX-License-Identifier: MIT
"""The rules of counting.h in Python, for machines without a C compiler: the same numbers, some thirty times slower."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aidge_build.emulate.program import NO_ADDRESS


@dataclass
class Counting:
    """Counts of one program run; `layers` holds one count per slot of `addresses` (sorted, equal ones are merged layers)."""

    run_address: int
    limit: int
    addresses: Sequence[int]
    read_link: Callable[[], int]
    main_address: int = NO_ADDRESS
    total: int = 0
    inside_run: int = 0
    before_main: int = 0
    runs: int = 0
    endless_loop: int = 0
    over_limit: bool = False
    layers: list[int] = field(default_factory=list)
    running: bool = False

    def __post_init__(self) -> None:
        self.layers = [0] * len(self.addresses)
        self._slots: dict[int, list[int]] = {}
        for slot, address in enumerate(self.addresses):
            self._slots.setdefault(address, []).append(slot)
        self._turns: dict[int, int] = {}
        self._return_address = 0
        self._current: int | None = None

    def block(self, address: int, instructions: int) -> None:
        """A basic block of `instructions` starts at `address`."""
        if self.running and address == self._return_address:
            self.running, self._current = False, None
        if address == self.run_address:
            self.running, self._current, self._turns = True, None, {}
            self._return_address = self.read_link() & ~1
            self.runs += 1
        if address == self.main_address and not self.before_main:
            self.before_main = self.total
        self.total += instructions
        self.over_limit = self.total > self.limit
        if self.running:
            self._count_inside(address, instructions)

    def _count_inside(self, address: int, instructions: int) -> None:
        slots = self._slots.get(address)
        if slots:
            turn = self._turns.get(address, 0)
            self._turns[address] = turn + 1
            self._current = slots[turn % len(slots)]
        self.inside_run += instructions
        if self._current is not None:
            self.layers[self._current] += instructions


def count_thumb(code: bytes) -> int:
    """The number of Thumb instructions: a first halfword that starts with 0b11101, 0b11110 or 0b11111 has a second one."""
    position = count = 0
    while position < len(code):
        position += 4 if code[position + 1] >> 3 >= 0x1D else 2
        count += 1
    return count
