# SPDX-License-Identifier: MIT
"""Generated code as a part of somebody's firmware: several models, strict compilers, retraining."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import numpy_helper

from aidge_build.boards import load_board
from aidge_build.contract.reference import cpu
from aidge_build.operators import builtin_operators
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program, find_compiler
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.command import aidge_build
from tests.models import model
from tests.shared import FLOAT_MODELS, MODELS, float_model, int8_model

STRICT = [
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-Wundef",
    "-Wdouble-promotion",
    "-Wcast-align",
    "-Wpedantic",
    "-Werror",
]


# The code of these holds every function that the code of any model of MLPerf Tiny calls.
ALL_KERNELS = ("ic_resnet8", "kws_dscnn_float", "sww_dscnn1d", "ic_resnet8_float")


def small_model(seed: int, channels: int) -> bytes:
    """An int8 convolution and a ReLU; the node and tensor names are the same for every seed."""
    random = numpy.random.default_rng(seed)
    scale = numpy.float32(0.05)
    weights_scale = random.uniform(0.01, 0.02, channels).astype(numpy.float32)
    return model(
        """xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=0>(w, sw, zw) bf = DequantizeLinear<axis=0>(b, sb, zb)
        c = Conv<pads=[1,1,1,1]>(xf, wf, bf) r = Relu(c) y = QuantizeLinear(r, sy, zy)""",
        inputs="int8[1,3,5,4] x",
        outputs=f"int8[1,{channels},5,4] y",
        constants={
            "sx": scale,
            "zx": numpy.int8(3),
            "w": random.integers(-128, 128, (channels, 3, 3, 3)).astype(numpy.int8),
            "sw": weights_scale,
            "zw": numpy.zeros(channels, numpy.int8),
            "b": random.integers(-999, 999, channels).astype(numpy.int32),
            "sb": scale * weights_scale,
            "zb": numpy.zeros(channels, numpy.int32),
            "sy": numpy.float32(0.3),
            "zy": numpy.int8(-7),
        },
    )


def compile_model(folder: Path, name: str, data: bytes, *more) -> str:
    (folder / f"{name}.onnx").write_bytes(data)
    result = aidge_build("compile", folder / f"{name}.onnx", "--name", name, "--out", folder, "--lib", "ref", *more)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def numbers(values: numpy.ndarray) -> str:
    return ", ".join(map(str, values.reshape(-1).tolist()))


@pytest.mark.parametrize("board_name", ["host", "stm32f7", "microbit"])
def test_two_models_with_the_same_names_inside_are_both_right(board_name, tmp_path):
    board = load_board(board_name)
    inputs = numpy.random.default_rng(5).integers(-128, 128, (1, 3, 5, 4)).astype(numpy.int8)
    body, lines = [], []
    for name, seed, channels in (("one", 1, 4), ("two", 2, 7)):
        data = small_model(seed, channels)
        compile_model(tmp_path, name, data, *(["--board", board_name]))
        view, _ = import_onnx(data, name, builtin_operators(), {}, {})
        expected = cpu.run(view, {"x": inputs})["y"]
        body.append(
            f'#include "{name}.h"\nstatic const int8_t expected_{name}[] = {{ {numbers(expected)} }};\nstatic '
            f"int8_t got_{name}[sizeof expected_{name}];"
        )
        lines.append(
            f"if ({name}_run(input, got_{name}) != 0 || memcmp(got_{name}, expected_{name}, sizeof got_{name}) != 0) return 1;"
        )
    body = "\n".join(body)
    (tmp_path / "main.c").write_text(
        f"#include <string.h>\n{body}\nstatic const int8_t input[] = {{ {numbers(inputs)} }};\n"
        f"int main(void)\n{{\n{chr(10).join(lines + lines)}\nreturn 0;\n}}\n"
    )
    sources = [tmp_path / file for file in ("main.c", "one.c", "one_weights.c", "two.c", "two_weights.c")]
    elf = build_program(board, sources, tmp_path / "app.elf", work_folder=tmp_path / "objects", include_folders=[tmp_path])
    assert run_program(elf, board, work_folder=tmp_path, count=False).exit_code == 0
    if board_name != "host":
        checked = aidge_build(
            "check",
            elf,
            "--board",
            board_name,
            "--plan",
            tmp_path / "one.plan.json",
            "--plan",
            tmp_path / "two.plan.json",
            "--json",
        )
        assert checked.exit_code == 0 and checked.json["arena_bytes"] == checked.json["planned_bytes"]


@pytest.fixture(scope="module")
def generated(tmp_path_factory) -> Path:
    """The folder of the models' code, the same for each compiler."""
    return tmp_path_factory.mktemp("generated")


def strict_compilers():
    yield "c99", "host", ["-std=c99"]
    yield "gnu11", "host", ["-std=gnu11"]
    yield "c++11", "host", ["-std=c++11", "-x", "c++"]
    yield "m4", "mps2-an386", ["-std=c99"]
    yield "m0", "microbit", ["-std=c99"]


@pytest.mark.parametrize(
    "language, board, flags", list(strict_compilers()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_generated_code_of_real_models_compiles_without_a_warning(language, board, flags, generated):
    compiler = find_compiler(load_board(board))
    driver = compiler.cplusplus if "c++" in flags else compiler.c
    models = [*((name, int8_model(name)) for name in MODELS), *((f"{name}_float", float_model(name)) for name in FLOAT_MODELS)]
    names = ALL_KERNELS if language == "m4" else ALL_KERNELS[:2]
    wanted = models if "AIDGE_STRESS" in os.environ else [entry for entry in models if entry[0] in names]
    for name, path in wanted:
        if not (generated / f"{name}.c").exists():
            assert aidge_build("compile", path, "--name", name, "--out", generated, "--lib", "ref").exit_code == 0
        for file in (f"{name}.c", f"{name}_weights.c"):
            done = subprocess.run(
                [driver, *load_board(board).compiler_flags, *flags, *STRICT, "-fsyntax-only", generated / file],
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr


def retrained(data: bytes, change) -> bytes:
    loaded = onnx.load_from_string(data)
    for tensor in loaded.graph.initializer:
        values = numpy_helper.to_array(tensor).copy()
        tensor.CopyFrom(numpy_helper.from_array(change(tensor.name, values), tensor.name))
    return loaded.SerializeToString()


def test_new_weights_change_the_weights_file_alone(tmp_path):
    data = small_model(1, 4)
    compile_model(tmp_path, "net", data)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("net*.[ch]")}
    said = compile_model(tmp_path, "net", retrained(data, lambda name, values: values[::-1].copy() if name == "w" else values))
    after = {path.name: path.read_bytes() for path in tmp_path.glob("net*.[ch]")}
    assert {name for name in before if before[name] != after[name]} == {"net_weights.c"}
    assert "changed" not in said


def test_a_new_scale_of_the_output_changes_the_header(tmp_path):
    data = small_model(1, 4)
    compile_model(tmp_path, "net", data)
    header, code = (tmp_path / "net.h").read_bytes(), (tmp_path / "net.c").read_bytes()
    compile_model(tmp_path, "net", retrained(data, lambda name, values: values * 2 if name == "sy" else values))
    assert (tmp_path / "net.h").read_bytes() != header

    def but_for_the_digest(text: bytes) -> bytes:
        return re.sub(rb"_[0-9a-f]{12}\b", b"_digest", text)

    assert but_for_the_digest((tmp_path / "net.c").read_bytes()) == but_for_the_digest(code) != code
