# SPDX-License-Identifier: MIT
"""All kernels of a library in one file: no warning of gcc or clang on any core, and no function of the compiler's library.

Combinations of core, optimisation, compiler and language: a compiler's share the kernels of a library, or have one in three.
AIDGE_STRESS=1 (`./sconsw stress`) takes all combinations, languages in turn, each with one kernel in three.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import every_kernel
import pytest

CORES = {
    "m0": ("-mcpu=cortex-m0",),
    "m0plus": ("-mcpu=cortex-m0plus",),
    "m3": ("-mcpu=cortex-m3",),
    "m4": ("-mcpu=cortex-m4",),
    "m4f": ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "m7f": ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=softfp"),
    "m23": ("-mcpu=cortex-m23",),
    "m33": ("-mcpu=cortex-m33+nodsp",),
    "m33f": ("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"),
    "m55": ("-mcpu=cortex-m55", "-mfloat-abi=hard"),
    "m55 without MVE": ("-mcpu=cortex-m55+nomve", "-mfloat-abi=hard"),
    "m55 without FPU": ("-mcpu=cortex-m55+nofp",),
}
RISCV = {
    "rv32imc": ("-march=rv32imc", "-mabi=ilp32"),
    "rv32emc": ("-march=rv32emc", "-mabi=ilp32e"),
    "zve32f": ("-march=rv32imafc_zve32f_zvl128b", "-mabi=ilp32f"),
}
# The cores that a library is for, and whose compilers take its assembly; others see kernels that have C, too.
OF_32_REGISTERS = ("rv32imc", "zve32f")
TAKES = {**dict.fromkeys(every_kernel.LIBRARIES, (*CORES,)), "ref": (*CORES, *RISCV), "helium": ("m55",)}
TAKES |= {"rv32": OF_32_REGISTERS, "rvv": ("zve32f",)}
DSP = ("m4f", "m7f", "m33f", "m55", "m55 without MVE")
ASSEMBLY = {**TAKES, "armv7m": ("m3", "m33", "m4", *DSP), "cortexm": DSP}
OPTIMIZATION = ("-O0", "-O1", "-O2", "-O3", "-Os")
WARNINGS = """
-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wfloat-conversion -Wdouble-promotion -Wshadow -Wundef -Wcast-align
-Wcast-qual -Wpointer-arith -Wvla -Wswitch-default -Wswitch-enum -Wformat=2 -Wredundant-decls -Wmissing-declarations
-Wwrite-strings -Wunused-macros -Werror
""".split()
LANGUAGES = {
    "c99": ("-xc", "-std=c99", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wold-style-definition", "-Wbad-function-cast"),
    "gnu17": ("-xc", "-std=gnu17", "-Wjump-misses-init"),
    "c++11": ("-xc++", "-std=c++11"),
}
ONLY_GCC = ("-Wlogical-op", "-Wduplicated-cond", "-Wcast-align=strict", "-Warith-conversion")
EVERY = [
    (library, *one, list(LANGUAGES)[index % len(LANGUAGES)])
    for library in every_kernel.LIBRARIES
    for index, one in enumerate(product(TAKES[library], OPTIMIZATION, ("gcc", "clang")))
    if one[::2] != ("rv32emc", "clang")  # clang 14 does not know the ABI ilp32e
]
SAMPLE = [
    ("ref", "m0", "-O3", "gcc", "c99"),
    ("ref", "m3", "-O2", "gcc", "gnu17"),
    ("ref", "m4f", "-Os", "gcc", "c++11"),
    ("ref", "m55", "-O3", "gcc", "c99"),
    ("ref", "m23", "-O1", "gcc", "c99"),
    ("ref", "m33", "-O0", "gcc", "gnu17"),
    ("ref", "m0plus", "-Os", "clang", "c99"),
    ("ref", "m7f", "-O0", "clang", "c++11"),
    ("cortexm", "m4f", "-O3", "gcc", "c99"),
    ("cortexm", "m7f", "-O2", "gcc", "gnu17"),
    ("cortexm", "m33f", "-Os", "gcc", "c99"),
    ("cortexm", "m4", "-O0", "gcc", "c++11"),
    ("cortexm", "m3", "-O1", "gcc", "c99"),
    ("cortexm", "m4f", "-O1", "clang", "c99"),
    ("armv6m", "m0plus", "-O2", "gcc", "c99"),
    ("armv6m", "m23", "-Os", "gcc", "c++11"),
    ("armv6m", "m0", "-O3", "clang", "c99"),
    ("helium", "m55", "-O3", "gcc", "c99"),
    ("helium", "m55", "-O0", "gcc", "gnu17"),
    ("helium", "m55", "-Os", "gcc", "c++11"),
    ("helium", "m55", "-O1", "clang", "c99"),
    ("helium", "m55", "-O0", "clang", "gnu17"),
    ("armv7m", "m3", "-O3", "gcc", "c99"),
    ("armv7m", "m33", "-Os", "gcc", "c++11"),
    ("armv7m", "m0", "-O2", "gcc", "gnu17"),
    ("armv7m", "m3", "-O1", "clang", "c99"),
]
# ldm and stm of one register, but for the form of 16 bits that all Cortex-M have: low registers, with writeback.
ONE_REGISTER = re.compile(r'"\s*(?!(?:ldm|stm)(?:ia)? +r[0-7]!, *\{r[0-7]\})((?:ldm|stm)\w*(?:\.w)? +\w+!?, *\{\w+\})')
WITHOUT_DIVISION = ("m0", "m0plus")  # no core that cortexm is for
# gcc for RISC-V without Zbb counts zeros by libgcc, and with -Os it shifts long words by libgcc.
LINKED = [
    (library, *one)
    for library in every_kernel.LIBRARIES
    for one in product(TAKES[library], OPTIMIZATION)
    if one[0] in CORES and (library != "cortexm" or one[0] not in WITHOUT_DIVISION)
]
LINKED_SAMPLE = [
    ("ref", "m0", "-Os"),
    ("ref", "m0plus", "-O2"),
    ("ref", "m23", "-O0"),
    ("ref", "m3", "-O3"),
    ("cortexm", "m4f", "-O2"),
    ("armv6m", "m0", "-O0"),
    ("armv6m", "m23", "-O3"),
    ("helium", "m55", "-O2"),
    ("helium", "m55", "-O0"),
    ("armv7m", "m3", "-O2"),
    ("armv7m", "m33", "-Os"),
]
# RISC-V's libraries take part in stress alone: their layers take seconds to find.
READ = tuple(library for library in every_kernel.LIBRARIES if every_kernel.STRESS or library not in every_kernel.RISCV)
OF_ARM = tuple(library for library in every_kernel.LIBRARIES if library not in every_kernel.RISCV)
ALONE = {"ref": "m0", "cortexm": "m4f", "helium": "m55", "armv7m": "m3", "armv6m": "m0", "rv32": "rv32imc", "rvv": "zve32f"}
# All that the code may call, memcpy and memset, and no library: the linker names what else it asks for.
START = """
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
void *memcpy(void *to, const void *from, size_t size)
{
    volatile char *byte = to;
    while (size-- > 0) { *byte++ = *(const char *)from; from = (const char *)from + 1; }
    return to;
}
void *memset(void *to, int value, size_t size)
{
    volatile char *byte = to;
    while (size-- > 0) { *byte++ = (char)value; }
    return to;
}
"""


def of_library(chosen: list, library: str) -> list:
    return [entry[1:] for entry in chosen if entry[0] == library]


@functools.cache
def texts(library: str, part: int, parts: int = 3, *, core: str = "", only_int8: bool = False) -> tuple[str, str]:
    """The C of one kernel in so many, of those that can be compiled for the core, or without assembly."""
    made = [one for one in every_kernel.calls(library) if one.is_int8 or not only_int8]
    made = [one for one in made if core in ASSEMBLY[library] or not one.needs_assembly]
    return every_kernel.source(made[part % parts :: parts], library)


def run(command: list, text: str | None = None) -> subprocess.CompletedProcess:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run([*map(str, command)], input=text, text=True, capture_output=True, check=False)


@functools.cache
def compiler(name: str, core: str) -> list[str]:
    if core in RISCV:
        return _compiler_of_riscv(name, core)
    if name == "gcc":
        return ["arm-none-eabi-gcc", "-mthumb", *CORES[core], *ONLY_GCC]
    headers = run(["arm-none-eabi-gcc", "-print-sysroot"]).stdout.strip()
    folders = [folder for folder in (Path(headers) / "include", Path("/usr/include/newlib")) if folder.is_dir()]
    return ["clang", "--target=arm-none-eabi", "-mthumb", *CORES[core], *(f"-isystem{folder}" for folder in folders)]


def _compiler_of_riscv(name: str, core: str) -> list[str]:
    gcc = ["riscv64-unknown-elf-gcc", "--specs=picolibc.specs"]
    if name == "gcc":
        return [*gcc, *RISCV[core], *ONLY_GCC]
    headers = re.findall(r"^ (/\S+picolibc\S*)$", run([*gcc, "-E", "-v", "-xc", "/dev/null"]).stderr, re.MULTILINE)
    return ["clang", "--target=riscv32-unknown-elf", *RISCV[core], *(f"-isystem{folder}" for folder in headers)]


@pytest.mark.parametrize("tool", ["gcc", "clang"])
@pytest.mark.parametrize("library", READ)
def test_all_kernels_in_one_file_compile_without_a_warning(library, tool):
    chosen = [one for one in of_library(EVERY if every_kernel.STRESS else SAMPLE, library) if one[2] == tool]
    for part, (core, optimization, name, language) in enumerate(chosen):
        text, _ = texts(library, part, 3 if every_kernel.STRESS else max(3, len(chosen)), core=core)
        flags = [flag for flag in LANGUAGES[language] if tool == "gcc" or flag != "-Wjump-misses-init"]
        done = run([*compiler(name, core), optimization, *WARNINGS, *flags, "-c", "-o", "/dev/null", "-"], text)
        assert (done.returncode, done.stderr) == (0, ""), (core, optimization, name, language)


@pytest.mark.parametrize("library", [library for library in OF_ARM if library != "helium"])
def test_without_gnu_c_no_kernel_asks_for_it(library):
    """The syntax alone, as gcc sees it: neither IAR's nor Arm's compiler is here."""
    cores = ("m0", "m4f", "m55") if every_kernel.STRESS else ("m4f",)
    for part, core in enumerate(cores):
        flags = ["-U__GNUC__", "-std=c11", "-include", Path(__file__).parent / "foreign_compiler.h", "-fsyntax-only", "-w"]
        done = run(["arm-none-eabi-gcc", "-mthumb", *CORES[core], "-xc", *flags, "-"], texts(library, part)[0])
        assert (done.returncode, done.stderr) == (0, ""), core


@pytest.mark.parametrize(
    "core, flag", [("m55", "-U__GNUC__"), ("m55", "-DAIDGE_WITHOUT_ASSEMBLY"), ("m4f", ""), ("m55 without MVE", "")]
)
def test_a_compiler_that_cannot_take_the_assembly_of_helium_says_so(core, flag):
    done = run(
        ["arm-none-eabi-gcc", "-mthumb", *CORES[core], "-xc", "-E", *filter(None, [flag]), "-"], texts("helium", 0, core="m55")[0]
    )
    assert done.returncode == 1 and "kernels of helium are assembly for MVE with floats" in done.stderr


@pytest.mark.parametrize("library", OF_ARM)
def test_no_list_of_registers_has_a_single_one_which_assemblers_encode_in_different_ways(library):
    """The Armv7-M manual calls such an ldm unpredictable; gcc's assembler makes an ldr of it, clang's does not."""
    for one in every_kernel.calls(library):
        assert ONE_REGISTER.findall("\n".join(one.call.texts)) == [], one.kernel
    text, _ = texts(library, 0)
    assert ONE_REGISTER.findall(text) == []


@pytest.mark.parametrize("library", READ)
def test_beside_one_kernel_alone_nothing_is_unused(library):
    made = every_kernel.calls(library)
    for one in made if every_kernel.STRESS else made[::9]:
        text, _ = every_kernel.source([one], library)
        flags = ["-std=c99", "-Wall", "-Wextra", "-Wunused-macros", "-Werror", "-fsyntax-only", "-"]
        done = run([*compiler("clang", ALONE[library]), "-xc", *flags], text)
        if done.returncode and not one.needs_assembly:  # a macro may serve the C that stands for assembly
            done = run([*compiler("clang", ALONE[library]), "-DAIDGE_WITHOUT_ASSEMBLY", "-xc", *flags], text)
        assert (done.returncode, done.stderr) == (0, ""), one.call.function


@pytest.mark.parametrize("library", OF_ARM)
def test_int8_kernels_link_without_the_compilers_library(library, tmp_path):
    for part, (core, optimization) in enumerate(of_library(LINKED if every_kernel.STRESS else LINKED_SAMPLE, library)):
        text, constants = texts(library, part, core=core, only_int8=True)
        for name, content in (("code", text), ("constants", constants), ("start", START)):
            (tmp_path / f"{name}.c").write_text(content)
        gcc = [*compiler("gcc", core), optimization, "-std=c99"]
        done = run([*gcc, "-fno-builtin", "-c", tmp_path / "start.c", "-o", tmp_path / "start.o"])
        assert done.returncode == 0, done.stderr
        parts = [tmp_path / name for name in ("code.c", "constants.c", "start.o")]
        done = run([*gcc, "-w", "-nostdlib", "-Wl,-e,case_0,-Ttext=0", *parts, "-o", tmp_path / "all.elf"])
        assert done.returncode == 0, (core, optimization, done.stderr)
