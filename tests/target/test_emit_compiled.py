# SPDX-License-Identifier: MIT
"""The generated text as C99 and C++: strict flags, right results, the claim in the ELF. Needs compilers, no board."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
import struct
import subprocess
from pathlib import Path

import numpy
import pytest
from elftools.elf.elffile import ELFFile

from aidge_build.base.output import write_sources
from aidge_build.base.source_files import Sources
from aidge_build.base.version import CLAIM_VERSION
from aidge_build.build.emit import emit
from aidge_build.build.emit.claim import claim_of
from aidge_build.build.emit.weights import weights_files
from aidge_build.graph.dtype import DType
from aidge_build.plan.constant_arrays import Array
from aidge_build.plan.options import Options
from tests.command import aidge_build
from tests.emitted import chain, chain_result, copying, float_sum, reversal
from tests.programs import ROOT

STRESS = "AIDGE_STRESS" in os.environ
STRICT = [
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wunused-macros",
    "-Wshadow",
    "-Wundef",
    "-Wdouble-promotion",
    "-Wcast-align",
    "-Wpedantic",
    "-Werror",
]
ARM = ["-mcpu=cortex-m4", "-mthumb"]
COMPILERS = {
    "c99": ["gcc", "-std=c99"],
    "c17": ["gcc", "-std=c17"],
    "c++11": ["g++", "-x", "c++", "-std=c++11"],
    "c++20": ["g++", "-x", "c++", "-std=c++20"],
    "clang": ["clang", "-std=c99"],
    "arm-c99": ["arm-none-eabi-gcc", *ARM, "-std=c99"],
    "arm-c++14": ["arm-none-eabi-g++", *ARM, "-x", "c++", "-std=c++14"],
}
HOSTILE = (
    "w*/ int injected = 42; /*",
    "first\\\n??/#include <stdlib.h>",
    "{{7*7}} $(id) %s \\",
    "errno",
    "\U0001f600\udc80\u202e",
)
PROGRAMS = {
    "default": lambda: chain(),
    "io-arena": lambda: chain(options=Options(io="arena")),
    "arena-caller": lambda: chain(options=Options(arena="caller")),
    "both": lambda: chain(options=Options(io="arena", arena="caller")),
    "trace": lambda: chain(options=Options(trace=True)),
    "hooks-record": lambda: chain(options=Options(dma="hooks", record=3)),
    "copies": lambda: copying("hook"),
    "region": lambda: chain(region="DTCM", alignment=16),
    "hostile": lambda: chain(names=HOSTILE),
    "float": lambda: float_sum(),
    "not-finite": lambda: float_sum(values=(numpy.nan, numpy.inf, -numpy.inf)),
    "float-caller": lambda: float_sum(options=Options(arena="caller")),
    "wide": lambda: chain(weights=numpy.full(6, -128, numpy.int8)),
    "no-constants": lambda: reversal(),
    "incbin-no-constants": lambda: reversal(options=Options(weights="incbin")),
    "incbin": lambda: chain(options=Options(weights="incbin")),
}


def run(command: list, folder: Path) -> subprocess.CompletedProcess:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is missing")
    return subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)


def succeed(command: list, folder: Path) -> None:
    done = run(command, folder)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr}"


def generate(program, folder: Path) -> list[str]:
    """The C files of a program, written to `folder`."""
    write_sources(emit(program), folder)
    return [f"{program.name}.c", f"{program.name}_weights.c"]


# Newer standards of a language, another compiler and core are asked of a few programs: they warn of constructs, which these have.
EVERY_PROGRAM = ("c99", "c++11")
ALL_CONSTRUCTS = ("both", "trace", "copies", "hostile", "not-finite", "incbin")


@pytest.mark.requirement("G19")
@pytest.mark.parametrize(
    "program, compiler",
    [(made, name) for made in PROGRAMS for name in COMPILERS if name in EVERY_PROGRAM or STRESS or made in ALL_CONSTRUCTS],
)
def test_the_code_compiles_without_a_warning(tmp_path, program, compiler):
    how = ["-O2", "-c"] if STRESS or compiler in (*EVERY_PROGRAM, "arm-c99") else ["-fsyntax-only"]
    for source in generate(PROGRAMS[program](), tmp_path):
        succeed([*COMPILERS[compiler], *STRICT, *how, source], tmp_path)


FOREIGN = Path(__file__).resolve().parents[1] / "kernels" / "foreign_compiler.h"


@pytest.mark.parametrize("program", ["default", "both", "copies", "region", "hostile", "float", "no-constants"])
def test_a_compiler_without_gnu_c_finds_nothing_of_it(tmp_path, program):
    """The syntax alone, as gcc sees it: neither IAR's nor Arm's compiler is here."""
    for source in generate(PROGRAMS[program](), tmp_path):
        command = ["arm-none-eabi-gcc", *ARM, "-std=c11", "-U__GNUC__", "-include", FOREIGN, "-w", "-fsyntax-only", source]
        succeed(command, tmp_path)


@pytest.mark.parametrize("compiler", ["gcc", "clang", "arm-none-eabi-gcc"])
def test_c90_is_refused_by_one_line(tmp_path, compiler):
    for source in generate(float_sum(), tmp_path):
        done = run([compiler, "-std=c90", "-pedantic", "-Wall", "-Wextra", "-c", source, "-o", "c90.o"], tmp_path)
        complaints = [line for line in done.stderr.splitlines() if "error:" in line or "warning:" in line]
        assert done.returncode != 0 and len(complaints) == 1 and "sum is C99 (or C++11)" in complaints[0]


@pytest.mark.parametrize(
    "flags, message",
    [
        (["-mbig-endian"], "sum is for little-endian cores"),
        (["-U__SIZEOF_INT__", "-D__SIZEOF_INT__=2"], "sum counts in int, which has 32 bits or more"),
    ],
)
def test_a_core_that_the_code_is_not_for_is_refused_by_one_line(tmp_path, flags, message):
    sources = [source for source in generate(float_sum(), tmp_path) if not source.endswith("_weights.c")]
    done = run(["arm-none-eabi-gcc", *ARM, *flags, "-Wall", "-Wextra", "-fsyntax-only", *sources], tmp_path)
    complaints = [line for line in done.stderr.splitlines() if "error:" in line]
    assert done.returncode != 0 and len(complaints) == 1 and message in complaints[0]


@pytest.mark.parametrize("flags, message", [(["-mcpu=cortex-m0"], "DSP instructions"), (["-mfloat-abi=soft"], "an FPU")])
def test_code_and_constants_for_a_core_are_refused_by_the_flags_of_another(tmp_path, flags, message):
    words = ("--cpu", "cortex-m4", "--fpu", "fpv4-sp-d16", "--out", tmp_path)
    assert aidge_build("compile", ROOT / "examples" / "digits" / "digits.onnx", *words).exit_code == 0
    for source in ("digits.c", "digits_weights.c"):
        done = run(["arm-none-eabi-gcc", *ARM, *flags, "-fsyntax-only", source], tmp_path)
        assert f"digits was generated for cortex-m4 with {message}, which these compiler flags do not use" in done.stderr, source
    done = run(
        ["arm-none-eabi-gcc", *ARM, "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-fsyntax-only", "digits_weights.c"], tmp_path
    )
    assert done.returncode == 0, done.stderr


def shared_library(folder: Path, sources: list[str], *flags: str) -> ctypes.CDLL:
    succeed(["gcc", "-shared", "-fPIC", *flags, *sources, "-o", "model.so"], folder)
    return ctypes.CDLL(str(folder / "model.so"))


def pointer(array: numpy.ndarray, offset: int = 0) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data + offset)


X = numpy.array([-128, 127, 5, -6, 0, 33], numpy.int8)


@pytest.mark.parametrize("flags", [["-O0"], ["-O3"], ["-Os", "-std=c99"], ["-O2", "-flto"], ["-x", "c++", "-O2"]], ids=" ".join)
@pytest.mark.parametrize("weights", ["c", "incbin"])
def test_the_code_computes_what_the_kernels_mean(tmp_path, flags, weights):
    library = shared_library(tmp_path, generate(chain(options=Options(weights=weights)), tmp_path), *flags)
    y = numpy.zeros(6, numpy.int8)
    assert library.toy_run(pointer(X), pointer(y)) == 0
    assert y.tolist() == chain_result(X).tolist()


@pytest.mark.parametrize("mode", ["memcpy", "hook"])
def test_constants_that_are_copied_into_the_arena_are_read_there(tmp_path, mode):
    program = copying(mode)
    library = shared_library(tmp_path, generate(program, tmp_path))
    y = numpy.zeros(6, numpy.int8)
    assert library.toy_run(pointer(X), pointer(y)) == 0
    assert y.tolist() == chain_result(X).tolist()
    arena = (ctypes.c_int8 * program.memory.arena.peak_bytes).in_dll(library, "toy_arena")
    start = program.layers[0].copied.offset_bytes
    assert arena[start : start + 6] == [1, 2, 3, 4, 5, 6]


def test_the_same_ports_lie_in_the_arena(tmp_path):
    program = chain(options=Options(io="arena"))
    library = shared_library(tmp_path, generate(program, tmp_path))
    arena = (ctypes.c_int8 * program.memory.arena.peak_bytes).in_dll(library, "toy_arena")
    start, end = (program.memory.places[name].offset_bytes for name in "xy")
    arena[start : start + 6] = X.tolist()
    assert library.toy_run() == 0
    assert arena[end : end + 6] == chain_result(X).tolist()


@pytest.mark.requirement("G10")
def test_bad_pointers_are_refused_before_anything_is_computed(tmp_path):
    library = shared_library(tmp_path, generate(chain(options=Options(arena="caller"), alignment=16), tmp_path))
    memory = numpy.zeros(64, numpy.uint8)
    arena = -memory.ctypes.data % 16
    y = numpy.full(6, 99, numpy.int8)
    null = ctypes.c_void_p(None)
    for arguments in (
        (null, pointer(X), pointer(y)),
        (pointer(memory, arena), null, pointer(y)),
        (pointer(memory, arena), pointer(X), null),
        (pointer(memory, arena + 4), pointer(X), pointer(y)),
    ):
        assert library.toy_run(*arguments) != 0
    assert y.tolist() == [99] * 6
    assert library.toy_run(pointer(memory, arena), pointer(X), pointer(y)) == 0
    assert y.tolist() == chain_result(X).tolist()


def test_floats_must_be_aligned_and_constants_are_exact(tmp_path):
    library = shared_library(tmp_path, generate(float_sum(), tmp_path))
    x, y = numpy.array([0.25, -0.0, 0, 0], numpy.float32), numpy.zeros(5, numpy.float32)
    assert library.sum_run(pointer(x), pointer(x), pointer(y, 2)) != 0
    assert library.sum_run(pointer(x), pointer(x), pointer(y)) == 0
    wanted = x + numpy.array([1.5, -0.0, 1e-45, 3.4028235e38], numpy.float32)
    assert y[:4].view(numpy.uint32).tolist() == wanted.view(numpy.uint32).tolist()


def test_a_float_model_refuses_fast_math_and_an_integer_one_does_not(tmp_path):
    refused = run(["gcc", "-ffast-math", "-c", generate(float_sum(), tmp_path)[0]], tmp_path)
    assert refused.returncode != 0 and "-ffast-math changes its results" in refused.stderr
    succeed(["gcc", "-ffast-math", "-c", generate(chain(), tmp_path)[0]], tmp_path)


def test_every_output_of_every_layer_is_traced(tmp_path):
    sources = generate(chain(options=Options(trace=True)), tmp_path)
    (tmp_path / "trace.c").write_text(
        "#include <stdint.h>\n#include <string.h>\nint count; int8_t seen[2][6];\n"
        "void aidge_trace(int i, const void *p, uint32_t n) { memcpy(seen[i], p, n); ++count; }\n"
    )
    library = shared_library(tmp_path, [*sources, "trace.c"])
    y = numpy.zeros(6, numpy.int8)
    assert library.toy_run(pointer(X), pointer(y)) == 0
    seen = numpy.ctypeslib.as_array((ctypes.c_int8 * 12).in_dll(library, "seen")).reshape(2, 6)
    assert ctypes.c_int.in_dll(library, "count").value == 2
    assert seen.tolist() == [chain_result(X)[::-1].tolist(), chain_result(X).tolist()]


def test_two_models_live_in_one_program(tmp_path):
    other = numpy.array([3, 1, -2, 4, 0, 7], numpy.int8)
    sources = [*generate(chain("kws"), tmp_path), *generate(chain("vad", weights=other), tmp_path)]
    library = shared_library(tmp_path, sources, "-O2")
    first, second = numpy.zeros(6, numpy.int8), numpy.zeros(6, numpy.int8)
    assert library.kws_run(pointer(X), pointer(first)) == 0 and library.vad_run(pointer(X), pointer(second)) == 0
    assert first.tolist() == chain_result(X).tolist() and second.tolist() == chain_result(X, other).tolist()


def firmware(folder: Path, program, *flags: str, archive: bool = False) -> ELFFile:
    """A program for a Cortex-M4 whose main calls the model, linked as firmware is."""
    sources = generate(program, folder)
    (folder / "main.c").write_text(
        '#include "toy.h"\nstatic int8_t x[6], y[6];\nint main(void) { return toy_run(x, y); }\n'
        "void _exit(int code) { (void)code; for (;;) {} }\n"
    )
    compiler = ["arm-none-eabi-gcc", *ARM, "-Os", "-ffunction-sections", "-fdata-sections", *flags]
    for source in [*sources, "main.c"]:
        succeed([*compiler, "-c", source], folder)
    objects = [source.replace(".c", ".o") for source in sources]
    if archive:
        succeed(["arm-none-eabi-gcc-ar", "rcs", "libtoy.a", *objects], folder)
        objects = ["libtoy.a"]
    succeed([*compiler, "-nostartfiles", "-Wl,--gc-sections,-e,main", "main.o", *objects, "-o", "app.elf"], folder)
    return ELFFile(open(folder / "app.elf", "rb"))


def claims(elf: ELFFile) -> list[dict]:
    """The claims of the note section, read as the System V ABI says."""
    section = elf.get_section_by_name(".note.aidge")
    assert section["sh_type"] == "SHT_NOTE" and section["sh_flags"] == 0
    data, position, found = section.data(), 0, []
    while position < len(data):
        name_size, size, kind = struct.unpack_from("<III", data, position)
        assert (data[position + 12 : position + 12 + name_size], kind) == (b"aidge\0", 1)
        start = position + 12 + (name_size + 3) // 4 * 4
        version, length = struct.unpack_from("<HI", data, start)
        assert version == CLAIM_VERSION and length == size - 6
        found.append(json.loads(data[start + 6 : start + size]))
        position = start + (size + 3) // 4 * 4
    return found


NEGATIVE = struct.pack("<6i", *range(0, -6, -1))


def linked_digests(elf: ELFFile, wanted: str = "toy_first_") -> dict[str, str]:
    """The SHA-256 of the bytes of each object whose name begins so."""
    found = {}
    for symbol in elf.get_section_by_name(".symtab").iter_symbols():
        if symbol.name.startswith(wanted) and symbol["st_info"]["type"] == "STT_OBJECT":
            section = elf.get_section(symbol["st_shndx"])
            start = symbol["st_value"] - section["sh_addr"]
            found[symbol.name] = hashlib.sha256(section.data()[start : start + symbol["st_size"]]).hexdigest()
    return found


EVERY_TYPE = {
    "float16": [1.5, -0.0, 6e-8, numpy.inf, numpy.nan],
    "float32": [0.1, -0.0, 1e-45, 3.4028235e38, numpy.inf, -numpy.inf, numpy.nan],
    "float64": [0.1, -0.0, 5e-324, 1.7976931348623157e308, numpy.inf, -numpy.inf, numpy.nan],
    "bool": [True, False],
}


@pytest.mark.parametrize("compiler", ["gcc", "clang", "arm-none-eabi-gcc"])
@pytest.mark.parametrize("weights", ["c", "incbin"])
def test_the_digest_of_an_array_of_any_type_is_that_of_its_compiled_bytes(tmp_path, compiler, weights):
    program, arrays = chain(options=Options(weights=weights)), []
    for kind in (kind for kind in DType if kind.is_of_tensors):
        values = EVERY_TYPE.get(kind.name) or [*kind.range, 5]
        arrays.append(Array(f"toy_{kind.name}", numpy.array([*values, 0], kind.numpy), kind.name))
    arrays.append(Array("toy_nothing", numpy.zeros(0, numpy.int32), "no elements"))
    claim = claim_of(program, [], arrays, "", "")
    write_sources(Sources(weights_files(program, arrays, claim), {}), tmp_path)
    succeed([compiler, *(ARM if "arm" in compiler else []), "-O2", "-c", "toy_weights.c"], tmp_path)
    with open(tmp_path / "toy_weights.o", "rb") as stream:
        found = linked_digests(ELFFile(stream), "toy_")
    assert found == {array["symbol"]: array["sha256"] for array in claim["weights"]} and len(found) == len(arrays)


LINKS = {"plain": [], "lto": ["-flto"], "fat-lto": ["-flto", "-ffat-lto-objects"], "debug": ["-O0", "-g"]}


@pytest.mark.parametrize("archive", [False, True], ids=["objects", "archive"])
@pytest.mark.parametrize("weights", ["c", "incbin"])
@pytest.mark.parametrize("flags", LINKS)
def test_the_linked_firmware_carries_arena_weights_and_claim(tmp_path, flags, weights, archive):
    if weights == "incbin" and "lto" in flags and archive:
        pytest.skip("GCC looks for no assembler symbol in an archive of LTO objects; the generated file says what to do")
    elf = firmware(tmp_path, chain(options=Options(weights=weights), region="SRAM1"), *LINKS[flags], archive=archive)
    (claim,) = claims(elf)
    assert (
        claim
        | {
            "model": "toy",
            "model_sha256": "ab" * 32,
            "cpu": "",
            "arenas": [{"symbol": "toy_arena", "size_bytes": 30, "alignment": 4, "region": "SRAM1", "memory": None}],
            "arena_bytes": 30,
            "state": None,
            "kept": [],
            "weights_bytes": 30,
            "weights": [
                {"symbol": name, "size_bytes": len(data), "alignment": 4, "sha256": hashlib.sha256(data).hexdigest()}
                for name, data in (("toy_first_weights", bytes(range(1, 7))), ("toy_first_bias", NEGATIVE))
            ],
            "functions": ["toy_run"],
            "layers": ["toy_first", "toy_second"],
            "peak_bytes": 38,
        }
        == claim
    )
    symbols = {symbol.name: symbol for symbol in elf.get_section_by_name(".symtab").iter_symbols()}
    assert symbols["toy_arena"]["st_size"] == 30
    assert [symbols[array["symbol"]]["st_size"] for array in claim["weights"]] == [6, 24]
    assert linked_digests(elf) == {array["symbol"]: array["sha256"] for array in claim["weights"]}
    assert all(name in symbols for name in claim["layers"])
    assert (symbols["aidge_toy__arena_bytes"]["st_shndx"], symbols["aidge_toy__arena_bytes"]["st_value"]) == ("SHN_ABS", 30)
    assert not [section for section in elf.iter_sections() if section.name == ".data" and section["sh_size"]]


def test_a_model_without_constants_brings_its_claim_out_of_an_archive(tmp_path):
    (claim,) = claims(firmware(tmp_path, reversal(), archive=True))
    assert (claim["weights"], claim["arenas"], claim["arena_bytes"]) == ([], [], 0)


def test_the_arena_lies_in_the_section_of_its_region(tmp_path):
    generate(chain(region="SRAM1", alignment=16), tmp_path)
    succeed(["arm-none-eabi-gcc", *ARM, "-c", "toy.c"], tmp_path)
    with open(tmp_path / "toy.o", "rb") as file:
        section = ELFFile(file).get_section_by_name(".bss.aidge_SRAM1.toy")
        assert (section["sh_type"], section["sh_size"], section["sh_addralign"]) == ("SHT_NOBITS", 30, 16)


def test_incbin_is_the_same_flash_as_arrays(tmp_path):
    images = []
    for weights in ("c", "incbin"):
        (tmp_path / weights).mkdir()
        elf = firmware(tmp_path / weights, chain(options=Options(weights=weights)))
        symbols = {symbol.name: symbol for symbol in elf.get_section_by_name(".symtab").iter_symbols()}
        text = next(
            section
            for section in elf.iter_sections()
            if section["sh_addr"] <= symbols["toy_first_bias"]["st_value"] < section["sh_addr"] + section["sh_size"]
        )
        images.append(
            [
                text.data()[symbols[name]["st_value"] - text["sh_addr"] :][: symbols[name]["st_size"]]
                for name in ("toy_first_weights", "toy_first_bias")
            ]
        )
    assert images[0] == images[1]


def test_incbin_finds_its_file_through_the_include_path(tmp_path):
    generate(chain(options=Options(weights="incbin")), tmp_path / "generated")
    succeed(["gcc", "-I", "generated", "-c", "generated/toy_weights.c"], tmp_path)
