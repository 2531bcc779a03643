# SPDX-License-Identifier: MIT
"""Models compiled in this process, without a command line: requests and programs."""

from __future__ import annotations

from aidge_build.boards import Board
from aidge_build.build.compile import build_program
from aidge_build.build.request import CompileRequest
from aidge_build.operators import builtin_operators
from aidge_build.plan.program import Program
from aidge_build.prepare.adaptation.match import Target
from tests.loaded import built_in


def request_of(model: bytes, file_name: str, board: Board) -> CompileRequest:
    """The model for a board, with the board's own libraries."""
    return CompileRequest(
        "net",
        model,
        file_name,
        built_in(*board.libs),
        builtin_operators(),
        Target(board.features),
        board.name,
        board=None if board.is_host else board,
    )


def program_of(model: bytes, file_name: str, board: Board) -> Program:
    return build_program(request_of(model, file_name, board))
