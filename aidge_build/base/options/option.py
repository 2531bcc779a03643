# SPDX-License-Identifier: MIT
"""An option as a value: its names in each front end, its values, and how a front end hands a value on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

TARGET = "target"  # a heading of the help: the options that name board, core and libraries
SCONS, CMAKE = "SCons", "CMake"

# A front end changes a value in one of these ways before `aidge-build` gets it:
#   word       handed on as it is
#   list       several words, joined by commas
#   pairs      several NAME=VALUE (a dict in SCons), each an option of its own
#   file       a path, from the folder of the user's SConscript or CMakeLists.txt
#   folders    several paths, each an option of its own
#   checkouts  several LIB=FOLDER (a dict in SCons), each an option of its own
#   number     a whole number
#   decimal    a number that need not be whole
#   target     the core: if the build names none, the front end reads it from the compiler's flags
#   place      name and folder of what is made: each front end has its own way to say it
Kind = Literal["word", "list", "pairs", "file", "folders", "checkouts", "number", "decimal", "target", "place"]


@dataclass(frozen=True)
class Option:
    """One option. `name` is its name on the command line without the dashes."""

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
    alternatives: str = ""  # only one of the options with the same word here may be given
    unlimited: str = ""  # the one word of a decimal that is no finite number: it switches the limit off
    topic: str = ""  # the heading in the help; "" for the heading of the verb's own options

    @property
    def argument(self) -> str:
        """The attribute in which argparse keeps the value."""
        return self.name.replace("-", "_")

    def name_in(self, front_end: str) -> str:
        """Returns its name in a call of SCons or CMake; "" if it has none there."""
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
    """Returns these options of a group; KeyError for a name that it lacks."""
    by_name = {option.name: option for option in group.options}
    return tuple(by_name[name] for name in names)
