# SPDX-License-Identifier: MIT
"""The settings of a whole build or of the process, which are no options of a command."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """A setting of a whole build or of the process: `where` is who reads it."""

    name: str
    where: str
    meaning: str


VARIABLES = (
    Variable(
        "AIDGE_BUILD",
        "SCons environment",
        "the command, if it is not next to the running Python or on the PATH: a path, or a list of arguments",
    ),
    Variable(
        "AIDGE_BOARD",
        "SCons environment",
        "the board of every model that names none; without it the environment's own flags decide: -mcpu and -mfpu, or -march and "
        "-mabi of RISC-V",
    ),
    Variable(
        "AIDGE_OPTIONS",
        "SCons environment",
        "options of every model that does not say otherwise, also of models named as sources: `{'optimize': 'size'}`",
    ),
    Variable("AIDGECOMSTR", "SCons environment", "what is printed instead of the generator's command line"),
    Variable("AIDGECHECKCOMSTR", "SCons environment", "what is printed instead of the check's command line"),
    Variable("AIDGE_EXECUTABLE", "CMake", "the command, if it is not found: a path, or a list of arguments"),
    Variable("AIDGE", "GNU make", "the command (`aidge-build`)"),
    Variable("AIDGE_COMPILE", "GNU make", "the command that compiles the C of models, where no rule of the makefile does"),
    Variable("AIDGE_CHECK_OPTIONS", "GNU make", "options of `aidge-build check` for `$(AIDGE_CHECK)` and `aidge_check`"),
    Variable("AIDGE_OUT", "GNU make", "the folder of everything that is generated (`build/aidge`)"),
    Variable(
        "AIDGE_DEBUG", "process", "1 shows tracebacks, 2 graphs, 3 schedules, 4 calls, too; SCons hands it to the generator"
    ),
    Variable(
        "AIDGE_LOG",
        "process",
        "a file to which commands, their graphs and schedules (or what AIDGE_DEBUG says) and their errors are appended; "
        "SCons hands it to the generator",
    ),
    Variable(
        "AIDGE_CACHE",
        "process",
        "the folder in which `aidge-build fit` keeps its answers (`aidge-build` in the user's cache); empty: nothing is kept",
    ),
    Variable(
        "AIDGE_FRONT_END", "process", "set by SCons and CMake (`SCons`, `CMake`): hints name options as they are typed there"
    ),
    Variable("AIDGE_TOOLCHAIN_PREFIX", "process", "the cross compiler's prefix (`arm-none-eabi-`)"),
    Variable(
        "AIDGE_CC",
        "process",
        "another compiler for the programs that our verbs build for boards, a command with its first words: `clang-19`; "
        "the cross compiler has the C library, and links ([builds.md](builds.md#other-compilers))",
    ),
)
