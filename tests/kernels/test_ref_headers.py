# SPDX-License-Identifier: MIT
"""The C of `ref` and of the kit: clean under every warning on every core, self-contained, and nothing that firmware must not
have."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import product

import pytest
from harness import STRESS, WARNINGS, files_of

from aidge_build.build.emit.kernels import kernel_text

FILES = files_of("ref")
HEADERS = sorted(f"{name}/{path}" for name, files in FILES.items() for path in files if path.endswith(".h"))
LANGUAGES = (("gcc", "-xc", "-std=c99"), ("gcc", "-xc", "-std=gnu11"), ("g++", "-xc++", "-std=c++11"))
OPTIMIZATION = ("-O0", "-O2", "-O3")
CORES = {
    "m0": ("-mcpu=cortex-m0",),
    "m3": ("-mcpu=cortex-m3",),
    "m4f": ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "m7 softfp": ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=softfp"),
    "m55": ("-mcpu=cortex-m55", "-mfloat-abi=hard"),
}


def text_of(*headers: str) -> str:
    text = kernel_text(FILES, [tuple(header.split("/", 1)) for header in headers])
    return "\n".join([*(f"#include {name}" for name in text.system_includes), *(part.text for part in text.files), ""])


def compile_text(compiler: str, text: str, *flags: str) -> subprocess.CompletedProcess:
    path = shutil.which(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not installed")
    options = (*flags, *WARNINGS, "-Wno-unused-function", "-o", "/dev/null", "-")
    return subprocess.run([path, *options], input=text, text=True, capture_output=True, check=False)


@pytest.mark.parametrize(
    "language, optimize", list(product(LANGUAGES, OPTIMIZATION)) if STRESS else list(zip(LANGUAGES, OPTIMIZATION))
)
def test_all_headers_in_one_file_compile_without_a_warning_on_this_machine(language, optimize):
    done = compile_text(language[0], text_of(*HEADERS), *language[1:], optimize, "-c")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("core", sorted(CORES))
@pytest.mark.parametrize("language", ["c", "c++"])
def test_all_headers_in_one_file_compile_without_a_warning_for_every_core(core, language):
    done = compile_text("arm-none-eabi-gcc", text_of(*HEADERS), f"-x{language}", "-mthumb", "-O2", *CORES[core], "-c")
    assert (done.returncode, done.stderr) == (0, "")


def test_each_header_is_complete_by_itself():
    """Each with what it includes in a namespace of its own, those that ask for the same headers of the C library in one file."""
    files: dict[tuple[str, ...], list[str]] = {}
    for number, header in enumerate(HEADERS):
        text = kernel_text(FILES, [tuple(header.split("/", 1))])
        body = "\n".join(part.text for part in text.files)
        macros = [f"#undef {name}" for name in dict.fromkeys(re.findall(r"^[ \t]*#[ \t]*define (\w+)", body, re.M))]
        apart = [f'#line 1 "{header}"', f"namespace only_{number} {{", body, "}", *macros]
        files.setdefault(text.system_includes, []).append("\n".join(apart))
    for includes, texts in files.items():
        text = "\n".join([*(f"#include {name}" for name in includes), *texts, ""])
        done = compile_text("g++", text, "-xc++", "-std=c++11", "-fsyntax-only")
        assert (done.returncode, done.stderr) == (0, "")


def test_float_kernels_refuse_fast_math():
    headers = [header for header in HEADERS if header.startswith("ref/") and "_float32" in header]
    text = "\n".join(f'#line 1 "{header}"\n{text_of(header)}' for header in headers)
    done = compile_text("gcc", text, "-xc", "-ffast-math", "-E")
    assert set(re.findall(r"^(.+?):\d+:\d+: error: .*without -ffast-math", done.stderr, re.M)) == set(headers)


@pytest.mark.requirement("G4")
@pytest.mark.parametrize("header", HEADERS)
def test_a_header_has_no_double_no_heap_no_writable_data_and_only_standard_includes(header):
    library, path = header.split("/", 1)
    text = FILES[library][path].decode()
    code = re.sub(r"/\*.*?\*/|#include \"[^\"]*\"", "", text, flags=re.S)
    assert text.startswith("/* SPDX-License-Identifier: 0BSD */\n")
    assert not re.search(r"\b(double|malloc|calloc|free|static\s+\w+\s+\w+\s*(=|;))", code)
    assert set(re.findall(r"#include <(.*?)>", code)) <= {"stddef.h", "stdint.h", "string.h", "math.h"}
    for name in re.findall(r"^(?:static|AIDGE_[A-Z]+_\w+)[^(\n=]*?(\w+)\(", code, flags=re.M):
        assert name.startswith(f"aidge_{library}_")
    assert max(map(len, text.splitlines())) <= 130
