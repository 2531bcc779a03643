# SPDX-License-Identifier: MIT
"""The cycles of an inference and of each layer on the board: the counter is read while the core is halted, and the cycles that
halting adds are measured, too, and subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aidge_build.run.emulate.inferences import Inferences
from aidge_build.run.emulate.program import End, LayerCount, MeasuredCycles, RunResult, Seen
from aidge_build.run.probe.cycles import Counter, NoCounter, counter_of
from aidge_build.run.probe.session import PAINT, Session, entries_of
from aidge_build.run.probe.target import LINK, Ended

WHERE = "probe"  # in place of the name of an emulator
_COLOURS = (PAINT, PAINT ^ 0xFF)
_MOST_ASKED = 10_000  # calls of N_begin during inferences: then no step is called any more
_LONG_INSTRUCTION = 0x1D  # the first five bits of a Thumb instruction of 32 bits are this or more


@dataclass(frozen=True)
class Measured:
    """The cycles of a model (None: not asked for) and of its layers in one inference."""

    cycles: MeasuredCycles | None
    layers: tuple[LayerCount, ...]


class Measuring:
    """Counts the inferences of a session, one after the other, and then repeats the last one for its layers."""

    def __init__(self, session: Session):
        self.session = session
        self._counter = counter_of(session.target, session.program.image.architecture)
        self._raw: list[int | None] = []

    def finish(self) -> int:
        """Runs the inference that the core has just entered, and returns the result of N_run, or of N_begin."""
        if self.session.is_part:
            self._give_up("not measured: the firmware runs other code between the calls of an inference")
        if isinstance(self._counter, NoCounter):
            return self.session.finish()
        self._counter.begin()
        returned = self.session.finish()
        self._raw.append(self._counter.elapsed())
        if self._raw[-1] == 0:
            self._give_up(f"not measured: {self._counter.name} does not count on this board")
        return returned

    def _give_up(self, reason: str) -> None:
        self.close()
        self._counter = NoCounter(reason)

    def close(self) -> None:
        """Leaves the counter as it was."""
        if not isinstance(self._counter, NoCounter) and not self.session.target.is_lost:
            self._counter.restore()

    def result(self) -> Measured:
        """Returns the cycles of all inferences, and of each layer in the last inference, which is run again for each layer."""
        program = self.session.program
        nothing = tuple(LayerCount(name, None) for name in program.layer_symbols)
        counter = self._counter
        if isinstance(counter, NoCounter) or not self._raw or self.session.target.is_lost:
            reason = counter.reason if isinstance(counter, NoCounter) else "not measured: the program ended"
            return Measured(MeasuredCycles("", reason), nothing)
        overhead = self._overhead(counter)
        found = self._layers(counter, overhead or 0)
        layers = tuple(LayerCount(name, None, cycles_measured=found.get(name)) for name in program.layer_symbols)
        unseen = tuple(name for name in program.layer_symbols if name not in found)
        per_run = tuple(None if raw is None else raw - (overhead or 0) for raw in self._raw)
        return Measured(MeasuredCycles(counter.name, "", per_run, overhead, unseen), layers)

    def _overhead(self, counter: Counter) -> int | None:
        """Returns the cycles that one halt adds: an inference with a halt after its first instruction takes so many more."""
        session = self.session
        entry = session.program.run_address & ~1
        second = entry + (4 if session.target.read(entry, 2)[1] >> 3 >= _LONG_INSTRUCTION else 2)
        session.again()
        stops = (session.returns_to,)
        whole = self._stretch(counter, stops)
        session.again()
        counter.begin()
        if session.run_to((second, *stops)) != second:
            return None
        first = counter.elapsed()
        rest = self._stretch(counter, stops)
        return None if None in (whole, first, rest) else first + rest - whole  # type: ignore[operator]

    def _stretch(self, counter: Counter, stops: Sequence[int]) -> int | None:
        counter.begin()
        self.session.run_to(stops)
        return counter.elapsed()

    def _layers(self, counter: Counter, overhead: int) -> dict[str, int | None]:
        """The cycles of each layer; layers that the linker made one function of take turns."""
        names: dict[int, list[str]] = {}
        for address, name in self.session.program.layer_slots():
            names.setdefault(address & ~1, []).append(name)
        found: dict[str, int | None] = {}
        for address, those in names.items():
            calls = self._calls(counter, address)
            for turn, name in enumerate(those):
                own = calls[turn :: len(those)]
                if own:
                    found[name] = None if None in own else sum(own) - overhead * len(own)  # type: ignore[arg-type]
        return found

    def _calls(self, counter: Counter, address: int) -> list[int | None]:
        """Returns the cycles of each call of a function in one inference. At most two breakpoints are set at a time."""
        session, found = self.session, []
        session.again()
        end = session.returns_to
        while session.run_to((address, end)) == address:
            back = session.target.register(LINK) & ~1
            found.append(self._stretch(counter, (back,)))
            if back == end:  # the last call of N_run was made a jump
                break
        return found


def observe(session: Session, count: int, stack_bound: int | None = None) -> RunResult:
    """Measures the next `count` inferences of the program, or fewer if the program ends. Repeats the last one to measure its
    layers, the bytes of the watched variables that it writes, and how much of the `stack_bound` bytes N_run uses."""
    measuring, calls, exit_code = Measuring(session), Inferences(session.program), None
    try:
        try:
            while len(calls.found) < count and calls.asked < _MOST_ASKED:
                session.reach()
                if not session.is_part:
                    session.note()
                calls.add(session.entry(measuring.finish()))
        except Ended as end:
            exit_code = end.code
        mark = session.stack_used()
        found = run_result(session, measuring.result(), len(calls.found), exit_code)
        found = replace(found, seen=replace(found.seen, entries=tuple(calls.found)))
        if not calls.found or session.target.is_lost:
            return found
        if session.is_part:
            return replace(found, pieces=tuple(entries_of(session.program).values()))
        return replace(
            found,
            stack_high_water_bytes=mark,
            written_bytes=_written_bytes(session),
            inference_stack_bytes=None if stack_bound is None else _own_stack(session, stack_bound),
        )
    finally:
        measuring.close()


def _written_bytes(session: Session) -> int | None:
    """Returns how many bytes of the watched variables an inference writes. The variables are filled with two values in turn; a
    byte that differs from the value afterwards was written. A model writes before it reads, so that no such value is copied."""
    symbols = session.program.watched()
    if not symbols:
        return None
    written = [bytearray(symbol.size_bytes) for symbol in symbols]
    for colour in _COLOURS:
        session.again()
        for symbol in symbols:
            session.target.write(symbol.address, bytes([colour]) * symbol.size_bytes)
        session.finish()
        for symbol, marks in zip(symbols, written, strict=True):
            for index, value in enumerate(session.target.read(symbol.address, symbol.size_bytes)):
                marks[index] |= value != colour
    return sum(map(sum, written))


def _own_stack(session: Session, bound: int) -> int:
    """Returns how many of the `bound` bytes below the stack pointer an inference uses: N_run's stack, in any task."""
    session.again()
    low = session.stack_pointer - bound
    session.target.write(low, bytes([PAINT]) * bound)
    session.finish()
    return bound - _painted(session.target.read(low, bound))


def _painted(stack: bytes) -> int:
    """Returns how many bytes, from the lowest on, were never written."""
    return len(stack) - len(stack.lstrip(bytes([PAINT])))


def run_result(session: Session, measured: Measured, runs: int, exit_code: int | None = None) -> RunResult:
    """Returns the result of a program on a board, in the form that emulators give. Instructions are not counted there. Without an
    exit code the program goes on."""
    return RunResult(
        exit_code,
        session.stdout,
        None,
        None,
        runs or None,
        measured.layers,
        session.stack_used(),
        WHERE,
        measured=measured.cycles,
        ended=End.INFERENCES if exit_code is None else End.EXIT,
        seen=Seen(clock_hz=_clock(session)),
    )


def _clock(session: Session) -> int:
    symbol = session.program.clock_variable
    return int.from_bytes(session.target.read(symbol.address, 4), "little") if symbol and not session.target.is_lost else 0


def beside(on_board: RunResult, emulated: RunResult | None) -> RunResult:
    """Returns the board's result, with instructions and estimated cycles from an emulator that ran the same inferences."""
    if emulated is None or emulated.runs != on_board.runs:
        return on_board
    measured = {layer.symbol: layer.cycles_measured for layer in on_board.layers}
    return replace(
        on_board,
        instructions=emulated.instructions,
        run_instructions=emulated.run_instructions,
        run_cycles=emulated.run_cycles,
        steps=emulated.steps,
        layers=tuple(replace(layer, cycles_measured=measured.get(layer.symbol)) for layer in emulated.layers),
    )
