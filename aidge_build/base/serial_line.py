# SPDX-License-Identifier: MIT
"""Lines from a serial device of this machine, or from a file with the bytes of such a device."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterator
from typing import IO

from aidge_build.base.errors import AidgeError

BAUD = 115200
_CHUNK, _LONGEST_LINE = 256, 1 << 16


def received_lines(path: str | os.PathLike, baud: int = BAUD, seconds: float | None = None) -> Iterator[bytes]:
    """Yields the lines, without their ends, as they arrive; of a device in raw mode with 8 data bits and no parity.

    AidgeError (INPUT) where a device sends nothing for `seconds` (None: waits for ever), or what no line ends.
    """
    with _opened(path) as line:
        is_device = stat.S_ISCHR(os.fstat(line.fileno()).st_mode)
        if line.isatty():
            _set_raw(line.fileno(), baud, os.fspath(path))
        waiting = b""
        while chunk := _chunk(line.fileno(), seconds if is_device else None, os.fspath(path)):
            *whole, waiting = (waiting + chunk).split(b"\n")
            yield from (each.removesuffix(b"\r") for each in whole)
            if len(waiting) > _LONGEST_LINE:
                raise AidgeError("sends no lines of text", where=os.fspath(path), hint=f"is its speed {baud} baud?", code="INPUT")
        if waiting:
            yield waiting


def _opened(path: str | os.PathLike) -> IO[bytes]:
    """The device, which does not become the terminal of this process."""
    try:
        return open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NOCTTY", 0)))
    except OSError as error:
        raise AidgeError(f"cannot be read ({error.strerror})", where=os.fspath(path), code="INPUT") from None


def _chunk(descriptor: int, seconds: float | None, path: str) -> bytes:
    if seconds is not None and not select.select([descriptor], [], [], seconds)[0]:
        raise AidgeError(
            f"nothing has arrived within {seconds:g} s",
            where=path,
            hint="press the board's reset button; does another program read the port?",
            code="INPUT",
        )
    try:
        return os.read(descriptor, _CHUNK)
    except OSError as error:  # the board was unplugged
        raise AidgeError(f"the line broke off ({error.strerror})", where=path, code="INPUT") from None


def _set_raw(descriptor: int, baud: int, path: str) -> None:
    if sys.platform == "win32":
        raise AidgeError(
            "serial devices are read on Linux and macOS",
            where=path,
            code="USAGE",
            hint="keep what a terminal program shows in a file, and name the file",
        )
    import termios
    import tty

    speed = getattr(termios, f"B{baud}", None)
    if speed is None:
        raise AidgeError(f"no serial line has {baud} baud", where=path, code="USAGE", hint="115200")
    tty.setraw(descriptor)
    settings = termios.tcgetattr(descriptor)
    settings[2] |= termios.CLOCAL | termios.CREAD  # no modem
    settings[4] = settings[5] = speed
    termios.tcsetattr(descriptor, termios.TCSANOW, settings)
