# SPDX-License-Identifier: MIT
"""`verify --serial`: the options of a line to a firmware without a probe."""

from __future__ import annotations

import argparse

from aidge_build.base.errors import AidgeError, needs_option
from aidge_build.base.serial_line import BAUD
from aidge_build.run.verify.over_serial import SerialLine

_SECONDS = 10.0


def add_serial_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the line."""
    parser.add_argument(
        "--serial",
        metavar="PORT",
        help="port of a firmware with the file of --serial-handler: /dev/ttyACM0, or socket://localhost:4000; it computes the "
        "outputs (default: the emulator computes them)",
    )
    parser.add_argument("--baud", type=int, metavar="N", help=f"bits per second of --serial (default: {BAUD})")
    parser.add_argument(
        "--serial-seconds", type=float, metavar="S", help=f"how long an answer of --serial may take (default: {_SECONDS:g})"
    )


def serial_from(arguments: argparse.Namespace) -> SerialLine | None:
    """The line that was named; AidgeError (USAGE) for options that do not fit."""
    if arguments.serial is None:
        given = next((name for name in ("baud", "serial_seconds") if getattr(arguments, name) is not None), None)
        if given:
            raise needs_option(given, "--serial PORT")
        return None
    for name in ("probe", "replay", "layers"):
        if getattr(arguments, name):
            hint = "leave out --serial: layers are compared in the emulator, over a probe, or in gdb (docs/howto-gdb.md)"
            raise AidgeError(f"does not fit --{name}", where="--serial", hint=hint if name == "layers" else "", code="USAGE")
    if arguments.board is None:
        raise needs_option("serial", "--board B, the board of the firmware")
    seconds = _SECONDS if arguments.serial_seconds is None else arguments.serial_seconds
    if not 0 < seconds <= 3600:
        raise AidgeError(f"{seconds:g} is no time from 0 to 3600 s", where="--serial-seconds", code="USAGE")
    return SerialLine(arguments.serial, arguments.baud or BAUD, seconds)
