# SPDX-License-Identifier: MIT
"""What `./sconsw` does before scons: system tools, the checkout's `.venv`, then scons with the user's arguments.

    ./sconsw board=stm32f7 run            builds and runs; says what to type when the machine lacks something (exit 3)
    ./sconsw --install board=stm32f7 run  the same, and installs it: `--install` is the user's consent to apt-get
    ./sconsw doctor                       lists what this machine has and lacks

`.venv` is made from `requirements-user.lock`; commands for contributors (tests, documentation) add `requirements.lock`. It is
made again whenever the lock that a command needs, the Python or the place of the checkout changes; otherwise nothing is started
but scons. Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
ON_WINDOWS = os.name == "nt"  # written for it, but not tried there
PYTHON = VENV / ("Scripts/python.exe" if ON_WINDOWS else "bin/python")
USER_LOCK = ROOT / "requirements-user.lock"
LOCK = ROOT / "requirements.lock"  # all of it, with what tests and documentation need
STAMP = VENV / "aidge-setup"
LOG = VENV / "aidge-setup.log"

# Part of the key of .venv: a new number makes every checkout set up again.
SETUP_VERSION = b"2"
DEFAULT_BOARD = "host"
# Targets that need more than a build does: packages of tests and documentation.
FOR_CONTRIBUTORS = {"test", "stress", "mutants", "fuzz", "misra", "docs", "conformance", "packages"}
# Options of scons that build nothing, so that nothing needs to be there.
IDLE_OPTIONS = {"-c", "--clean", "--remove", "-h", "--help", "-H", "--help-options", "-v", "--version"}

sys.path.insert(0, str(ROOT))
from aidge_build.base import machine  # noqa: E402
from aidge_build.base.errors import EXIT_BAD_INPUT, EXIT_MISSING, AidgeError, MissingTool  # noqa: E402
from aidge_build.boards import load_board  # noqa: E402


def main(arguments: list[str]) -> int:
    """Runs scons in place of this process; returns only when something is missing (3) or a verb ran without scons."""
    consent = "--install" in arguments
    arguments = [word for word in arguments if word != "--install"]
    missing = missing_tools(arguments)
    provide_system_tools([*missing, *(missing_welcome_tools(arguments) if consent else [])], consent, arguments)
    if not venv_is_ready(needed_locks(arguments)):
        if is_doctor(arguments) and machine.VENV.version() is None:
            return subprocess.call([sys.executable, "-m", "aidge_build", *arguments], cwd=ROOT)
        make_venv(needed_locks(arguments))
    os.chdir(ROOT)
    return hand_over([str(PYTHON), "-m", *(("aidge_build",) if is_doctor(arguments) else ("SCons", "-Q")), *arguments])


def hand_over(command: list[str]) -> int:
    """Puts the command in place of this process; Windows cannot, and waits for it instead."""
    if ON_WINDOWS:
        return subprocess.call(command)
    os.execv(command[0], command)
    raise AssertionError("execv does not return")


def is_doctor(arguments: list[str]) -> bool:
    """`doctor` works on a machine that lacks everything, scons included."""
    return "doctor" in arguments


def missing_tools(arguments: list[str]) -> list[machine.Tool]:
    """What this machine lacks of what the command needs."""
    venv = [] if venv_is_ready(needed_locks(arguments)) or is_doctor(arguments) else [machine.VENV]
    return [tool for tool in [*venv, *needed_tools(arguments)] if tool.version() is None]


def missing_welcome_tools(arguments: list[str]) -> list[machine.Tool]:
    """What only some tests need, which skip without it: it is installed where something is, and nobody is asked for it."""
    wanted = (*machine.FOR_RISCV, machine.GDB) if {"test", "stress"} & set(arguments) and needed_tools(arguments) else ()
    return [tool for tool in wanted if tool.version() is None]


def needed_tools(arguments: list[str]) -> tuple[machine.Tool, ...]:
    """The system tools that a scons command line needs."""
    if is_doctor(arguments) or IDLE_OPTIONS & set(arguments):
        return ()
    in_tests = {"test", "stress", "mutants", "fuzz"} & set(arguments)
    if in_tests or {"docs", "packages"} & set(arguments) and "conformance" in arguments:
        return (*machine.TOOLS, *machine.FOR_TESTS)
    if "docs" in arguments:
        return ()
    if "conformance" in arguments:
        return (*machine.TOOLS, *machine.FOR_RISCV)
    if "misra" in arguments:
        return (*machine.TOOLS, machine.RISCV_COMPILER, machine.PICOLIBC, *machine.FOR_READING)
    if "bench" in arguments:
        return machine.TOOLS
    return _tools_of_board(arguments)


def _tools_of_board(arguments: list[str]) -> tuple[machine.Tool, ...]:
    """The compiler of the board that is named, and what `run` needs of its emulator."""
    named = [word.removeprefix("board=") for word in arguments if word.startswith("board=")]
    try:
        board = load_board(named[-1] if named else DEFAULT_BOARD)
    except AidgeError:
        return ()  # SConstruct says what is wrong with the name
    if board.is_host:
        return (machine.HOST_COMPILER,)
    tools = machine.toolchain_of(board.core.toolchain, board.core.packages)
    if "run" not in arguments:
        return tools
    counting = (machine.HOST_COMPILER,)  # the emulators' instruction counters are C, compiled at first use
    is_emulated = board.emulator is not None and board.emulator.kind == "qemu"
    return (*tools, *counting, *([machine.qemu_of(board.core.qemu, board.core.qemu_packages)] if is_emulated else []))


def provide_system_tools(missing: list[machine.Tool], consent: bool, arguments: list[str]) -> None:
    """Installs what is missing when the user consented; raises MissingTool with the one line to type otherwise."""
    if not missing:
        return
    names = ", ".join(tool.name for tool in missing)
    line = machine.install_line(missing)
    apt = shutil.which("apt-get")
    if not consent:
        again = shlex.join(["./sconsw", "--install", *arguments])
        raise MissingTool(f"missing on this machine: {names}", hint=f"type: {line}   (or: {again})" if apt else f"type: {again}")
    if not apt:
        raise MissingTool(
            f"missing on this machine: {names}; --install knows apt-get only, which is not here", hint=f"on Debian: {line}"
        )
    for command in machine.install_commands(missing):
        say(f"INSTALL  {shlex.join(command)}")
        if subprocess.call(command) != 0:
            raise MissingTool(f"'{shlex.join(command)}' failed; still missing: {names}", hint="its own words say why")
    still = [tool.name for tool in missing if tool.version() is None]
    if still:
        raise MissingTool(f"installed, but still not usable: {', '.join(still)}")


def needed_locks(arguments: list[str]) -> list[Path]:
    """The locks whose packages a command needs, in the order in which they are installed."""
    return [USER_LOCK, LOCK] if FOR_CONTRIBUTORS & set(arguments) else [USER_LOCK]


def venv_keys(locks: list[Path]) -> list[str]:
    """The keys that the stamp of `.venv` holds, one for each lock."""
    return [venv_key(lock) for lock in locks]


def venv_key(lock: Path) -> str:
    """What `.venv` depends on: the locked packages, this set-up, the Python and the place of the checkout."""
    digest = hashlib.sha256()
    for content in (lock.read_bytes(), SETUP_VERSION, sys.version.encode(), os.fsencode(ROOT)):
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


def installed_keys() -> list[str]:
    """The keys of the locks that `.venv` holds; none where there is no environment."""
    try:
        return STAMP.read_text().split() if PYTHON.exists() else []
    except OSError:
        return []


def venv_is_ready(locks: list[Path]) -> bool:
    """Whether `.venv` is the one that `make_venv` would make, or has packages for contributors beside."""
    return installed_keys()[: len(locks)] == venv_keys(locks)


def make_venv(locks: list[Path]) -> None:
    """Makes `.venv` anew, or adds the last lock to it; the stamp is written last, so that an interrupted set-up is not taken
    for a finished one."""
    if sys.prefix != sys.base_prefix and Path(sys.prefix).resolve() == VENV.resolve():
        sys.exit(hand_over([sys._base_executable, "-E", "-s", *sys.argv]))
    with LOCK.open("rb") as lock:
        wait_for(lock)  # a second sconsw waits here, and then finds everything done
        if venv_is_ready(locks):
            return
        is_added = len(locks) > 1 and installed_keys() == venv_keys(locks[:-1])
        STAMP.unlink(missing_ok=True)
        say(f"SETUP  .venv from {locks[-1].name} (once; takes about {'a minute' if locks[-1] == LOCK else '20 seconds'})")
        if not is_added:
            run_logged([sys.executable, "-I", "-m", "venv", "--clear", str(VENV)], create_log=False)
        # The last lock holds the packages of the others, in the same versions.
        pip = [str(PYTHON), "-I", "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
        run_logged([*pip, "--require-hashes", "-r", str(locks[-1])])
        install_project()
        STAMP.write_text("\n".join(venv_keys(locks)))


def wait_for(file: BinaryIO) -> None:
    """Locks `file` until it is closed; without fcntl (Windows) two set-ups at once are up to the user."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, fcntl.LOCK_EX)


def run_logged(command: list[str], create_log: bool = True) -> None:
    """Runs a step of the set-up; when it fails, its last complaint is the error."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    output = done.stdout.decode(errors="replace")
    if create_log:
        LOG.write_text(output)
    if done.returncode != 0:
        lines = [line.strip() for line in output.splitlines() if line.strip()] or ["no message"]
        complaint = next((line for line in lines if line.startswith("ERROR")), lines[-1])
        raise MissingTool(f"the set-up of .venv failed: {complaint}", hint=f"is the network there? Step: {shlex.join(command)}")


def install_project() -> None:
    """Makes the checkout itself importable, and its command callable, in `.venv`.

    pip could do it, but not in a run that checks hashes, not without a build of setuptools' own, and not in no time.
    """
    packages = VENV / "Lib" / "site-packages" if ON_WINDOWS else next((VENV / "lib").glob("python*/site-packages"))
    (packages / "aidge_build.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    if ON_WINDOWS:
        PYTHON.with_name("aidge-build.cmd").write_text('@"%~dp0python.exe" -m aidge_build %*\n', encoding="utf-8")
        return
    command = PYTHON.with_name("aidge-build")
    # The kernel does not accept a space in a #! line: the shell starts Python, which reads the same lines as a string.
    shell_path = str(PYTHON).replace("'", "'\"'\"'")
    command.write_text(
        f"#!/bin/sh\n'''exec' '{shell_path}' \"$0\" \"$@\"\n' '''\n"
        "import sys\n\nfrom aidge_build.cli import main\n\nsys.exit(main())\n",
        encoding="utf-8",
    )
    command.chmod(0o755)


def say(line: str) -> None:
    """One line of progress, in order with the output of the programs that run next."""
    print(line, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except AidgeError as error:
        print(f"sconsw: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        print(f"sconsw: {error}", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT if error.filename and not str(error.filename).startswith(str(VENV)) else EXIT_MISSING)
    except KeyboardInterrupt:
        sys.exit(130)
