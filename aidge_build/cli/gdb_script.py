# SPDX-License-Identifier: MIT
"""`aidge-build doctor --gdb-script`: the file that gives gdb its commands `aidge ...`."""

from __future__ import annotations

import argparse

from aidge_build.base.installed import gdb_script
from aidge_build.cli.outcome import Outcome

EXAMPLES = (("doctor --gdb-script", 'for gdb-multiarch -x "$(aidge-build doctor --gdb-script)" app.elf'),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def run(arguments: argparse.Namespace) -> Outcome:
    del arguments
    return Outcome([str(gdb_script())], {"file": str(gdb_script())})
