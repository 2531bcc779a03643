# SPDX-License-Identifier: MIT
"""A compiler in place of the gcc of the cross toolchain: it compiles; the toolchain has the C library, and links."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.boards.cores import Core
from aidge_build.run.toolchain.environment import of_tools

COMPILER_VARIABLE = "AIDGE_CC"
_CPLUSPLUS_NAMES = (("clang", "clang++"), ("gcc", "g++"))
# Flags that only gcc knows. Other compilers do the same without them.
_ONLY_GCC = frozenset({"-mfpu=auto"})
_SPECS = "--specs="  # which C library gcc takes
# The C library's objects do not mark the stack: a linker with --fatal-warnings refuses to mix them with objects that do.
LINK_FLAGS = ("-Wl,-z,noexecstack",)


@dataclass(frozen=True)
class Chosen:
    """The command `program` with `words` compiles C for boards; `cplusplus` with the same words compiles C++ (None: it is
    missing)."""

    program: str
    cplusplus: str | None
    words: tuple[str, ...]
    is_gcc: bool

    def flags(self, flags: Sequence[str]) -> list[str]:
        """Returns a board's flags for this compiler. Refuses -flto, because another compiler links."""
        if any(flag.startswith("-flto") for flag in flags):
            raise AidgeError("-flto needs the compiler that links", where=COMPILER_VARIABLE, hint="leave one of the two out")
        return [flag for flag in flags if self.is_gcc or flag not in _ONLY_GCC and not flag.startswith(_SPECS)]


def chosen_compiler(linker: str, core: Core) -> Chosen | None:
    """Returns the compiler that AIDGE_CC names, a command with its first words; None if it is not set.

    `linker` is the gcc that provides the C library; its header folders are added. A clang without a target gets the core's, for
    bare metal. Raises MissingTool for a program that is not there, AidgeError for a compiler for other cores.
    """
    setting = os.environ.get(COMPILER_VARIABLE, "")
    first, *words = _words(setting) or [""]
    if not first:
        return None
    program = shutil.which(first)
    if program is None:
        raise MissingTool(
            f"there is no program '{first}'", where=COMPILER_VARIABLE, hint="a path, or a name on the PATH", code="TOOLCHAIN"
        )
    words += _target(program, words, core)
    macros = _macros(program, words)
    if not macros or core.defines and core.defines not in macros:
        raise AidgeError(
            f"'{setting}' does not compile C for {core.name}: it does not define {core.defines}",
            where=COMPILER_VARIABLE,
            hint=f"a clang or a gcc, with the words that it needs: 'clang --target={core.clang_target}'",
            code="TOOLCHAIN",
        )
    words += ["-fno-pie"] if "__pie__" in macros else []  # a board has no loader that fills in a table of addresses
    words += [*core.like_library, *(f"-isystem{folder}" for folder in _library_headers(linker, core))]
    return Chosen(program, _cplusplus(program), tuple(words), "__clang__" not in macros)


def _words(setting: str) -> list[str]:
    try:
        return shlex.split(setting)
    except ValueError as error:
        raise AidgeError(f"'{setting}' is no command: {error}", where=COMPILER_VARIABLE, code="TOOLCHAIN") from None


def _target(program: str, words: Sequence[str], core: Core) -> list[str]:
    """Returns the target for a clang that is given without one: by default it would compile for this machine."""
    named = any(re.match(r"--?target\b", word) for word in words)
    if named or not core.clang_target or "__clang__" not in _macros(program, words):
        return []
    return [f"--target={core.clang_target}"]


def _macros(program: str, words: Sequence[str]) -> set[str]:
    """Returns the macros that a compiler defines by itself; none if the program is no compiler."""
    return set(re.findall(r"^#define (\w+)", _output([program, *words, "-dM", "-E", "-x", "c", os.devnull]), re.MULTILINE))


def _library_headers(linker: str, core: Core) -> list[Path]:
    """Returns the folders with the C library's headers, out of all folders that the linking compiler searches."""
    library = [flag for flag in core.flags if flag.startswith(_SPECS)]
    listed = _output([linker, *library, "-E", "-v", "-x", "c", os.devnull], messages=True)
    folders = [Path(line[1:]) for line in listed.splitlines() if line.startswith(" /")]
    return [folder.resolve() for folder in folders if (folder / "string.h").is_file()]


def _cplusplus(program: str) -> str | None:
    folder, name = os.path.split(program)
    names = [name.replace(c, cplusplus) for c, cplusplus in _CPLUSPLUS_NAMES if c in name]
    return shutil.which(os.path.join(folder, names[0])) if names else None


def _output(command: Sequence[str], messages: bool = False) -> str:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=of_tools())
    except OSError as error:
        raise AidgeError(f"cannot be run: {error.strerror}", where=command[0], code="TOOLCHAIN") from error
    return done.stderr if messages else done.stdout
