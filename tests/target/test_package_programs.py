# SPDX-License-Identifier: MIT
"""Packages are compiled as their ecosystems compile them, and what comes out computes what the model means."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy

from aidge_build.boards import Board, load_board
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.models import model
from tests.packaged import packaged
from tests.programs import needs_cross_compiler, needs_cross_cplusplus, needs_riscv
from tests.row_models import image_classifier, running_image
from tests.small_model import small_model
from tests.stateful import MODELS

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
MAIN = """
#include "semihosting.h"
#include "{name}_self_test.h"
int main(void)
{{
    semihosting_write_integer({name}_self_test());
    return 0;
}}
"""


def run_on(board: Board, sources: list[Path], folder: Path, includes: list[Path], flags: tuple[str, ...] = ()) -> str:
    """What a program prints on an emulated board."""
    elf = build_program(
        board, sources, folder / "app.elf", work_folder=folder / "objects", include_folders=includes, extra_flags=flags
    )
    result = run_program(elf, board, work_folder=folder, count=False)
    assert result.exit_code == 0
    return result.stdout


@needs_cross_compiler
def test_a_plain_package_for_a_core_computes_on_it_what_the_model_means(tmp_path):
    (tmp_path / "hello.onnx").write_bytes(small_model())
    folder = packaged("plain", tmp_path / "hello.onnx", tmp_path, "--cpu", "cortex-m4")
    (tmp_path / "main.c").write_text(MAIN.format(name="hello"))
    sources = [path for path in sorted(folder.glob("*.c")) if path.name != "main.c"] + [tmp_path / "main.c"]
    assert run_on(load_board("netduinoplus2"), sources, tmp_path, [folder], STRICT) == "0"


@needs_riscv
def test_a_package_for_any_core_computes_the_same_on_risc_v(tmp_path):
    (tmp_path / "hello.onnx").write_bytes(small_model())
    folder = packaged("plain", tmp_path / "hello.onnx", tmp_path)
    (tmp_path / "main.c").write_text(MAIN.format(name="hello"))
    sources = [path for path in sorted(folder.glob("*.c")) if path.name != "main.c"] + [tmp_path / "main.c"]
    assert run_on(load_board("qemu_riscv32"), sources, tmp_path, [folder], STRICT) == "0"


@needs_cross_compiler
def test_a_package_for_a_core_is_refused_by_a_compiler_for_another(tmp_path):
    (tmp_path / "hello.onnx").write_bytes(small_model())
    folder = packaged("plain", tmp_path / "hello.onnx", tmp_path, "--cpu", "cortex-m4")
    for core, fits in (("cortex-m4", True), ("cortex-m33", True), ("cortex-m3", False), ("cortex-m0plus", False)):
        words = ["arm-none-eabi-gcc", f"-mcpu={core}", "-fsyntax-only", folder / "hello_self_test.c"]
        done = subprocess.run(words, capture_output=True, text=True)
        assert (done.returncode == 0) == fits, core
        assert fits or "model_hello is for cortex-m4" in done.stderr


VARIANTS: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "stored": (small_model(), ()),
    "both": (small_model(), ("--io", "arena", "--arena", "caller")),
    "bound": (small_model(), ("--update", "weights", "--arena", "caller")),
    "lines": (small_model(), ("--dma", "on", "--cpu", "cortex-m7", "--lib", "ref")),
    "steps": (image_classifier(), ("--max-step", "150000")),
    "rows_inside": (image_classifier(), ("--input", "rows", "--io", "arena")),
    "delay": (MODELS["a delay line of three"].file(), tuple(MODELS["a delay line of three"].words())),
    "instances": (MODELS["bytes and words"].file(), (*MODELS["bytes and words"].words(), "--arena", "caller")),
    "running": (running_image(), ("--state", "n=s", "--memory-model", "cascade")),
    "several": (
        model(
            "p = Greater(a, b) q = Where(p, a, c) y = Cast<to = 1>(k) z = Add(q, y) w = Not(p)",
            inputs="float[2,3] a, float[2,3] b, float[2,3] c, int64[2,3] k",
            outputs="float[2,3] z, bool[2,3] w",
        ),
        (),
    ),
    "infinite": (
        model("a = Log(x) y = Div(a, zero)", inputs="float[4] x", outputs="float[4] y", constants={"zero": numpy.float32(0)}),
        (),
    ),
}


def test_self_tests_find_nothing_whatever_the_options_of_the_interface(tmp_path):
    """One program with all of them."""
    sources, calls = [], []
    for name, (content, words) in VARIANTS.items():
        (tmp_path / f"{name}.onnx").write_bytes(content)
        folder = packaged("plain", tmp_path / f"{name}.onnx", tmp_path / "packages", *words)
        if "--lib" in words:  # its guard is for a core that this machine is none of
            text = folder / f"{name}_self_test.c"
            text.write_text(re.sub(r"#if !\(.*\n#error.*\n#endif\n", "", text.read_text()))
        sources += [path for path in folder.glob("*.c") if path.name != "main.c"]
        calls.append(f'printf("{name} %ld\\n", (long){name}_self_test());')
    declared = "".join(f"int32_t {name}_self_test(void);\n" for name in VARIANTS)
    main = f"#include <stdint.h>\n#include <stdio.h>\n{declared}int main(void) {{ {' '.join(calls)} return 0; }}\n"
    (tmp_path / "main.c").write_text(main)
    words = [
        "cc",
        "-std=c11",
        "-O0",
        "-Wall",
        "-Wextra",
        "-Werror",
        *sorted(sources),
        tmp_path / "main.c",
        "-lm",
        "-o",
        tmp_path / "app",
    ]
    subprocess.run(words, check=True)
    out = subprocess.run([tmp_path / "app"], capture_output=True, text=True, check=True).stdout
    assert dict(line.split() for line in out.splitlines()) == {name: "0" for name in VARIANTS}


def test_a_self_test_counts_the_values_that_differ_and_says_when_the_model_refuses(tmp_path):
    (tmp_path / "hello.onnx").write_bytes(small_model())
    folder = packaged("plain", tmp_path / "hello.onnx", tmp_path)
    test = folder / "hello_self_test.c"
    text = test.read_text()
    (numbers,) = re.findall(r"wanted_output_0\[12\] = \{\n(.*?)\n\}", text, re.S)
    values = [int(value) for value in numbers.rstrip(",").split(",")]
    wrong = [value - 1 if index in (0, 5, 11) else value for index, value in enumerate(values)]
    for changed, expected in (
        (text.replace(numbers, ",".join(map(str, wrong))), "3"),
        (text.replace("hello_run(input_0, output_0)", "hello_run(0, output_0)"), "-1"),
    ):
        assert changed != text
        test.write_text(changed)
        subprocess.run(["cc", "-O0", *sorted(folder.glob("*.c")), "-lm", "-o", tmp_path / "app"], check=True)
        done = subprocess.run([tmp_path / "app"], capture_output=True, text=True)
        assert done.returncode == 1 and done.stdout == f"hello: {expected} differing values\n"


def test_kernels_in_cplusplus_go_only_where_their_ecosystem_compiles_them(tmp_path):
    """The page of a plain package says how: its line is typed as it stands there."""
    (tmp_path / "hello.onnx").write_bytes(small_model())
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "library.toml").write_text('name = "mine"\nlanguage = "c++"\n')
    words = ("--kernel-path", tmp_path / "library", "--lib", "mine,ref")
    folder = packaged("plain", tmp_path / "hello.onnx", tmp_path, *words)
    (line,) = re.findall(r"^    (c\S+ .*) && (\S+)$", (folder / "README.md").read_text(), re.M)
    assert (folder / "hello.cpp").is_file() and line[0].startswith("c++ ")
    subprocess.run(line[0], shell=True, cwd=folder, check=True)
    done = subprocess.run([folder / "model_hello"], capture_output=True, text=True, check=True)
    assert done.stdout == "hello: 0 differing values\n"
    for target in ("rust", "micropython", "cubemx"):
        refused = aidge_build("package", tmp_path / "hello.onnx", "--for", target, "--out", tmp_path / target, *words)
        assert refused.exit_code == 2 and "cannot hold C++" in refused.stderr


ARDUINO = """
#include "semihosting.h"
struct Printer {
    void begin(unsigned long) {}
    void print(const char *text) { semihosting_write0(text); }
    void print(long value) { semihosting_write_integer((int32_t)value); }
    void print(unsigned long value) { semihosting_write_integer((int32_t)value); }
    void println(const char *text) { print(text); }
};
static Printer Serial;
static unsigned long micros() { return 0; }
static void delay(unsigned long) {}
"""


@needs_cross_cplusplus
def test_the_sketch_of_an_arduino_library_finds_no_difference_on_a_small_core(tmp_path):
    """As the builder does it: each C file of src/ by itself, the sketch as C++ behind Arduino.h."""
    (tmp_path / "hello.onnx").write_bytes(small_model())
    folder = packaged("arduino", tmp_path / "hello.onnx", tmp_path)
    sketch = (folder / "examples" / "self_test" / "self_test.ino").read_text()
    main = 'extern "C" int main();\nint main() { setup(); loop(); return 0; }\n'
    (tmp_path / "self_test.cpp").write_text(f"{ARDUINO}{sketch}{main}")
    sources = [*sorted((folder / "src").glob("*.c")), tmp_path / "self_test.cpp"]
    printed = run_on(load_board("microbit"), sources, tmp_path, [folder / "src"])
    assert printed == "hello: 0 differing values, 0 us for an inference"


def test_the_properties_of_an_arduino_library_follow_the_specification(tmp_path):
    """What the specification of libraries asks for, and the linter of the ecosystem looks at."""
    (tmp_path / "hello.onnx").write_bytes(small_model())
    folder = packaged("arduino", tmp_path / "hello.onnx", tmp_path, "--name", "a" * 40)
    lines = [line.partition("=") for line in (folder / "library.properties").read_text().splitlines()]
    found = {key: value for key, _, value in lines}
    assert len(found) == len(lines) and all(found.values())
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9 _.-]{0,62}", found["name"]) and not found["name"].lower().startswith("arduino")
    assert found["name"] == folder.name and (folder / "src" / found["includes"]).is_file()
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["version"]) and found["category"] == "Data Processing"
    assert found["architectures"] == "*" and found["sentence"] not in found["paragraph"]
    assert {path.name for path in folder.iterdir()} == {"library.properties", "src", "examples", "extras", "README.md", "LICENSE"}
    assert [path.stem for path in folder.glob("examples/*/*.ino")] == [path.name for path in folder.glob("examples/*")]
