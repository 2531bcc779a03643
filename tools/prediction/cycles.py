# SPDX-License-Identifier: MIT
"""Measures what networks take on each core and behind each flash, by the emulator.

A program runs once for all boards with the same instructions: the counts hold the lines of flash through the caches of each.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import repeat
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board, list_boards, load_board
from aidge_build.build.compile import build_program
from aidge_build.measure.fit.count import counting_board
from aidge_build.plan.prediction.networks import Work, described
from aidge_build.plan.prediction.predict import described_calls, predict, work_of
from aidge_build.plan.program import Program
from aidge_build.prove.elf import read_image
from aidge_build.prove.timing.deviation import deviation_of
from aidge_build.prove.timing.estimate import Cycles, Executed, Timing
from aidge_build.prove.timing.memory import caches_of
from aidge_build.prove.timing.table import TimingTable, timing_of
from aidge_build.run.emulate import Counted, run_program
from aidge_build.run.emulate.estimate import program_timing
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import random_vectors
from tools.prediction.corpora import CORPORA, Part
from tools.prediction.measure import Measuring, content_key, seeded

# Features of cores, and the board that the tables of predictions for such cores were measured on.
REFERENCES = {
    "dsp-fpu-mve-thumb2": "mps3-an547",
    "dsp-fpu-thumb2": "mps2-an386",
    "narrow": "rp2040",
    "rv32m": "qemu_hazard3",
    "thumb2": "mps2-an385",
}
Place = tuple[str, str]  # a core, and a flash in words
Group = tuple[str, str, int]  # of boards that get the same code: features, core, the longest loop in bytes


@dataclass(frozen=True)
class LayerCycles:
    """The work of a layer as it was counted, the cycles of each core, and the stalls behind each flash, also without the cache of
    an external one."""

    work: Work
    core: Mapping[str, int]
    stalls: Mapping[Place, int]
    uncached: Mapping[Place, int]


@dataclass(frozen=True)
class Network:
    """The layers of a model, and the works that are predicted for it (none: not known)."""

    name: str
    layers: Sequence[LayerCycles]
    works: Sequence[Work]


@dataclass(frozen=True)
class _Recorder(Timing):
    """Keeps what was executed."""

    seen: list[Executed] = field(default_factory=list)

    def cycles(self, executed: Executed, layers: Sequence[int]) -> tuple[Cycles, dict[int, Cycles]]:
        """The cycles of all runs, and of each of these layers."""
        self.seen.append(executed)
        return super().cycles(executed, layers)


@cache
def groups() -> dict[Group, list[Board]]:
    """The boards with a compared timing table, by what their code depends on: one for each flash."""
    found: dict[Group, dict[str, Board]] = {}
    for board in map(load_board, list_boards()):
        features = "-".join(sorted(board.features))
        if features in REFERENCES and deviation_of(board.core) and not board.core.said:
            found.setdefault((features, board.core.name, board.loop_bytes), {}).setdefault(described(board), board)
    return {key: sorted(boards.values(), key=lambda board: board.name) for key, boards in sorted(found.items())}


def network_of(model: Path, boards: Sequence[Board], how: Measuring) -> Network:
    """The model with its cycles on boards that get the same code. What was counted is kept by the content of the generated
    C and by what is known of cores and flashes."""
    request = how.request(model)
    target = replace(request.target, loop_bytes=boards[0].loop_bytes)
    request = replace(request, target=target, timing=_table(boards[0]))
    program = build_program(request)
    known = [content_key(program, load_board(how.board)), *(f"{_table(each).digest} {described(each)}" for each in boards)]
    path = how.kept / f"cycles-{hashlib.sha256(' '.join(known).encode()).hexdigest()}.json"
    if not path.exists():
        how.kept.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_counted(program, boards, load_board(how.board))))
    layers = []
    for layer, (instructions, core, *stalls) in zip(program.layers, json.loads(path.read_text()), strict=True):
        if instructions:
            work = work_of(list(described_calls(program, layer, request.target)), instructions)
            places = ({(name, flash): cycles for name, flash, cycles in rows} for rows in stalls)
            layers.append(LayerCycles(work, core, *places))
    prediction = predict(program, request.libraries, request.target)
    return Network(model.stem, layers, prediction.works if prediction.instructions is not None else ())


def _counted(program: Program, boards: Sequence[Board], reference: Board) -> list:
    """Of each layer: instructions, cycles by core, and [core, flash, stalls] with and without the cache of an external flash."""
    machine = counting_board(reference)
    assert machine is not None
    machine = replace(
        machine, flash=next((each.flash for each in boards if each.flash), None)
    )  # QEMU counts lines of a flash alone
    caches = [caches_of(each.flash) for each in boards]
    symbols = [layer.symbol for layer in program.layers]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        execution = execute(program, machine, random_vectors(program.view, 1, seed=0), folder)
        timing = program_timing(execution.elf, machine)
        assert timing is not None
        recorder = _Recorder(timing.table, timing.instructions, tuple(one for each in caches for one in each))
        run_symbol = f"{program.name}_run"
        run_program(execution.elf, machine, work_folder=folder, counted=Counted(run_symbol, symbols, timing=recorder))
        image = read_image(execution.elf)
    addresses = {name: symbol.address for name in symbols if (symbol := image.symbol(name))}
    slots = {name: slot for slot, name in enumerate(sorted(addresses, key=lambda name: addresses[name]))}
    found: list = [[count.instructions, {}, [], []] for count in execution.result.layers]
    executed, at = recorder.seen[0], 0
    for board, own in zip(boards, caches, strict=True):
        lines, at = executed.lines[at : at + len(own)], at + len(own)
        of_board = Timing(_table(board), timing.instructions, own, board.stall_cycles)
        layers = of_board.cycles(Executed(executed.edges, lines), range(len(symbols)))[1]
        for name, row in zip(symbols, found, strict=True):
            _add(row, board, layers[slots[name]])
    return found


def _add(row: list, board: Board, cycles: Cycles) -> None:
    row[1][board.core.name] = cycles.core
    if described(board) and cycles.are_complete:
        row[2].append([board.core.name, described(board), cycles.total - cycles.core])
        if cycles.uncached is not None:
            row[3].append([board.core.name, described(board), cycles.uncached])


def _table(board: Board) -> TimingTable:
    table = timing_of(board.core, board.multiplier_cycles)
    assert table is not None
    return table


def networks_of(group: Group, models: Sequence[Path], seeds: int, kept: Path) -> list[Network]:
    """The models, and random networks of so many seeds of each part of the corpus, measured side by side on a group of boards."""
    how = Measuring(REFERENCES[group[0]], kept)
    parts = [part for part in CORPORA[how.board] if not part.has_alternatives]
    asked = [(part, seed, group, how) for part in parts for seed in part.seeds[:seeds]]
    with ProcessPoolExecutor() as pool:
        found = [*pool.map(_of_model, models, repeat(group), repeat(how)), *pool.map(_of_seed, *zip(*asked))]
    return [network for network in found if network]


def _of_seed(part: Part, seed: int, group: Group, how: Measuring) -> Network | None:
    with seeded(part, seed) as path:
        return _of_model(path, group, replace(how, words=part.words))


def _of_model(model: Path, group: Group, how: Measuring) -> Network | None:
    try:
        return network_of(model, groups()[group], how)
    except AidgeError as error:  # a network that cannot be built or run
        print(error, file=sys.stderr)
        return None
