# SPDX-License-Identifier: MIT
"""Layers that are computed row by row because memory is short: when that happens, what it says, and that nothing else changes."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree

import numpy
import pytest

from tests.command import aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler
from tests.row_networks import chain, random_inputs, small_board

NOTICE = re.compile(
    r"board small has no room for an arena of ([\d,]+) B: (.+) are computed some rows at a time, in ([\d,]+) B, "
    r"for about ([\d,]+) instructions more \(estimated\)"
)


STRESS = "AIDGE_STRESS" in os.environ


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.onnx"
    path.write_bytes(chain(2))
    return path


def planned(*words) -> dict:
    result = aidge_build("plan", *words, "--json")
    assert result.exit_code == 0, result.stderr
    return result.json


@pytest.fixture(scope="module")
def sizes(network):
    """The arena of whole tensors, and the smallest one by rows."""
    whole = planned(network, "--board", "stm32f4")["arena_bytes"]
    return whole, planned(network, "--board", "stm32f4", "--memory-model", "cascade")["arena_bytes"]


def test_a_board_whose_memory_holds_the_arena_gets_whole_layers_and_one_byte_less_gets_rows(network, sizes, tmp_path):
    whole, _ = sizes
    enough = aidge_build("plan", network, *small_board(tmp_path / "enough", whole))
    assert "rows at a time" not in enough.stdout and f"arena {whole:,} B" in enough.stdout
    less = aidge_build("plan", network, *small_board(tmp_path / "less", whole - 16))
    (notice,) = [line for line in less.stdout.splitlines() if "rows at a time" in line]
    needed, layers, found, more = NOTICE.search(notice).groups()
    assert needed == f"{whole:,}" and int(found.replace(",", "")) <= whole - 16 and int(more.replace(",", "")) > 0
    assert re.fullmatch(r"'Conv_\d+' to '\w+' \(\d layers\)", layers) and f"arena {found} B" in less.stdout


def test_the_smaller_the_memory_the_more_instructions_rows_take(network, sizes, tmp_path):
    whole, least = sizes
    costs = []
    for ram_bytes in (whole - 16, least):
        line = aidge_build("plan", network, *small_board(tmp_path / str(ram_bytes), ram_bytes)).stdout
        costs.append(int(NOTICE.search(line).group(4).replace(",", "")))
    assert costs == sorted(costs) and costs[0] < costs[-1]


@pytest.mark.parametrize("layers, tail", [(2, True), (3, False), *([(4, False)] if STRESS else [])])
def test_rows_that_come_by_themselves_need_no_more_than_whole_tensors_with_the_buffers_of_the_firmware(layers, tail, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(chain(layers, tail=tail))
    whole = planned(path, "--board", "stm32f4", "--io", "caller")
    board = small_board(tmp_path / "less", whole["arena_bytes"] - 16)
    rows = planned(path, *board, "--io", "caller")
    assert rows["arena_bytes"] <= whole["arena_bytes"] - 16 and rows["peak_bytes"] < whole["peak_bytes"]
    (line,) = [line for line in aidge_build("plan", path, *board).stdout.splitlines() if line.startswith("rows instead of")]
    assert f"whole tensors: {rows['peak_bytes']:,} B instead of {whole['peak_bytes']:,} B" in line


def test_what_no_rows_make_fit_is_refused_with_the_smallest_arena_and_its_layer(network, sizes, tmp_path):
    _, least = sizes
    result = aidge_build("plan", network, *small_board(tmp_path / "tiny", least - 16))
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
    assert f"some rows at a time, which needs {least:,} B, most of it at node '" in result.stderr
    assert f"board small has SRAM1 {least - 16:,} B" in result.stderr


@pytest.mark.parametrize("words", [("--memory-model", "plain"), ("--arena", "caller")])
def test_who_asks_for_whole_tensors_or_brings_the_arena_gets_no_rows(network, sizes, tmp_path, words):
    result = aidge_build("plan", network, *small_board(tmp_path / "less", sizes[0] - 16), *words)
    assert "rows at a time" not in result.stdout + result.stderr
    assert result.exit_code == (0 if "caller" in words else 2)


def test_without_a_board_no_layer_is_computed_by_rows(network, sizes):
    assert planned(network, "--cpu", "cortex-m4")["arena_bytes"] == sizes[0]


def test_a_budget_that_no_plan_meets_is_refused_with_the_smallest_peak_which_is_met(network):
    words = ("plan", network, "--board", "stm32f4", "--ram-budget")
    result = aidge_build(*words, "1K")
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
    needed, met = re.search(
        r"\): no plan needs at most 1,024 B: the smallest that was found needs ([\d,]+) B. Hint: .*ram_budget=(\d+) is met",
        result.stderr,
    ).groups()
    assert needed == f"{int(met):,}" and f"{network}: node '" in result.stderr
    assert f"peak {needed} B" in aidge_build(*words, met).stdout
    assert aidge_build(*words, int(met) - 1).exit_code == 2


@needs_cross_compiler
def test_what_runs_by_rows_where_memory_is_short_is_exact_to_the_bit(network, sizes, tmp_path):
    board = small_board(tmp_path / "board", (sizes[0] + sizes[1]) // 2)
    vectors = random_inputs(tmp_path / "io.npz")
    found = aidge_build("verify", network, *board, "--io-data", vectors, "--io", "arena", "--keep", tmp_path / "kept", "--json")
    assert found.exit_code == 0 and found.json["differing_values"] == 0, found.stderr or found.stdout
    checked = aidge_build("check", tmp_path / "kept" / "model.elf", *board)
    assert checked.exit_code == 0, checked.stdout
    plan_file, page = tmp_path / "kept" / "model.plan.json", tmp_path / "page.html"
    report = aidge_build("report", tmp_path / "kept" / "model.elf", *board, "--plan", plan_file, "--html", page, "--json").json
    live = [layer["live_bytes"] for layer in report["models"][0]["layers"]]
    plan = json.loads(plan_file.read_text())
    assert max(live) == plan["lower_bound_bytes"] <= plan["peak_bytes"]
    boxes = sum(len(buffer.get("windows", (None,))) for buffer in plan["buffers"])
    assert page.read_text().count('class="item"') >= boxes > len(plan["buffers"])


IMAGE = """{} a = Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(d, v) v2 = DequantizeLinear(w2, sw, zw)
    q2 = QuantizeLinear(a, s, z) d2 = DequantizeLinear(q2, s, z) b = Conv<pads=[1,1,1,1]>(d2, v2) y = QuantizeLinear(b, s2, z)"""
CHANNELS_LAST = "uint8, channels last"
ENDS = {
    "int8": ("d = DequantizeLinear(x, s, z) v = DequantizeLinear(w, sw, zw)", {}),
    "uint8": ("f = DequantizeLinear(x, s, zu) q = QuantizeLinear(f, s, z)", {"zu": numpy.uint8(118)}),
    "uint8 of another scale": (
        "f = DequantizeLinear(x, su, zu) q = QuantizeLinear(f, s, z)",
        {"zu": numpy.uint8(0), "su": numpy.float32(1 / 60)},
    ),
    CHANNELS_LAST: (
        "t = Transpose<perm=[0,3,1,2]>(x) d = DequantizeLinear(t, s, zu) v = DequantizeLinear(w, sw, zw)",
        {"zu": numpy.uint8(118)},
    ),
}


def image(kind: str) -> bytes:
    """Two convolutions over an image of one channel, whose input is of this type."""
    before, more = ENDS[kind]
    if "q =" in before:
        before += " d = DequantizeLinear(q, s, z) v = DequantizeLinear(w, sw, zw)"
    random = numpy.random.default_rng(4)
    scales = {name: numpy.float32(value) for name, value in (("s", 0.0537), ("s2", 0.0811), ("sw", 0.0123))}
    weights = {
        name: random.integers(-99, 99, dims).astype(numpy.int8) for name, dims in (("w", (1, 1, 3, 3)), ("w2", (1, 1, 3, 3)))
    }
    return model(
        IMAGE.format(before),
        inputs=f"{kind.split()[0].strip(',')}[{'1,64,64,1' if kind == CHANNELS_LAST else '1,1,64,64'}] x",
        outputs="int8[1,1,32,32] y",
        constants={**scales, **weights, **more, "z": numpy.int8(-10), "zw": numpy.int8(0)},
    )


@needs_cross_compiler
@pytest.mark.parametrize("board", ["rp2040", "stm32f4"])
def test_an_input_of_another_type_takes_no_second_image_and_is_exact_to_the_bit(board, tmp_path):
    peaks = {}
    for number, kind in enumerate(each for each in ENDS if each != CHANNELS_LAST):
        network, vectors = tmp_path / f"{number}.onnx", tmp_path / f"{number}.npz"
        network.write_bytes(image(kind))
        peaks[kind] = planned(network, "--board", board)["peak_bytes"]
        values = numpy.random.default_rng(number).integers(0, 100, (1, 1, 64, 64)).astype(kind.split()[0])
        numpy.savez(vectors, x=values)
        if kind == "uint8" and board != "rp2040" and not STRESS:
            continue
        found = aidge_build("verify", network, "--board", board, "--io-data", vectors, "--json")
        assert found.exit_code == 0 and found.json["differing_values"] == 0, found.stderr or found.stdout
    assert max(peaks.values()) <= 1.05 * peaks["int8"]


def test_an_input_of_uint8_with_channels_last_takes_no_second_image(tmp_path):
    plans = {}
    for kind in ("int8", CHANNELS_LAST):
        (tmp_path / "image.onnx").write_bytes(image(kind))
        plans[kind] = planned(tmp_path / "image.onnx", "--board", "stm32f4")
    assert plans[CHANNELS_LAST]["peak_bytes"] <= 1.05 * plans["int8"]["peak_bytes"]


TWO = """arena = ["SRAM1", "CCM"]
[regions.CCM]
origin = 0x10000000
length = 1400
kind = "ram"
dma = false
"""


@needs_cross_compiler
def test_rows_may_lie_in_several_memories(tmp_path):
    path, vectors = tmp_path / "rows.onnx", random_inputs(tmp_path / "io.npz")
    path.write_bytes(chain(3))
    board = small_board(tmp_path / "board", 2048, TWO)
    found = aidge_build("verify", path, *board, "--io-data", vectors, "--layers", "--keep", tmp_path / "kept", "--json")
    assert found.exit_code == 0 and found.json["differing_values"] == 0, found.stderr or found.stdout
    text = (tmp_path / "kept" / "model.c").read_text()
    assert "model_cascade_1(arena_bytes_sram1, arena_bytes_ccm, " in text
    lines = re.findall(r"output  '\w+' int8 .*: (arena_\w+) bytes \d+\.\.\d+, (\d+) of 20 rows", text)
    assert {name for name, _ in lines} >= {"arena_ccm"} and all(0 < int(rows) < 20 for _, rows in lines)
    assert aidge_build("check", tmp_path / "kept" / "model.elf", *board).exit_code == 0


def test_a_budget_with_tensors_kept_apart_is_refused(network):
    result = aidge_build("plan", network, "--memory-model", "plain", "--ram-budget", "4K")
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
    assert "--ram-budget: a budget needs tensors that overlap" in result.stderr


@needs_cross_compiler
@pytest.mark.parametrize("words", [("--arena", "caller"), ("--state", "kept=memory")])
def test_rows_go_with_an_arena_of_the_callers_and_with_a_state(tmp_path, words):
    path, vectors = tmp_path / "rows.onnx", random_inputs(tmp_path / "io.npz")
    path.write_bytes(chain(2, tail=False, remembers="--state" in words))
    options = (path, "--board", "stm32f4", "--memory-model", "cascade", *words)
    layers = ("--layers",) if STRESS or "--state" in words else ()
    found = aidge_build("verify", *options, "--io-data", vectors, *layers, "--keep", tmp_path / "kept", "--json")
    assert found.exit_code == 0 and found.json["differing_values"] == 0, found.stderr or found.stdout
    text = (tmp_path / "kept" / "model.c").read_text()
    assert "model_cascade_1(" in text and re.search(
        r"model_conv_2\(arena, &(input|x)\[at_0\], \(int8_t \*\)&arena\[\d+\], \d\);", text
    )


@pytest.fixture(scope="module")
def explained(network):
    return ("explain", network, "--board", "stm32f4", "--memory-model", "cascade")


def test_the_plan_file_says_which_rows_are_kept_and_what_that_costs(network, sizes):
    found = planned(network, "--board", "stm32f4", "--memory-model", "cascade")
    (cascade,) = found["cascades"]
    assert [layer["name"] for layer in cascade["layers"]] == found["order"] and cascade["steps"] > len(cascade["layers"])
    assert all(layer["rows_of_a_band"] > 0 for layer in cascade["layers"])
    buffers = {buffer["name"]: buffer for buffer in found["buffers"]}
    for line in cascade["lines"]:
        assert 0 < line["rows"] < line["height"] == 20
        assert buffers[line["tensor"]]["size_bytes"] == line["size_bytes"] == line["rows"] * 20 * 8
    assert cascade["moved_bytes"] > 0 and cascade["instructions_more_estimated"] > 0
    assert found["peak_bytes_of_whole_tensors"] > found["peak_bytes"]
    windows = [buffer["windows"] for buffer in found["peak_buffers"] if "windows" in buffer]
    assert any(window["high_bytes"] > window["low_bytes"] for window in windows[0])
    assert planned(network, "--board", "stm32f4")["cascades"] == []


def test_explain_says_what_each_layer_does_in_its_cascade_and_what_all_cost_and_save(explained):
    text = aidge_build(*explained).stdout
    roles = re.findall(r"cascade 1: \d+ of 20 rows at a time, in \d+ bands, by \w+", text)
    assert len(roles) == 3 and re.search(r"by conv2d_\w+, \d+ of 20 rows of the output are kept\n", text)
    assert re.search(r"cascade 1: 'Conv_2' to '\w+' \(3 layers\), \d+ steps; keeps [\d,]+ B of rows, moves [\d,]+ B\n", text)
    assert re.search(r"[\d,]+ B instead of [\d,]+ B, for about [\d,]+ instructions more \(estimated\); .* is not proven\n", text)
    one = aidge_build(*explained[:2], "Conv_2", *explained[2:]).stdout
    assert one.count("cascade 1: ") == 1 and "instead of" not in one
    assert "cascade" not in aidge_build(*explained[:4]).stdout


def test_the_picture_shows_the_rows_that_are_live_in_each_step(network):
    whole = aidge_build("plan", network, "--board", "stm32f4", "--memory-model", "cascade", "--io", "arena").stdout
    rows = [line.split("|")[1] for line in whole.splitlines() if line.count("|") == 2]
    assert all(len(row) == 3 for row in rows) and any("·" in row and row.strip("·") for row in rows)


def test_the_curve_shows_fewer_bytes_for_more_instructions_and_marks_the_present_plan(network, tmp_path):
    words = ("plan", network, "--board", "stm32f4", "--tradeoff")
    points = aidge_build(*words, "--json").json["tradeoff"]
    sizes, costs = ([point[key] for point in points] for key in ("peak_bytes", "instructions_more_estimated"))
    assert len(points) > 2 and sizes == sorted(set(sizes), reverse=True) and costs == sorted(set(costs)) and costs[0] == 0
    assert [point["present"] for point in points] == [True] + [False] * (len(points) - 1)
    assert sizes[-1] == planned(network, "--board", "stm32f4", "--memory-model", "cascade")["peak_bytes"]
    drawing, page = tmp_path / "curve.svg", tmp_path / "curve.html"
    budget = aidge_build(*words, "--ram-budget", sizes[0] - 1, "--svg", drawing, "--html", page)
    (marked,) = [line for line in budget.stdout.splitlines() if "<- the present plan" in line]
    assert int(marked.split(" B ")[0].replace(",", "")) < sizes[0] and "(estimated)" in budget.stdout
    circles = xml.etree.ElementTree.parse(drawing).findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) >= len(points) and sum(circle.get("r") == "7" for circle in circles) == 1
    assert f"{sizes[-1]:,} B" in page.read_text()


def test_a_problem_file_has_no_curve(tmp_path):
    problem = tmp_path / "problem.csv"
    problem.write_text("id,lower,upper,size\nb1,0,2,10\n")
    result = aidge_build("plan", problem, "--tradeoff")
    assert result.exit_code == 2 and "--tradeoff: works only with a model: a problem file has no layers" in result.stderr
