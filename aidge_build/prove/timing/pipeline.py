# SPDX-License-Identifier: MIT
"""The pipeline of a core that issues in order: cycles of a block of instructions after the block that ran before it.

Each instruction is issued in the first cycle in which all earlier instructions were issued, its units are free, and its operands
arrive by the stage that reads them. Memory answers at once: stalls of flash and caches are counted in `memory.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aidge_build.contract.work import CONDITION, FLAGS, RESULT, STATUS, UPDATE, Work
from aidge_build.prove.timing.instructions import Instruction, work_of
from aidge_build.prove.timing.table import ALONE, FIRST, LAST, TimingTable

_HISTORY = 32  # instructions of the predecessor that the pipeline is filled with


def block_cycles(table: TimingTable, predecessor: Sequence[Instruction], block: Sequence[Instruction], taken: bool) -> int:
    """Returns the cycles of `block` after `predecessor`: the cycles of both, less the cycles of `predecessor` alone.

    `taken` says that the last instruction of `predecessor` jumped to `block`; the cycles of the jump are part of the result, so
    that the cycles of a run are the sum over all pairs of blocks that ran one after the other. `predecessor` may be empty.
    """
    pipeline = Pipeline(table)
    for instruction in predecessor[-_HISTORY:]:
        pipeline.issue(instruction)
    start = pipeline.cycle
    if predecessor and block:
        pipeline.jump(block[0]) if taken else pipeline.fall_through()
    for instruction in block:
        pipeline.issue(instruction)
    return pipeline.cycle - start


def sequence_cycles(table: TimingTable, instructions: Iterable[Instruction]) -> int:
    """Returns the cycles of instructions that run once, in this order, in an empty pipeline."""
    return block_cycles(table, (), tuple(instructions), False)


class Operation(NamedTuple):
    """An instruction with the numbers of a table. `units` are groups of units; it occupies one unit of each group. `reads` are
    (register, stage, extra cycles by the kind that wrote it), `writes` are (register, cycles, whether the result is late if the
    instruction executes late)."""

    kind: str
    cycles: int
    units: tuple[tuple[str, ...], ...]
    hold: int
    reads: tuple[tuple[str, int, dict[str, int] | None], ...]
    writes: tuple[tuple[str, int, bool], ...]
    slides: int
    joined: int
    slot: str
    pairs: bool
    size_bytes: int
    shadow: int
    hidden_by: frozenset[str]
    shadows: frozenset[str]
    hides: bool
    taken: int
    is_conditional_jump: bool
    place: tuple[str, int] | None


class Pipeline:
    """The state of a pipeline; `cycle` is the next cycle in which an instruction may be issued, apart from pairs."""

    def __init__(self, table: TimingTable):
        self.table = table
        self.cycle = 0
        self._open = 0  # instructions that may still be issued in the last cycle
        self._last: Operation | None = None  # the last one that took a cycle
        self._newest: Operation | None = None
        self._goes_back = False  # whether the last instruction is a branch to a lower address
        self._ready: dict[str, tuple[int, str]] = {}
        self._free: dict[str, int] = {}
        self._shadow = 0
        self._run, self._fetched_ahead = 0, False

    def issue(self, instruction: Instruction) -> int:
        """Issues the next instruction; returns the cycle in which it is issued."""
        operation = operation_of(self.table, instruction)
        if operation.cycles == 0:
            self._finish(operation, instruction, self.cycle - 1, 0)
            return self.cycle
        needed = 0
        for register, stage, delays in operation.reads:
            entry = self._ready.get(register)
            if entry is not None:
                ready = entry[0] - stage + (delays.get(entry[1], 0) if delays else 0)
                if ready > needed:
                    needed = ready
        at = max((min(self._free.get(unit, 0) for unit in units) for units in operation.units), default=0)
        if at < needed - operation.slides:
            at = needed - operation.slides
        if self._open and at < self.cycle and joins(self.table, self._last, operation):
            at, slide = self.cycle - 1, operation.joined
            self._open = 0 if operation.slot == LAST else self._open - 1
        else:
            at, slide = max(at, self.cycle + self._waits(operation, instruction)), 0
            self._open = self.table.issue - 1 if operation.slot not in (LAST, ALONE) else 0
        self._finish(operation, instruction, at, max(slide, needed - at))
        return at

    def _waits(self, operation: Operation, instruction: Instruction) -> int:
        """Returns the cycles that the instruction waits for the load before it, and for its own bytes."""
        waits = 0
        if self._shadow and self._last is not None and is_shadowed(self._last, operation):
            waits, self._run, self._fetched_ahead = self._shadow, 0, True
        if self.table.wide_run:
            if operation.size_bytes == 4 and instruction.address & 2:
                self._run += 1
                if self._run == self.table.wide_run and self._fetched_ahead:
                    waits, self._fetched_ahead = waits + 1, False
            else:
                self._run, self._fetched_ahead = 0, False
        return waits

    def _finish(self, operation: Operation, instruction: Instruction, at: int, slide: int) -> None:
        for register, cycles, slides in operation.writes:
            self._ready[register] = (at + cycles + (slide if slides else 0), operation.kind)
        for units in operation.units:
            self._free[min(units, key=lambda unit: self._free.get(unit, 0))] = at + operation.hold
        self._newest = operation
        if operation.cycles:
            self.cycle = max(self.cycle, at + operation.cycles)
            self._last, self._shadow = operation, operation.shadow
        if operation.cycles > 1:
            self._run, self._fetched_ahead = 0, True
        target = instruction.target if operation.is_conditional_jump else None
        self._goes_back = target is not None and target <= instruction.address

    def jump(self, target: Instruction) -> None:
        """Adds the cycles of a jump by the last instruction: no instruction is paired with it, and the fetch starts again."""
        last = self._newest
        is_expected = self.table.predicts_loops and self._goes_back
        lost = 0 if last is None or is_expected else last.taken
        if last is not None and last.is_conditional_jump and self._ready.get(FLAGS, (0, ""))[0] > self.cycle - 1:
            lost += self.table.late_flags
        if target.size_bytes == 4 and target.address & 2 and not is_expected:
            lost += self.table.unaligned_target
        self._begin_again(lost)

    def fall_through(self) -> None:
        """Adds the cycles of a last instruction that does not jump: at the end of a loop, the core expected a jump."""
        last, table = self._newest, self.table
        if not table.loop_exit or last is None or not last.is_conditional_jump or not self._goes_back:
            return
        flags_are_old = self._ready.get(FLAGS, (0, ""))[0] < self.cycle - table.early
        self._begin_again(table.loop_exit_early if flags_are_old else table.loop_exit)

    def _begin_again(self, lost: int) -> None:
        self.cycle += lost + (self._shadow if self._last is None or not self._last.shadows else 0)
        self._open, self._shadow = 0, 0
        self._run, self._fetched_ahead = 0, False


def joins(table: TimingTable, last: Operation | None, operation: Operation) -> bool:
    """Returns whether the core can issue the operation in the same cycle as the last one."""
    if last is None or last.shadow or operation.slot in (FIRST, ALONE):
        return False
    if table.pair_bytes and last.size_bytes + operation.size_bytes > table.pair_bytes:
        return False
    if table.pair_kinds and not operation.pairs and not (table.pair_either and last.pairs):
        return False
    if table.banks and last.place and operation.place and last.place[0] == operation.place[0]:
        return (last.place[1] - operation.place[1]) // 4 % table.banks != 0
    return True


def is_shadowed(last: Operation, operation: Operation) -> bool:
    """Returns whether the operation waits for the shadow of the last one."""
    if last.shadows:
        return operation.kind in last.shadows
    return not (operation.hides and operation.kind in last.hidden_by)


def operation_of(table: TimingTable, instruction: Instruction) -> Operation:
    """Returns the instruction with the numbers of the table."""
    key = instruction[1:]  # all but its address
    found = table.known.get(key)
    if found is None:
        found = table.known[key] = _compiled(table, work_of(instruction))
    return found


def _compiled(table: TimingTable, work: Work) -> Operation:
    timing = table.kinds[work.kind]
    cycles = timing.cycles + (timing.index_cycles if work.has_index else 0) + (timing.flag_cycles if work.sets_flags else 0)
    if timing.words_a_cycle:
        cycles += -(-work.words // timing.words_a_cycle)
    reads = [(register, getattr(timing, role), _delays(table, work.kind, role)) for register, role in work.reads]
    latencies = {UPDATE: timing.update, STATUS: timing.status}
    results = [(register, latencies.get(role, timing.latency), role == RESULT) for register, role in work.writes]
    if timing.words_a_cycle:  # one after the other
        first = len(results) - work.words
        results = [(each[0], each[1] + max(0, at - first) // timing.words_a_cycle, each[2]) for at, each in enumerate(results)]
    return Operation(
        kind=work.kind,
        cycles=cycles,
        units=tuple(tuple(units.split("|")) for units in timing.units),
        hold=timing.hold,
        reads=tuple(reads),
        writes=tuple(results),
        slides=timing.slides,
        joined=timing.joined,
        slot=timing.slot,
        pairs=work.kind in table.pair_kinds,
        size_bytes=work.size_bytes,
        shadow=timing.shadow,
        hidden_by=timing.hidden_by,
        shadows=timing.shadows,
        hides=timing.update_overlaps or not work.updates_address,
        taken=timing.taken,
        is_conditional_jump=work.jumps and any(role == CONDITION for _, role in work.reads),
        place=work.place if "load" in work.kind else None,
    )


def _delays(table: TimingTable, kind: str, role: str) -> dict[str, int] | None:
    delays: dict[str, int] = {}
    for each in table.forwarding:
        if kind in each.by and role in each.roles:
            for source in each.of:
                delays[source] = delays.get(source, 0) + each.cycles
    return delays or None
