# SPDX-License-Identifier: MIT
"""Boards are read from one TOML file each and the files that it extends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular
from aidge_build.base.settings import check_keys, find, guess, names_in, read_chain, read_settings, searched
from aidge_build.boards.board import Board, Region
from aidge_build.boards.cores import Core, find_core, list_cores
from aidge_build.boards.reader import FILE_KEYS, KEYS, REGION_KEYS, BoardReader

__all__ = ["Board", "Region", "boards_like", "guess_board", "list_boards", "load_board"]

_MOST_GUESSES = 3  # boards that are named where there is none of a name
_SHORTEST_CHIP = 5  # letters: shorter words of a title (Arm, Pi) name no chip
_SHORTEST_END = 4  # letters of a chip without its first ones
_CHIP = re.compile(r"(?:^|(?<=\())\w*\d\w*(?=$|[ ,)])")  # the first word of a title, or a word alone in parentheses


def list_boards(folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """The names of all boards in `folders` and of the built-in ones, sorted."""
    return names_in(searched(folders))


def load_board(name: str, folders: Sequence[Path] = ()) -> Board:
    """The board `name`, looked up in `folders` first and then among the built-in ones; so is its core. A name that is no board's
    but the chip of exactly one board means that board.

    Raises AidgeError (BOARD): an unknown name (with the valid ones), an unknown key, a wrong value, a cycle of `extends`.
    """
    return _read_board(name, folders) if folders else _built_in(name)


def _read_board(name: str, folders: Sequence[Path] = ()) -> Board:
    files: dict[str, bytes] = {}
    path = find(name, searched(folders), bases=False)
    if path is None:
        boards = _boards_of_chip(name, folders)
        if len(boards) == 1:
            return boards[0]
        raise _unknown_board(name, folders)

    def base(wanted: str, where: str) -> Path:
        found = find(wanted, searched(folders), bases=True)
        if found is None:
            raise _unknown_board(wanted, folders, where)
        return found

    settings = read_chain(path, "boards", ("regions",), lambda one: _read(one, files), base)
    return BoardReader(name, str(path), settings, _core(settings, str(path), folders)).board(files)


_built_in = cache(_read_board)  # nothing changes the tool's own files while it runs


def boards_like(word: str, folders: Sequence[Path] = ()) -> list[Board]:
    """Returns the boards with this word in their name or title, and before them the boards with a chip that the word begins with.
    A part of the word may begin with the last letters of the chip, too (nucleo-h743zi).

    Case and punctuation do not matter; board files that cannot be read are left out.
    """
    wanted, found = _plain(word), []
    parts = [part for part in re.split(r"[^a-z0-9]+", word.lower()) if part != wanted]
    for name in list_boards(folders) if len(wanted) > 1 else ():
        try:
            board = load_board(name, folders)
        except AidgeError:
            continue
        chips = [chip for chip in map(_plain, board.title.split()) if len(chip) > _SHORTEST_CHIP and re.search(r"\d", chip)]
        is_chip = any(wanted.startswith(chip) or _has_end_of(chip, parts) for chip in chips)
        if is_chip or wanted in _plain(name) or wanted in _plain(board.title):
            found.append((not is_chip, wanted not in _plain(board.title), name, board))
    return [board for *_, board in sorted(found, key=lambda each: each[:3])]


def _has_end_of(chip: str, parts: Sequence[str]) -> bool:
    """Whether a part of a name begins with the last letters of a chip, four or more: h743zi has the end of stm32h743."""
    return any(part.startswith(chip[start:]) for part in parts for start in range(1, len(chip) - _SHORTEST_END + 1))


def _boards_of_chip(name: str, folders: Sequence[Path]) -> list[Board]:
    """Returns the boards with this chip, letter for letter, at the begin of their title or in parentheses there: a chip with a
    longer name may have other memories."""
    wanted = _plain(name) if len(name) > _SHORTEST_CHIP else ""
    return [board for board in boards_like(name, folders) if wanted in map(_plain, _CHIP.findall(board.title))]


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def guess_board(name: str, folders: Sequence[Path] = ()) -> str:
    """`did you mean 'stm32f4' (STM32F407)? ` for a name that is no board's: by names and titles, else by its letters."""
    like = [f"'{board.name}' ({board.title})" for board in boards_like(name, folders)[:_MOST_GUESSES]]
    return f"did you mean {' or '.join(like)}? " if like else guess(name.lower(), list_boards(folders))


def _unknown_board(name: str, folders: Sequence[Path], where: str = "") -> AidgeError:
    # A file that extends none would look for itself.
    meant = guess(name.lower(), list_boards(folders)) if where else guess_board(name, folders)
    hint = f"{meant}`aidge-build list boards` lists them; --board-path DIR names a folder with board files of your own"
    return AidgeError(f"there is no board '{name}'", where=where, hint=hint, code="BOARD")


def _core(settings: dict, where: str, folders: Sequence[Path]) -> Core:
    if "cpu" not in settings:
        raise AidgeError("key 'cpu' is missing", where=where, code="BOARD")
    try:
        core = find_core(settings["cpu"], folders)
    except AidgeError as error:
        raise AidgeError(error.what, where=f"{where}: cpu", tried=error.tried, code="BOARD") if error.code == "USAGE" else error
    if core is None:
        names = list_cores(folders)
        raise AidgeError(
            f"there is no core '{settings['cpu']}'",
            where=f"{where}: cpu",
            hint=f"{guess(settings['cpu'].lower(), names)}Cores: {', '.join(names)}; to add one, write "
            "cores/NAME.toml in the folder of the board file",
            code="BOARD",
        )
    if core.is_portable:
        raise AidgeError(
            f"core '{core.name}' has no toolchain, and a board needs one",
            where=f"{where}: cpu",
            hint="name the core of the chip, or write cores/NAME.toml in the folder of the board file",
            code="BOARD",
        )
    return core


def _read(path: Path, files: dict[str, bytes]) -> dict:
    settings = read_settings(path, KEYS, files)
    if {"regions", "cpu"} & set(settings):
        settings.setdefault("source", {})  # the base's source describes other memories
    for name, region in settings.get("regions", {}).items():
        check_keys(region, REGION_KEYS, f"{path}: regions.{name}")
    for key in FILE_KEYS:
        if key in settings:
            settings[key] = _resolve(path, settings[key], files)
    if isinstance(driver := settings.get("serial", {}).get("driver"), str):
        settings["serial"] = {**settings["serial"], "driver": _resolve(path, driver, files)}
    return settings


def _resolve(path: Path, names: Any, files: dict[str, bytes]) -> Any:
    """Reads the files that a board file names, because they are part of the build; the names are relative to the board file."""
    if isinstance(names, list):
        return [_resolve(path, name, files) for name in names]
    target = (path.parent / names).resolve()
    if not target.is_file():
        raise AidgeError(f"there is no file '{names}'", where=str(path), code="BOARD")
    files[str(target)] = read_regular(target, LARGEST_TEXT_BYTES, "BOARD")
    for header in sorted(target.parent.glob("*.h")):
        files.setdefault(str(header), read_regular(header, LARGEST_TEXT_BYTES, "BOARD"))
    return str(target)
