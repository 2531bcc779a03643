# SPDX-License-Identifier: MIT
"""`accuracy --flips N`: the share of single flipped bits of the constants that change an answer, and where they are."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.options import LIMITS
from aidge_build.base.terminal import counting
from aidge_build.boards import Board, load_board
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import NAME_TO_LOOK_AT, load
from aidge_build.cli.outcome import Outcome
from aidge_build.measure.accuracy.flips.bits import Constants, Flip, constants_of
from aidge_build.measure.accuracy.flips.emulated import EmulatedModel
from aidge_build.measure.accuracy.flips.native import NativeModel
from aidge_build.measure.accuracy.flips.native import Outcome as FlipOutcome
from aidge_build.measure.accuracy.flips.tally import Judge, Tally, lines_of, tables_of
from aidge_build.measure.accuracy.labelled import NO_LABEL, LabelledSet, given_samples
from aidge_build.measure.accuracy.stages import first_samples, real_values
from aidge_build.measure.accuracy.task import task_of
from aidge_build.plan.program import Program
from aidge_build.prepare.input_samples import fed
from aidge_build.run.emulate.model_calls import has_calls
from aidge_build.run.verify.vectors import Vectors, stored_rows

SAMPLES, EMULATED_SAMPLES = 20, 5  # of the file
EMULATED = 200  # flips in the emulator
_BATCH, _EMULATED_BATCH = 200, 20  # flips
# Options without influence on the values that a model computes: here it has static memory, and runs in one piece.
_PLAIN = {"io": "caller", "input": "whole", "output": "whole", "arena": "static", "dma": "off", "record": None, "max_step": None}
_PLAIN |= {"update": "none", "weights_version": None, "weights": "c", "memory_model": "default", "ram_budget": None}
_HOST = {"board": "host", "cpu": None, "fpu": None, "lib": None, "copy_constants": "off", "constants_in": [], "place": None}


class _Model(Protocol):
    """A program in which bits can be flipped."""

    reference: FlipOutcome

    def outcomes(self, flips: Sequence[Flip]) -> list[FlipOutcome]: ...


def add_flip_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of flipped bits."""
    parser.add_argument(
        "--flips",
        type=int,
        metavar="N",
        help="number of bits of the constants to flip, one at a time: the share that changes an answer, by layer and by bit "
        "(default: none)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the sample of --flips (default: 1)")


def flipped(arguments: argparse.Namespace) -> Outcome:
    """Flips bits on this machine, and with --board some in the emulated program of the board, too."""
    _require_usable(arguments)
    program = _program(arguments, **_HOST)
    samples = _samples(arguments, program)
    with tempfile.TemporaryDirectory() as folder:
        data, said = _on_this_machine(arguments, program, samples, Path(folder) / "host")
        if arguments.board:
            board = load_board(arguments.board, arguments.board_path)
            if has_calls(board):
                more, lines = _on_board(arguments, board, program, samples, Path(folder))
                data |= more
                said += lines
            else:
                said.append(f"board {board.name}: not flipped there: Unicorn does not emulate this board")
    return Outcome(said, data, EXIT_CHECK_FAILED if any(_lost(data.get(part, {})) for part in ("host", "board")) else 0)


def _lost(found: dict) -> int:
    """The flips that N_verify_constants did not find."""
    return 0 if found.get("found") is None else found["flips"] - found["found"]


def _require_usable(arguments: argparse.Namespace) -> None:
    if arguments.flips < 1:
        raise AidgeError(f"wants a positive number, got {arguments.flips}", where="--flips", code="USAGE")
    for option in ("float", "elf", "block", "out", *LIMITS):
        if getattr(arguments, option.replace("-", "_")) is not None:
            raise AidgeError(
                "flips bits of the model that is generated here, and has no limits",
                where="--flips",
                hint=f"leave out --{option}",
                code="USAGE",
            )
    if not (arguments.labels or arguments.quantize):
        raise AidgeError("the samples are missing", where="--labels", code="USAGE", hint="add --labels F.npz (docs/accuracy.md)")


def _samples(arguments: argparse.Namespace, program: Program) -> LabelledSet:
    """The first --samples of the file, else some of it; labels may be missing."""
    found = given_samples(Path(arguments.labels or arguments.quantize), program.view)
    return _some(program, found, SAMPLES) if arguments.samples is None else first_samples(found, arguments.samples)


def _some(program: Program, samples: LabelledSet, count: int) -> LabelledSet:
    """Returns `count` samples, judged ones if there are some, at equal distances, because files are often sorted by class; the
    first ones of a stream."""
    if program.memory.states.size_bytes:
        return first_samples(samples, count)
    if samples.labels is not None and samples.has_labels:
        samples = samples.chosen(samples.labels != NO_LABEL)
    count = min(count, samples.count)
    return samples.chosen(numpy.arange(count) * samples.count // count)


def _program(arguments: argparse.Namespace, **changes) -> Program:
    """The model with other options."""
    return build_program(load(argparse.Namespace(**{**vars(arguments), **_PLAIN, **changes}), NAME_TO_LOOK_AT))


def _on_this_machine(
    arguments: argparse.Namespace, program: Program, samples: LabelledSet, folder: Path
) -> tuple[dict, list[str]]:
    constants, vectors = constants_of(program), _vectors(program, samples)
    folder.mkdir()
    model = NativeModel(program, constants, stored_rows(program.view, vectors), folder)
    judge = _judge(arguments, program, samples, vectors, model.reference)
    drawn = constants.drawn(arguments.flips, arguments.seed)
    tally = _tallied(model, constants, program, judge, drawn, _BATCH)
    found = tally.as_json()
    all_bits = "all" if len(drawn) == constants.bits else f"of {constants.bits:,}, seed {arguments.seed}"
    name = Path(arguments.model).name
    title = (
        f"{name} on this machine, portable kernels: {len(drawn):,} bits of the constants ({all_bits}), one at a time; "
        f"{counted(samples.count, 'sample')}"
    )
    return {"schema": 1, "model": name, "seed": arguments.seed, "host": found}, [
        *lines_of(title, found),
        *tables_of(found),
    ]


def _on_board(
    arguments: argparse.Namespace, board: Board, host: Program, samples: LabelledSet, folder: Path
) -> tuple[dict, list[str]]:
    """The same C on the board, whose outputs must be the same bit for bit; then the board's own kernels and constants."""
    few = _some(host, samples, EMULATED_SAMPLES)
    count = min(arguments.flips, EMULATED)
    constants = constants_of(host)
    rows, drawn = stored_rows(host.view, _vectors(host, few)), constants.drawn(count, arguments.seed)
    (folder / "again").mkdir()
    native = NativeModel(host, constants, rows, folder / "again").outcomes(drawn)
    emulated = EmulatedModel(host, board, constants, rows, folder / "same", arguments.flag)
    differing = sum(one != other for one, other in zip(native, _outcomes(emulated, drawn), strict=True))
    said = [f"the same C in the emulator of {board.name}: {count - differing:,} of {count:,} flips give the bits of this machine"]
    program = _program(arguments)
    own, vectors = constants_of(program), _vectors(program, few)
    emulated = EmulatedModel(program, board, own, stored_rows(program.view, vectors), folder / "board", arguments.flag)
    judge = _judge(arguments, program, few, vectors, emulated.reference)
    found = _tallied(emulated, own, program, judge, own.drawn(count, arguments.seed), _EMULATED_BATCH).as_json()
    title = (
        f"{board.name} in the emulator, its own kernels and constants: {count:,} bits ({own.bits:,} in all), "
        f"{counted(few.count, 'sample')}"
    )
    return {"differing_flips": differing, "board": {"name": board.name, **found}}, [*said, *lines_of(title, found)]


def _outcomes(model: _Model, flips: Sequence[Flip], batch: int = _EMULATED_BATCH) -> list[FlipOutcome]:
    """The outcomes of all flips; prints how far it is."""
    found: list[FlipOutcome] = []
    with counting("FLIP", is_kept=False) as announce:
        for start in range(0, len(flips), batch):
            found += model.outcomes(flips[start : start + batch])
            announce("flips", len(found), len(flips))
    return found


def _tallied(model: _Model, constants: Constants, program: Program, judge: Judge, flips: Sequence[Flip], batch: int) -> Tally:
    assert model.reference.outputs is not None
    tally = Tally(program.view, constants, model.reference.outputs, judge)
    with counting("FLIP", is_kept=False) as announce:
        for start in range(0, len(flips), batch):
            part = flips[start : start + batch]
            tally.add(part, model.outcomes(part))
            announce("flips", start + len(part), len(flips))
    return tally


def _vectors(program: Program, samples: LabelledSet) -> Vectors:
    view = program.view
    return {name: fed(samples, name, view.tensor(name), None) for name in view.given}


def _judge(
    arguments: argparse.Namespace, program: Program, samples: LabelledSet, vectors: Vectors, reference: FlipOutcome
) -> Judge:
    """The meaning of the outputs, by the labels."""
    inputs = real_values(program.view, vectors)
    if not samples.has_labels and not samples.targets:
        return Judge(samples, inputs)
    plain = Tally(program.view, constants_of(program), reference.outputs or b"", Judge(samples, inputs))
    outputs = plain.outputs(reference.outputs or b"")
    return Judge(samples, inputs, task_of(samples, outputs, inputs, arguments.task, arguments.labelled_output or ""))
