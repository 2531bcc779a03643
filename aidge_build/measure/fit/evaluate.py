# SPDX-License-Identifier: MIT
"""The answer to questions about models and boards. Pure: bytes and words come in, and the same value comes out on every machine
that has the same compilers.

Questions that share a compilation are best asked together: the model is compiled once for their core. A board gets a compilation
of its own only if none of its memories holds that arena; then the arena is spread over several memories, or layers are computed
row by row.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.boards import Board, Region, load_board
from aidge_build.build.compile import Compilation, build_program
from aidge_build.build.imported import simplified
from aidge_build.build.inputs import NAME_TO_LOOK_AT, load
from aidge_build.build.option_values import of_chip
from aidge_build.build.request import CompileRequest
from aidge_build.measure.fit.count import Count, Counter
from aidge_build.measure.fit.evaluation import (
    FITS,
    IMAGE,
    INSTRUCTIONS,
    MILLISECONDS,
    REFUSED,
    STACK,
    TOO_SMALL,
    Evaluation,
    MemoryUse,
)
from aidge_build.measure.fit.firmware import Firmware, StartUps
from aidge_build.measure.fit.question import Question, opened, temporary_folder, without_folder
from aidge_build.measure.fit.sharing import board_of, compilation_key, equivalence_key, is_bound_to_board, start_up_of
from aidge_build.measure.fit.time import estimated_time, predicted_time, unknown_time
from aidge_build.plan.arena_regions import NoRoom, kept_in, single_region
from aidge_build.plan.constant_arrays import arrays_of
from aidge_build.plan.placement import kept_beside
from aidge_build.plan.prediction.predict import Prediction, predict
from aidge_build.plan.program import Program
from aidge_build.run.toolchain.failed_link import TooLarge

_MORE = "a smaller model, a board with more memory, --memory-model cascade, or --optimize size"
_NO_FLASH = "PLAN04"
_ENOUGH_FLASH = 1 << 32
_NOT_BUILT = "--build reads the bound from a program that is linked for the board"
_NOT_LINKED = "the program does not fit"
_NOT_COUNTED = "unknown for these kernels on this core; --measure counts them in the emulator"
_NO_TIME = "unknown for these kernels on this core; --measure estimates it from the emulator's run"


class _Compiled:
    """A program of the model, the firmware around it, and the facts about both that are known so far."""

    def __init__(self, program: Program, request: CompileRequest, folder: Path, start_ups: StartUps):
        self.program, self._folder, self._start_ups = program, folder, start_ups
        self._libraries, self._target = request.libraries, request.target
        self.firmware = Firmware(program, start_ups.board, folder, start_ups)
        self.constants_bytes = arrays_of(program).size_bytes
        self._counters: dict[str, Counter] = {}

    def count(self, board: Board) -> Count:
        """The instructions of an inference on the emulated core, with the start-up code of the board."""
        key = json.dumps(start_up_of(board))
        if key not in self._counters:
            folder = self._folder / f"counted{len(self._counters)}"
            self._counters[key] = Counter(self.program, self._start_ups.placed(board), folder)
        return self._counters[key].count(board)

    @cached_property
    def prediction(self) -> Prediction:
        """Returns the expected instructions of the layers, from measured layers."""
        return predict(self.program, self._libraries, self._target)


class _Core:
    """The model compiled for a core, and the programs for boards that need their own."""

    def __init__(self, request: CompileRequest, folder: Path, known: Compilation | None = None):
        if request.board is None:
            raise ValueError("a question names a board")
        self._folder = folder
        self._request = replace(request, board=None, target_name=request.cpu)
        self.compilation = known if known and known.serves(self._request) else Compilation(self._request)
        self._own: dict[tuple, _Compiled] = {}
        self._start_ups = StartUps(replace(request.board, name=request.cpu), folder / "start_up")
        program = self.compilation.program(self._request)
        self.shared = _Compiled(program, request, folder / "core", self._start_ups)

    def for_board(self, board: Board) -> _Compiled:
        """Returns the model compiled for the memories of the board; AidgeError if they hold no plan."""
        key = board.regions, board.arena_regions, board.reserved_bytes
        if key not in self._own:
            words = tuple(f"--board={board.name}" if word.startswith("--board=") else word for word in self._request.words)
            request = replace(self._request, board=_with_flash(board), target_name=board.name, words=words)
            program = self.compilation.program(request)
            self._own[key] = _Compiled(program, self._request, self._folder / f"board{len(self._own)}", self._start_ups)
        return self._own[key]


def _with_flash(board: Board) -> Board:
    """Returns the board with flash for all constants. The linker reports flash that is too small, and counts code as well as
    constants."""
    regions = tuple(replace(region, length_bytes=_ENOUGH_FLASH) if region.kind == "flash" else region for region in board.regions)
    return replace(board, regions=regions)


def evaluate(question: Question) -> Evaluation:
    """The answer to one question. Refusals are answers, too; AidgeError for a board that does not exist."""
    return evaluate_together([question])[0]


def evaluate_together(questions: Sequence[Question]) -> tuple[Evaluation, ...]:
    """The answers to questions with the same `compilation_key`, in their order, each as `evaluate` alone would give it.

    ValueError for questions that share no compilation.
    """
    if len({compilation_key(question) for question in questions}) > 1:
        raise ValueError("these questions share no compilation")
    if not questions or is_bound_to_board(questions[0]):
        return tuple(map(_for_board_alone, questions))
    cores: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        cores.setdefault(equivalence_key(question), []).append(place)
    found: dict[int, Evaluation] = {}
    known: Compilation | None = None
    for places in cores.values():
        answers, known = _on_core([questions[place] for place in places], known)
        found |= zip(places, answers, strict=True)
    return tuple(found[place] for place in range(len(questions)))


def _on_core(questions: Sequence[Question], known: Compilation | None) -> tuple[list[Evaluation], Compilation | None]:
    """Returns the answers to questions with the same `equivalence_key`, and the compilation for the next core."""
    with opened(questions[0]) as arguments, temporary_folder() as folder:
        try:
            core = _Core(_loaded(arguments), folder, known)
        except AidgeError as error:
            return [_refused(question, without_folder(arguments, error)) for question in questions], known
        return [_of_core(question, core, arguments) for question in questions], core.compilation


def load_once(question: Question) -> None:
    """Loads the modules and kernel libraries for a question, so that copies of this process need not. A refusal says nothing: it
    becomes the answer later."""
    with suppress(AidgeError), opened(question) as arguments:
        simplified(_loaded(arguments))


def _loaded(arguments: argparse.Namespace) -> CompileRequest:
    """The request, without a line about the board's name: several boards share the answer, and the command says it of each."""
    request = load(arguments, NAME_TO_LOOK_AT)
    of_board = of_chip(request.board, arguments.board)
    return replace(request, notices=tuple(notice for notice in request.notices if notice not in of_board))


def _of_core(question: Question, core: _Core, arguments: argparse.Namespace) -> Evaluation:
    """Answers from the core's program if one memory of the board holds its arena, else from a program for the board."""
    board, shared = _board(question), core.shared
    region = _region(shared.program, board)
    if region is not None and not question.build:
        arena_in = ((region, shared.program.memory.arena.peak_bytes),) if region else ()
        return _answer(question, board, shared, arena_in, is_own=False, counted=shared)
    try:
        own = core.for_board(board)
    except AidgeError as error:
        return _refused(question, without_folder(arguments, error), shared)
    return _from_own(question, board, own, own if region is None else shared)  # the same layers run, wherever the arena is


def _region(program: Program, board: Board) -> str | None:
    """Returns the memory that holds a program's arena in one piece; "" if no memory is chosen for it, None if none holds it."""
    if program.options.arena != "static":
        return ""
    kept_bytes = kept_beside(program.view, program.memory.states, program.schedule.cascades, program.options)
    return single_region(program.memory.arena, board, kept_bytes)


def _for_board_alone(question: Question) -> Evaluation:
    """The answer from a compilation for the board alone, by options that speak of its memories."""
    with opened(question) as arguments, temporary_folder() as folder:
        try:
            request = _loaded(arguments)
            program = build_program(request)
        except AidgeError as error:
            return _refused(question, without_folder(arguments, error))
        board = load_board(arguments.board, arguments.board_path)
        own = _Compiled(program, request, folder, StartUps(board, folder / "start_up"))
        return _from_own(question, board, own, own)


def _from_own(question: Question, board: Board, own: _Compiled, counted: _Compiled) -> Evaluation:
    arena_in = tuple((part.region, part.size_bytes) for part in own.program.memory.parts if part.region)
    return _answer(question, board, own, arena_in, is_own=True, counted=counted)


def _answer(
    question: Question,
    board: Board,
    compiled: _Compiled,
    arena_in: tuple[tuple[str, int], ...],
    *,
    is_own: bool,
    counted: _Compiled,
) -> Evaluation:
    program = compiled.program
    found = replace(
        _empty(question, board),
        libraries=tuple(dict.fromkeys(layer.kernel.library for layer in program.layers)),
        arena_bytes=program.memory.arena.peak_bytes,
        arena_in=arena_in,
        io_bytes=program.memory.io_bytes,
        constants_bytes=compiled.constants_bytes,
        by_rows=bool(program.schedule.cascades),
        notices=program.notices,
    )
    count = counted.count(board) if question.measure else Count(None, _NOT_COUNTED)
    found = _with_time(_with_instructions(found, count, counted), count, counted, board)
    if not board.regions:
        return _unknown(found, IMAGE, "the board states no memories")
    try:
        return _built(found, compiled, board, question.build) if is_own else _estimated(found, compiled, board)
    except AidgeError as error:
        if isinstance(error, MissingTool) or not question.build:
            return _unknown(_with_missing_flash(found, board), IMAGE, f"{error.what}: {error.hint}")
        return replace(found, verdict=REFUSED, reason=str(error), hint=error.hint, code=error.code)


def _estimated(found: Evaluation, compiled: _Compiled, board: Board) -> Evaluation:
    """Returns the bytes that the core's firmware uses of this board's memories, with the arena in the board's memory for it."""
    inside = dict(found.arena_in)
    used = (
        _beside_arena(compiled, board)
        if inside
        else dict(zip(board.regions, compiled.firmware.used_with_room(board), strict=True))
    )
    memories = [
        MemoryUse(region.name, region.kind, used_bytes + inside.get(region.name, 0), region.length_bytes)
        for region, used_bytes in used.items()
    ]
    return _with_memories(found, memories, board)


def _built(found: Evaluation, compiled: _Compiled, board: Board, asks: bool) -> Evaluation:
    """Returns the bytes that the board's own program uses; if the question `asks` for a build, also the proved bound of its
    stack."""
    try:
        found = _with_memories(found, compiled.firmware.used(board), board)
    except TooLarge as error:
        uses = zip(board.regions, compiled.firmware.used_with_room(board), strict=True)
        memories = [MemoryUse(region.name, region.kind, used_bytes, region.length_bytes) for region, used_bytes in uses]
        found = replace(_with_memories(found, memories, board), verdict=TOO_SMALL, missing=error.missing)
        found = _unknown(found, STACK, _NOT_LINKED) if asks else found
        return replace(found, is_built=asks, reason=error.what, hint=error.hint, code=error.code)
    if not asks:
        return found
    stack_bytes = compiled.firmware.stack_bytes(board)
    found = replace(found, is_built=True, stack_bytes=stack_bytes)
    return _without_unknown(found, STACK) if stack_bytes is not None else _unknown(found, STACK, "no bound can be proved")


def _with_memories(found: Evaluation, memories: Sequence[MemoryUse], board: Board) -> Evaluation:
    """Adds the image's bytes and the memories that are too small. A second region of the same memory does not count."""
    names = {region.name for region in board.memories}
    memories = [use for use in memories if use.name in names]
    missing = tuple((use.name, use.missing_bytes) for use in memories if use.missing_bytes)
    image_bytes = sum(use.used_bytes for use in memories if use.kind == "flash")
    found = replace(found, memories=tuple(memories), image_bytes=image_bytes)
    if not missing:
        return found
    facts = ", ".join(
        f"memory {use.name} is too small by {use.missing_bytes:,} B: {use.used_bytes:,} B of {use.length_bytes:,} B"
        for use in memories
        if use.missing_bytes
    )
    return replace(found, verdict=TOO_SMALL, missing=missing, reason=facts, hint=_MORE, code="LINK_OVERFLOW")


def _with_instructions(found: Evaluation, count: Count, compiled: _Compiled) -> Evaluation:
    """Adds counted instructions if they were asked for and can be counted, else predicted ones."""
    if count.instructions is not None:
        return _without_unknown(replace(found, instructions=count.instructions, instructions_error=0.0), INSTRUCTIONS)
    prediction = compiled.prediction
    if prediction.instructions is None:
        return _unknown(found, INSTRUCTIONS, count.reason)
    error = round(100 * prediction.error, 1)
    return _without_unknown(replace(found, instructions=prediction.instructions, instructions_error=error), INSTRUCTIONS)


def _with_time(found: Evaluation, count: Count, compiled: _Compiled, board: Board) -> Evaluation:
    """Adds the time from estimated cycles of the layers that were counted, or else the predicted time."""
    program = compiled.program
    leaves_flash = bool(program.options.constants_in) or any(
        layer.copied and not layer.copied.copy.is_packed for layer in program.layers
    )
    if count.instructions is not None:
        time = estimated_time(count.cycles, board)
    elif compiled.prediction.instructions is not None:
        time = predicted_time(compiled.prediction, board, leaves_flash)
    else:
        time = unknown_time(board, count.reason if count.reason != _NOT_COUNTED else _NO_TIME)
    if time.milliseconds is None:
        return _unknown(found, MILLISECONDS, time.reason)
    found = replace(
        found,
        milliseconds=time.milliseconds,
        milliseconds_error=round(100 * time.error, 1),
        milliseconds_uncached=time.uncached,
    )
    return _without_unknown(found, MILLISECONDS)


def _refused(question: Question, error: AidgeError, shared: _Compiled | None = None) -> Evaluation:
    """Returns an answer without figures of a program: memories that are too small, or an unsupported model. If the core has a
    program, the constants of that program are the constants of this one."""
    board = _board(question)
    found = replace(_empty(question, board), reason=_line_of(error), hint=error.hint, code=error.code)
    if shared is not None:
        io_bytes = shared.program.memory.io_bytes
        found = replace(found, constants_bytes=shared.constants_bytes, io_bytes=io_bytes, notices=shared.program.notices)
    if error.code == _NO_FLASH:
        return _with_missing_flash(replace(found, verdict=TOO_SMALL), board)
    if not isinstance(error, NoRoom):
        return replace(found, verdict=REFUSED)
    found = replace(found, verdict=TOO_SMALL, arena_bytes=error.least_bytes)
    try:
        beside = _beside_arena(shared, board) if shared is not None else {}
    except AidgeError as unlinked:
        found, beside = _unknown(found, IMAGE, f"{unlinked.what}: {unlinked.hint}"), {}
    short = {
        region: error.least_bytes + max(kept_in(region, board, 0), beside.get(region, 0)) - region.length_bytes
        for region in board.arena_regions
    }
    least = min(short, key=lambda region: (short[region], region.name))
    missing = max(1, short[least])
    if not beside:
        return _with_missing_flash(replace(found, missing=((least.name, missing),)), board)
    memories = [
        MemoryUse(region.name, region.kind, region.length_bytes + missing if region == least else used_bytes, region.length_bytes)
        for region, used_bytes in beside.items()
    ]
    return replace(_with_memories(found, memories, board), reason=found.reason, hint=found.hint, code=found.code)


def _beside_arena(shared: _Compiled, board: Board) -> dict[Region, int]:
    """Returns the bytes that the core's firmware uses of the board's memories, without its arena. No program is linked for a
    board without a plan, so that this is the best estimate."""
    arena_bytes = shared.program.memory.arena.peak_bytes if shared.program.options.arena == "static" else 0
    return {
        region: used_bytes - (arena_bytes if "data" in region.roles else 0)
        for region, used_bytes in zip(board.regions, shared.firmware.used_with_room(board), strict=True)
    }


def _with_missing_flash(found: Evaluation, board: Board) -> Evaluation:
    """Adds the bytes by which the constants alone exceed flash, the only memory for them."""
    flash = max((region for region in board.memories if region.kind == "flash"), key=lambda one: one.length_bytes, default=None)
    length = sum(region.length_bytes for region in board.memories if region.kind == "flash")
    missing = (found.constants_bytes or 0) - length
    if flash is None or missing <= 0:
        return found
    found = replace(found, verdict=TOO_SMALL, missing=(*found.missing, (flash.name, missing)))
    if found.reason:
        return found
    reason = f"the constants need {found.constants_bytes:,} B, and flash is too small for them by {missing:,} B"
    return replace(found, reason=reason, hint=_MORE, code=_NO_FLASH)


def _line_of(error: AidgeError) -> str:
    """Returns place and fault of an error, without the tried values and the hint."""
    return f"{error.where}: {error.what}" if error.where else error.what


def _empty(question: Question, board: Board) -> Evaluation:
    return Evaluation(
        model=question.model,
        board=board.name,
        verdict=FITS,
        core=board.cpu,
        unknown=((STACK, _NOT_BUILT), (INSTRUCTIONS, _NOT_COUNTED), (MILLISECONDS, _NO_TIME)),
    )


def _unknown(found: Evaluation, figure: str, why: str) -> Evaluation:
    return replace(found, unknown=(*(one for one in found.unknown if one[0] != figure), (figure, why)))


def _without_unknown(found: Evaluation, figure: str) -> Evaluation:
    return replace(found, unknown=tuple(one for one in found.unknown if one[0] != figure))


def _board(question: Question) -> Board:
    return board_of(question.board, question.own_board)
