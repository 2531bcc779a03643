# SPDX-License-Identifier: MIT
"""QEMU's own gdb server, in front of a board that is halted at its reset, empty or with a program."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from aidge_build.boards import load_board

_SECONDS = 20.0


@contextlib.contextmanager
def qemu_server(board_name: str, elf: Path | None = None) -> Iterator[str]:
    """The address of the server; the board holds the program, if there is one."""
    port = free_port()
    command = [*qemu_command(board_name, port), *(["-bios", "none", "-kernel", str(elf)] if elf else [])]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def qemu_command(board_name: str, port: int) -> list[str]:
    """What serves the board at a port."""
    board = load_board(board_name)
    command = [board.core.qemu, "-M", board.emulator.machine, "-nographic", "-monitor", "none", "-serial", "null"]
    command += ["-semihosting-config", "enable=on,target=gdb"]
    return [*command, "-S", "-gdb", f"tcp:127.0.0.1:{port}"]


def free_port() -> int:
    """One that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def wait_for(port: int) -> None:
    """Until QEMU listens. It serves one connection after the other: one that is closed again does no harm."""
    end = time.monotonic() + _SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
