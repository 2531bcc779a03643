# SPDX-License-Identifier: MIT
"""The figures of a model on a board, and their form in JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from aidge_build.prove.timing.deviation import Deviation
from aidge_build.run.emulate.program import MeasuredCycles

ANY = "any"  # the type of data of models that are named without one


@dataclass(frozen=True)
class LayerFigures:
    """One layer per inference. `cycles` are estimated, or None; `flash_lines`: how often its constants come from another line of
    flash; `shape` is its class of shapes (adaptation/cost.py), `facts` are what its kernel says of itself; `cycles_measured` are
    the cycles that a board measured, or None."""

    name: str
    operator: str
    library: str
    kernel: str
    macs: int
    elements: int  # of all outputs
    shape: str
    instructions: int
    cycles: int | None
    flash_lines: int | None
    facts: Mapping[str, str] = field(default_factory=dict)
    cycles_measured: int | None = None

    @property
    def per_mac(self) -> float | None:
        """Instructions per multiply-accumulate; None for a layer without any."""
        return self.instructions / self.macs if self.macs else None


@dataclass(frozen=True)
class Figures:
    """A model on a board; instructions and cycles per inference, the mean over `vectors` inputs; sizes in bytes.

    `data` is the element type of the files' names (int8, float). `stack_bytes` is the proved bound of one inference, None if
    there is none; `flash_bytes` the whole image, the program that feeds the vectors included; `peak_bytes` is the peak RAM,
    inputs and outputs included; `arena_bytes` is the linked arena, without the `io_bytes` of inputs and outputs, which the caller
    owns. `macs` is the count of the model's file; some of them need not be executed. `by_floats`: values differ from numpy's as
    `aidge_build/run/verify/float_tolerance.py` allows. `cycles` are estimated, with the `stall_cycles` of the flash (None: no
    description of the flash); `cycles_uncached` are without the cache of an external flash; `cycles_error` is how far estimates
    for the core were off the cycles of chips.
    """

    model: str
    data: str
    board: str
    cpu: str
    vectors: int
    differing_values: int
    instructions: int
    cycles: int | None
    macs: int
    macs_executed: int
    peak_bytes: int
    arena_bytes: int
    io_bytes: int
    scratch_bytes: int
    stack_bytes: int | None
    code_bytes: int
    weights_bytes: int
    flash_bytes: int
    start_up_instructions: int | None
    layers: tuple[LayerFigures, ...]
    has_fpu: bool = True  # or is a core that is never built with one
    measured: MeasuredCycles | None = None  # on a board
    by_floats: bool = False
    conversions: tuple[str, ...] = ()  # lines about stored inputs of another scale
    clock_hz: int = 0  # of the board, where it is known
    stall_cycles: int | None = None
    cycles_uncached: int | None = None
    cycles_error: Deviation | None = None
    nanojoules_per_cycle: float = 0  # 0: not measured for the board

    @property
    def milliseconds(self) -> float | None:
        """The time of the estimated cycles, at the clock of the board."""
        return self._milliseconds(self.cycles)

    @property
    def milliseconds_uncached(self) -> float | None:
        """The time of the estimated cycles without the cache of an external flash."""
        return self._milliseconds(self.cycles_uncached)

    def _milliseconds(self, cycles: int | None) -> float | None:
        return 1e3 * cycles / self.clock_hz if cycles is not None and self.clock_hz else None

    @property
    def nanojoules(self) -> float | None:
        """The energy of the estimated cycles."""
        return self.cycles * self.nanojoules_per_cycle if self.cycles is not None and self.nanojoules_per_cycle else None

    @property
    def wrong_values(self) -> int:
        """The differing values that the contract does not allow."""
        return 0 if self.by_floats else self.differing_values

    @property
    def cycles_measured(self) -> int | None:
        """The cycles that a board's counter measured."""
        return self.measured.per_inference if self.measured else None

    @property
    def core(self) -> str:
        """The core for people: two boards may have the same one, with an FPU and without."""
        return self.cpu if self.has_fpu else f"{self.cpu} without FPU"

    @property
    def title(self) -> str:
        """The model, type of data and board, for people."""
        return f"{self.model} {self.data} on {self.board}"

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of a record."""
        return self.model, self.data, self.board

    @property
    def linked_bytes(self) -> int:
        """The RAM of the arena and of the caller's inputs and outputs, which exist at the same time."""
        return self.arena_bytes + self.io_bytes

    @property
    def per_mac(self) -> float:
        """Instructions per multiply-accumulate that is executed."""
        return self.instructions / max(1, self.macs_executed)

    def as_json(self) -> dict:
        """The figures including each layer, and the time and energy of the estimated cycles."""
        return dataclasses.asdict(self) | {"milliseconds": self.milliseconds, "nanojoules": self.nanojoules}
