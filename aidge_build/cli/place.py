# SPDX-License-Identifier: MIT
"""`explain --place auto`: measures a model, chooses what leaves flash, measures the result, and writes the file for --place."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError, CheckFailed, needs_option
from aidge_build.base.naming import counted
from aidge_build.base.output import write_files
from aidge_build.boards import Board, Region
from aidge_build.build.compile import build_program
from aidge_build.build.option_values import require_place_alone
from aidge_build.build.request import CompileRequest
from aidge_build.cli.cycles import time_of
from aidge_build.measure.fit.count import counting_twin
from aidge_build.measure.tune.fast_memory import Choice, choose
from aidge_build.plan.constant_regions import rooms_of
from aidge_build.plan.fast_memory import AUTO, CODE, text_of
from aidge_build.plan.program import Program
from aidge_build.prove.elf import Image, read_image
from aidge_build.prove.elf.claims import read_claims
from aidge_build.prove.elf.code_memory import check_code_places
from aidge_build.prove.elf.data_proof import check_constants
from aidge_build.prove.elf.findings import ERROR, Finding
from aidge_build.prove.elf.waivers import NO_WAIVERS
from aidge_build.prove.timing.estimate import Timing
from aidge_build.run.emulate import RunResult
from aidge_build.run.emulate.estimate import program_timing
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import Vectors, input_conversions, model_inputs, random_vectors, read_npz


@dataclass(frozen=True)
class Measurement:
    """A program that was run in the emulator: the linked file, its timing (None without one), its outputs and its counts.
    `conversions` are lines about stored inputs of another scale."""

    program: Program
    image: Image
    timing: Timing | None
    outputs: Vectors
    result: RunResult
    conversions: tuple[str, ...] = ()


def measured(request: CompileRequest, io_data: str | None) -> Measurement:
    """Builds and runs the model of a request with the vectors of a file, or with a seeded random one."""
    program = build_program(request)
    board = counting_twin(request.board) if request.board else None
    if board is None:
        raise not_emulated(request)
    program = replace(program, target=replace(program.target, regions=board.regions, memories=board.arena_regions))
    arrays = read_npz(Path(io_data)) if io_data else {}
    vectors = model_inputs(arrays, program.view) if io_data else random_vectors(program.view, 1, seed=0)
    converted = tuple(input_conversions(arrays, program.view))
    with tempfile.TemporaryDirectory() as temporary:
        execution = execute(program, board, vectors, Path(temporary), estimates=True, tells_apart=True)
        timing = program_timing(execution.elf, board, tells_apart=True) if request.fast is None else None
        return Measurement(program, read_image(execution.elf), timing, execution.outputs, execution.result, converted)


def not_emulated(request: CompileRequest) -> AidgeError:
    """Returns the error for a board on which nothing can be measured."""
    return AidgeError(
        "this board has no emulator that counts instructions",
        where=f"--measure on {request.target_name}",
        code="USAGE",
        hint="name another one, e.g. --board mps2-an386",
    )


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that only `--place auto` reads."""
    parser.add_argument(
        "--within",
        action="append",
        default=[],
        metavar="MEMORY=BYTES",
        help=f"memory that --place {AUTO} fills, and the bytes it may take there (repeat)",
    )
    parser.add_argument(
        "--out", "-o", type=Path, metavar="F.toml", help=f"file that --place {AUTO} writes, for --place of a build"
    )


def rooms_within(arguments: argparse.Namespace, request: CompileRequest) -> tuple[tuple[str, int], ...]:
    """The memories of --within; () without --place auto. AidgeError where nothing can be gained, or not be known."""
    for option in ("within", "out"):
        if arguments.place != AUTO and getattr(arguments, option):
            raise needs_option(option, f"--place {AUTO}")
    if arguments.place != AUTO:
        return ()
    missing = next((option for option in ("within", "out") if not getattr(arguments, option)), None)
    if missing:
        raise AidgeError(
            f"--{missing} is missing", where=f"--place {AUTO}", code="USAGE", hint="--within CCM=16K --out place.toml"
        )
    require_place_alone(arguments)
    rooms = rooms_of(arguments.within, request.board, arguments, "--within")
    reason = _nothing_to_gain(request.board)
    if reason:
        raise AidgeError(reason, where=f"--place {AUTO} on {request.target_name}", code=CODE, hint="leave out --place")
    return rooms


def _nothing_to_gain(board: Board) -> str:
    stall = board.flash.stall_cycles if board.flash and board.flash.stall_cycles is not None else board.flash_wait_states
    if stall == 0:
        return "the flash has no wait states: nothing is gained"
    if board.flash is None or stall is None:
        return "the board's file does not describe its flash: nothing is known of what would be gained"
    return "" if counting_twin(board) else "no emulator counts the reads of each function on this core"


def placed(
    request: CompileRequest, before: Measurement | None, rooms: Sequence[tuple[str, int]], out: Path, io_data: str | None
) -> tuple[list[str], dict]:
    """Writes the file; what to print, and the same as data; nothing without rooms. CheckFailed where the program with the file is
    not as planned."""
    if before is None or not rooms:
        return [], {}
    board, runs = request.board, before.result.runs
    if board is None or before.timing is None or not before.result.reads or not runs:
        raise AidgeError(
            "reads of flash were not counted",
            where=f"--place {AUTO}",
            code=CODE,
            hint="a core with a timing table, and a C compiler",
        )
    choice = choose(before.program, board, before.image, before.timing.instructions, before.result.reads, runs, rooms)
    fast = choice.as_value(before.program, rooms, request.words)
    options = replace(request.options, constants_in=fast.rooms)
    after = measured(replace(request, fast=fast, options=options), io_data)
    _require_as_planned(before, after, board, rooms)
    comments = [f"Constants and functions that leave flash: written by `aidge-build explain --place {AUTO}`, read by --place."]
    write_files({out: text_of(fast, comments).encode()})
    return _lines(before, after, board, rooms, choice, out), {"place": _data(before, after, rooms, choice, out)}


def _require_as_planned(before: Measurement, after: Measurement, board: Board, rooms: Sequence[tuple[str, int]]) -> None:
    """The same values, everything in its memory, no memory with more bytes than its room, the arena where it was, and no slower
    program."""
    wrong = [name for name in before.outputs if not numpy.array_equal(before.outputs[name], after.outputs[name], equal_nan=True)]
    found = [f"output {name} has other values" for name in wrong]
    found += [finding.text for finding in _findings(after.image, after.program.target.regions) if finding.severity == ERROR]
    arenas = [" and ".join(part.region for part in one.program.memory.parts) for one in (before, after)]
    if arenas[0] != arenas[1]:
        found.append(f"the arena moves from {arenas[0]} to {arenas[1]}: --within leaves it too few bytes")
    for name, size in rooms:
        taken = linked_bytes(after.image, name)
        found += [f"{name} holds {taken:,} B, more than the {size:,} of --within"] if taken > size else []
    cycles = [_mean(one.result) or _stalls(one.result) for one in (before, after)]
    if cycles[1] > cycles[0]:
        found.append(f"{cycles[1] - cycles[0]:,} cycles more than without it: calls between memories cost more than is saved")
    if found:
        raise CheckFailed(found[0], where=f"--place {AUTO}", code=CODE)


def _findings(image: Image, regions: Sequence[Region]) -> Iterator[Finding]:
    """The findings about the memories of constants and functions, of each model of the program."""
    claims = read_claims(image)
    for claim in claims:
        yield from check_constants(image, claim, regions, NO_WAIVERS)
        yield from check_code_places(image, claim, claims)


def linked_bytes(image: Image, memory: str) -> int:
    """The bytes of a memory that moved constants and code take in a linked program, with alignment and veneers."""
    sections = (f".aidge_constants_{memory}", f".aidge_code_{memory}")
    return sum(section.size_bytes for section in image.sections if section.name in sections)


def _lines(
    before: Measurement, after: Measurement, board: Board, rooms: Sequence[tuple[str, int]], choice: Choice, out: Path
) -> list[str]:
    lines = []
    for name, size in rooms:
        kinds = [one.kind for one, memory in choice.moved if memory == name]
        constants = kinds.count("constants")
        parts = [f"constants of {counted(constants, 'layer')}"] * bool(constants)
        parts += [f"code of {counted(len(kinds) - constants, 'function')}"] * (constants < len(kinds))
        lines.append(f"{name}: {linked_bytes(after.image, name):,} of {size:,} B, {' and '.join(parts) or 'nothing'}")
    proved = "no other choice saves more" if choice.is_optimal else "a better choice may exist: the search was cut off"
    lines.append(f"stalls of {choice.stalls:,} cycles less by the estimate; {proved}")
    known = [time_of(one.result, board) or f"~{_stalls(one.result):,} cycles of stalls" for one in (before, after)]
    return [*lines, f"measured again: {known[0]} -> {known[1]}, the same outputs", f"{out}: read it with --place {out}"]


def _data(before: Measurement, after: Measurement, rooms: Sequence[tuple[str, int]], choice: Choice, out: Path) -> dict:
    return {
        "file": str(out),
        "memories": [{"memory": name, "bytes": size, "used_bytes": linked_bytes(after.image, name)} for name, size in rooms],
        "moved": [
            {"kind": one.kind, "name": one.name, "memory": memory, "bytes": one.size_bytes, "stalls": one.stalls}
            for one, memory in choice.moved
        ],
        "stalls_saved": choice.stalls,
        "stalls_saved_by_density": choice.greedy_stalls,
        "is_optimal": choice.is_optimal,
        "cycles_before": _mean(before.result),
        "cycles_after": _mean(after.result),
    }


def _stalls(result: RunResult) -> int:
    """Returns the stalls of an inference, in cycles."""
    return round(sum(one.stalls for one in result.reads) / max(1, result.runs or 0))


def _mean(result: RunResult) -> int | None:
    return round(result.run_cycles.total / result.runs) if result.run_cycles and result.runs else None
