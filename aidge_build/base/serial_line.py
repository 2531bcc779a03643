# SPDX-License-Identifier: MIT
"""Lines from a serial device of this machine, or from a file with the bytes of such a device; and bytes in both directions."""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import stat
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import IO

from aidge_build.base.errors import AidgeError

BAUD = 115200
_CHUNK, _LONGEST_LINE = 256, 1 << 16
_MOST_READ = 1 << 14
_SOCKET = re.compile(r"socket://(?P<host>[\w.-]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})", re.ASCII)
_CONNECT_SECONDS = 5.0


class Port:
    """Bytes to and from a device or a socket; `where` names it in errors."""

    def __init__(self, line: int | socket.socket, where: str):
        self._line, self.where = line, where
        self._receive = partial(os.read, line) if isinstance(line, int) else line.recv
        self._send = partial(os.write, line) if isinstance(line, int) else line.send

    def read(self, seconds: float) -> bytes:
        """Returns the bytes that have come, as soon as there is one; b"" where none comes in this time."""
        if not select.select([self._line], [], [], max(0.0, seconds))[0]:
            return b""
        try:
            data = self._receive(_MOST_READ)
        except OSError as error:  # the board was unplugged
            raise self._broken(error) from None
        if not data:
            raise AidgeError("the other end has closed the line", where=self.where, code="SERIAL")
        return data

    def write(self, data: bytes, seconds: float) -> None:
        """Sends bytes; AidgeError (SERIAL) where they do not leave in this time."""
        end = time.monotonic() + seconds
        while data:
            if not select.select([], [self._line], [], max(0.0, end - time.monotonic()))[1]:
                what = f"{len(data):,} B cannot be sent within {seconds:g} s"
                raise AidgeError(what, where=self.where, code="SERIAL", hint="is the board connected, and flow control off?")
            try:
                data = data[self._send(data) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._broken(error) from None

    def _broken(self, error: OSError) -> AidgeError:
        return AidgeError(f"the line broke off ({error.strerror})", where=self.where, code="SERIAL")


@contextlib.contextmanager
def opened_port(name: str, baud: int = BAUD) -> Iterator[Port]:
    """A serial device in raw mode with 8 data bits and no parity, a pseudo-terminal, or `socket://host:port`."""
    address = _SOCKET.fullmatch(name)
    if address:
        try:
            stream = socket.create_connection((address["host"].strip("[]"), int(address["port"])), _CONNECT_SECONDS)
        except (OSError, OverflowError) as error:
            raise AidgeError(f"nothing answers there ({error})", where=name, code="SERIAL") from None
        with stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.setblocking(False)
            yield Port(stream, name)
        return
    try:
        descriptor = os.open(name, os.O_RDWR | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        hint = "your user may lack the group dialout" if isinstance(error, PermissionError) else "ls /dev/tty* lists the ports"
        raise AidgeError(f"cannot be opened ({error.strerror})", where=name, code="SERIAL", hint=hint) from None
    try:
        if not os.isatty(descriptor):
            raise AidgeError("is no serial device", where=name, code="SERIAL", hint="/dev/ttyACM0, or socket://localhost:4000")
        _set_raw(descriptor, baud, name)
        yield Port(descriptor, name)
    finally:
        os.close(descriptor)


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
            "serial devices are opened on Linux and macOS",
            where=path,
            code="USAGE",
            hint="for verify, a program that serves the port: socket://localhost:4000; else a file with what a terminal shows",
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
