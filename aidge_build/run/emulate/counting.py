# SPDX-License-Identifier: MIT
"""The rules of counting.h in Python, for machines without a C compiler: the same numbers, some thirty times slower."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aidge_build.prove.timing.estimate import OUTSIDE, Edge, Executed
from aidge_build.prove.timing.memory import Caches, FlashReads
from aidge_build.run.emulate.program import NO_ADDRESS


class Flow:
    """Counts the events that cycles depend on: edges between blocks, and lines of flash (executed.h and lines.h in Python)."""

    def __init__(self, caches: Sequence[Caches], begins: Sequence[int] = ()):
        """`begins` are the first addresses of the pieces that are told apart."""
        self._reads = [FlashReads(each, () if index else begins) for index, each in enumerate(caches)]
        self._previous = (0, 0)
        self._edges: dict[tuple[int, int, int, int, int], int] = {}
        self._finished = Executed((), ())

    def block(self, address: int, sizes: Sequence[int], is_flash: bool, layer: int | None) -> None:
        """Instructions of these sizes begin; `layer` None: outside of runs."""
        block = address, sum(sizes)
        if layer is not None:
            edge = *self._previous, *block, layer
            self._edges[edge] = self._edges.get(edge, 0) + 1
        self._previous = block
        for reads in self._reads if is_flash else ():
            reads.block(address, sizes, layer)

    def read(self, address: int, layer: int | None) -> None:
        """Data are read from flash."""
        for reads in self._reads:
            reads.data(address, layer)

    def load(self, address: int, size: int, layer: int | None) -> None:
        """Counts a read of data from any memory, if pieces are counted apart."""
        self._reads[0].load(address, size, layer)

    def finish(self) -> None:
        """A run returned."""
        self._finished = self.executed(finished=False)

    def executed(self, finished: bool) -> Executed:
        """Returns the edges and flash lines of all runs, or of the runs that returned."""
        if finished:
            return self._finished
        edges = tuple(Edge(*edge, count) for edge, count in self._edges.items())
        return Executed(edges, tuple(reads.lines for reads in self._reads), self._reads[0].pieces)


@dataclass
class Counting:
    """Counts of one program run; `layers` holds one count per slot of `addresses` (sorted, equal ones are merged layers)."""

    run_address: int
    limit: int
    addresses: Sequence[int]
    read_link: Callable[[], int]
    main_address: int = NO_ADDRESS
    step_address: int = NO_ADDRESS
    until_address: int = NO_ADDRESS
    wanted_runs: int = 0
    flow: Flow | None = None
    total: int = 0
    inside_run: int = 0
    before_main: int = 0
    runs: int = 0
    endless_loop: int = 0
    over_limit: bool = False
    layers: list[int] = field(default_factory=list)
    steps: int = 0
    longest_step: int = 0
    layer_steps: list[int] = field(default_factory=list)
    running: bool = False
    finished_runs: int = 0
    finished: int = 0
    fewest: int = 0
    most: int = 0
    finished_layers: list[int] = field(default_factory=list)
    reached: bool = False
    asked: bool = False

    def __post_init__(self) -> None:
        self.layers = [0] * len(self.addresses)
        self.layer_steps = [0] * len(self.addresses)
        self.finished_layers = [0] * len(self.addresses)
        self._slots: dict[int, list[int]] = {}
        for slot, address in enumerate(self.addresses):
            self._slots.setdefault(address, []).append(slot)
        self._turns: dict[int, int] = {}
        self._return_address = 0
        self._current: int | None = None
        self._step_instructions: int | None = None  # None: no step runs
        self._step_return = 0
        self._step_layer: int | None = None
        self._at_entry = 0

    @property
    def stops(self) -> bool:
        """Whether the program is to be stopped."""
        return bool(self.endless_loop or self.over_limit or self.reached or self.asked)

    def block(self, address: int, sizes: Sequence[int], is_flash: bool = False) -> None:
        """A basic block of instructions of these sizes in bytes starts at `address`."""
        self._block(address, len(sizes))
        if self.flow:
            self.flow.block(address, sizes, is_flash, self._layer)

    def read(self, address: int) -> None:
        """Data are read from flash."""
        if self.flow:
            self.flow.read(address, self._layer)

    def load(self, address: int, size: int) -> None:
        """Counts a read of data from any memory, if pieces are counted apart."""
        if self.flow:
            self.flow.load(address, size, self._layer)

    @property
    def _layer(self) -> int | None:
        inside = OUTSIDE if self._current is None else self._current
        return inside if self.running else None

    def _block(self, address: int, instructions: int) -> None:
        if self.running and address == self._return_address:
            self._finish_run()
        if address == self.until_address:
            self.reached = True
        if self.reached:
            return
        if address == self.run_address:
            self.running, self._current, self._turns = True, None, {}
            self._at_entry = self.inside_run
            self._return_address = self.read_link() & ~1
            self.runs += 1
        if address == self.main_address and not self.before_main:
            self.before_main = self.total
        self.total += instructions
        self.over_limit = self.total > self.limit
        if self.running:
            self._count_inside(address, instructions)
        self._count_step(address, instructions)

    def _finish_run(self) -> None:
        instructions = self.inside_run - self._at_entry
        self.running, self._current = False, None
        self.fewest = min(self.fewest, instructions) if self.finished_runs else instructions
        self.most = max(self.most, instructions)
        self.finished, self.finished_layers = self.inside_run, list(self.layers)
        self.finished_runs += 1
        if self.flow:
            self.flow.finish()
        self.reached = self.finished_runs == self.wanted_runs

    def _count_step(self, address: int, instructions: int) -> None:
        if address == self._step_return:
            self._step_instructions = None
        if address == self.step_address:
            self._step_instructions, self._step_layer = 0, None
            self._step_return = self.read_link() & ~1
            self.steps += 1
        if self._step_instructions is None:
            return
        if self._step_layer is None and address in self._slots:
            self._step_layer = self._current if self.running else self._slots[address][0]
        self._step_instructions += instructions
        self.longest_step = max(self.longest_step, self._step_instructions)
        if self._step_layer is not None:
            self.layer_steps[self._step_layer] = max(self.layer_steps[self._step_layer], self._step_instructions)

    def _count_inside(self, address: int, instructions: int) -> None:
        slots = self._slots.get(address)
        if slots:
            turn = self._turns.get(address, 0)
            self._turns[address] = turn + 1
            self._current = slots[turn % len(slots)]
        self.inside_run += instructions
        if self._current is not None:
            self.layers[self._current] += instructions


def thumb_sizes(code: bytes) -> list[int]:
    """The bytes of each Thumb instruction: a first halfword that starts with 0b11101, 0b11110 or 0b11111 has a second one."""
    sizes: list[int] = []
    position = 0
    while position < len(code):
        sizes.append(4 if code[position + 1] >> 3 >= 0x1D else 2)
        position += sizes[-1]
    return sizes
