# SPDX-License-Identifier: MIT
"""The earlier answer of `check` about the same program: the file of `--out` is read before it is written again.

The answer counts for exactly the same bytes: of the program (its symbols, notes and all that no memory holds included), of
objects, plans and maps, of boards, of the tool and of the disassembler; and for the same words. Anything else is checked. The
paths of these files do not count, so that the file of `--out` is the same in every folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError
from aidge_build.base.installed import board_folder
from aidge_build.base.output import write_files
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular
from aidge_build.base.version import VERSION
from aidge_build.boards.cores import PREFIX_VARIABLE
from aidge_build.cli.outcome import SCHEMA, Outcome

_PACKAGE = Path(__file__).resolve().parents[1]
_CODE = ("base/**/*.py", "boards/*.py", "cli/*.py", "prove/**/*.py", "run/toolchain/*.py", "measure/report/*.py")
_NOT_ASKED = ("out", "sarif", "json", "board_path", "map")  # or read as files
_LARGEST_BYTES = 1 << 32
_ELF = "\0"  # replaces the program's path in lines that are kept


def key_of(arguments: argparse.Namespace, elf: Path, objects: Sequence[Path]) -> str:
    """Everything that the answer depends on; "" where a file of it cannot be read, which checking then says."""
    found = hashlib.sha256()
    try:
        for part in _parts(arguments, elf, objects):
            found.update(f"{len(part)}\0".encode() + part)
    except (OSError, AidgeError):
        return ""
    return found.hexdigest()


def _parts(arguments: argparse.Namespace, elf: Path, objects: Sequence[Path]) -> Iterator[bytes]:
    words = sorted((name, _without_folders(value)) for name, value in vars(arguments).items() if name not in _NOT_ASKED)
    yield f"{VERSION} {words} {Path(arguments.map).name if arguments.map else None}".encode()
    tool = [path for pattern in _CODE for path in sorted(_PACKAGE.glob(pattern))]
    boards = [
        path for folder in (board_folder(), *map(Path, arguments.board_path or ())) for path in sorted(folder.rglob("*.toml"))
    ]
    objdump = shutil.which(f"{os.environ.get(PREFIX_VARIABLE, 'arm-none-eabi-')}objdump")
    maps = [Path(arguments.map)] if arguments.map else sorted(elf.parent.glob("*.map"))
    for path in (*tool, *boards, *([Path(objdump)] if objdump else ()), elf, *objects, *arguments.plan, *maps):
        yield path.name.encode()
        yield read_regular(path, _LARGEST_BYTES)


def _without_folders(value: object) -> str:
    if isinstance(value, list):
        return repr([_without_folders(one) for one in value])
    return value.name if isinstance(value, Path) else repr(value)


def kept(path: Path | None, key: str, elf: Path) -> Outcome | None:
    """Returns the answer that was found before; None unless the file holds it whole."""
    if path is None or not key:
        return None
    try:
        data = json.loads(read_regular(path, LARGEST_TEXT_BYTES))
        answer, ok = data.pop("kept"), data.pop("ok")
        if data.pop("schema") != SCHEMA or answer["key"] != key or answer["sha256"] != _sealed(key, ok, answer["lines"], data):
            return None
        return Outcome([line.replace(_ELF, str(elf)) for line in answer["lines"]], data, 0 if ok else EXIT_CHECK_FAILED)
    except (AidgeError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def keep(path: Path | None, key: str, elf: Path, outcome: Outcome) -> Outcome:
    """Writes the outcome to the file, if one is named, with what it was found for."""
    if path is not None:
        ok, lines = outcome.exit_code == 0, [line.replace(str(elf), _ELF) for line in outcome.lines]
        data = json.loads(json.dumps(outcome.data))
        answer = {"key": key, "lines": lines, "sha256": _sealed(key, ok, lines, data)}
        text = json.dumps({"schema": SCHEMA, "ok": ok, **data, **({"kept": answer} if key else {})}, indent=1) + "\n"
        write_files({path: text.encode()})
    return outcome


def _sealed(key: str, ok: bool, lines: list[str], data: dict) -> str:
    return hashlib.sha256(json.dumps([key, ok, lines, data], sort_keys=True).encode()).hexdigest()
