# SPDX-License-Identifier: MIT
"""The answer to questions about models and boards. Pure: bytes and words come in, and the same value comes out on every machine
that has the same compilers.

Questions that share a compilation are best asked together: the model is compiled once for their core, and only a board none of
whose memories holds that arena gets a compilation of its own, in which the arena is spread over several memories, or layers are
computed row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from aidge_build.arena_regions import NoRoom, room_in, single_region
from aidge_build.boards import Board, load_board
from aidge_build.compile import build_program
from aidge_build.emit.arrays import arrays_of
from aidge_build.errors import AidgeError, MissingTool
from aidge_build.fit.count import Count, count_instructions
from aidge_build.fit.evaluation import FITS, REFUSED, TOO_SMALL, Evaluation, MemoryUse
from aidge_build.fit.firmware import Firmware
from aidge_build.fit.question import Question, opened, temporary_folder, without_folder
from aidge_build.fit.sharing import board_of, equivalence_key, is_bound_to_board
from aidge_build.inputs import NAME_TO_LOOK_AT, load
from aidge_build.placement import kept_beside
from aidge_build.program import Program
from aidge_build.request import CompileRequest
from aidge_build.toolchain.failed_link import TooLarge

IMAGE, STACK, INSTRUCTIONS, MILLISECONDS = "image", "stack", "instructions", "milliseconds"  # what may not be known
_MORE = "a smaller model, a board with more memory, --memory-model cascade, or --optimize size"
_NOT_BUILT = "the bound is read from the board's own program: --build"
_NOT_COUNTED = "they are counted in the emulator: --measure"
_NO_TIME = "cycles of this core are not estimated with a known error"


class _Compiled:
    """A program of the model, the firmware around it, and what both have said so far."""

    def __init__(self, program: Program, board: Board, folder: Path):
        self.program, self.board, self.folder = program, board, folder
        self.firmware = Firmware(program, board, folder)
        self.constants_bytes = arrays_of(program).size_bytes

    @cached_property
    def count(self) -> Count:
        """The instructions of an inference on the emulated core."""
        return count_instructions(self.program, self.board, self.folder / "counted")


def evaluate(question: Question) -> Evaluation:
    """The answer to one question. Refusals are answers, too; AidgeError for a board that does not exist."""
    return evaluate_together([question])[0]


def evaluate_together(questions: Sequence[Question]) -> tuple[Evaluation, ...]:
    """The answers to questions with the same `equivalence_key`, in their order, each as `evaluate` alone would give it.

    ValueError for questions that share no compilation.
    """
    if len({equivalence_key(question) for question in questions}) > 1:
        raise ValueError("these questions share no compilation")
    if not questions or is_bound_to_board(questions[0]):
        return tuple(map(_for_board, questions))
    with opened(questions[0]) as arguments, temporary_folder() as folder:
        try:
            request = load(arguments, NAME_TO_LOOK_AT)
            program = build_program(replace(request, board=None, target_name=request.cpu))
        except AidgeError as error:
            return tuple(_refused(question, _board(question), without_folder(arguments, error)) for question in questions)
        shared = _Compiled(program, _of_core(request), folder)
        return tuple(_shared_or_own(question, shared) for question in questions)


def _of_core(request: CompileRequest) -> Board:
    """The board whose flags and start-up code all boards of the compilation share, by the name of the core."""
    if request.board is None:
        raise ValueError("a question names a board")
    return replace(request.board, name=request.cpu)


def _shared_or_own(question: Question, shared: _Compiled) -> Evaluation:
    board, program = _board(question), shared.program
    region: str | None = ""
    if program.options.arena == "static":
        kept_bytes = kept_beside(program.view, program.states, program.cascades, program.options)
        region = single_region(program.arena, board, kept_bytes)
    if region is None:
        return _for_board(question)
    if question.build:  # the same layers run, wherever the arena lies
        return _for_board(question, shared)
    arena_in = ((region, program.arena.peak_bytes),) if region else ()
    return _answer(question, board, shared, arena_in, is_own=False, counted=shared)


def _for_board(question: Question, counted: _Compiled | None = None) -> Evaluation:
    """The answer from a compilation for the board alone; its instructions are those of `counted`, where there is one."""
    with opened(question) as arguments, temporary_folder() as folder:
        board = load_board(arguments.board, arguments.board_path)
        try:
            program = build_program(load(arguments, NAME_TO_LOOK_AT))
        except AidgeError as error:
            return _refused(question, board, without_folder(arguments, error))
        arena_in = tuple((part.region, part.size_bytes) for part in program.parts if part.region)
        own = _Compiled(program, board, folder)
        return _answer(question, board, own, arena_in, is_own=True, counted=counted or own)


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
        arena_bytes=program.arena.peak_bytes,
        arena_in=arena_in,
        io_bytes=program.io_bytes,
        constants_bytes=compiled.constants_bytes,
        notices=program.notices if is_own else (),
    )
    found = _counted(found, counted.count) if question.measure else found
    if not board.regions:
        return _unknown(found, IMAGE, "the board states no memories")
    try:
        return _built(found, compiled, board) if is_own else _estimated(found, compiled, board)
    except AidgeError as error:
        if isinstance(error, MissingTool) or not question.build:
            return _unknown(_by_constants(found, board), IMAGE, f"{error.what}: {error.hint}")
        return replace(found, verdict=REFUSED, reason=str(error), hint=error.hint, code=error.code)


def _estimated(found: Evaluation, compiled: _Compiled, board: Board) -> Evaluation:
    """What the firmware of the core takes of this board's memories, the arena where this board has it."""
    inside = dict(found.arena_in)
    uses = compiled.firmware.used_with_room(board)
    memories = []
    for region, used_bytes in zip(board.regions, uses, strict=True):
        if inside and "data" in region.roles:
            used_bytes -= compiled.program.arena.peak_bytes
        memories.append(MemoryUse(region.name, region.kind, used_bytes + inside.get(region.name, 0), region.length_bytes))
    return _with_memories(found, memories)


def _built(found: Evaluation, compiled: _Compiled, board: Board) -> Evaluation:
    try:
        found = _with_memories(found, compiled.firmware.used(board))
    except TooLarge as error:
        uses = zip(board.regions, compiled.firmware.used_with_room(board), strict=True)
        memories = [MemoryUse(region.name, region.kind, used_bytes, region.length_bytes) for region, used_bytes in uses]
        found = replace(_with_memories(found, memories), verdict=TOO_SMALL, missing=error.missing)
        return replace(found, is_built=True, reason=error.what, hint=error.hint, code=error.code)
    stack_bytes = compiled.firmware.stack_bytes(board)
    found = replace(found, is_built=True, stack_bytes=stack_bytes)
    return _without_unknown(found, STACK) if stack_bytes is not None else _unknown(found, STACK, "no bound can be proved")


def _with_memories(found: Evaluation, memories: Sequence[MemoryUse]) -> Evaluation:
    """The image and what does not fit."""
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


def _by_constants(found: Evaluation, board: Board) -> Evaluation:
    """What is known of flash without a compiler: the constants have to lie there."""
    flash = [region for region in board.regions if region.kind == "flash"]
    missing = (found.constants_bytes or 0) - sum(region.length_bytes for region in flash)
    if missing <= 0 or not flash:
        return found
    reason = f"the constants need {found.constants_bytes:,} B, and flash is too small for them by {missing:,} B"
    return replace(found, verdict=TOO_SMALL, missing=((flash[0].name, missing),), reason=reason, hint=_MORE, code="PLAN04")


def _counted(found: Evaluation, count: Count) -> Evaluation:
    if count.instructions is None:
        return _unknown(found, INSTRUCTIONS, count.reason)
    return _without_unknown(replace(found, instructions=count.instructions, instructions_error=0.0), INSTRUCTIONS)


def _refused(question: Question, board: Board, error: AidgeError) -> Evaluation:
    """An answer without figures: memories that are too small, or what is not supported at all."""
    found = replace(_empty(question, board), reason=_line_of(error), hint=error.hint, code=error.code)
    if isinstance(error, NoRoom):
        largest = max(board.arena_regions, key=lambda region: (room_in(region.name, board, 0), region.name))
        missing = max(1, error.least_bytes - error.room_bytes)
        return replace(found, verdict=TOO_SMALL, missing=((largest.name, missing),), arena_bytes=error.least_bytes)
    return replace(found, verdict=TOO_SMALL if error.code == "PLAN04" else REFUSED)


def _line_of(error: AidgeError) -> str:
    """Where and what, without what was tried and the hint."""
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
