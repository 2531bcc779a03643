# SPDX-License-Identifier: MIT
"""Counts blocks in Unicorn by a hook in Python, on machines without a compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import unicorn
from unicorn import arm_const

from aidge_build.prove.timing.estimate import Executed
from aidge_build.prove.timing.memory import flash_regions
from aidge_build.run.emulate.counting import Counting, Flow, thumb_sizes
from aidge_build.run.emulate.program import Program
from aidge_build.run.emulate.waits import FIRST_LOOK, NEVER


class PythonCounter:
    """`make_counter` says what it counts."""

    def __init__(self, machine: unicorn.Uc, program: Program, layer_addresses: Sequence[int]):
        self.counting = Counting(
            program.run_address,
            program.instruction_limit,
            layer_addresses,
            lambda: machine.reg_read(arm_const.UC_ARM_REG_LR),
            program.main_address,
            program.step_address,
            program.until_address,
            program.stops.inferences,
            Flow(program.timing.caches, [piece.begin for piece in program.timing.pieces]) if program.timing else None,
        )
        self._flash = flash_regions(program.board)
        self._known: dict[tuple[int, int], list[int]] = {}
        self._look_at, self._waits = NEVER, lambda address: False
        machine.hook_add(unicorn.UC_HOOK_BLOCK, self._on_block)
        for first, last in self._flash if program.timing else ():
            machine.hook_add(unicorn.UC_HOOK_MEM_READ, self._on_read, None, first, last)

        if program.timing and program.timing.pieces:
            machine.hook_add(unicorn.UC_HOOK_MEM_READ, self._on_load)

    def watch(self, machine: unicorn.Uc, origin: int, length: int) -> bytearray:
        """Returns a map of `length` bytes from address `origin` on; a byte that a run writes becomes 1."""
        written = bytearray(length)

        def on_write(machine: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> None:
            if self.counting.running:
                first = max(address - origin, 0)
                written[first : min(address + size - origin, length)] = b"\1" * (min(address + size - origin, length) - first)

        machine.hook_add(unicorn.UC_HOOK_MEM_WRITE, on_write, None, origin, origin + length - 1)
        return written

    stack_used = 0

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yields (address, bytes) of the blocks that were executed."""
        yield from sorted(self._known)

    def executed(self, finished: bool) -> Executed | None:
        """Returns the edges and flash lines of all runs, or of the runs that returned. None without timing."""
        return self.counting.flow.executed(finished) if self.counting.flow else None

    def watch_stack(self, machine: unicorn.Uc, regions: Sequence[tuple[int, int]]) -> None:
        """Does nothing: only the counter in C can watch the stack."""

    def watch_waits(self, waits: Callable[[int], bool]) -> None:
        """Calls `waits` now and then between runs, with the address of the next block, and stops the machine on True."""
        self._look_at, self._waits = FIRST_LOOK, waits

    def __getattr__(self, name: str):
        return getattr(self.counting, name)

    def _on_block(self, machine: unicorn.Uc, address: int, size: int, _) -> None:
        if (address, size) not in self._known:
            code = bytes(machine.mem_read(address, size))
            self._known[address, size] = thumb_sizes(code)
            if code == b"\xfe\xe7":
                self.counting.endless_loop = address | 1
        sizes = self._known[address, size]
        self.counting.block(address, sizes, any(first <= address <= last for first, last in self._flash))
        if self.counting.total >= self._look_at and not self.counting.running:
            self._look_at = 2 * self.counting.total
            self.counting.asked |= self._waits(address)
        if self.counting.stops:
            machine.emu_stop()

    def _on_read(self, machine: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> None:
        self.counting.read(address)

    def _on_load(self, machine: unicorn.Uc, access: int, address: int, size: int, value: int, _) -> None:
        self.counting.load(address, size)

    def ask_to_stop(self) -> None:
        """Stops the run; callable from another thread."""
        self.counting.asked = True
