# SPDX-License-Identifier: MIT
"""The server of a debug probe: one that is there, or one that is started for the time of a command."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.boards import Board
from aidge_build.run.probe.remote import Remote, connect
from aidge_build.run.toolchain.runners import GDB_PORT, choose_runner, serve_command

_ADDRESS = re.compile(r"(?P<host>[\w.-]*|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})", re.ASCII)
_NAME = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
_START_SECONDS = 20.0  # a probe that is asked for the first time loads its firmware
_TURN_SECONDS = 0.05
_LARGEST_PORT = 65535


@dataclass(frozen=True)
class Probe:
    """A server, by `host` and `port`, or by the `runner` of the board that starts it. `seconds` limits the time for an answer,
    and for the program on its way to a breakpoint."""

    host: str
    port: int
    runner: str
    seconds: float

    @property
    def title(self) -> str:
        """The name for people."""
        return self.runner or f"{self.host}:{self.port}"


def probe_of(text: str, seconds: float) -> Probe:
    """Returns the server that `--probe` names: `host:port`, `:port`, or a runner. AidgeError (USAGE) for anything else."""
    address = _ADDRESS.fullmatch(text)
    if address and 0 < int(address["port"]) <= _LARGEST_PORT:
        return Probe(address["host"].strip("[]") or "localhost", int(address["port"]), "", seconds)
    if _NAME.fullmatch(text):
        return Probe("127.0.0.1", GDB_PORT, text, seconds)
    raise AidgeError(f"'{text}' is no address and no runner", where="--probe", hint="localhost:3333, or pyocd", code="USAGE")


@contextmanager
def opened(probe: Probe, board: Board, printed: Callable[[bytes], None]) -> Iterator[Remote]:
    """A connection to the server. If the probe names a runner, the server is started before and ended after."""
    if not probe.runner:
        remote = connect(probe.host, probe.port, probe.seconds, printed)
        try:
            yield remote
        finally:
            remote.close()
        return
    command = serve_command(choose_runner(board, probe.runner))
    _require_free(probe)
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        try:
            remote = _first_connection(probe, process, command, said, printed)
            try:
                yield remote
            finally:
                remote.close()
        finally:
            process.terminate()
            process.wait()


def _require_free(probe: Probe) -> None:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((probe.host, probe.port))
        except OSError:
            raise AidgeError(
                f"port {probe.port} is taken: is a server running already?",
                where=f"--probe {probe.runner}",
                hint=f"--probe localhost:{probe.port} uses the one that is there",
                code="PROBE",
            ) from None


def _first_connection(
    probe: Probe, process: subprocess.Popen, command: list[str], said: IO[bytes], printed: Callable[[bytes], None]
) -> Remote:
    """The connection to a server that has just been started. It is kept, for some servers end with their first connection."""
    end = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            return connect(probe.host, probe.port, probe.seconds, printed)
        except MissingTool:
            time.sleep(_TURN_SECONDS)
    raise MissingTool(
        f"the server {'ended' if process.poll() is not None else 'does not listen'}: {_last_line(said)}",
        where=shlex.join(command),
        hint="is the board connected, and is no other server using its probe?",
        code="PROBE",
    )


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "it printed nothing"
