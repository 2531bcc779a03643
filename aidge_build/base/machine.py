# SPDX-License-Identifier: MIT
"""The programs that come with the machine and not with Python: which are there, and how Debian installs the others.

Standard library only: `sconsw` asks before anything is installed.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_CROSS = "arm-none-eabi-gcc"
_RISCV, _QEMU_RISCV = "riscv64-unknown-elf-gcc", "qemu-system-riscv32"
CROSS_CPLUSPLUS_DRIVER = "arm-none-eabi-g++"  # which Debian installs without its library


@dataclass(frozen=True)
class Tool:
    """Something this machine may lack; `version` returns its version, "" for an unknown one, or None if it is missing.

    `least` is the oldest version that does, "" where none is known to be too old. `faults` maps the first number of versions
    to a remark on them.
    """

    name: str
    purpose: str
    packages: tuple[str, ...]
    version: Callable[[], str | None]
    least: str = ""
    faults: Mapping[str, str] = field(default_factory=dict, compare=False)

    def remark(self, version: str) -> str:
        """The remark on a version, for the end of a line; "" if there is none."""
        fault = self.faults.get(version.partition(".")[0], "")
        return f"; {fault}" if fault else ""


def install_line(tools: Sequence[Tool]) -> str:
    """The one line that installs `tools` on Debian."""
    return " ".join(["sudo", "apt-get", "install", "--no-install-recommends", *_packages(tools)])


def install_commands(tools: Sequence[Tool]) -> list[list[str]]:
    """Returns the commands that `--install` runs: apt-get, through sudo for a user who is not root."""
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    return [[*apt, "update"], [*apt, "install", "-y", "--no-install-recommends", *_packages(tools)]]


def _packages(tools: Sequence[Tool]) -> list[str]:
    return list(dict.fromkeys(package for tool in tools for package in tool.packages))


def _output(*command: str) -> str | None:
    """Returns the output of a program, or None if it is missing or fails."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    return done.stdout if done.returncode == 0 else None


def _version_in(output: str | None) -> str | None:
    """The first version number of `--version`'s first line, without distributors' remarks in parentheses."""
    if output is None:
        return None
    match = re.search(r"\d+(\.\d+)+", re.sub(r"\([^)]*\)", "", output.split("\n", 1)[0]))
    return match[0] if match else ""


def _host_compiler() -> str | None:
    """The native compiler counts as missing without the C library's files to link with."""
    start_up = _output("cc", "-print-file-name=crt1.o")
    if sys.platform.startswith("linux") and not os.path.isabs(start_up or ""):
        return None
    return _version_in(_output("cc", "--version"))


def _newlib() -> str | None:
    macros = _output(_CROSS, "-E", "-dM", "-include", "_newlib_version.h", "-x", "c", os.devnull)
    match = re.search(r'_NEWLIB_VERSION "([^"]*)"', macros or "")
    return match[1] if match else None


def _picolibc() -> str | None:
    macros = _output(_RISCV, "--specs=picolibc.specs", "-E", "-dM", "-include", "picolibc.h", "-x", "c", os.devnull)
    match = re.search(r'_PICOLIBC_VERSION "([^"]*)"', macros or "")
    return match[1] if match else None


def _cross_cplusplus() -> str | None:
    """The cross compiler's C++ library has its version in its headers; without it `arm-none-eabi-g++` still says its own."""
    macros = _output(_CROSS, "-x", "c++", "-E", "-dM", "-include", "ciso646", os.devnull)
    match = re.search(r"#define _GLIBCXX_RELEASE (\d+)", macros or "")
    return match[1] if match else None


def _version_of(program: str) -> Callable[[], str | None]:
    return lambda: _version_in(_output(program, "--version"))


def _venv() -> str | None:
    """Returns the version of `ensurepip`, None without it: virtual environments need it, and Debian splits it from Python."""
    importlib.invalidate_caches()  # it may have been installed a moment ago
    try:
        import ensurepip
    except ImportError:
        return None
    return ensurepip.version()


def _venv_package() -> str:
    """Returns Debian's package for the running Python: its default one or one of another version."""
    default = Path("/usr/bin/python3").resolve()
    own = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    return "python3-venv" if own == default else f"python3.{sys.version_info.minor}-venv"


HOST_COMPILER = Tool("cc", "board=host and tests", ("gcc", "libc6-dev"), _host_compiler)
CROSS_COMPILER = Tool(
    _CROSS, "boards with an Arm core", ("gcc-arm-none-eabi",), _version_of(_CROSS), least="11.3"
)  # the oldest tried
NEWLIB = Tool("newlib", "boards with an Arm core", ("libnewlib-arm-none-eabi",), _newlib)
QEMU = Tool(  # 6.0 is the first with all machines of the boards
    "qemu-system-arm",
    "running on boards that QEMU emulates, tests",
    ("qemu-system-arm",),
    _version_of("qemu-system-arm"),
    least="6.0",
)
# 300 MB to load and 1.6 GB on the disk: the one package holds the library for every core.
CROSS_CPLUSPLUS = Tool("libstdc++-arm", "C++ on boards but host, tests", ("libstdc++-arm-none-eabi-newlib",), _cross_cplusplus)
HOST_CPLUSPLUS = Tool("c++", "C++ with board=host, tests", ("g++",), _version_of("c++"))
MAKE = Tool("make", "builds with make, tests", ("make",), _version_of("make"))
CMAKE = Tool("cmake", "builds with CMake, tests", ("cmake",), _version_of("cmake"), least="3.20")
NINJA = Tool("ninja", "builds with Ninja, tests", ("ninja-build",), _version_of("ninja"))
GDB = Tool("gdb-multiarch", "debugging on boards, tests", ("gdb-multiarch",), _version_of("gdb-multiarch"))
VENV = Tool("ensurepip", "making .venv", (_venv_package(),), _venv)

RISCV_COMPILER = Tool(
    _RISCV,
    "RISC-V boards, tests",
    ("gcc-riscv64-unknown-elf",),
    _version_of(_RISCV),
    faults={
        "12": "gcc 12 ends with an internal error for -march with zbs (GCC bug 106532): take gcc 13 or clang, or give zbs to the "
        "assembler alone (docs/howto-riscv.md)"
    },
)
PICOLIBC = Tool("picolibc", "RISC-V boards, tests", ("picolibc-riscv64-unknown-elf",), _picolibc)
QEMU_RISCV = Tool(_QEMU_RISCV, "running on RISC-V boards, tests", ("qemu-system-misc",), _version_of(_QEMU_RISCV))

# The tools that compile generated code, the tools for this repository's own firmware, and further tools for its tests.
COMPILERS = (HOST_COMPILER, CROSS_COMPILER, NEWLIB)
TOOLS = (*COMPILERS, QEMU)
FOR_TESTS = (HOST_CPLUSPLUS, CROSS_CPLUSPLUS, MAKE, CMAKE, NINJA)
# 180 MB to load and 1.2 GB on the disk: `--install test` brings them; where they are missing, the few tests of RISC-V skip.
FOR_RISCV = (RISCV_COMPILER, PICOLIBC, QEMU_RISCV)
# The tools that read the C of kernels: `./sconsw misra`.
FOR_READING = (
    Tool("cppcheck", "misra", ("cppcheck",), _version_of("cppcheck")),
    Tool("clang-tidy", "misra", ("clang-tidy",), _version_of("clang-tidy")),
)
_OF_TOOLCHAINS = {"arm-none-eabi-": (CROSS_COMPILER, NEWLIB), "riscv64-unknown-elf-": (RISCV_COMPILER, PICOLIBC)}


def toolchain_of(prefix: str, packages: tuple[str, ...]) -> tuple[Tool, ...]:
    """Returns the compiler and the C library of a core from the list, or else the compiler of this prefix."""
    name = f"{prefix}gcc"
    return _OF_TOOLCHAINS.get(prefix, (Tool(name, "boards with its core", packages, _version_of(name)),))


def qemu_of(name: str, packages: tuple[str, ...]) -> Tool:
    """The QEMU of a core."""
    return next((tool for tool in (QEMU, QEMU_RISCV) if tool.name == name), Tool(name, "run", packages, _version_of(name)))
