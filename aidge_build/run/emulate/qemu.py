# SPDX-License-Identifier: MIT
"""Runs a program in QEMU, with the plug-in qemu_plugin.c that counts."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.boards import Board
from aidge_build.boards.faults import cause_of
from aidge_build.boards.flash import Cache
from aidge_build.prove.timing.estimate import OUTSIDE, Edge, Executed
from aidge_build.prove.timing.memory import WAITED, Lines, flash_regions
from aidge_build.prove.timing.reads import PieceCounts
from aidge_build.run.emulate.native_code import shared_library
from aidge_build.run.emulate.program import NO_ADDRESS, WAITS, End, Program, RunResult, Steps
from aidge_build.run.emulate.qemu_entries import entry_arguments, seen_by_plugin
from aidge_build.run.emulate.standstill import StillWatch
from aidge_build.run.emulate.supervision import supervise

# The start-up code prints this line when the core takes a fault.
_FAULT = re.compile(
    r"^aidge-fault pc ([0-9a-f]{8})(?: status ([0-9a-f]{8})(?: (address|accessing) ([0-9a-f]{8}))?)?$", re.MULTILINE
)
_BUS_FAULT_ADDRESS_VALID = 1 << 15
# An instruction takes 32 ns, so interrupts come at the same instruction each time, and a core that sleeps skips the time.
_CLOCK = "shift=5,sleep=off"
_PROGRESS = struct.Struct("=QQQ")  # of the plug-in: instructions, finished runs, address of the last instruction
_ROW = WAITED + 1  # numbers of a row of lines
_PIECES = "pieces"  # the file that divides the counts
_PIECE = WAITED + 3  # numbers of a row of a piece


def run_in_qemu(program: Program) -> RunResult:
    """Runs from the vector table to the exit; counts are None without a C compiler for the plug-in.

    QEMU serves semihosting files itself, relative to the work folder.
    """
    core = program.board.core
    machine = program.board.emulator.machine if program.board.emulator else ""
    if not machine or not core.qemu:
        raise AidgeError("QEMU has no machine for it", where=f"board {program.board.name}", code="RUN")
    if program.stops.inferences and program.run_address == NO_ADDRESS != program.step_address:
        raise AidgeError(
            f"QEMU counts calls of {program.run_symbol}, and this program calls {program.step_symbol} instead",
            where="--inferences",
            hint="--until FUNCTION, --instructions N or --seconds S",
            code="USAGE",
        )
    executable = qemu_of(program.board)
    with tempfile.TemporaryDirectory() as folder:
        return _run(program, executable, machine, Path(folder))


def qemu_of(board: Board) -> str:
    """Returns the path of QEMU for the core of the board; MissingTool if it is not installed."""
    core = board.core
    executable = shutil.which(core.qemu)
    if executable is None:
        raise MissingTool(
            f"board {board.name} runs in {core.qemu}, which is not on this machine",
            hint=f"apt install {' '.join(core.qemu_packages)}" if core.qemu_packages else f"put {core.qemu} on the PATH",
            code="EMULATOR",
        )
    return executable


def _run(program: Program, executable: str, machine: str, folder: Path) -> RunResult:
    slots = program.layer_slots()
    counts_calls = program.count and program.board.core.calls
    plugin = shared_library("qemu_plugin", program.work_folder) if counts_calls else None
    serial = folder / "serial"
    console, counts, progress = folder / "console", folder / "counts", folder / "progress"
    progress.write_bytes(bytes(_PROGRESS.size))
    words = "".join(f",arg={_escape(word)}" for word in program.arguments)
    command = [
        executable,
        "-M",
        machine,
        "-nographic",
        "-monitor",
        "none",
        "-serial",
        f"file:{serial}",
        "-chardev",
        f"file,id=console,path={_escape(str(console))}",
        "-semihosting-config",
        f"enable=on,target=native,chardev=console{words}",
        *program.board.core.qemu_flags,
        "-icount",
        _CLOCK,
        "-kernel",
        str(Path(program.image.path).resolve()),
    ]
    if plugin:
        if program.timing:
            begins = [piece.begin for piece in program.timing.pieces]
            (folder / _PIECES).write_bytes(struct.pack(f"={len(begins)}I", *begins))
        command += ["-plugin", _plugin_argument(program, plugin, counts, progress, slots)]
    result, end, sleeps_in = _supervised(command, program, progress)
    stdout = console.read_text(errors="replace") if console.is_file() else ""
    measured = _read_counts(counts)
    if end is End.EXIT:
        end = _ended(program, measured)
    if end is End.EXIT:
        _raise_on_failure(program, result, stdout, measured)
    elif not program.may_be_stopped:
        raise KeyboardInterrupt
    said = serial.read_bytes().decode(errors="replace") if serial.is_file() else ""
    channels = (("uart", said),) if said else ()
    return replace(_result(program, slots, measured, stdout, end, result.returncode), channels=channels, waits_in=sleeps_in)


def _supervised(command: list[str], program: Program, progress: Path) -> tuple[subprocess.CompletedProcess, End, str]:
    """Runs QEMU in a session of its own: Ctrl-C reaches only this process, which asks QEMU to end and to write its counts.
    Returns also the function in which the program sleeps for ever, or ""."""
    errors = progress.with_name("errors")

    def how_far() -> str:
        return program.how_far(*_PROGRESS.unpack(progress.read_bytes())[:2])

    def said() -> str:
        return errors.read_text(errors="replace")

    with errors.open("w") as stderr:
        process = subprocess.Popen(
            command,
            cwd=program.work_folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
    watch = StillWatch(program, lambda: _PROGRESS.unpack(progress.read_bytes()), said)
    try:
        end = supervise(process.wait, process.terminate, program.stops.seconds, how_far, watch.is_stuck)
    finally:
        if process.poll() is None:
            process.kill()
    if end is End.STUCK and not watch.sleeps_in:
        raise watch.failure()
    if end is End.STUCK and not program.may_be_stopped:
        raise program.failure(f"{watch.sleeps_in} {WAITS}")
    end = End.LOOP if end is End.STUCK else end
    return subprocess.CompletedProcess(command, process.returncode, stderr=said()), end, watch.sleeps_in


def _ended(program: Program, measured: dict[str, list[int]]) -> End:
    """Returns why the plug-in ended the program, if that is a result and no error."""
    if not program.may_be_stopped:
        return End.EXIT
    if _one(measured, "reached"):
        return End.INFERENCES if _one(measured, "finished_runs") == program.stops.inferences else End.UNTIL
    if _one(measured, "endless_loop"):
        return End.LOOP
    if _one(measured, "over_limit"):
        return End.INSTRUCTIONS if program.stops.instructions else End.LIMIT
    return End.EXIT


def _result(
    program: Program,
    slots: tuple[tuple[int, str], ...],
    measured: dict[str, list[int]],
    stdout: str,
    end: End,
    exit_code: int,
) -> RunResult:
    """Returns the counts, without the counts of a run in which the program was stopped."""
    steps = Steps(measured["steps"][0], measured["longest_step"][0]) if _one(measured, "steps") else None
    longest = measured.get("layer_step", []) if steps else None
    inside = "finished_" if end is not End.EXIT and _one(measured, "running") else ""
    instructions = "finished" if inside else "inside_run"
    numbers = measured.get(f"{inside}layer", [])
    executed = _executed(program, measured, inside, len(slots))
    cycles, layer_cycles = program.estimated(executed, len(slots))
    layers = program.layer_counts(slots, numbers, layer_cycles, longest) if measured else program.layer_counts((), [])
    runs = _one(measured, f"{inside}runs")
    written = sum(measured["written"]) if measured.get("written") else None
    return RunResult(
        exit_code if end is End.EXIT else None,
        stdout,
        _one(measured, "total"),
        _one(measured, instructions) if runs else None,
        runs,
        layers,
        _one(measured, "stack") or None,
        "qemu",
        written,
        cycles if runs else None,
        start_up_instructions=_one(measured, "before_main") or None,
        steps=steps,
        ended=end,
        ended_at=_place(program, measured) if end is not End.EXIT else "",
        fewest=_one(measured, "fewest"),
        most=_one(measured, "most"),
        inference_stack_bytes=_one(measured, "run_stack") or None,
        seen=seen_by_plugin(program, measured),
        reads=program.reads(executed, slots, runs),
    )


def _executed(program: Program, measured: dict[str, list[int]], inside: str, layers: int) -> Executed | None:
    """Returns the edges and flash lines of all runs, or of the runs that returned; None if no edge was counted."""
    numbers = measured.get("edge", [])
    edges = [(*numbers[at : at + 5], numbers[at + 5 + bool(inside)]) for at in range(0, len(numbers), 7)]
    rows = measured.get(f"{inside}lines", [])
    each = (layers + 1) * _ROW
    lines = tuple(_lines(rows[at : at + each]) for at in range(0, len(rows), each))
    pieces = {} if inside else _pieces(program, measured.get("piece", []))
    return Executed(tuple(Edge(*edge) for edge in edges if edge[-1]), lines, pieces) if edges else None


def _pieces(program: Program, numbers: Sequence[int]) -> dict[tuple[int, int], PieceCounts]:
    """Returns the reads of each layer from each piece."""
    found, count = {}, len(program.timing.pieces) if program.timing else 0
    for at in range(0, len(numbers), _PIECE):
        row, lines, size = numbers[at : at + 3]
        found[OUTSIDE + row // count, row % count] = PieceCounts(numbers[at + 3 : at + _PIECE], lines, size)
    return found


def _lines(numbers: Sequence[int]) -> Lines:
    """The lines of flash that one of the caches did not hold: a row for the code outside of layers, and one for each layer."""
    rows = {OUTSIDE + at // _ROW: numbers[at : at + _ROW] for at in range(0, len(numbers), _ROW)}
    return Lines({layer: row[:-1] for layer, row in rows.items()}, {layer: row[-1] for layer, row in rows.items()})


def _read_lines(program: Program) -> list[str]:
    """The arguments by which the plug-in counts lines of flash; [] if the board's file does not describe its flash."""
    if program.timing is None or program.board.flash is None:
        return []
    caches = [
        f"reads={int(each.prefetches)}:{int(each.is_shared)}:{_cache(each.code)}:{_cache(each.data)}"
        for each in program.timing.caches
    ]
    return [*caches, *(f"flash=0x{first:x}:0x{last:x}" for first, last in flash_regions(program.board))]


def _cache(cache: Cache | None) -> str:
    return f"{cache.line_bytes}:{cache.sets}:{cache.ways}" if cache else "0:0:0"


def _place(program: Program, measured: dict[str, list[int]]) -> str:
    """The start of the block that was last executed."""
    address = _one(measured, "at")
    return "" if address is None else f"{program.image.describe(address)} (0x{address:08x})"


def _escape(value: str) -> str:
    """Returns the value with doubled commas, because a single comma ends a value in QEMU's option lists."""
    return value.replace(",", ",,")


def _plugin_argument(program: Program, plugin: Path, counts: Path, progress: Path, slots: tuple[tuple[int, str], ...]) -> str:
    low, high = program.stack()
    fields = [
        _escape(str(plugin)),
        f"out={_escape(str(counts))}",
        f"calls={program.board.core.calls}",
        f"run=0x{program.run_address:x}",
        f"progress={_escape(str(progress))}",
        f"runs={program.stops.inferences}",
        f"until=0x{program.until_address:x}",
        f"waits={int(bool(program.stops))}",
        f"run_stack={int(program.measures_run_stack)}",
        f"edges={int(program.timing is not None)}",
        *_read_lines(program),
        *([f"pieces={_escape(str(counts.with_name(_PIECES)))}"] if program.timing and program.timing.pieces else []),
        *entry_arguments(program),
        f"step=0x{program.step_address:x}",
        f"main=0x{program.main_address:x}",
        f"stack=0x{low:x}:0x{high:x}",
        f"limit={program.instruction_limit}",
        *(f"layer=0x{address:x}" for address, _ in slots),
        *(f"watch=0x{symbol.address:x}:0x{symbol.size_bytes:x}" for symbol in program.watched()),
    ]
    return ",".join(fields)


def _read_counts(path: Path) -> dict[str, list[int]]:
    """The plug-in's lines of a key and numbers; {} when it did not run."""
    if not path.is_file():
        return {}
    counts: dict[str, list[int]] = {"layer": []}
    for line in path.read_text().splitlines():
        key, *numbers = line.split()
        counts.setdefault(key, []).extend(map(int, numbers))
    return counts


def _one(counts: dict[str, list[int]], key: str) -> int | None:
    return counts[key][0] if counts.get(key) else None


def _raise_on_failure(program: Program, result: subprocess.CompletedProcess, stdout: str, measured: dict[str, list[int]]) -> None:
    fault = _FAULT.search(stdout)
    if fault:
        address, status = int(fault[1], 16), int(fault[2] or "0", 16)
        is_known = fault[3] == "accessing" or status & _BUS_FAULT_ADDRESS_VALID
        touched = f", accessing 0x{fault[4]}" if is_known else ""
        cause = cause_of(status) if program.image.machine == "ARM" else ""
        raise program.failure(
            f"the program takes a fault (status 0x{status:08x}){touched}, "
            f"at {program.image.describe(address)} (pc 0x{address:08x}){f': {cause}' if cause else ''}"
        )
    if _one(measured, "endless_loop"):
        raise program.endless_loop(measured["endless_loop"][0] & ~1)
    if _one(measured, "over_limit"):
        raise program.over_limit()
    if program.count and not measured and "plugin" in result.stderr.lower():
        raise AidgeError(
            f"QEMU does not load the counting plug-in: {result.stderr.strip().splitlines()[0]}",
            where=program.image.path,
            hint="QEMU 4.2 to 8.1, or run without counts",
            code="EMULATOR",
        )
    if result.returncode < 0 or "Lockup" in result.stderr or result.stderr.startswith(program.board.core.qemu):
        first = next(iter(result.stderr.strip().splitlines()), f"ended by signal {-result.returncode}")
        raise program.failure(f"QEMU stopped: {first}")
