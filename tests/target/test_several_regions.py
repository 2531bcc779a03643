# SPDX-License-Identifier: MIT
"""Arenas in several memories: placed, linked, run and checked on boards whose memories hold them only together."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree
from random import Random

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.plan.cascade.kernels import BandKernels
from aidge_build.plan.memory import cp_sat
from aidge_build.plan.memory.regions import Answer
from aidge_build.prove.elf import read_image
from tests.command import aidge_build
from tests.models import model
from tests.programs import arena, build, needs_cross_compiler
from tests.programs import model as program

FUNCTIONS = ("Neg", "Abs", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu")


def network(seed: int, kept: int, channels: int) -> bytes:
    """`kept` maps of channels x 32 x 32 float32 are live at once; input and output are small."""
    random = Random(seed)
    lines = ["t0 = Add(x, spread)"]
    lines += [f"t{index} = {random.choice(FUNCTIONS)}(t{index - 1})" for index in range(1, kept)]
    rest = list(range(kept - 1))
    random.shuffle(rest)
    total = f"t{kept - 1}"
    for number, index in enumerate(rest):
        lines.append(f"s{number} = Add({total}, t{index})")
        total = f"s{number}"
    lines.append(f"y = GlobalAveragePool({total})")
    spread = numpy.random.default_rng(seed).normal(size=(1, channels, 32, 32)).astype(numpy.float32)
    return model(
        " ".join(lines), inputs=f"float[1,{channels},1,1] x", outputs=f"float[1,{channels},1,1] y", constants={"spread": spread}
    )


def quantized_network(seed: int, kept: int, channels: int) -> bytes:
    """The same in int8 with maps of channels x 64 x 64; a convolution writes the first, with scratch, as pools do. Between
    the functions lie pools: functions of one value alone would be one table."""
    random = Random(seed)

    def quantized(name: str, expression: str) -> str:
        stored = f"{name} = QuantizeLinear(f_{name}, scale, zero) d_{name} = DequantizeLinear({name}, scale, zero)"
        return f"f_{name} = {expression} {stored}"

    lines = ["d_x = DequantizeLinear(x, scale, zero) d_w = DequantizeLinear(weights, weight_scale, zero)"]
    lines += [quantized("t0", "Conv<pads = [1, 1, 1, 1]>(d_x, d_w)")]
    pool = "MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]>"
    lines += [
        quantized(f"t{index}", f"{(pool, random.choice(FUNCTIONS))[index % 2]}(d_t{index - 1})") for index in range(1, kept)
    ]
    rest = list(range(kept - 1))
    random.shuffle(rest)
    total = f"t{kept - 1}"
    for number, index in enumerate(rest):
        lines.append(quantized(f"s{number}", f"Add(d_{total}, d_t{index})"))
        total = f"s{number}"
    lines.append(f"f_y = GlobalAveragePool(d_{total}) y = QuantizeLinear(f_y, scale, zero)")
    constants = {
        "weights": numpy.random.default_rng(seed).integers(-127, 128, (channels, 1, 3, 3)).astype(numpy.int8),
        "scale": numpy.float32(1 / 32),
        "zero": numpy.int8(0),
        "weight_scale": numpy.float32(1 / 200),
    }
    return model(" ".join(lines), inputs="int8[1,1,64,64] x", outputs=f"int8[1,{channels},1,1] y", constants=constants)


@pytest.fixture
def made(tmp_path):
    def make(seed, kept, channels):
        path = tmp_path / "wide.onnx"
        path.write_bytes(network(seed, kept, channels))
        x = numpy.random.default_rng(seed).normal(size=(2, 1, channels, 1, 1)).astype(numpy.float32)
        numpy.savez(tmp_path / "io.npz", x=x)
        return path, tmp_path / "io.npz"

    return make


@needs_cross_compiler
@pytest.mark.parametrize(
    "board, seed, kept, channels", [("stm32f7", 1, 6, 10), ("stm32f7", 2, 18, 4), ("stm32f4", 3, 9, 4), ("stm32h743", 4, 13, 15)]
)
def test_a_network_that_fits_no_memory_alone_is_spread_linked_run_and_checked(made, tmp_path, board, seed, kept, channels):
    path, vectors = made(seed, kept, channels)
    plan = aidge_build("plan", path, "--board", board, "--json").json
    regions = [region["name"] for region in plan["regions"]]
    largest = max(region.length_bytes for region in load_board(board).arena_regions) - load_board(board).reserved_bytes
    assert len(regions) > 1 and plan["arena_bytes"] > largest and isinstance(plan["regions_proved_optimal"], bool)
    assert all(0 < region["lower_bound_bytes"] <= region["used_bytes"] for region in plan["regions"])
    assert {buffer["region"] for buffer in plan["buffers"]} == set(regions)
    result = aidge_build("verify", path, "--board", board, "--io-data", vectors, "--keep", tmp_path / "kept", "--json")
    assert result.exit_code == 0, result.stderr or result.stdout
    elf = tmp_path / "kept" / "model.elf"
    checked = aidge_build("check", elf, "--board", board, "--plan", tmp_path / "kept" / "model.plan.json", "--json")
    assert checked.exit_code == 0, checked.stdout
    assert checked.json["arena_bytes"] == sum(region["used_bytes"] for region in plan["regions"])
    for region in plan["regions"]:
        symbol = read_image(elf).symbol(f"model_arena_{region['name'].lower()}")
        assert symbol.size_bytes == region["used_bytes"]


@needs_cross_compiler
@pytest.mark.parametrize(
    "board, seed, kept, channels, regions",
    [
        ("stm32f7", 1, 6, 10, ["DTCM", "SRAM1"]),
        ("stm32f7", 2, 25, 3, ["DTCM", "SRAM1", "SRAM2"]),
        ("stm32h743", 3, 13, 15, ["DTCM", "AXI", "SRAM1", "SRAM2"]),
    ],
)
def test_an_int8_network_in_several_memories_is_exact_to_the_bit_and_every_layer_of_the_smallest(
    tmp_path, board, seed, kept, channels, regions
):
    path, vectors = tmp_path / "wide.onnx", tmp_path / "io.npz"
    path.write_bytes(quantized_network(seed, kept, channels))
    layers = ("--layers",) if len(regions) == 2 or "AIDGE_STRESS" in os.environ else ()
    numpy.savez(vectors, x=numpy.random.default_rng(seed).integers(-128, 128, (2, 1, 1, 64, 64)).astype(numpy.int8))
    found = aidge_build("verify", path, "--board", board, "--io-data", vectors, *layers, "--keep", tmp_path / "kept", "--json")
    assert found.exit_code == 0, found.stderr or found.stdout
    assert found.json["differing_values"] == 0 and found.json["values"] == 2 * channels
    plan = json.loads((tmp_path / "kept" / "model.plan.json").read_text())
    assert [region["name"] for region in plan["regions"]] == regions
    assert plan["scratch_bytes"] > 0
    checked = aidge_build("check", tmp_path / "kept" / "model.elf", "--board", board, "--json").json
    assert checked["arena_bytes"] == plan["arena_bytes"] == sum(region["used_bytes"] for region in plan["regions"])


@needs_cross_compiler
def test_the_bytes_that_a_run_writes_are_those_of_the_plan_in_every_memory(made, tmp_path):
    path, vectors = made(2, 18, 4)
    assert aidge_build("verify", path, "--board", "stm32f7", "--io-data", vectors, "--keep", tmp_path / "kept").exit_code == 0
    plan = json.loads((tmp_path / "kept" / "model.plan.json").read_text())
    planned = {
        (buffer["region"], byte)
        for buffer in plan["buffers"]
        for byte in range(buffer["offset_bytes"], buffer["offset_bytes"] + buffer["size_bytes"])
    }
    ran = aidge_build("run", tmp_path / "kept" / "model.elf", "--board", "stm32f7", "--folder", tmp_path / "kept", "--json").json
    assert ran["arena_bytes"] == plan["arena_bytes"] and len({region for region, _ in planned}) > 1
    assert ran["arena_written_bytes"] == len(planned) <= plan["arena_bytes"]


@needs_cross_compiler
def test_check_sees_a_part_that_lies_elsewhere(made, tmp_path):
    path, vectors = made(1, 6, 10)
    assert aidge_build("verify", path, "--board", "stm32f7", "--io-data", vectors, "--keep", tmp_path / "kept").exit_code == 0
    elf = tmp_path / "kept" / "model.elf"
    swapped = [
        "--region",
        "FLASH=0x08000000,0x100000,flash",
        "--region",
        "DTCM=0x20010000,0x3c000,ram",
        "--region",
        "SRAM1=0x20000000,0x10000,ram",
    ]
    findings = aidge_build("check", elf, *swapped, "--json").json["findings"]
    assert any("model_arena_dtcm is in SRAM1, the plan says DTCM" in finding["text"] for finding in findings)


@needs_cross_compiler
@pytest.mark.parametrize(
    "size_bytes, symbol, text",
    [
        (500, "kws_arena", "arena kws_arena is 512 B, the plan says 500 B (+12 B)"),
        (512, "kws_arena_sram1", "arena kws_arena_sram1 of model kws is not in the program: cannot verify its 512 B"),
    ],
)
def test_check_sees_a_part_of_another_size_and_one_that_is_missing(tmp_path, size_bytes, symbol, text):
    claim = arena(symbol=symbol, region="SRAM1", size_bytes=size_bytes)
    elf = build("stm32f7", program("SRAM1", claim=claim), tmp_path)
    result = aidge_build("check", elf, "--board", "stm32f7", "--json")
    assert result.exit_code == 1
    assert text in [finding["text"] for finding in result.json["findings"] if finding["code"] == "MEM02"]


WORDS = {None: "least access cost not proven", True: "least access cost, proved"}


@pytest.mark.parametrize("proved", [None, True])
def test_the_plan_says_what_lies_where_and_whether_a_solver_proved_it(made, tmp_path, monkeypatch, proved):
    """The solver of this test finds nothing new, and knows that nothing better exists."""
    asked = []

    def solve(problem, rooms, weights, hint):
        asked.append([hint[buffer.name] for buffer in problem.buffers])
        return Answer(tuple(asked[-1]), True)

    monkeypatch.setattr(cp_sat, "installed", lambda: solve if proved else None)
    path, _ = made(1, 6, 10)
    page, svg = tmp_path / "plan.html", tmp_path / "plan.svg"
    text = aidge_build("plan", path, "--board", "stm32f7", "--html", page, "--svg", svg).stdout
    assert f"the arena in DTCM 40,960 B, SRAM1 204,800 B: {WORDS[proved]}" in text and len(asked) == (1 if proved else 0)
    assert "\nDTCM: 40,960 B\n" in text and "\nSRAM1: 204,800 B\n" in text
    plan = aidge_build("plan", path, "--board", "stm32f7", "--json").json
    assert plan["regions_proved_optimal"] is (proved is True)
    drawing = xml.etree.ElementTree.parse(svg)
    texts = {element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert {"DTCM: 40,960 B", "SRAM1: 204,800 B"} <= texts
    for buffer in plan["buffers"]:
        row = f'</td><td>{buffer["kind"]}</td><td class="number">{buffer["region"]} {buffer["offset_bytes"]:,}</td>'
        assert row in page.read_text()


def test_an_arena_in_one_piece_has_nothing_to_prove_about_regions(made):
    path, _ = made(1, 2, 4)
    assert aidge_build("plan", path, "--board", "stm32f7", "--json").json["regions_proved_optimal"] is None


def test_the_solver_proves_what_lies_where(made):
    pytest.importorskip("ortools.sat.python.cp_model", reason="the constraint solver needs: pip install ortools")
    path, _ = made(2, 18, 4)
    plan = aidge_build("plan", path, "--board", "stm32f7", "--json").json
    assert plan["regions_proved_optimal"] is True and len(plan["regions"]) > 1


def test_inputs_and_outputs_in_the_arena_lie_where_peripherals_reach(made):
    path, _ = made(4, 13, 15)
    found = aidge_build("plan", path, "--board", "stm32h743", "--io", "arena", "--json").json
    regions = {kind: {buffer["region"] for buffer in found["buffers"] if buffer["kind"] == kind} for kind in ("io", "activation")}
    assert regions["io"] and "DTCM" not in regions["io"] and "DTCM" in regions["activation"]
    small, _ = made(4, 2, 4)
    for options, region in ((("--io", "arena"), "AXI"), ((), "DTCM")):
        plan = aidge_build("plan", small, "--board", "stm32h743", *options, "--json").json
        assert [entry["name"] for entry in plan["regions"]] == [region]


def test_one_tensor_that_no_memory_holds_is_refused_with_its_layer_and_every_memory(made):
    path, _ = made(5, 2, 70)
    result = aidge_build("plan", path, "--board", "stm32f7")
    assert result.exit_code == 2 and "PLAN01" not in result.stdout
    assert "board stm32f7 has DTCM " in result.stderr and "SRAM2 16,384 B" in result.stderr
    assert "286,720 B" in result.stderr and "node '" in result.stderr


def test_more_live_bytes_than_all_memories_have_are_refused_with_the_moment(made):
    path, _ = made(6, 12, 10)
    result = aidge_build("plan", path, "--board", "stm32f7", "--memory-model", "plain")  # by rows it would fit
    assert result.exit_code == 2 and " at once" in result.stderr and "no proof" not in result.stderr


def test_pieces_that_cannot_be_shared_out_are_refused_though_their_sum_would_fit(made, monkeypatch):
    monkeypatch.setattr(BandKernels, "layer", lambda kernels, node: None)  # by rows it would fit
    path, _ = made(7, 2, 37)
    result = aidge_build("plan", path, "--board", "stm32f7")
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
    assert "needs 't0' 151,552 B + 't1' 151,552 B at once, which cannot be shared out among these" in result.stderr
    assert "Hint: DTCM and SRAM1 follow each other: a board file may make them one region" in result.stderr


def test_a_memory_that_is_reserved_altogether_has_nothing(made, tmp_path):
    path, _ = made(1, 6, 10)
    (tmp_path / "busy.toml").write_text('extends = "stm32f7"\ntitle = "Busy"\nreserved = "300K"\n')
    result = aidge_build("plan", path, "--board", "busy", "--board-path", tmp_path, "--memory-model", "plain")
    assert result.exit_code == 2 and "has DTCM 65,536 B, SRAM1 0 B, SRAM2 16,384 B after 307,200 B reserved" in result.stderr


@needs_cross_compiler
def test_what_the_hint_says_helps(made, tmp_path):
    path, vectors = made(7, 2, 37)
    (tmp_path / "joined.toml").write_text(
        'extends = "cortex-m7"\ntitle = "DTCM, SRAM1 and SRAM2 in one piece"\ncode = "FLASH"\ndata = "RAM"\narena = ["RAM"]\n'
        '[regions.FLASH]\norigin = 0x08000000\nlength = "1M"\nkind = "flash"\n'
        '[regions.RAM]\norigin = 0x20000000\nlength = "320K"\nkind = "ram"\n'
    )
    result = aidge_build("verify", path, "--board", "joined", "--board-path", tmp_path, "--io-data", vectors, "--json")
    assert result.exit_code == 0 and result.json["arena_bytes"] == 303_104
