# SPDX-License-Identifier: MIT
"""Programs that put firmware on a board or debug it there; the board's file lists them in order of preference."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.base.installed import gdb_script
from aidge_build.boards import Board
from aidge_build.boards.cores import Core

GDB_PORT = 3333
UF2 = "uf2"
_UF2_NOTE = "INFO_UF2.TXT"

_INSTALL = {"openocd": "apt install openocd", "pyocd": "pip install pyocd", "probe-rs": "cargo install probe-rs-tools"}
# Runner -> (executable, command that flashes, command that serves gdb); `target` is the runner's setting in the board's file.
_RUNNERS: dict[str, tuple[str, Callable[[str, str], list[str]], Callable[[str], list[str]]]] = {
    "openocd": (
        "openocd",
        lambda target, elf: ["openocd", "-f", target, "-c", f"program {{{elf}}} verify reset exit"],
        lambda target: ["openocd", "-f", target, "-c", f"gdb_port {GDB_PORT}"],
    ),
    "pyocd": (
        "pyocd",
        lambda target, elf: ["pyocd", "flash", "--target", target, elf],
        lambda target: ["pyocd", "gdbserver", "--target", target, "--port", str(GDB_PORT)],
    ),
    "probe-rs": (
        "probe-rs",
        lambda target, elf: ["probe-rs", "download", "--chip", target, "--verify", elf],
        lambda target: ["probe-rs", "gdb", "--chip", target, "--gdb-connection-string", f"127.0.0.1:{GDB_PORT}"],
    ),
}


@dataclass(frozen=True)
class Runner:
    """A program that flashes or debugs a board; `target` is its setting in the board's file: a configuration file, a chip, or a
    UF2 family."""

    name: str
    target: str

    @property
    def copies(self) -> bool:
        """Whether it is a boot loader that takes a UF2 file, and no program."""
        return self.name == UF2


def all_runners(board: Board, wanted: str = "") -> tuple[Runner, ...]:
    """Returns every runner of the board, the preferred one first, or only the wanted one; AidgeError if the board does not have
    it."""
    runners = dict(board.runners)
    if not runners:
        raise AidgeError(
            "names no runner to flash or debug with",
            where=f"board {board.name}",
            hint="key 'runners' of the board file: the chip's name for pyocd or probe-rs, a configuration file of openocd",
            code="FLASH",
        )
    if wanted and wanted not in runners:
        raise AidgeError(
            f"has no runner '{wanted}'", where=f"board {board.name}", hint=f"runners: {', '.join(runners)}", code="FLASH"
        )
    return tuple(Runner(name, target) for name, target in runners.items() if not wanted or name == wanted)


def is_installed(runner: Runner) -> bool:
    """Whether this machine has its program; a copy needs none."""
    return runner.copies or shutil.which(_RUNNERS[runner.name][0]) is not None


def how_to_install(runners: Sequence[Runner]) -> str:
    """Returns the commands that install the programs of these runners."""
    return ", or ".join(_INSTALL[runner.name] for runner in runners if not runner.copies)


def installed_servers() -> tuple[str, ...]:
    """The runners of this machine that serve gdb for a debug probe."""
    return tuple(name for name, (executable, _, _) in _RUNNERS.items() if shutil.which(executable))


def flash_command(runner: Runner, elf: Path) -> list[str]:
    """The command that puts `elf` on the board."""
    return _RUNNERS[runner.name][1](runner.target, str(elf))


def serve_command(runner: Runner) -> list[str]:
    """The command that serves gdb at GDB_PORT."""
    if runner.copies:
        raise AidgeError(
            "a boot loader cannot debug", where=f"runner {runner.name}", hint="connect a probe and name its runner", code="FLASH"
        )
    return _RUNNERS[runner.name][2](runner.target)


def debug_commands(runner: Runner, elf: Path, core: Core, must_exist: bool = True) -> tuple[list[str], list[str]]:
    """The command that serves gdb, and the one of gdb itself, which stops in main; MissingTool without one that `must_exist`."""
    server = serve_command(runner)
    names = (f"{core.prefix}gdb", "gdb-multiarch")
    gdb = next(filter(None, map(shutil.which, names)), None)
    if gdb is None and not must_exist:
        gdb = names[-1]
    if gdb is None:
        raise MissingTool(
            f"there is no gdb for {core.name} on this machine",
            tried=names,
            hint="apt install gdb-multiarch",
            code="FLASH",
        )
    script = [f"target extended-remote 127.0.0.1:{GDB_PORT}", "monitor reset halt", "load", "break main", "continue"]
    return server, [
        gdb,
        *("-x", str(gdb_script())),
        *(word for line in script for word in ("-ex", line)),
        str(elf),
    ]


def choose_runner(board: Board, wanted: str = "") -> Runner:
    """Returns the first runner of the board that this machine has, or the wanted one. AidgeError if the board does not have it,
    MissingTool if none is installed."""
    runners = all_runners(board, wanted)
    for runner in runners:
        if is_installed(runner):
            return runner
    raise MissingTool(
        "none of its runners is installed" if len(runners) > 1 else f"{runners[0].name} is not installed",
        where=f"board {board.name}",
        tried=tuple(runner.name for runner in runners),
        hint=f"{how_to_install(runners)}; flash -n prints the commands",
        code="FLASH",
    )


def uf2_drive(otherwise: str = "", folders: tuple[Path, ...] = (Path("/media"), Path("/run/media"), Path("/Volumes"))) -> Path:
    """Returns the drive of a board with a boot loader that waits for a UF2 file. MissingTool, with a hint that ends with
    `otherwise`, if there is not exactly one."""
    found = sorted(
        note.parent
        for folder in folders
        if folder.is_dir()
        for pattern in (f"*/{_UF2_NOTE}", f"*/*/{_UF2_NOTE}")
        for note in folder.glob(pattern)
    )
    if len(found) != 1:
        what = "no drive of a UF2 boot loader is mounted" if not found else f"several are mounted: {', '.join(map(str, found))}"
        raise MissingTool(
            what,
            hint=f"start its boot loader (a double click on reset, or BOOTSEL held while it gets power){otherwise}",
            code="FLASH",
        )
    return found[0]
