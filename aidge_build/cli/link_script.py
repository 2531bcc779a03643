# SPDX-License-Identifier: MIT
"""`aidge-build new --link-script`: the linker script of a board."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.boards import load_board
from aidge_build.cli.boards import add_board_path
from aidge_build.cli.outcome import Outcome
from aidge_build.run.toolchain import write_link_script

EXAMPLES = (("new --link-script --board stm32f7 --out link.ld", "with places for arenas in each memory"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--board", required=True, metavar="B", help="board, a name of `aidge-build list boards`")
    add_board_path(parser)
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="linker script to write")


def run(arguments: argparse.Namespace) -> Outcome:
    board = load_board(arguments.board, arguments.board_path)
    write_link_script(board, arguments.out)
    return Outcome((), {"board": board.name, "out": str(arguments.out), "dependencies": list(board.files)})
