# SPDX-License-Identifier: MIT
"""The two kinds of work of tuning: ask how many turns a model has, and measure its layers in one of them.

Both are pure functions of bytes and words, as the work of a sweep is, and done by the same workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError, CheckFailed, InternalError, MissingTool
from aidge_build.base.naming import counted
from aidge_build.boards import Board
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import NAME_TO_LOOK_AT, load
from aidge_build.build.request import CompileRequest
from aidge_build.contract.spec import NodeView
from aidge_build.measure.fit.cache import key_of as question_key
from aidge_build.measure.fit.count import counting_board
from aidge_build.measure.fit.question import Question, opened, temporary_folder, without_folder
from aidge_build.measure.sweep.tasks import Task, canonical, key_of
from aidge_build.measure.sweep.work import read_answer, require_equal
from aidge_build.measure.tune.measured import Measured
from aidge_build.measure.tune.turns import turns
from aidge_build.plan.program import Layer, Program
from aidge_build.prepare.adaptation.layer_classes import shape_class, shapes_of, types_of
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prove.timing.estimate import Cycles
from aidge_build.run.verify.compare import compare
from aidge_build.run.verify.firmware import Execution, execute
from aidge_build.run.verify.float_tolerance import makes_levels_of_floats, may_differ
from aidge_build.run.verify.steps import run_as_kernels
from aidge_build.run.verify.vectors import Vectors, random_vectors


@dataclass(frozen=True)
class Tuning:
    """A model on a board, and which turn of it is meant; None: how many there are."""

    key: str
    question: Question
    turn: int | None = None


@dataclass(frozen=True)
class Refused:
    """The reason why a turn of a model could not be measured."""

    reason: str


def counting_turns(question: Question) -> Task:
    """Returns the task that counts the turns of the model."""
    return _task(f"kernels of {question.model}", question, None)


def measuring(question: Question, turn: int) -> Task:
    """Returns the task that measures the layers of the model in one of its turns."""
    return _task(f"{question.model}, build {turn + 1}", question, turn)


def _task(title: str, question: Question, turn: int | None) -> Task:
    key = _key(question, turn)
    return Task(key, title, _answered, Tuning(key, question, turn))


def _key(question: Question, turn: int | None) -> str:
    return key_of("tune", question_key(question), turn)


def _answered(request: Tuning) -> bytes:
    require_equal(request.key, _key(request.question, request.turn))
    with opened(request.question) as arguments:
        try:
            asked = load(arguments, NAME_TO_LOOK_AT)
            found = turns(asked)
            if request.turn is None:
                return canonical({"turns": len(found)})
            return canonical({"layers": [one.as_json() for one in _measured(asked, found[request.turn])]})
        except (MissingTool, InternalError, CheckFailed):
            raise
        except AidgeError as error:
            return canonical({"refused": str(without_folder(arguments, error))})


def turns_in(value: bytes) -> int | Refused:
    """Returns how many turns there are, or why there are none."""
    return read_answer(value, lambda found: Refused(str(found["refused"])) if "refused" in found else int(found["turns"]))


def layers_in(value: bytes) -> tuple[Measured, ...] | Refused:
    """The layers, or why they were not measured."""
    return read_answer(
        value,
        lambda found: Refused(str(found["refused"])) if "refused" in found else tuple(map(Measured.from_json, found["layers"])),
    )


def _measured(request: CompileRequest, target: Target) -> Iterator[Measured]:
    """Yields each layer that is one call. CheckFailed if a value differs from numpy's, because a wrong kernel must not be
    measured."""
    board = counting_board(request.board) if request.board is not None else None
    if board is None:
        raise MissingTool("no board with this core is emulated", where=f"--board {request.target_name}", code="TUNE")
    program = build_program(replace(request, target=target, board=None, target_name=request.cpu))
    vectors = random_vectors(program.view, 1, seed=0)
    with temporary_folder() as folder:
        execution = execute(program, board, vectors, folder, estimates=True)
    if execution.result.run_instructions is None:
        raise MissingTool(
            "instructions cannot be counted",
            where=f"--board {request.target_name}",
            hint="name a board with an emulated core; the emulators' counters need a C compiler of this machine",
            code="TUNE",
        )
    _require_exact(program, board, execution, vectors)
    for layer, count in zip(program.layers, execution.result.layers, strict=True):
        if layer.bands is None and count.instructions:
            yield _of_layer(program, layer, count.instructions, count.cycles)


def _require_exact(program: Program, board: Board, execution: Execution, vectors: Vectors) -> None:
    wanted = run_as_kernels(program, vectors, range(1))
    differing = sum(compare(name, execution.outputs[name], wanted[name]).differing_values for name in program.view.handed_out)
    if not differing:
        return
    if makes_levels_of_floats(program.view):
        with temporary_folder() as folder:
            traced = execute(program, board, vectors, folder, trace=True)
        if may_differ(program, vectors, execution.outputs, wanted, traced):
            return
    kernels = ", ".join(sorted({f"{layer.kernel.library} {layer.kernel.name}" for layer in program.layers}))
    raise CheckFailed(f"{counted(differing, 'value', 'differs')} from numpy's; its kernels: {kernels}", code="TUNE")


def _of_layer(program: Program, layer: Layer, instructions: int, cycles: Cycles | None) -> Measured:
    view = NodeView.of(program.view, layer.node)
    moved = [tensor for tensor in (*view.inputs, *view.outputs) if tensor is not None and not tensor.is_constant]
    return Measured(
        layer.node.name,
        layer.node.type,
        types_of(view),
        shapes_of(view),
        shape_class(view),
        ", ".join(str(tensor.storage) for tensor in moved),
        layer.kernel.library,
        layer.kernel.name,
        layer.macs,
        sum(tensor.elements for tensor in layer.outputs),
        instructions,
        cycles.core if cycles else None,
        cycles.data_lines if cycles else None,
    )
