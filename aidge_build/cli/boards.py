# SPDX-License-Identifier: MIT
"""`aidge-build list boards`: the list of boards, everything about some of them, or a board file from a chip's description."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.options import BOARD_PATH, add_options
from aidge_build.base.output import write_files
from aidge_build.base.terminal import table
from aidge_build.boards import Board, Region, boards_like, list_boards, load_board
from aidge_build.cli.outcome import Outcome

EXAMPLES = (
    ("list boards", "all"),
    ("list boards f407", "boards with this word in their name or title"),
    ("list boards stm32f7 --json", "everything about one"),
    ("list boards --import Keil.STM32F4xx_DFP.pdsc STM32F407VGTx --out boards", "the file of another chip, from its pack"),
    ("list boards --import build/zephyr/zephyr.dts --out boards", "from the devicetree that a Zephyr build leaves"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="BOARD",
        help="names, or words of names and titles (default: all boards); with --import: the device",
    )
    parser.add_argument(
        "--import",
        dest="description",
        type=Path,
        metavar="FILE",
        help="pack (.pdsc) or whole devicetree (.dts), to print the board file of its device (default: list boards)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the board file of --import (default: print it)")
    add_board_path(parser)


def add_board_path(parser: argparse.ArgumentParser) -> None:
    """The option of every verb that takes a board."""
    add_options(parser, [BOARD_PATH])


def run(arguments: argparse.Namespace) -> Outcome:
    if arguments.description:
        return _import(arguments)
    if arguments.out:
        raise AidgeError("works only with --import", where="--out", code="USAGE", hint="leave it out, or add --import FILE")
    known = list_boards(arguments.board_path)
    boards = [board for name in arguments.names or known for board in _named(name, known, arguments.board_path)]
    return Outcome(table([board_row(board) for board in boards]), {"boards": [_as_json(board) for board in boards]})


def _named(word: str, known: Sequence[str], folders: Sequence[Path]) -> list[Board]:
    """Returns the board of this name, or else the boards with the word in their name or title; AidgeError (BOARD) if none."""
    return ([] if word in known else boards_like(word, folders)) or [load_board(word, folders)]


def _import(arguments: argparse.Namespace) -> Outcome:
    from aidge_build.measure.devices import board_text, file_stem, read_device  # with onnx, which a list of boards need not load

    path = arguments.description
    if len(arguments.names) > 1:
        raise AidgeError("takes one device", where="--import", code="USAGE", hint=f"the first one is {arguments.names[0]}")
    device = read_device(path, "".join(arguments.names))
    name, text = file_stem(device), board_text(device, str(path))
    if not arguments.out:
        return Outcome(text.splitlines(), {"board": name, "text": text})
    target = arguments.out / f"{name}.toml"
    if target.exists():
        raise AidgeError(
            "the file is there already", where=str(target), code="BOARD", hint="it may be yours: remove it, or name another --out"
        )
    write_files({target: text.encode()})
    board = load_board(name, [arguments.out])
    lines = [f"{target}: {'  '.join(board_row(board))}", f"Use it: --board {name} --board-path {arguments.out}"]
    return Outcome(lines, {"board": name, "file": str(target)})


def board_row(board: Board) -> tuple[str, ...]:
    """A board in a table: name, title, core, memories."""
    memories = "  ".join(f"{region.name} {region.length_bytes // 1024}K" for region in board.memories)
    return board.name, board.title, board.cpu, memories


def _as_json(board: Board) -> dict:
    return {
        "name": board.name,
        "title": board.title,
        "source": dict(board.source),
        "verified": board.is_verified,
        "clock_hz": board.clock_hz,
        "cpu": board.cpu,
        "compiled_as": next((flag[6:] for flag in board.compiler_flags if flag.startswith("-mcpu=")), board.cpu),
        "fpu": board.fpu,
        "float_abi": board.float_abi,
        "features": sorted(board.features),
        "libs": list(board.libs),
        "flash_wait_states": board.flash_wait_states or 0,
        "multiplier_cycles": board.multiplier_cycles,
        "stack_bytes": board.stack_bytes,
        "reserved_bytes": board.reserved_bytes,
        "regions": [_region_as_json(region) for region in board.regions],
        "arena_regions": [region.name for region in board.arena_regions],
        "emulator": board.emulator.kind if board.emulator else None,
        "qemu_machine": board.emulator.machine if board.emulator else "",
        "compiler_flags": list(board.compiler_flags),
        "link_flags": list(board.link_flags),
        "sources": list(board.sources),
        "include_folders": list(board.include_folders),
        "link_script": board.link_script,
        "files": list(board.files),
    }


def _region_as_json(region: Region) -> dict:
    return {
        "name": region.name,
        "origin": region.origin,
        "length_bytes": region.length_bytes,
        "kind": region.kind,
        "roles": list(region.roles),
        "access_cost": region.access_cost,
        "dma": region.dma,
        "clock": {"register": region.clock[0], "bits": region.clock[1]} if region.clock else None,
    }
