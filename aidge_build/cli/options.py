# SPDX-License-Identifier: MIT
"""The verb `options`: every option and its name in each build system; rewrites what is written from that table."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.options import TABLE, Option
from aidge_build.base.options.option import CMAKE, SCONS
from aidge_build.base.options.texts import CMAKE_OPTIONS, PAGE, SCONS_TOOL, cmake_options, page, with_scons_region
from aidge_build.base.output import write_files
from aidge_build.cli.outcome import Outcome

EXAMPLES = (("list options", "their names in SCons, CMake and on the command line"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--update",
        type=Path,
        metavar="DIR",
        help="checkout, to rewrite its SCons tool, CMake file and page (default: print the table)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    if arguments.update:
        write_files({arguments.update / name: text.encode() for name, text in written_texts(arguments.update).items()})
    rows = [_as_json(option) for group in TABLE for option in group.options]
    return Outcome([*map(_line, rows)], {"options": rows})


def written_texts(checkout: Path) -> dict[str, str]:
    """Returns the files of the checkout that are written from the table: path -> text."""
    try:
        tool = (checkout / SCONS_TOOL).read_text()
    except OSError as error:
        raise AidgeError(f"cannot be read: {error.strerror}", where=str(checkout / SCONS_TOOL), code="USAGE") from error
    return {SCONS_TOOL: with_scons_region(tool), CMAKE_OPTIONS: cmake_options(), PAGE: page()}


def _as_json(option: Option) -> dict:
    return {
        "name": f"--{option.name}",
        "scons": option.name_in(SCONS),
        "cmake": option.name_in(CMAKE),
        "kind": option.kind,
        "values": list(option.values),
        "default": option.default,
        "meaning": option.meaning,
    }


def _line(row: dict) -> str:
    default = f"; default {row['default']}" if row["default"] else ""
    values = f" ({', '.join(row['values'])}{default})" if row["values"] else ""
    return f"{row['name']:<20} {row['scons']:<18} {row['cmake']:<18} {row['meaning']}{values}"
