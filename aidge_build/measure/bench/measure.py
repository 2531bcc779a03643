# SPDX-License-Identifier: MIT
"""Builds a model for a board, runs it in the emulator, and reads the ELF."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.boards import Board
from aidge_build.boards.cores import Core
from aidge_build.build.compile import build_program
from aidge_build.build.request import CompileRequest
from aidge_build.contract.spec import NodeView
from aidge_build.measure.bench.figures import ANY, Figures, LayerFigures
from aidge_build.plan.program import Layer, Program
from aidge_build.prepare.adaptation.layer_classes import shape_class
from aidge_build.prove.elf import read_image, region_use
from aidge_build.prove.timing.deviation import measured_deviation
from aidge_build.run.emulate import LayerCount, RunResult
from aidge_build.run.probe.server import Probe
from aidge_build.run.toolchain.program_stack import program_stack
from aidge_build.run.verify.compare import compare
from aidge_build.run.verify.firmware import Execution, Run, execute_as
from aidge_build.run.verify.float_tolerance import makes_levels_of_floats, may_differ
from aidge_build.run.verify.steps import run_as_kernels
from aidge_build.run.verify.vectors import (
    Vectors,
    input_conversions,
    model_inputs,
    random_vectors,
    read_npz,
    reference_conversions,
    reference_outputs,
)
from aidge_build.sources.formats import suffixes

ENDINGS = {"int8": "_int8_qdq.onnx", "float": "_float.onnx"}
DATA_ENDING = "_io.npz"


@dataclass(frozen=True)
class Case:
    """A model file and the file of its test vectors; None: a seeded random one."""

    model: str
    data: str
    path: Path
    vectors: Path | None


def cases_in(folder: Path) -> tuple[Case, ...]:
    """Returns the models of a folder by element type and name. If no name has an element type, every model in it."""
    named = [
        (path.name.removesuffix(ending), data, path)
        for data, ending in ENDINGS.items()
        for path in sorted(folder.glob(f"*{ending}"))
    ]
    found = named or [(path.stem, ANY, path) for path in sorted(folder.iterdir()) if path.suffix in suffixes()]
    return tuple(Case(name, data, path, _vectors_of(folder / f"{name}{DATA_ENDING}")) for name, data, path in found)


def _vectors_of(path: Path) -> Path | None:
    return path if path.is_file() else None


def measure(
    case: Case,
    request: CompileRequest,
    board: Board,
    reference: str,
    most_vectors: int | None = None,
    probe: Probe | None = None,
) -> Figures:
    """Returns all figures of a case; AidgeError if it cannot be built, run or counted. With a probe the values and the measured
    cycles come from the board that the probe is connected to."""
    program = build_program(request)
    vectors, stored, converted = _given(case, program, reference, most_vectors)
    count = len(next(iter(vectors.values())))
    with tempfile.TemporaryDirectory() as temporary:
        execution = execute_as(program, board, vectors, Path(temporary), Run(estimates=True, probe=probe))
        wanted = stored or run_as_kernels(program, vectors)
        differing = _differing(program, execution, wanted)
        by_floats = False
        if differing and not stored and makes_levels_of_floats(program.view):
            traced = execute_as(program, board, vectors, Path(temporary) / "traced", Run(trace=True, probe=probe))
            by_floats = may_differ(program, vectors, execution.outputs, wanted, traced)
        stack, flash = _stack_bytes(execution.elf, f"{program.name}_run", board.core), _flash_bytes(execution.elf, board)
    result = execution.result
    if result.run_instructions is None:
        raise MissingTool(
            "instructions cannot be counted",
            where=f"board {board.name}",
            code="BENCH",
            hint="the emulators' counters need a C compiler of this machine",
        )
    return Figures(
        model=case.model,
        data=case.data,
        board=board.name,
        cpu=board.cpu,
        vectors=count,
        differing_values=differing,
        conversions=tuple(converted),
        instructions=round(result.run_instructions / count),
        **_time(result, board, count),
        macs=program.model_macs,
        macs_executed=sum(layer.macs for layer in program.layers),
        peak_bytes=program.memory.peak.peak_bytes,
        arena_bytes=program.memory.arena.peak_bytes,
        io_bytes=program.memory.io_bytes,
        scratch_bytes=max(
            (placement.buffer.size_bytes for placement in program.memory.arena.placements if placement.buffer.kind == "scratch"),
            default=0,
        ),
        stack_bytes=stack,
        code_bytes=execution.code_bytes,
        weights_bytes=execution.weights_bytes,
        flash_bytes=flash,
        start_up_instructions=result.start_up_instructions,
        layers=tuple(_layer(program, layer, counts, count) for layer, counts in zip(program.layers, result.layers, strict=True)),
        measured=result.measured,
        has_fpu="fpu" in board.features or "dsp" not in board.features,
        by_floats=by_floats,
    )


def _time(result: RunResult, board: Board, runs: int) -> dict:
    """The figures of time of an inference, by the names of the fields of `Figures`."""
    cycles = result.run_cycles
    total = _mean(cycles.total if cycles else None, runs)
    return {
        "cycles": total,
        "stall_cycles": _mean(cycles.total - cycles.core if cycles and cycles.are_complete else None, runs),
        "cycles_uncached": _mean(cycles.total_uncached if cycles else None, runs),
        "cycles_error": measured_deviation(board.core, board.features),
        "clock_hz": board.clock_hz,
        "nanojoules_per_cycle": board.nanojoules_per_cycle,
    }


def _layer(program: Program, layer: Layer, counts: LayerCount, runs: int) -> LayerFigures:
    shape = shape_class(NodeView(layer.node, layer.inputs, layer.outputs, program.view))
    return LayerFigures(
        layer.node.name,
        layer.node.type,
        layer.kernel.library,
        layer.kernel.name,
        layer.macs,
        sum(tensor.elements for tensor in layer.outputs),
        shape,
        _mean(counts.instructions, runs) or 0,
        _mean(counts.cycles.total if counts.cycles else None, runs),
        _mean(counts.cycles.data_lines if counts.cycles else None, runs),
        dict(layer.call.facts),
        counts.cycles_measured,
    )


def _mean(number: int | None, count: int) -> int | None:
    return None if number is None else round(number / count)


def _given(case: Case, program: Program, reference: str, most_vectors: int | None) -> tuple[Vectors, Vectors, list[str]]:
    """The inputs, the stored references, {} for inputs of another network's scale, and lines about such inputs."""
    arrays = read_npz(case.vectors) if case.vectors else {}
    found = model_inputs(arrays, program.view) if case.vectors else random_vectors(program.view, 1, seed=0)
    vectors = {name: values[:most_vectors] for name, values in found.items()}
    converted = input_conversions(arrays, program.view)
    return vectors, {} if converted else _stored(program, arrays, reference, len(next(iter(vectors.values())))), converted


def _stored(program: Program, arrays: Vectors, reference: str, count: int) -> Vectors:
    """The stored references where they are of the outputs' type and scale, else {}: the numpy backend's values are the
    reference."""
    try:
        if reference_conversions(arrays, reference, program.view):
            return {}
        stored = reference_outputs(
            {key: values[:count] if values.ndim else values for key, values in arrays.items()}, reference, program.view, count
        )
    except AidgeError:
        return {}
    fits = all(values.dtype == program.view.tensor(name).dtype.numpy for name, values in stored.items())
    return stored if fits else {}


def _differing(program: Program, execution: Execution, wanted: Vectors) -> int:
    return sum(compare(name, execution.outputs[name], wanted[name]).differing_values for name in program.view.handed_out)


def _stack_bytes(elf: Path, run: str, core: Core) -> int | None:
    use = program_stack(read_image(elf), core, (run,))
    return use.runs[run].bytes if use and run in use.runs else None


def _flash_bytes(elf: Path, board: Board) -> int:
    uses, _ = region_use(read_image(elf), board.regions)
    return sum(use.used_bytes for use in uses if use.region.kind == "flash")
