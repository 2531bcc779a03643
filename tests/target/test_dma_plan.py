# SPDX-License-Identifier: MIT
"""--dma on: inputs and outputs in lines of the data cache that are their own, in the arena and with the caller."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.plan.memory.buffer import Buffer, Window
from aidge_build.plan.options import Options
from aidge_build.plan.placement import in_lines
from tests.command import aidge_build
from tests.compiled import request_of
from tests.models import model
from tests.programs import needs_cross_compiler
from tests.random_models import RandomNetwork
from tests.row_networks import chain

WAYS = [("--io", "arena"), ("--io", "caller"), ("--io", "arena", "--arena", "caller")]
BOARD = load_board("mps2-an500")
TWO_SIDED = model(
    "y = Add(x, z) t = Mul(z, w) rest = Neg(t)",
    inputs="float[1,5] x, float[1,5] z",
    outputs="float[1,5] y, float[1,5] rest",
    constants={"w": numpy.float32([3, 1, 4, 1, 5])},
)


def networks():
    yield TWO_SIDED
    yield chain()
    for seed in range(4):
        yield RandomNetwork(seed).model().SerializeToString()


@pytest.mark.parametrize("number", range(6))
def test_nothing_that_lives_with_an_input_or_output_lies_in_its_lines(number):
    model_file = list(networks())[number]
    request = request_of(model_file, "net.onnx", BOARD)
    program = build_program(replace(request, options=Options(io="arena", dma="on", dma_line=32)))
    plain = build_program(replace(request, options=Options(io="arena")))
    placed = program.memory.arena.placements
    ports = {program.schedule.buffer_of[name] for name in (*program.view.given, *program.view.handed_out)}
    assert {one.buffer.name for one in placed if one.buffer.kind == "io"} == ports
    overlapping = {frozenset((each.lower, each.upper)) for each in program.memory.arena.overlaps}
    for one in placed:
        if one.buffer.name not in ports:
            continue
        assert one.offset_bytes % 32 == 0 and one.buffer.size_bytes % 32 == 0
        for other in placed:
            allowed = frozenset((one.buffer.name, other.buffer.name)) in overlapping
            for step in range(one.buffer.first, one.buffer.last) if other is not one and not allowed else ():
                (low, high), (below, above) = one.buffer.live_bytes(step), other.buffer.live_bytes(step)
                assert low % 32 == 0 and high % 32 == 0
                begin, end = one.offset_bytes + low, one.offset_bytes + high
                assert below == above or other.offset_bytes + above <= begin or end <= other.offset_bytes + below
    assert program.memory.alignment == 32 and program.memory.peak is program.memory.arena
    assert plain.memory.arena.peak_bytes <= program.memory.arena.peak_bytes <= plain.memory.arena.peak_bytes + 2 * 31 * len(ports)


def test_a_port_takes_whole_lines_as_long_as_it_lives_and_other_buffers_are_left_alone():
    shrinking = Buffer("x", 100, 4, 0, 4, "io", (Window(0, 2, 0, 100), Window(2, 4, 33, 40)))
    assert in_lines(shrinking, 32) == Buffer("x", 128, 32, 0, 4, "io", (Window(0, 2, 0, 128), Window(2, 4, 32, 64)))
    assert in_lines(Buffer("x", 33, 4, 0, 4, "io"), 32) == Buffer("x", 64, 32, 0, 4, "io")
    assert in_lines(Buffer("x", 32, 64, 0, 4, "io"), 32) == Buffer("x", 32, 64, 0, 4, "io")
    scratch = replace(shrinking, kind="scratch")
    assert in_lines(scratch, 32) is scratch


def generated(folder: Path, *words: str) -> str:
    (folder / "net.onnx").write_bytes(TWO_SIDED)
    made = aidge_build("compile", folder / "net.onnx", "--out", folder, *words)
    assert made.exit_code == 0, made
    return (folder / "net.h").read_text()


@pytest.mark.parametrize("words", [("--board", "stm32f7"), ("--cpu", "cortex-m7"), ("--cpu", "cortex-m55+nofp")])
def test_the_header_says_what_a_buffer_of_the_caller_must_be(words, tmp_path):
    header = generated(tmp_path, "--dma", "on", *words)
    for text in (
        "#define NET_DMA_LINE 32\n",
        "#define NET_X_BYTES 20\n",
        "#define NET_X_DMA_BYTES 32\n",
        "#define NET_REST_DMA_BYTES 32\n",
    ):
        assert text in header
    assert "`x`: NET_X_SIZE elements at a multiple of 32 bytes" in header
    ports = json.loads((tmp_path / "net.plan.json").read_text())["inputs"]
    assert [port["alignment"] for port in ports] == [32, 32]


@pytest.mark.parametrize("words", [("--board", "stm32f4"), ("--cpu", "cortex-m4"), ("--cpu", "cortex-m33+nodsp")])
def test_a_core_without_a_data_cache_gets_the_hooks_alone(words, tmp_path):
    header = generated(tmp_path, "--dma", "on", *words)
    assert "net_before_input" in header and "DMA_LINE" not in header and "_DMA_BYTES" not in header


def test_without_a_core_nobody_knows_whether_there_is_a_cache(tmp_path):
    (tmp_path / "net.onnx").write_bytes(TWO_SIDED)
    result = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--dma", "on")
    assert result.exit_code == 2 and "the core decides whether there is a data cache" in result.stderr, result


def test_a_buffer_of_the_caller_that_begins_within_a_line_is_refused(tmp_path):
    generated(tmp_path, "--dma", "on", "--cpu", "cortex-m7", "--lib", "ref")
    (tmp_path / "main.c").write_text(
        """#include "net.h"
static _Alignas(32) float x[16], z[8], y[8], rest[8];
int main(void)
{
    if (net_run(x, z, y, rest) != 0 || net_run(x + 1, z, y, rest) != 1 || net_run(x + 4, z, y, rest) != 1)
        return 1;
    return net_run(x + 8, z, y, rest);
}
"""
    )
    subprocess.run(["gcc", "-std=c11", "net.c", "net_weights.c", "main.c", "-lm", "-o", "app"], cwd=tmp_path, check=True)
    assert subprocess.run([str(tmp_path / "app")]).returncode == 0


@needs_cross_compiler
@pytest.mark.parametrize("words", WAYS if "AIDGE_STRESS" in os.environ else WAYS[:1], ids=" ".join)
def test_a_program_with_lines_of_their_own_computes_the_same(words, tmp_path):
    (tmp_path / "net.onnx").write_bytes(TWO_SIDED)
    random = numpy.random.default_rng(2)
    numpy.savez(tmp_path / "io.npz", **{f"x_{name}": random.normal(size=(3, 1, 5)).astype(numpy.float32) for name in "xz"})
    command = ["verify", tmp_path / "net.onnx", "--io-data", tmp_path / "io.npz", "--board", BOARD.name, "--dma", "on", *words]
    result = aidge_build(*command, "--keep", tmp_path / "kept")
    assert result.exit_code == 0, result
    checked = aidge_build("check", tmp_path / "kept" / "model.elf", "--board", BOARD.name)
    assert checked.exit_code == 0 and "DMA01" not in checked.stdout and checked.stdout.count("DMA02") == 2, checked
