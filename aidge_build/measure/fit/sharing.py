# SPDX-License-Identifier: MIT
"""Finds the questions that share a compilation: about the same files and options, on boards with the same core and libraries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from aidge_build.boards import Board, load_board
from aidge_build.measure.fit.question import Attached, Question, board_folders

# Options with which more than the place of the arena depends on the board's memories, and the values without that.
_OF_MEMORIES = {
    "--dma=": ("on",),
    "--copy-constants=": ("memcpy", "hook"),
    "--input=": ("rows",),
    "--output=": ("rows",),
}
_ALWAYS_OF_MEMORIES = "--constants-in="
_BY_COST = "--select=cost"


@cache
def board_of(name: str, own: Attached | None) -> Board:
    """Returns a question's board. The C files of a board that is not built-in are gone when this returns."""
    with board_folders(own) as folders:
        return load_board(name, folders)


def is_bound_to_board(question: Question) -> bool:
    """Whether the generated code depends on the memories of the board, whichever of them holds the arena."""
    return any(one.option == "place" for one in question.attached) or any(
        word.startswith(_ALWAYS_OF_MEMORIES)
        or any(word == f"{option}{value}" for option, values in _OF_MEMORIES.items() for value in values)
        for word in question.words
    )


def compilation_key(question: Question) -> str:
    """Returns a key that is equal for questions that one `Compilation` serves, on cores of different names, too: a digest of the
    model, the options, the kind of answer, and what kernels see of the board."""
    board = board_of(question.board, question.own_board)
    if is_bound_to_board(question):
        return equivalence_key(question)
    waits = (board.flash_wait_states or 0) if _BY_COST in question.words else 0
    seen = [sorted(board.features), board.core.has_slow_long_products, list(board.libs), board.loop_bytes, waits]
    return _digest([question.build, question.measure, list(question.words), _files(question), seen])


def equivalence_key(question: Question) -> str:
    """Returns a key that is equal for questions that one program answers: a digest of the model, the options, the kind of answer,
    and what the generated code and its compiler see of the board. It does not depend on the tool's own version."""
    board = board_of(question.board, question.own_board)
    seen = _all_of(board) if is_bound_to_board(question) else [*core_of(board, _BY_COST in question.words), board.loop_bytes]
    if question.own_board and any(Path(path).suffix != ".toml" for path, _ in question.own_board.files):
        seen += start_up_of(board)  # the board has start-up files of its own
    return _digest([question.build, question.measure, list(question.words), _files(question), seen])


def content_key(question: Question) -> str:
    """Returns a key that is equal for the same question alone: everything that its answer depends on except the tool itself."""
    board = board_of(question.board, question.own_board)
    return _digest([equivalence_key(question), question.model, board.name, _all_of(board)])


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _files(question: Question) -> list:
    attached = [
        [one.option, one.places, one.libraries, [(path, _sha256(data)) for path, data in one.files]]
        for one in question.attached
        if one is not question.own_board
    ]
    return [[(path, _sha256(data)) for path, data in question.files], attached]


def _contents(files: Mapping[str, bytes], *, tables: bool) -> list[tuple[str, str]]:
    """The name and digest of each file that a board names, its tables of settings with it or not."""
    return sorted((Path(path).name, _sha256(data)) for path, data in files.items() if tables or Path(path).suffix != ".toml")


def core_of(board: Board, with_wait_states: bool = False) -> list:
    """Returns the properties of a board that the generated code and its compiler see, without the memories."""
    return [
        board.cpu,
        _contents(board.core.files, tables=True),
        board.fpu,
        board.float_abi,
        sorted(board.features),
        list(board.libs),
        list(board.compiler_flags),
        (board.flash_wait_states or 0) if with_wait_states else 0,
    ]


def start_up_of(board: Board) -> list:
    """Returns the properties of a board that its start-up code and the linker see in addition to the core, without memories."""
    return [
        list(board.link_flags),
        [Path(source).name for source in board.sources],
        Path(board.link_script).name,
        _contents(board.files, tables=False),
    ]


def _all_of(board: Board) -> list:
    return [board.name, _contents(board.files, tables=True)]
