# SPDX-License-Identifier: MIT
"""`aidge-build flash`: puts a program that passes its check on the board, or debugs it there."""

from __future__ import annotations

import argparse
import shlex
import subprocess
from pathlib import Path

from aidge_build.boards import load_board
from aidge_build.cli import check
from aidge_build.cli.boards import add_board_path
from aidge_build.cli.groups import PROJECT
from aidge_build.cli.linked import add_agreed_arguments, add_objects_argument
from aidge_build.cli.outcome import Outcome
from aidge_build.cores import Core
from aidge_build.elf import read_image
from aidge_build.elf.uf2 import uf2_of
from aidge_build.errors import CheckFailed
from aidge_build.output import write_sources
from aidge_build.sources import Sources
from aidge_build.terminal import print_lines
from aidge_build.toolchain.runners import Runner, choose_runner, debug_commands, flash_command, uf2_drive

SUMMARY = "put a checked program on the board, or debug it there"
GROUP = PROJECT
EXAMPLES = (("flash app.elf --board stm32f4 --dry-run", "only the commands"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("elf", type=Path, metavar="ELF", help="the linked program")
    parser.add_argument("--board", required=True, metavar="B", help="the board that it was linked for")
    add_board_path(parser)
    parser.add_argument("--runner", default="", metavar="R", help="instead of the first of the board's runners that is installed")
    parser.add_argument("--debug", action="store_true", help="start a gdb server and gdb instead")
    parser.add_argument(
        "--plan", action="append", default=[], type=Path, metavar="FILE", help="the plan of a model in it, for the check (repeat)"
    )
    add_objects_argument(parser)
    add_agreed_arguments(parser)
    parser.add_argument("-n", "--dry-run", action="store_true", help="only print the commands")


def run(arguments: argparse.Namespace) -> Outcome:
    board = load_board(arguments.board, arguments.board_path)
    _require_check(arguments)
    runner = choose_runner(board, arguments.runner)
    if arguments.debug:
        return _debug(arguments, runner, board.core)
    if runner.copies:
        return _copy_uf2(arguments, runner)
    command = flash_command(runner, arguments.elf)
    text = shlex.join(command)
    if arguments.dry_run:
        return Outcome([text], {"commands": [command]})
    print_lines([text])
    _require_success(arguments, command)
    return Outcome((), {"commands": [command]})


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
        max_stack=None,
        max_flash=None,
        quiet=None,
        out=None,
    )
    outcome = check.run(options)
    if outcome.exit_code != 0:
        first = next(finding for finding in outcome.data["findings"] if finding["severity"] == "error")
        raise CheckFailed(
            f"is not flashed: {first['code']}: {first['text']}", where=str(arguments.elf), hint=first["hint"], code="FLASH"
        )


def _copy_uf2(arguments: argparse.Namespace, runner: Runner) -> Outcome:
    content = uf2_of(read_image(arguments.elf), int(runner.target, 0))
    if arguments.dry_run:
        text = f"copy {arguments.elf.stem}.uf2, {len(content) // 512} blocks, to the boot loader's drive"
        return Outcome([text], {"commands": []})
    drive = uf2_drive()
    write_sources(Sources({f"{arguments.elf.stem}.uf2": content}, {}), drive)
    copied = f"{arguments.elf} -> {drive / arguments.elf.stem}.uf2, {len(content) // 512} blocks"
    return Outcome([copied], {"drive": str(drive)})


def _debug(arguments: argparse.Namespace, runner: Runner, core: Core) -> Outcome:
    server, gdb = debug_commands(runner, arguments.elf, core)
    lines = [f"{shlex.join(server)} &", shlex.join(gdb)]
    if arguments.dry_run:
        return Outcome(lines, {"commands": [server, gdb]})
    print_lines(lines)
    process = subprocess.Popen(server)
    try:
        _require_success(arguments, gdb)
    finally:
        process.terminate()
        process.wait()
    return Outcome((), {"commands": [server, gdb]})


def _require_success(arguments: argparse.Namespace, command: list[str]) -> None:
    status = subprocess.call(command)
    if status != 0:
        raise CheckFailed(
            f"{command[0]} ended with exit code {status}", where=str(arguments.elf), code="FLASH", hint="is the board connected?"
        )
