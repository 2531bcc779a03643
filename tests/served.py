# SPDX-License-Identifier: MIT
"""Runs modules as commands, each time in a fork of a process that has imported what they need: loading SCons is four fifths of
most runs of the tests, loading the generator's packages two thirds of a small model's.

    python served.py SOCKET MODULE IMPORTS...

serves `python -m MODULE` with these modules loaded; served_command.py and `scons` below say in which folder, with which words,
environment and streams.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import functools
import importlib
import os
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

IMPORTS = {
    "SCons": ("SCons.Script", "SCons.Tool.gcc", "SCons.Tool.gnulink"),
    "aidge_build": ("numpy", "onnx", "aidge_build.build.compile", "aidge_build.cli.check", "aidge_build.cli.compile"),
}
_SERVERS: dict[str, subprocess.Popen] = {}
_FOLDERS: list[Path] = []


@functools.cache
def served(module: str) -> tuple[str, ...]:
    """The words of a command that runs `module`; its server has been started, and ends with this process."""
    path = str(Path(tempfile.mkdtemp(), "socket"))
    server = subprocess.Popen([sys.executable, __file__, path, module, *IMPORTS[module]], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    _SERVERS[path] = server
    return sys.executable, str(Path(__file__).with_name("served_command.py")), path


def end_servers() -> None:
    """Ends all that were started, and waits for them."""
    for path, server in _SERVERS.items():
        _connection(path).close()
        server.communicate()
        shutil.rmtree(Path(path).parent)
    for folder in _FOLDERS:
        shutil.rmtree(folder)
    _SERVERS.clear(), _FOLDERS.clear()


@functools.cache
def served_python() -> str:
    """The path of a Python whose `-m aidge_build` is a fork of the server; beside it `aidge-build` and `scons`, as
    where the package is installed."""
    folder = Path(tempfile.mkdtemp())
    _FOLDERS.append(folder)
    packages = folder / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "aidge_build.pth").write_text(f"{Path(__file__).resolve().parents[1]}\n")
    command = f'exec {shlex.join(served("aidge_build"))} "$@"\n'
    words = f'[ "$1 $2" != "-m aidge_build" ] && exec {shlex.quote(sys.executable)} "$@"\nshift 2\n'
    (folder / "bin").mkdir()
    scons = f'AIDGE_TEST_PYTHON={folder}/bin/python exec {shlex.join(served("SCons"))} "$@"\n'
    for name, text in (("python", words + command), ("aidge-build", command), ("scons", scons)):
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}")
        (folder / "bin" / name).chmod(0o755)
    return str(folder / "bin" / "python")


def scons(folder: Path, *words: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """The exit code of `scons -Q words...` in the folder, and what it printed; the environment's AIDGE_TEST_PYTHON is the Python
    that it finds itself run by."""
    read, write = os.pipe()
    with _connection(served("SCons")[2]) as connection, open(read, encoding="utf-8", errors="replace") as output:
        request = repr((str(folder), ["-Q", *words], env or dict(os.environ))).encode()
        socket.send_fds(connection, [request], [0, write, write])
        os.close(write)
        printed = output.read()
        return connection.recv(1)[0], printed


def _connection(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(path)
    return connection


def _serve(path: str, module: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        while True:
            connection = listener.accept()[0]
            request, streams, _, _ = socket.recv_fds(connection, 1 << 18, 3)
            if request and os.fork() == 0:
                _run(connection, module, ast.literal_eval(request.decode()), streams)
            for descriptor in (*streams, connection.detach()):
                os.close(descriptor)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG if request else 0)[0]:
                    pass
            if not request:
                return


def _run(connection: socket.socket, module: str, request: tuple, streams: list[int]) -> None:
    """Ends this process as `python -m module` would end."""
    folder, words, environment = request
    for descriptor, stream in enumerate(streams):
        os.dup2(stream, descriptor)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.executable = os.environ.pop("AIDGE_TEST_PYTHON", sys.executable)
    sys.argv, sys.path[0], code = [module, *words], folder, 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        connection.send(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    for name in sys.argv[3:]:
        importlib.import_module(name)
    _serve(*sys.argv[1:3])
