# SPDX-License-Identifier: MIT
"""The table of options as the texts that SCons, CMake and people read."""

from __future__ import annotations

from aidge_build.base.errors import AidgeError
from aidge_build.base.options.accuracy import ACCURACY
from aidge_build.base.options.budget import BUDGET
from aidge_build.base.options.check import CHECK
from aidge_build.base.options.option import CMAKE, SCONS, Group, Option
from aidge_build.base.options.table import FILES, MODEL, TABLE
from aidge_build.base.options.variables import VARIABLES

COMMAND = "aidge-build list options --update ."
SCONS_TOOL, CMAKE_OPTIONS, PAGE = (
    "site_scons/site_tools/aidge.py",
    "aidge_build/build/cmake/options.cmake",
    "docs/options.md",
)
_BEGIN, _END = f"# <options> Written by `{COMMAND}`; do not edit.\n", "# </options>\n"
_WIDTH = 130


def with_scons_region(tool: str) -> str:
    """Returns the SCons tool with its table written again; AidgeError if the marks of the region are missing."""
    before, begin, rest = tool.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise AidgeError("has no region <options>", where=SCONS_TOOL, code="USAGE", hint=f"two lines: {_BEGIN}{_END}")
    return before + begin + _scons_table() + end + after


def _scons_table() -> str:
    """Returns a literal of plain tuples: the tool imports nothing from this package."""
    lines = ["# What a call takes -> option of `aidge-build`, what becomes of the value, the valid values (none: any).\n"]
    for name, group in (("OPTIONS", MODEL), ("CHECK_OPTIONS", CHECK), ("ACCURACY_OPTIONS", ACCURACY)):
        rows = [
            f'    "{option.name_in(SCONS)}": ("--{option.name}", "{option.kind}", {_tuple(option.values)}),\n'
            for option in group.options
            if option.name_in(SCONS)
        ]
        lines += [f"{name} = {{\n", *rows, "}\n"]
    return "".join(lines)


def _tuple(words: tuple[str, ...]) -> str:
    return "(" + ", ".join(f'"{word}"' for word in words) + ("," if len(words) == 1 else "") + ")"


def cmake_options() -> str:
    """The file that the CMake package includes: macros, because a variable would be one of the folder that asked first."""
    lines = [
        "# SPDX-License-Identifier: MIT\n",
        f"# Written by `{COMMAND}`; do not edit.\n",
        "# single, lists: keywords of a call. rows: keyword:what becomes of the value:option of `aidge-build`.\n",
    ]
    for macro, first, options in (
        ("_aidge_options_of_model", ("MODEL",), (*FILES, *MODEL.options)),
        ("_aidge_options_of_check", (), (*CHECK.options, *BUDGET.options)),
        ("_aidge_options_of_accuracy", ("BOARD", "OUT"), ACCURACY.options),
    ):
        here = [option for option in options if option.name_in(CMAKE)]
        single = [*first, *(option.name_in(CMAKE) for option in here if not option.several)]
        several = [option.name_in(CMAKE) for option in here if option.several]
        rows = [
            f"{option.name_in(CMAKE)}:{option.kind}:--{option.name}" for option in here if option.kind not in ("place", "target")
        ]
        lines += [f"macro({macro})\n", _set("single", single), _set("lists", several), _set("rows", rows), "endmacro()\n"]
    return "".join(lines)


def _set(name: str, words: list[str]) -> str:
    """`set(name ...)`, wrapped."""
    lines = [f"  set({name}"]
    for word in words:
        if len(lines[-1]) + len(word) + 2 > _WIDTH:
            lines.append(" " * len(f"  set({name}"))
        lines[-1] += f" {word}"
    return "\n".join(lines) + ")\n"


def page() -> str:
    """docs/options.md."""
    parts = [_PAGE_HEAD.format(command=COMMAND)]
    parts += [_section(group) for group in TABLE]
    rows = "".join(f"| `{variable.name}` | {variable.where} | {variable.meaning} |\n" for variable in VARIABLES)
    parts.append(f"## Settings of a whole build\n\n| name | who reads it | meaning |\n|---|---|---|\n{rows}")
    return "\n".join(parts)


def _section(group: Group) -> str:
    options = (*FILES, *group.options) if group is MODEL else group.options
    return (
        f"## {group.title}\n\n"
        f"`aidge-build` {group.verbs}; SCons `{group.scons}`; CMake `{group.cmake}`.\n\n"
        "| command line | SCons | CMake | values | meaning |\n|---|---|---|---|---|\n" + "".join(map(_row, options))
    )


def _row(option: Option) -> str:
    names = [
        f"`{option.name_in(front_end)}`" if option.name_in(front_end) else option.instead[front_end]
        for front_end in (SCONS, CMAKE)
    ]
    values = ", ".join(f"**{value}**" if value == option.default else value for value in option.values) or _shape(option)
    cells = [f"`--{option.name}`", *names, values, option.meaning]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _shape(option: Option) -> str:
    several = {"list": "", "pairs": ", several", "folders": ", several", "checkouts": ", several"}
    return f"`{option.metavar}`{several.get(option.kind, '')}" if option.metavar else ""


_PAGE_HEAD = """\
<!-- SPDX-License-Identifier: MIT -->
<!-- Written by `{command}`: do not edit. -->
# Options

Every setting, with its name in each build. The default is bold. Several values: on the command line `--lib a,b`, or a
repeated option; in SCons `libs=['a', 'b']`, `bind={{'batch': 1}}`, `checkout={{'lib': 'folder'}}`; in CMake `LIBS a b`,
`BIND batch=1`, `CHECKOUT lib=folder`. Paths count from the folder of the SConscript or CMakeLists.txt that names them.

The adapters of `integrations/` take the same names: GNU make the names of the command line (third argument of
`aidge_model`), PlatformIO the SCons names as `custom_aidge_<name>`, RT-Thread the SCons names in `Env['AIDGE_OPTIONS']`, Zephyr
the CMake names.
"""
