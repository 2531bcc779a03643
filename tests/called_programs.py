# SPDX-License-Identifier: MIT
"""Every program that tests, or the code that they call, may start, and what brings it to a fresh machine.

`tests/conftest.py` lets no test start a program that is not here: `./sconsw --install test` cannot come to need one unnoticed.
"""

from __future__ import annotations

import re

from aidge_build.base import machine

# There wherever Debian, Python and git are.
PRESENT = {"git", "bash", "sh", "sleep", "true", "unshare", "uname"}

INSTALLED = {
    "cc": machine.HOST_COMPILER,
    "gcc": machine.HOST_COMPILER,
    "gcov": machine.HOST_COMPILER,
    "ar": machine.HOST_COMPILER,
    "objdump": machine.HOST_COMPILER,
    "c++": machine.HOST_CPLUSPLUS,
    "g++": machine.HOST_CPLUSPLUS,
    "arm-none-eabi-gcc": machine.CROSS_COMPILER,
    "arm-none-eabi-ar": machine.CROSS_COMPILER,
    "arm-none-eabi-gcc-ar": machine.CROSS_COMPILER,
    "arm-none-eabi-ld": machine.CROSS_COMPILER,
    "arm-none-eabi-nm": machine.CROSS_COMPILER,
    "arm-none-eabi-objcopy": machine.CROSS_COMPILER,
    "arm-none-eabi-objdump": machine.CROSS_COMPILER,
    "arm-none-eabi-readelf": machine.CROSS_COMPILER,
    "arm-none-eabi-size": machine.CROSS_COMPILER,
    "arm-none-eabi-strip": machine.CROSS_COMPILER,
    "arm-none-eabi-g++": machine.CROSS_CPLUSPLUS,
    "qemu-system-arm": machine.QEMU,
    "riscv64-unknown-elf-gcc": machine.RISCV_COMPILER,
    "riscv64-unknown-elf-objcopy": machine.RISCV_COMPILER,
    "riscv64-unknown-elf-objdump": machine.RISCV_COMPILER,
    "qemu-system-riscv32": machine.QEMU_RISCV,
    "gdb-multiarch": machine.GDB,
    "make": machine.MAKE,
    "cmake": machine.CMAKE,
    "ctest": machine.CMAKE,
    "ninja": machine.NINJA,
}

# Tests that need one of these skip where it is missing; the reason says why it is not installed.
OPTIONAL = {
    "strace": "shows in stress which files a command touches",
    "chromium": "looks at one page; a browser is larger than all the rest",
    "chromium-browser": "another name of chromium",
    "google-chrome": "another name of chromium",
    "clang": "a second opinion on warnings and on values; half a gigabyte",
    "arm-linux-gnueabihf-gcc": "another release of gcc in stress, which makes code for Cortex-M, too",
    "arduino-builder": "imports the package for Arduino in stress, as the tools of other ecosystems do theirs",
    "pio": "PlatformIO, in stress",
    "compote": "the manager of ESP-IDF's components, in stress",
    "cargo": "builds the crate of `package --for rust` in stress",
    "west": "fetches the Zephyr module in stress",
    "packchk": "looks at a CMSIS-Pack in stress",
    "xmllint": "looks at the description of a CMSIS-Pack in stress",
    "rustc": "checks the crate of `package --for rust`; half a gigabyte",
    "fish": "completes the command line; a shell of few",
    "zsh": "completes the command line; a shell of few",
    "cppcheck": "reads a small model by MISRA C:2012; `./sconsw --install misra` brings it",
    "verilator": "simulates Hazard3, if AIDGE_HAZARD3 names a checkout of its Verilog",
    "xtensa-lx106-elf-gcc": "portable C on a core that is neither Arm nor RISC-V; 40 MB",
    "qemu-system-xtensa": "runs that program; the package of qemu-system-riscv32 brings it",
    "openocd": "puts programs on real boards, which are not there",
}

COMPILERS = {name for name in INSTALLED if name.endswith(("cc", "gcc", "++"))} | {"clang", "clang++"}


def complaint(program: str) -> str:
    """What is wrong with starting `program` (a file name), or an empty string."""
    program = re.sub(r"-\d+$", "", program)  # clang-19
    if program in PRESENT or program in INSTALLED or program in OPTIONAL or program.startswith("python"):
        return ""
    return f"a test started '{program}', which tests/called_programs.py does not list: say what brings it to a fresh machine"
