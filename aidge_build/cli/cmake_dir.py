# SPDX-License-Identifier: MIT
"""`aidge-build doctor --cmake-dir`: where CMake finds this package."""

from __future__ import annotations

import argparse

from aidge_build.base.installed import cmake_folder
from aidge_build.cli.outcome import Outcome

EXAMPLES = (("doctor --cmake-dir", "for cmake -Daidge_build_DIR=..."),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def run(arguments: argparse.Namespace) -> Outcome:
    del arguments
    return Outcome([str(cmake_folder())], {"folder": str(cmake_folder())})
