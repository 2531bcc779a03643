# SPDX-License-Identifier: MIT
"""Lines and branches of generated C that vectors, and calls that must be refused, execute: by gcov, on this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy

from aidge_build.base.errors import CheckFailed, MissingTool
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import load
from aidge_build.cli.parsing import parse
from aidge_build.graph.view import GraphView
from aidge_build.plan.program import Program
from aidge_build.run.toolchain import find_host_compiler
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import Vectors, model_inputs, random_vectors, read_npz, stored_rows
from tools.safety.misuse import misuse
from tools.safety.networks import Network

# A function is compiled once, and not once for each place that calls it.
FLAGS = ("--coverage", "-O0", "-Dalways_inline=noinline")
SEEDS = (1, 2)
SAMPLES = 64  # of a file at most, for each seed


@dataclass(frozen=True)
class Direction:
    """One way that a branch may go: the function, the text of its line, which of the equal lines of the function it is, and which
    of the ways of that line. `number` is the line in N.c; `count` is how often it was taken; `is_steady` whether both sets of
    vectors took it equally often."""

    function: str
    text: str
    place: int
    way: int
    number: int
    count: int
    is_steady: bool

    @property
    def key(self) -> tuple[str, str, int, int]:
        """The same for the same branch in the code of other models."""
        return self.function, self.text, self.place, self.way


@dataclass(frozen=True)
class Coverage:
    """The lines of N.c that a compiler makes code of, how many of them were executed, and all ways of its branches."""

    network: Network
    lines: int
    executed: int
    directions: tuple[Direction, ...]


def missing() -> list[str]:
    """The programs that this machine lacks."""
    return [name for name, found in (("gcc", find_host_compiler()), ("gcov", shutil.which("gcov"))) if not found]


def measure(network: Network, folder: Path) -> Coverage:
    """Generates the C of a network for this machine, runs two sets of vectors and the calls that must be refused, and counts."""
    if missing():
        raise MissingTool(f"this machine lacks {', '.join(missing())}", hint="apt-get install gcc", code="TOOLCHAIN")
    program = program_of(network, "host", folder)
    first, second = (vectors_of(program.view, network, seed) for seed in SEEDS)
    elf = execute(program, load_board("host"), first, folder, flags=FLAGS).elf
    counts = [_lines(program, folder)]
    (folder / "input.bin").write_bytes(b"".join(part for row in stored_rows(program.view, second) for part in row))
    _succeed(elf, folder)
    counts.append(_lines(program, folder))
    _refuse(program, folder)
    counts.append(_lines(program, folder))
    return _counted(network, (folder / program.code_file).read_text().split("\n"), counts)


def _lines(program: Program, folder: Path) -> list[dict]:
    """Returns what gcov knows of each line of N.c by now."""
    code = Path(program.code_file)
    words = ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(folder / "objects" / f"0_{code.stem}.gcda")]
    files = json.loads(subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout)["files"]
    return sorted(
        next(one for one in files if Path(one["file"]).name == code.name)["lines"], key=lambda line: line["line_number"]
    )


def _succeed(program: Path, folder: Path) -> None:
    code = subprocess.run([str(program)], cwd=folder, check=False).returncode
    if code != 0:
        raise CheckFailed(
            f"ends with {code}: a call that must be refused was not, or the reverse",
            where=str(program.with_suffix(".c")),
            code="RUN",
        )


def program_of(network: Network, board: str, folder: Path) -> Program:
    """Returns the model for a board; a file that is made for it is in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(network.source, Path):
        path = network.source
    else:
        path = folder / f"{network.name}.onnx"
        path.write_bytes(network.source())
    return build_program(
        load(parse("compile", [str(path), "--board", board, "--out", str(folder), *network.options]), network.name)
    )


def vectors_of(view: GraphView, network: Network, seed: int) -> Vectors:
    """Returns samples of the network's file, then seeded vectors (integers of the whole range, floats of magnitudes from 2^-6 to
    2^6, a tenth of the elements NaN in every fourth), then all lowest, all highest and all zero values."""
    count = network.vectors
    drawn, made = random_vectors(view, count, seed), dict[str, list[numpy.ndarray]]()
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    for name, values in drawn.items():
        ends = [values.min(), values.max(), values.dtype.type(0)]
        if values.dtype.kind == "f":
            values[::2] *= numpy.exp2(random.integers(-6, 7, values[::2].shape)).astype(values.dtype)
            values[1::2] *= 64
            values[::4][random.random(values[::4].shape) < 0.1] = numpy.nan
            ends = [values.dtype.type(value) for value in (-1000, 1000, 0)]
        made[name] = [values, *(numpy.full((1, *values.shape[1:]), end) for end in ends)]
    if network.samples is not None:
        samples = model_inputs(read_npz(network.samples), view)
        half = len(next(iter(samples.values()))) // 2
        first = half * (seed - 1)
        made = {name: [samples[name][first : first + min(half, SAMPLES)], *parts] for name, parts in made.items()}
    return {name: numpy.concatenate(parts) for name, parts in made.items()}


def _refuse(program: Program, folder: Path) -> None:
    """Runs the calls that must be refused on the same objects, so that gcov adds them to the vectors."""
    compiler = find_host_compiler()
    assert compiler is not None
    source, objects = folder / "misuse.c", folder / "objects"
    source.write_text(misuse(program))
    model = [str(objects / f"{place}_{name}.o") for place, name in enumerate((program.name, f"{program.name}_weights"))]
    words = [compiler.c, "-w", f"-I{folder}", str(source), *model, "--coverage", "-lm", "-o", str(folder / "misuse")]
    compiler.run(words, where=str(source))
    _succeed(folder / "misuse", folder)


def _counted(network: Network, text: list[str], counts: list[list[dict]]) -> Coverage:
    """The last of the counts; a line that several functions have inline is one line."""
    runs: dict[int, int] = {}
    directions, seen = [], Counter[tuple[str, str]]()
    for first, second, last in zip(*counts, strict=True):
        number, function = last["line_number"], last.get("function_name", "")
        runs[number] = max(runs.get(number, 0), last["count"])
        words = text[number - 1].strip()
        for way, branches in enumerate(zip(first["branches"], second["branches"], last["branches"], strict=True)):
            once, twice, count = (branch["count"] for branch in branches)
            directions.append(Direction(function, words, seen[function, words], way, number, count, twice == 2 * once))
        seen[function, words] += bool(last["branches"])
    return Coverage(network, len(runs), sum(count > 0 for count in runs.values()), tuple(directions))
