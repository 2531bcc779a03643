# SPDX-License-Identifier: MIT
"""`aidge-build flash`: puts a program that passes its check on the board, or debugs it there."""

from __future__ import annotations

import argparse
import shlex
import subprocess
from pathlib import Path
from typing import Any

from aidge_build.base.errors import CheckFailed
from aidge_build.base.output import write_sources
from aidge_build.base.source_files import Sources
from aidge_build.base.terminal import print_lines
from aidge_build.boards import Board, load_board
from aidge_build.cli import check
from aidge_build.cli.boards import add_board_path
from aidge_build.cli.linked import add_agreed_arguments, add_objects_argument
from aidge_build.cli.outcome import Outcome
from aidge_build.prove.elf import read_image
from aidge_build.prove.elf.boot_block import lacks_boot_block
from aidge_build.prove.elf.uf2 import uf2_of
from aidge_build.run.toolchain.runners import (
    Runner,
    all_runners,
    choose_runner,
    debug_commands,
    flash_command,
    how_to_install,
    is_installed,
    uf2_drive,
)

EXAMPLES = (("flash app.elf --board stm32f4 --dry-run", "only the commands, of every runner of the board"),)
_BOOT_HINT = (
    "the firmware's own build brings it, with its linker script (the maker's SDK); aidge-build makes it for bench images only"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("elf", type=Path, metavar="ELF", help="linked program")
    parser.add_argument("--board", required=True, metavar="B", help="board that the program was linked for")
    add_board_path(parser)
    parser.add_argument(
        "--runner", default="", metavar="R", help="runner (default: the first of the board's runners that is installed)"
    )
    parser.add_argument("--debug", action="store_true", help="start a gdb server and gdb (default: write the program)")
    parser.add_argument(
        "--plan",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="plan of a model in the program, for the check (repeat; default: the claims in the program)",
    )
    add_objects_argument(parser)
    add_agreed_arguments(parser)
    parser.add_argument(
        "-n",
        "--dry-run",
        action="store_true",
        help="print the commands of all runners, installed or not, and run none (default: run the first)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    board = load_board(arguments.board, arguments.board_path)
    _require_check(arguments)
    missing = "" if arguments.debug else _boot_block_missing(arguments.elf, board)
    if arguments.dry_run:
        return _all_commands(arguments, board, missing)
    if missing:
        raise CheckFailed(f"is not flashed: {missing}", where=str(arguments.elf), hint=_BOOT_HINT, code="FLASH")
    runner = choose_runner(board, arguments.runner)
    if arguments.debug:
        return _debug(arguments, runner, board)
    if runner.copies:
        return _copy_uf2(arguments, runner, board)
    command = flash_command(runner, arguments.elf)
    print_lines([shlex.join(command)])
    _require_success(arguments, command, board)
    return Outcome((), {"commands": [command]})


def _boot_block_missing(elf: Path, board: Board) -> str:
    what = lacks_boot_block(read_image(elf), board.boot_block, board.region("code").origin)
    return f"the boot ROM of {board.title} starts no such program, as it has {what}" if what else ""


def _all_commands(arguments: argparse.Namespace, board: Board, missing: str) -> Outcome:
    """Returns the commands of every runner; a shell's comment marks the runners that this machine lacks."""
    lines: list[str] = []
    found: list[dict[str, Any]] = []
    runners = all_runners(board, arguments.runner)
    for runner in [runner for runner in runners if not (arguments.debug and runner.copies)] or runners:
        commands = _commands(arguments, runner, board)
        installed = is_installed(runner)
        mark = "" if installed else f"  # not on this machine: {how_to_install([runner])}"
        lines += [f"{text}{mark}" for text in _texts(arguments, runner, commands)]
        found.append({"name": runner.name, "installed": installed, "commands": commands})
    if missing:
        lines.append(f"warning: {missing}; {_BOOT_HINT}")
    first = next((each for each in found if each["installed"]), found[0])
    return Outcome(lines, {"commands": first["commands"], "runners": found, "warning": missing})


def _commands(arguments: argparse.Namespace, runner: Runner, board: Board) -> list[list[str]]:
    if arguments.debug:
        return list(debug_commands(runner, arguments.elf, board.core, must_exist=False))
    return [] if runner.copies else [flash_command(runner, arguments.elf)]


def _texts(arguments: argparse.Namespace, runner: Runner, commands: list[list[str]]) -> list[str]:
    if runner.copies:
        blocks = len(uf2_of(read_image(arguments.elf), int(runner.target, 0))) // 512
        return [f"copy {arguments.elf.stem}.uf2, {blocks} blocks, to the boot loader's drive"]
    texts = [shlex.join(command) for command in commands]
    return [f"{text} &" for text in texts[:1]] + texts[1:] if arguments.debug else texts


def _require_check(arguments: argparse.Namespace) -> None:
    """A program that breaks its plan is not put on a board."""
    options = argparse.Namespace(
        elf=arguments.elf,
        board=arguments.board,
        board_path=arguments.board_path,
        region=[],
        plan=arguments.plan,
        objects=arguments.objects,
        shares=arguments.shares,
        dma_arrays=arguments.dma_arrays,
        weights_in=arguments.weights_in,
        task_stacks=None,
        map=None,
        max_step_unproved=None,
        max_stack=None,
        max_flash=None,
        quiet=None,
        out=None,
        sarif=None,
    )
    outcome = check.run(options)
    if outcome.exit_code != 0:
        first = next(finding for finding in outcome.data["findings"] if finding["severity"] == "error")
        raise CheckFailed(
            f"is not flashed: {first['code']}: {first['text']}", where=str(arguments.elf), hint=first["hint"], code="FLASH"
        )


def _copy_uf2(arguments: argparse.Namespace, runner: Runner, board: Board) -> Outcome:
    content = uf2_of(read_image(arguments.elf), int(runner.target, 0))
    drive = uf2_drive(_others(board, runner))
    write_sources(Sources({f"{arguments.elf.stem}.uf2": content}, {}), drive)
    copied = f"{arguments.elf} -> {drive / arguments.elf.stem}.uf2, {len(content) // 512} blocks"
    return Outcome([copied], {"drive": str(drive)})


def _others(board: Board, runner: Runner) -> str:
    """Returns the other runners that can flash this board, for a hint."""
    names = [other.name for other in all_runners(board) if other != runner]
    return f", or a probe and --runner {' or '.join(names)}" if names else ""


def _debug(arguments: argparse.Namespace, runner: Runner, board: Board) -> Outcome:
    server, gdb = debug_commands(runner, arguments.elf, board.core)
    print_lines([f"{shlex.join(server)} &", shlex.join(gdb)])
    process = subprocess.Popen(server)
    try:
        _require_success(arguments, gdb, board)
    finally:
        process.terminate()
        process.wait()
    return Outcome((), {"commands": [server, gdb]})


def _require_success(arguments: argparse.Namespace, command: list[str], board: Board) -> None:
    status = subprocess.call(command)
    if status != 0:
        others = [runner.name for runner in all_runners(board) if runner.name != command[0]]
        more = f" this board can use --runner {' or '.join(others)}, too" if others and not arguments.debug else ""
        raise CheckFailed(
            f"{command[0]} ended with exit code {status}",
            where=str(arguments.elf),
            code="FLASH",
            hint=f"is the board connected?{more}",
        )
