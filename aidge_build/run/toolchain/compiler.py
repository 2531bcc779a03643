# SPDX-License-Identifier: MIT
"""Finds the compiler of a board and runs it; its complaints become our errors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base import machine
from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.boards import Board
from aidge_build.boards.cores import PREFIX_VARIABLE
from aidge_build.prove.elf.overflow import read_overflows
from aidge_build.prove.elf.undefined import read_undefined
from aidge_build.run.toolchain.environment import of_tools
from aidge_build.run.toolchain.other_compiler import Chosen, chosen_compiler

_CPLUSPLUS_SUFFIXES = (".cpp", ".cc", ".cxx")
_CPLUSPLUS_FLAGS = ("-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-use-cxa-atexit")
_ERROR_LINE = re.compile(
    r"\b(fatal )?error\b|undefined reference|multiple definition|cannot find|will not fit|aidge: ", re.IGNORECASE
)
_DRIVER = "collect2: "
_UNKNOWN_CORE = re.compile("-mcpu|-march|unknown target CPU")
_FLAGS_OF_CORE = "install a newer compiler, or write `flags` that it knows into the file of the core (boards/README.md, 'A core')"


@dataclass(frozen=True)
class Compiler:
    """The C and the C++ driver of one toolchain, as absolute paths (`cplusplus` is None if it is not installed).

    `chosen` compiles in their place, if a user names it; the toolchain links.
    """

    c: str
    cplusplus: str | None
    chosen: Chosen | None = None

    def driver(self, sources: Sequence[Path]) -> str:
        """Returns the driver that links `sources`, and compiles them if no other compiler is chosen."""
        return _driver(self.c, self.cplusplus, sources)

    def compiling(self, source: Path, flags: Sequence[str]) -> list[str]:
        """Returns the command that compiles `source` up to the names of files; a board's `flags` come last and win."""
        flags = [*(_CPLUSPLUS_FLAGS if _is_cplusplus(source) else ()), *flags]
        if self.chosen is None:
            return [self.driver([source]), *flags]
        driver = _driver(self.chosen.program, self.chosen.cplusplus, [source])
        return [driver, *self.chosen.words, *self.chosen.flags(flags)]

    def run(self, command: Sequence[str], where: str) -> None:
        """Runs a command; a failure is an AidgeError with the first error line (COMPILE, LINK, LINK_OVERFLOW or LINK_HEADER)."""
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", env=of_tools())
        if result.returncode != 0 and command[0] == self.cplusplus and Path(command[0]).name == machine.CROSS_CPLUSPLUS_DRIVER:
            _require_cplusplus_library(where)
        if result.returncode != 0:
            raise _failure(result.stderr, where)


def _driver(c: str, cplusplus: str | None, sources: Sequence[Path]) -> str:
    if not any(map(_is_cplusplus, sources)):
        return c
    if cplusplus is None:
        raise MissingTool("it comes without a C++ compiler", where=c, code="TOOLCHAIN")
    return cplusplus


def _is_cplusplus(source: Path) -> bool:
    return source.suffix in _CPLUSPLUS_SUFFIXES


def _require_cplusplus_library(where: str) -> None:
    """Raises MissingTool if the C++ library is missing, as from Debian's cross compiler: gcc's error would not name it."""
    if machine.CROSS_CPLUSPLUS.version() is None:
        packages = " ".join(machine.CROSS_CPLUSPLUS.packages)
        raise MissingTool("the C++ library of the cross compiler is missing", where=where, hint=f"apt install {packages}")


def installing(packages: Sequence[str]) -> str:
    """Returns `apt install A B, or `; "" if no package is known to help."""
    return f"apt install {' '.join(packages)}, or " if packages else ""


def find_compiler(board: Board) -> Compiler:
    """Returns the compiler for `board`: the native one for the host, else gcc with the prefix of its core on the PATH.

    If AIDGE_CC names another compiler for boards, that compiler compiles. Raises MissingTool with the package to install.
    """
    if board.is_host:
        compiler = find_host_compiler()
        if compiler is None:
            raise MissingTool(
                "this machine has no C compiler", tried=("$CC", "cc", "gcc", "clang"), hint="apt install gcc", code="TOOLCHAIN"
            )
        return compiler
    prefix = board.core.prefix
    c = shutil.which(f"{prefix}gcc")
    if c is None:
        raise MissingTool(
            f"board {board.name} needs {prefix}gcc, which is not on this machine",
            hint=f"{installing(board.core.packages)}set {PREFIX_VARIABLE}",
            code="TOOLCHAIN",
        )
    return Compiler(c, shutil.which(f"{prefix}g++"), chosen_compiler(c, board.core))


def find_host_compiler() -> Compiler | None:
    """The native compiler ($CC, cc, gcc, clang), or None."""
    names = [name for name in (os.environ.get("CC", ""), "cc", "gcc", "clang") if name]
    c = next((path for path in map(shutil.which, names) if path), None)
    return Compiler(c, shutil.which(os.environ.get("CXX") or "c++")) if c else None


def _failure(messages: str, where: str) -> AidgeError:
    overflows = read_overflows(messages)
    if overflows:
        text = ", ".join(f"memory {overflow.region} is too small by {overflow.missing_bytes:,} B" for overflow in overflows)
        return AidgeError(f"the program does not fit: {text}", where=where, code="LINK_OVERFLOW")
    from aidge_build.measure.report.wrong_header import second_names  # with the room of reports

    asked = sorted(second_names(read_undefined(messages)))
    if asked:
        return AidgeError(
            f"a header belongs to another model than the linked one: undefined {', '.join(asked)}",
            where=where,
            code="LINK_HEADER",
        )
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR_LINE.search(line)]
    if all(line.startswith(_DRIVER) for line in errors):  # --fatal-warnings: the fault is called a warning
        errors = [line for line in lines if "warning: " in line] + errors
    first = next(iter([*errors, *lines]), "failed without a message")
    return AidgeError(first, where=where, code="COMPILE", hint=_FLAGS_OF_CORE if _UNKNOWN_CORE.search(first) else "")
