# SPDX-License-Identifier: MIT
"""The model as a program: generated code and a main that feeds it vectors, built for a board and run there."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy

from aidge_build.base.errors import CheckFailed
from aidge_build.base.output import write_sources
from aidge_build.base.render import render
from aidge_build.boards import Board
from aidge_build.build.emit import emit
from aidge_build.build.emit.kept import keeping_functions
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.program import Program
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.prove.elf.start_up import START_UP_NAMES
from aidge_build.run.emulate import Counted, RunResult, run_program
from aidge_build.run.emulate.estimate import program_timing
from aidge_build.run.probe.measure import beside
from aidge_build.run.probe.server import Probe
from aidge_build.run.toolchain import build_program
from aidge_build.run.verify.calling import calling_of
from aidge_build.run.verify.on_board import require_same_model, run_on_board
from aidge_build.run.verify.over_serial import SerialLine, answered
from aidge_build.run.verify.vectors import Vectors


@dataclass(frozen=True)
class Execution:
    """Outputs per tensor name [vector, dims...]; with a trace also every layer's outputs. `code_bytes` are the
    instructions of the model's layers and kernels in `elf`, `weights_bytes` its constants."""

    outputs: Vectors
    trace: Vectors
    result: RunResult
    code_bytes: int
    weights_bytes: int
    elf: Path


@dataclass(frozen=True)
class Run:
    """The way to run a program: whether it is traced, with which further compiler flags, whether cycles are estimated, and
    whether reads of each function and constant are counted apart (`tells_apart`, only with estimates). `states`: the bytes of the
    state before each vector, if they differ from the state after the last one.

    `probe`: a board gives outputs, trace and stack. The program there is `elf`, or one that is made for the board. The emulator
    gives the counts, if the board has one, in addition to the cycles that the board measures. `serial`: a firmware that answers
    on a serial line gives the outputs, the emulator the trace.
    """

    trace: bool = False
    flags: tuple[str, ...] = ()
    estimates: bool = False
    tells_apart: bool = False
    states: Sequence[bytes] = ()
    probe: Probe | None = None
    elf: Path | None = None
    serial: SerialLine | None = None


def execute(
    program: Program,
    board: Board,
    vectors: Vectors,
    folder: Path,
    *,
    trace: bool = False,
    flags: tuple[str, ...] = (),
    estimates: bool = False,
    tells_apart: bool = False,
) -> Execution:
    """Calls `execute_as` for the emulator; each vector leaves its state to the next one."""
    return execute_as(program, board, vectors, folder, Run(trace, flags, estimates, tells_apart))


def execute_as(program: Program, board: Board, vectors: Vectors, folder: Path, how: Run) -> Execution:
    """Generates, compiles, links and runs in `folder`, which keeps sources, ELF, input.bin and output.bin."""
    traced = replace(program, options=replace(program.options, trace=how.trace))
    if how.serial is not None and not how.trace:
        return _over_serial(program, board, vectors, folder, how, how.serial)
    if how.probe is None:
        return _emulated(traced, board, vectors, folder, how)
    if how.elf is not None:
        require_same_model(program, how.elf)
    counted = board.emulator is not None and not how.trace
    emulated = _emulated(program, board, vectors, folder / "emulated", replace(how, states=())) if counted else None
    return _on_board(traced, board, vectors, folder, how, how.probe, emulated.result if emulated else None)


def _emulated(program: Program, board: Board, vectors: Vectors, folder: Path, how: Run) -> Execution:
    rows = [b"".join(row) for row in _stored(program, vectors)]
    before = how.states or [b""] * len(rows)
    elf, weights_bytes = _build(program, board, folder, how, _harness(program, how.trace, bool(how.states)))
    (folder / "input.bin").write_bytes(b"".join(part for pair in zip(before, rows, strict=True) for part in pair))
    (folder / "output.bin").unlink(missing_ok=True)
    counted = Counted(
        f"{program.name}_run",
        [*(layer.symbol for layer in program.layers), *keeping_functions(program)],
        f"{program.name}_step" if program.waiting else "",
        timing=program_timing(elf, board, tells_apart=how.tells_apart) if how.estimates else None,
    )
    result = run_program(elf, board, work_folder=folder, count=not how.trace, counted=counted)
    if result.exit_code != 0:
        raise CheckFailed(
            f"the program ended with exit code {result.exit_code}",
            where=str(elf),
            code="RUN",
            hint="3: input.bin is short, 4: the model's run function refused, 5: output.bin could not be written",
        )
    return _execution(program, folder, len(rows), result, elf, weights_bytes, how.trace)


def _on_board(
    program: Program,
    board: Board,
    vectors: Vectors,
    folder: Path,
    how: Run,
    probe: Probe,
    emulated: RunResult | None,
) -> Execution:
    folder.mkdir(parents=True, exist_ok=True)
    elf, weights_bytes = how.elf, 0
    if elf is None:
        elf, weights_bytes = _build(program, board, folder, how, _harness(program, how.trace, attached=True))
    else:
        weights_bytes = sum(claim.weights_bytes for claim in read_claims(read_image(elf)) if claim.model == program.name)
    rows = _stored(program, vectors)
    found = run_on_board(program, board, elf, rows, probe, how.trace)
    (folder / "output.bin").write_bytes(found.outputs)
    (folder / "trace.bin").write_bytes(found.trace)
    return _execution(program, folder, len(rows), beside(found.result, emulated), elf, weights_bytes, how.trace)


def _over_serial(program: Program, board: Board, vectors: Vectors, folder: Path, how: Run, serial: SerialLine) -> Execution:
    if how.elf is not None:
        require_same_model(program, how.elf)
    rows = _stored(program, vectors)
    outputs = answered(program, [b"".join(row) for row in rows], serial)
    emulated = _emulated(program, board, vectors, folder, how) if board.emulator or board.is_host else None
    elf = emulated.elf if emulated else _build(program, board, folder, how, _harness(program, False, attached=True))[0]
    (folder / "output.bin").write_bytes(outputs)
    nothing = RunResult(None, "", None, None, len(rows), (), None, "serial")
    result = replace(emulated.result, stack_high_water_bytes=None) if emulated else nothing
    return _execution(program, folder, len(rows), result, elf, emulated.weights_bytes if emulated else 0, False)


def _stored(program: Program, vectors: Vectors) -> list[list[bytes]]:
    """The stored bytes of each input, for each vector."""
    inputs = [program.view.tensor(name) for name in program.view.given]
    count = len(vectors[inputs[0].name])
    return [[tensor.to_stored(vectors[tensor.name][index]).tobytes() for tensor in inputs] for index in range(count)]


def _build(program: Program, board: Board, folder: Path, how: Run, harness: str) -> tuple[Path, int]:
    """The linked program, and the bytes of the model's weights."""
    folder.mkdir(parents=True, exist_ok=True)
    generated = emit(program)
    write_sources(generated, folder)
    main = folder / "main.c"
    main.write_text(harness)
    elf = build_program(
        board,
        [folder / program.code_file, folder / f"{program.name}_weights.c", main],
        folder / f"{program.name}.elf",
        work_folder=folder / "objects",
        include_folders=[folder],
        extra_flags=(*program.compiler_flags, *how.flags),
    )
    return elf, generated.manifest["weights_bytes"]


def _execution(
    program: Program, folder: Path, count: int, result: RunResult, elf: Path, weights_bytes: int, trace: bool
) -> Execution:
    """Returns the execution that the files in `folder` describe."""
    outputs = [program.view.tensor(name) for name in program.view.handed_out]
    layers = [tensor for layer in program.layers for tensor in layer.outputs]
    return Execution(
        _split(folder / "output.bin", outputs, count),
        _traced(folder / "trace.bin", layers, count) if trace else {},
        result,
        code_bytes(elf, program.name),
        weights_bytes,
        elf,
    )


def code_bytes(elf: Path, name: str) -> int:
    """Returns the bytes of the functions of a model and of kernels in a linked program, without start-up code."""
    functions = [symbol for symbol in read_image(elf).symbols if symbol.kind == "function"]
    of_model = [symbol for symbol in functions if symbol.name.startswith((f"{name}_", "aidge_"))]
    return sum(symbol.size_bytes for symbol in of_model if not symbol.name.startswith(START_UP_NAMES))


def _traced(path: Path, tensors: list[Tensor], count: int) -> Vectors:
    """Returns the file's records (number of the tensor, bytes, some of its bytes) as logical arrays. The records of a tensor are
    in order, also if layers take turns."""
    data, position = path.read_bytes(), 0
    found = [bytearray() for _ in tensors]
    while position < len(data):
        index, size = struct.unpack_from("<II", data, position)
        found[index] += data[position + 8 : position + 8 + size]
        position += 8 + size
    vectors: Vectors = {}
    for tensor, stored in zip(tensors, found, strict=True):
        if len(stored) != tensor.size_bytes * count:
            raise CheckFailed(f"has {len(stored):,} B of '{tensor.name}'", where=str(path), code="RUN")
        rows = numpy.frombuffer(stored, tensor.dtype.numpy).reshape(count, tensor.elements)
        vectors[tensor.name] = numpy.stack([tensor.from_stored(row) for row in rows])
    return vectors


def _split(path: Path, tensors: list[Tensor], count: int) -> Vectors:
    """The file's bytes (per vector: each tensor's stored bytes) as logical arrays."""
    data = path.read_bytes()
    size = sum(tensor.size_bytes for tensor in tensors)
    if len(data) != size * count:
        raise CheckFailed(f"has {len(data):,} bytes, expected {size * count:,}", where=str(path), code="RUN")
    found: dict[str, list[numpy.ndarray]] = {tensor.name: [] for tensor in tensors}
    position = 0
    for _ in range(count):
        for tensor in tensors:
            stored = numpy.frombuffer(data, tensor.dtype.numpy, tensor.elements, position)
            found[tensor.name].append(tensor.from_stored(stored))
            position += tensor.size_bytes
    return {name: numpy.stack(values) for name, values in found.items()}


def _harness(program: Program, trace: bool, given_states: bool = False, attached: bool = False) -> str:
    inputs = [program.view.tensor(name) for name in program.view.given]
    return render(
        files(__package__).joinpath("harness.c.j2").read_text(),
        name=program.name,
        trace=trace,
        attached=attached,
        call=calling_of(program),
        input_bytes=sum(tensor.size_bytes for tensor in inputs) + (program.memory.states.size_bytes if given_states else 0),
        given_state_bytes=program.memory.states.size_bytes if given_states else 0,
        ready=program.memory.states.size_bytes if program.memory.states.needs_start else None,
    )
