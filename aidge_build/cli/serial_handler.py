# SPDX-License-Identifier: MIT
"""`aidge-build verify MODEL --serial-handler`: writes the C file with which firmware answers `verify --serial`."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.base.output import write_files
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.cli.outcome import Outcome
from aidge_build.run.verify.serial_handler import handler_name, handler_text

EXAMPLES = (("verify kws.onnx --serial-handler --board stm32f4 --out src", "src/kws_serial.c: compile it with your firmware"),)
COMMON = ("name", "out", "board", "cpu", "optimize", "rounding", "quantize")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    parser.add_argument("--name", help="model in the firmware (default: the file's stem)")
    parser.add_argument("--out", type=Path, default=Path("."), metavar="DIR", help="folder of the file (default: this folder)")


def run(arguments: argparse.Namespace) -> Outcome:
    program = build_program(load(arguments, arguments.name or Path(arguments.model).stem))
    path = arguments.out / handler_name(program)
    write_files({path: handler_text(program).encode()})
    said = (
        f"{path}: compile it with {program.code_file}, define aidge_serial_get and aidge_serial_put, call {program.name}_serial"
    )
    return Outcome([said], {"file": str(path)})
