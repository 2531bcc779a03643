# SPDX-License-Identifier: MIT
"""TOML files that extend each other (`extends`): boards and cores; a user's file is found before a built-in file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import board_folder
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular, toml_of

BASES = "bases"  # the folder of what is no board or core by itself
CODE = "BOARD"


def searched(folders: Sequence[Path], below: str = "") -> list[Path]:
    """The folders of users, in order, and the built-in one: in each of them the folder `below`."""
    for folder in folders:
        if not Path(folder).is_dir():
            raise AidgeError("the board folder does not exist", where=str(folder), code=CODE)
    return [Path(folder) / below for folder in (*folders, board_folder())]


def names_in(folders: Sequence[Path]) -> tuple[str, ...]:
    """The names of all files in `folders`, sorted."""
    return tuple(sorted({path.stem for folder in folders for path in folder.glob("*.toml")}))


def find(name: str, folders: Sequence[Path], bases: bool) -> Path | None:
    """The first file of this name, also among the bases where `bases` says so; a name is never a path."""
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}", name):
        for folder in folders:
            for path in (folder / f"{name}.toml", *([folder / BASES / f"{name}.toml"] if bases else [])):
                if path.is_file():
                    return path
    return None


def guess(name: str, names: Collection[str]) -> str:
    """`did you mean 'x'? ` in front of a list of names; "" where none is near."""
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean '{near[0]}'? " if near else ""


def read_chain(
    path: Path,
    kind: str,
    merged: Collection[str],
    read: Callable[[Path], dict],
    base: Callable[[str, str], Path],
    chain: tuple[Path, ...] = (),
) -> dict:
    """Returns the settings of `path`, which replace the settings of the file that it extends; the tables `merged` are merged.

    `base` finds the file of a name, which `where` names. Raises AidgeError (BOARD) where files extend each other in a cycle.
    """
    if path in chain:
        cycle = " -> ".join(step.stem for step in (*chain[chain.index(path) :], path))
        raise AidgeError(f"{kind} extend each other in a cycle: {cycle}", where=str(path), code=CODE)
    own = read(path)
    name = own.pop("extends", None)
    if name is None:
        return own
    below = read_chain(base(name, f"{path}: extends"), kind, merged, read, base, (*chain, path))
    return {**below, **own, **{key: {**below.get(key, {}), **own.get(key, {})} for key in merged}}


def read_settings(path: Path, keys: Mapping[str, Any], files: dict[str, bytes]) -> dict:
    """Reads one file and checks its keys and the types of its values; its bytes go to `files`."""
    files[str(path)] = content = read_regular(path, LARGEST_TEXT_BYTES, CODE)
    settings = toml_of(content, str(path), CODE)
    check_keys(settings, keys, str(path))
    return settings


def check_keys(table: object, allowed: Mapping[str, Any], where: str) -> None:
    """Each key is one of `allowed`, with a value of its type; lists are lists of strings."""
    if not isinstance(table, dict):
        raise AidgeError("a table is expected here", where=where, code=CODE)
    for key, value in table.items():
        if key not in allowed:
            hint = f"{guess(key, allowed)}Keys: {', '.join(sorted(allowed))}"
            raise AidgeError(f"unknown key '{key}'", where=where, hint=hint, code=CODE)
        if not isinstance(value, allowed[key]) or isinstance(value, bool) and allowed[key] is not bool:
            raise AidgeError(f"key '{key}' has the wrong type of value: {value!r}", where=where, code=CODE)
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise AidgeError(f"key '{key}' must be a list of strings", where=where, code=CODE)
