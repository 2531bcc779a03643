# SPDX-License-Identifier: MIT
"""What an option is: its names in each front end, its values, and what a front end does with one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

SCONS, CMAKE = "SCons", "CMake"

# What a front end does with a value before `aidge-build` gets it:
#   word       handed on as it is
#   list       several words, joined by commas
#   pairs      several NAME=VALUE (a dict in SCons), each an option of its own
#   file       a path, from the folder of the user's SConscript or CMakeLists.txt
#   folders    several paths, each an option of its own
#   checkouts  several LIB=FOLDER (a dict in SCons), each an option of its own
#   number     a whole number
#   decimal    a number that need not be whole
#   target     the core: where nobody names one, the front end reads it from the compiler's flags
#   place      name and folder of what is made: each front end has its own way to say it
Kind = Literal["word", "list", "pairs", "file", "folders", "checkouts", "number", "decimal", "target", "place"]


@dataclass(frozen=True)
class Option:
    """One option. `name` is that of the command line without its dashes."""

    name: str
    meaning: str
    kind: Kind = "word"
    values: tuple[str, ...] = ()  # the only ones that are valid; () means any
    default: str = ""  # as the command line has it; "" where the meaning says what happens
    metavar: str = ""
    scons: str = ""  # where it is not `name` with underscores
    cmake: str = ""  # where it is not `name` in capitals with underscores
    instead: dict[str, str] = field(default_factory=dict)  # a front end without this option: what to do there
    required: bool = False  # on the command line
    alternatives: str = ""  # of the options with the same word here only one may be given
    topic: str = ""  # the heading of the help under which it is; "" under that of the verb's own options

    @property
    def argument(self) -> str:
        """Where argparse keeps the value."""
        return self.name.replace("-", "_")

    def name_in(self, front_end: str) -> str:
        """What a call in SCons or CMake calls it; "" where it has none."""
        if front_end in self.instead:
            return ""
        own = self.scons if front_end == SCONS else self.cmake
        return own or (self.argument if front_end == SCONS else self.argument.upper())

    @property
    def several(self) -> bool:
        """Whether it has a list of values."""
        return self.kind in ("list", "pairs", "folders", "checkouts")

    @property
    def repeated(self) -> bool:
        """Whether the command line takes it several times."""
        return self.kind in ("pairs", "folders", "checkouts")


@dataclass(frozen=True)
class Group:
    """Options of one call."""

    title: str
    verbs: str  # for the page
    scons: str
    cmake: str
    options: tuple[Option, ...]


def options_named(group: Group, *names: str) -> tuple[Option, ...]:
    """These options of a group; KeyError for one that it lacks."""
    by_name = {option.name: option for option in group.options}
    return tuple(by_name[name] for name in names)
