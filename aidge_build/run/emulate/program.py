# SPDX-License-Identifier: MIT
"""The input and the result of an emulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeVar

from aidge_build.base.errors import CheckFailed
from aidge_build.base.naming import counted
from aidge_build.boards import Board
from aidge_build.prove.elf.claimed_call import ClaimedCall
from aidge_build.prove.elf.image import Image, Symbol
from aidge_build.prove.timing.estimate import Cycles, Executed, Timing
from aidge_build.prove.timing.reads import Reads

# A bound on instructions and not on time, so that the verdict is the same on every machine. Minutes of emulation.
INSTRUCTION_LIMIT = 20_000_000_000
NO_ADDRESS = 0xFFFFFFFF
NOTHING_PASSED = ClaimedCall((), ())
Number = TypeVar("Number", int, Cycles)
NEVER_RETURNS = "firmware that never returns: run with --inferences N, --until SYMBOL, --instructions N or --seconds S"
WAITS = "waits for an interrupt or a timer, which the emulator does not have"


@dataclass(frozen=True)
class LayerCount:
    """The instructions of one layer, summed over all runs; None when its function is not in the program. `cycles` are estimated;
    `longest_step` are the instructions of the longest step that begins with it; `cycles_measured` are of one run on a board."""

    symbol: str
    instructions: int | None
    cycles: Cycles | None = None
    longest_step: int | None = None
    cycles_measured: int | None = None


@dataclass(frozen=True)
class MeasuredCycles:
    """The cycles that the board's own counter measured. `counter` is its name; if it is "", `why_not` gives the reason.

    `per_run` are the cycles of each inference (None: more than the counter can hold). `overhead` is the number of cycles that
    each halt added; it is subtracted everywhere, and None if it is unknown. `unseen` are layers without a function of their own.
    """

    counter: str
    why_not: str = ""
    per_run: tuple[int | None, ...] = ()
    overhead: int | None = None
    unseen: tuple[str, ...] = ()

    @property
    def per_inference(self) -> int | None:
        """The mean over all inferences that were counted."""
        known = [cycles for cycles in self.per_run if cycles is not None]
        return round(sum(known) / len(known)) if known else None


@dataclass(frozen=True)
class Steps:
    """The calls of the step symbol: how many there were, and the instructions of the longest."""

    count: int
    longest: int


@dataclass(frozen=True)
class Stops:
    """The first of these events ends the run of firmware that does not end by itself. 0 and "" mean no event.

    `inferences` returned, the symbol `until` was reached, `instructions` were executed, `seconds` of this machine's time passed.
    """

    inferences: int = 0
    until: str = ""
    instructions: int = 0
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return self != Stops()


NO_STOPS = Stops()


class End(Enum):
    """The reason why a run ended."""

    EXIT = "exit"
    INFERENCES = "inferences"
    UNTIL = "until"
    INSTRUCTIONS = "instructions"
    SECONDS = "seconds"
    INTERRUPT = "interrupt"  # by the user
    LOOP = "endless loop"
    STUCK = "a trap without a handler"
    LIMIT = "limit"  # the default limit


@dataclass(frozen=True)
class Entry:
    """A call of N_run or N_begin that returned: the first words of its arguments, the stored bytes of the inputs (() if they are
    not known), the code that it returned, and its function."""

    words: tuple[int, ...]
    inputs: tuple[bytes, ...]
    status: int
    function: str


@dataclass(frozen=True)
class Seen:
    """Facts about a run by which a firmware may be wrong on the board. `entries` are the first calls of N_run and N_begin, if the
    emulator shows registers; `refused` is how many calls returned before a layer began. `entered_again` are two functions: the
    one that called N_run while a call had not returned, and the one that this call returns to. `without_fpu` is a function that
    used the FPU, which no code had switched on. `full_stack` is the reserve of the stack, in words, if the lowest word of it was
    written. `faulted` is the code in which a fault occurred, in words, if the program's own handler did not end the run.
    `clock_hz` is the variable SystemCoreClock of CMSIS after the run, 0 if it is not known."""

    entries: tuple[Entry, ...] = ()
    refused: int = 0
    entered_again: tuple[str, str] = ("", "")
    without_fpu: str = ""
    full_stack: str = ""
    faulted: str = ""
    clock_hz: int = 0


@dataclass(frozen=True)
class RunResult:
    """The result of a program. Counts are None if they are not available (host, no compiler for the counter, `count=False`).

    `instructions` is the whole program; `run_instructions` all `runs` calls of the run symbol together; `written_bytes` how many
    bytes of the watched symbols these calls wrote; `start_up_instructions` the instructions from reset to main; `run_cycles` is
    the estimate for all runs. `pieces` are the functions that make up a run, if a run is not one call of the run symbol.
    `measured` are the cycles of a board with a debug probe. `inference_stack_bytes` is the stack that one inference used there,
    or the shortest one in an emulator, for programs that do not say where their stack is. A program that was stopped has no exit
    code: `ended_at` is the place where it was stopped, and the counts cover only the runs that returned; the shortest took
    `fewest` instructions, the longest `most`. `channels` are (name, text) of the output by other channels than `stdout`: the ITM,
    RTT, or the first UART of a machine of QEMU. `peripherals`: how many registers without an emulation it used, and for how many
    it waited. `waits_in` is the function with the loop in which it was stopped, if only an interrupt or a timer ends that loop.
    `dumps` are the dumped symbols, with the bytes that the program left in them.
    """

    exit_code: int | None
    stdout: str
    instructions: int | None
    run_instructions: int | None
    runs: int | None
    layers: tuple[LayerCount, ...]
    stack_high_water_bytes: int | None
    emulator: str
    written_bytes: int | None = None
    run_cycles: Cycles | None = None
    start_up_instructions: int | None = None
    steps: Steps | None = None
    pieces: tuple[str, ...] = ()
    measured: MeasuredCycles | None = None
    inference_stack_bytes: int | None = None
    peripherals: tuple[int, int] | None = None
    ended: End = End.EXIT
    ended_at: str = ""
    channels: tuple[tuple[str, str], ...] = ()
    fewest: int | None = None
    most: int | None = None
    waits_in: str = ""
    dumps: tuple[tuple[Symbol, bytes], ...] = ()
    caches_off: tuple[str, ...] = ()  # "code", "data": the core's own caches that the program never switched on
    seen: Seen = field(default=Seen(), compare=False)  # each emulator sees other facts
    reads: tuple[Reads, ...] = ()  # of layers by function and constant, if the timing tells these apart

    @property
    def instructions_per_run(self) -> float | None:
        """The mean over all runs."""
        return self.run_instructions / self.runs if self.run_instructions is not None and self.runs else None


@dataclass(frozen=True)
class Counted:
    """The counters that a run has besides the whole program, in exact instructions: all calls of `run_symbol` together, each of
    `layer_symbols` within them, and the longest call of `step_symbol`. `watched_symbols` are variables (arenas): how many of
    their bytes the runs wrote. `timing` asks for an estimate of cycles. A program that does not end within `limit` instructions
    is an error."""

    run_symbol: str = ""
    layer_symbols: Sequence[str] = ()
    step_symbol: str = ""
    watched_symbols: Sequence[str] = ()
    timing: Timing | None = None
    limit: int = INSTRUCTION_LIMIT


@dataclass(frozen=True)
class Firmware:
    """The way to run a program that was made for a board and not for an emulator. `stops` are the events that end the run; a
    program that runs for ever is a result (`RunResult.ended`) and no error. `answers_peripherals`: registers of peripherals,
    which Unicorn does not have, hold the values written to them (emulate/peripherals.py). `dumped` are variables in memories of
    the board; the result has their bytes after the run (Unicorn). `passed` are the arguments of N_run."""

    stops: Stops = NO_STOPS
    answers_peripherals: bool = False
    dumped: tuple[Symbol, ...] = ()
    passed: ClaimedCall = NOTHING_PASSED


@dataclass(frozen=True)
class Program:
    """A program and how to run it; `arguments` starts with the program's name."""

    image: Image
    board: Board
    work_folder: Path
    arguments: tuple[str, ...]
    count: bool
    run_symbol: str
    layer_symbols: tuple[str, ...]
    instruction_limit: int
    watched_symbols: Sequence[str] = ()
    timing: Timing | None = None
    step_symbol: str = ""
    stops: Stops = NO_STOPS
    may_be_stopped: bool = False  # whether a program that does not end is a result, and no error
    answers_peripherals: bool = False  # whether a program may use registers of peripherals without an emulation
    dumped: tuple[Symbol, ...] = ()
    passed: ClaimedCall = NOTHING_PASSED

    @property
    def until_address(self) -> int:
        """The entry of the symbol at which the run ends, or NO_ADDRESS."""
        symbol = self.image.symbol(self.stops.until) if self.stops.until else None
        return symbol.address if symbol else NO_ADDRESS

    @property
    def run_address(self) -> int:
        """The entry of the run symbol, or NO_ADDRESS."""
        symbol = self.image.symbol(self.run_symbol) if self.run_symbol else None
        return symbol.address if symbol else NO_ADDRESS

    @property
    def step_address(self) -> int:
        """The entry of the step symbol, or NO_ADDRESS."""
        symbol = self.image.symbol(self.step_symbol) if self.step_symbol else None
        return symbol.address if symbol else NO_ADDRESS

    @property
    def main_address(self) -> int:
        """The entry of main, or NO_ADDRESS."""
        symbol = self.image.symbol("main")
        return symbol.address if symbol else NO_ADDRESS

    @property
    def clock_variable(self) -> Symbol | None:
        """The variable SystemCoreClock of CMSIS, the frequency of the core in Hz; None if the program has none."""
        symbol = self.image.symbol("SystemCoreClock")
        return symbol if symbol and symbol.size_bytes == 4 else None

    def layer_slots(self) -> tuple[tuple[int, str], ...]:
        """Returns (address, layer) of the layers in the program, by address; layers merged into one keep their order."""
        found = [(self.image.symbol(name), name) for name in self.layer_symbols]
        return tuple(sorted(((symbol.address, name) for symbol, name in found if symbol), key=lambda slot: slot[0]))

    def layer_counts(
        self,
        slots: tuple[tuple[int, str], ...],
        instructions: list[int],
        cycles: list[Cycles] | None = None,
        longest: list[int] | None = None,
    ) -> tuple[LayerCount, ...]:
        """The counts of `slots` in the order of `layer_symbols`."""
        places = {name: place for place, (_, name) in enumerate(slots)}

        def of(numbers: Sequence[Number] | None, name: str) -> Number | None:
            return numbers[places[name]] if numbers is not None and name in places else None

        return tuple(LayerCount(name, of(instructions, name), of(cycles, name), of(longest, name)) for name in self.layer_symbols)

    def reads(self, executed: Executed | None, slots: tuple[tuple[int, str], ...], runs: int | None) -> tuple[Reads, ...]:
        """Returns the reads of each function and constant by the layers of `slots`."""
        names = {number: name for number, (_, name) in enumerate(slots)}
        return self.timing.reads(executed, names, runs or 0) if executed is not None and self.timing is not None else ()

    def estimated(self, executed: Executed | None, layers: int) -> tuple[Cycles | None, list[Cycles] | None]:
        """Returns the cycles of all runs, and of each of so many layers; None if they are not estimated."""
        if executed is None or self.timing is None:
            return None, None
        whole, found = self.timing.cycles(executed, range(layers))
        return whole, list(found.values()) if whole else None

    def watched(self) -> tuple[Symbol, ...]:
        """The watched variables that are in the program."""
        return tuple(symbol for symbol in map(self.image.symbol, self.watched_symbols) if symbol and symbol.size_bytes)

    def stack(self) -> tuple[int, int]:
        """The lowest address of the stack and the first above it; (0, 0) when the linker script names none."""
        limit, top = self.image.symbol("__stack_limit"), self.image.symbol("__stack_top")
        return (limit.address, top.address) if limit and top else (0, 0)

    @property
    def measures_run_stack(self) -> bool:
        """Whether the stack of the runs is measured: if nothing says in which memory the program's stack is."""
        return self.may_be_stopped and self.stack() == (0, 0) and self.run_address != NO_ADDRESS

    def how_far(self, instructions: int, inferences: int) -> str:
        """Returns the progress of a program after some seconds; if only its exit ends it, also how to end it."""
        said = f"{instructions:,} instructions, {counted(inferences, 'inference')}"
        return f"{said}; Ctrl-C, --inferences N or --seconds S ends it" if self.may_be_stopped and not self.stops else said

    def failure(self, what: str, hint: str = "") -> CheckFailed:
        """The error of a program that did something wrong."""
        return CheckFailed(what, where=self.image.path, hint=hint, code="RUN")

    def endless_loop(self, address: int) -> CheckFailed:
        """The error of a program that reached a branch to itself."""
        return self.failure(
            f"the program stops in an endless loop at {self.image.describe(address)} (0x{address:08x})",
            hint="a fault handler, an unexpected interrupt, or main without exit (run with --inferences N ends before)",
        )

    def over_limit(self) -> CheckFailed:
        """The error of a program that does not end."""
        return self.failure(
            f"the program has not ended after {self.instruction_limit:,} instructions",
            hint=NEVER_RETURNS,
        )
