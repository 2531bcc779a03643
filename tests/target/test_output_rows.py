# SPDX-License-Identifier: MIT
"""Output by rows: pulls of any number give what N_run does, and what comes out of order changes nothing."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.leaving_rows import pulling_program, random_filter, remembering, scaled, segmenter, upscaler
from tests.models import model
from tests.programs import needs_cross_compiler, needs_qemu
from tests.row_models import WITHOUT_ROWS, image_filter, sparse_rows
from tests.row_networks import random_inputs, small_board
from tests.sanitized import code_of, sanitized

MODELS = {
    "an int8 net that makes images larger": (upscaler(), "int8_t"),
    "a float filter": (image_filter(), "float"),
    "a net with a waist that needs all rows": (segmenter(), "float"),
    "rows that nobody reads": (sparse_rows(), "float"),
    "a state": (remembering(), "float"),
    "a state whose next value the rows need": (scaled(), "float"),
}
WAYS = {"io=caller": (), "io=arena": ("--io", "arena"), "arena=caller": ("--arena", "caller")}
WAYS["both"] = (*WAYS["io=arena"], *WAYS["arena=caller"])
ALL = [
    (name, way, side) for name in MODELS for way in WAYS for side in ("whole", "rows") if "state" not in name or side == "whole"
]
SOME = [
    ("an int8 net that makes images larger", "io=caller", "rows"),
    ("a float filter", "io=arena", "whole"),
    ("a float filter", "arena=caller", "rows"),
    ("a net with a waist that needs all rows", "io=caller", "whole"),
    ("a net with a waist that needs all rows", "io=arena", "rows"),
    ("rows that nobody reads", "both", "rows"),
    ("a state", "arena=caller", "whole"),
    ("a state whose next value the rows need", "io=arena", "whole"),
]
# Where the whole input lies in the arena and is dead before the last layer, all rows of the output have room at no cost.
KEEPS_ALL = [("rows that nobody reads", way, "whole") for way in ("io=arena", "both")]
STRESS = "AIDGE_STRESS" in os.environ


def compiled(folder: Path, data: bytes, *words: str) -> dict:
    (folder / "net.onnx").write_bytes(data)
    made = aidge_build("compile", folder / "net.onnx", "--out", folder, "--output", "rows", "--json", *words)
    assert made.exit_code == 0, made
    return made.json


def run_on_host(folder: Path, main: str) -> int:
    (folder / "main.c").write_text(main)
    return code_of(sanitized(folder))


@pytest.mark.parametrize("name, way, side", ALL if STRESS else SOME)
def test_rows_that_are_pulled_in_any_number_are_those_of_a_run(name, way, side, tmp_path):
    data, type_name = MODELS[name]
    words, has_state = WAYS[way], "state" in name
    plan = compiled(tmp_path, data, "--cpu", "host", "--input", side, *words, *(("--state", "n=s") if has_state else ()))
    keeps_all = plan["rows"]["output_kept_rows"] == plan["rows"]["output_rows"]
    assert has_state or keeps_all == ((name, way, side) in KEEPS_ALL)
    options = {"io" if word == "--io" else "arena": value for word, value in zip(words[::2], words[1::2], strict=True)}
    main = pulling_program(type_name=type_name, by_rows=side == "rows", has_state=has_state, **options)
    assert run_on_host(tmp_path, main) == 0


@pytest.mark.parametrize("seed", range(40 if STRESS else 1))
@pytest.mark.parametrize("side", ["whole", "rows"])
def test_random_networks_give_the_rows_of_a_run(seed, side, tmp_path):
    compiled(tmp_path, random_filter(seed), "--cpu", "host", "--input", side)
    assert run_on_host(tmp_path, pulling_program(type_name="float", by_rows=side == "rows", turns=5)) == 0


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("board_name", ["mps2-an386", "mps3-an547"])
def test_on_a_board_pulls_give_the_bits_of_a_run_and_the_check_proves_every_byte(board_name, tmp_path):
    data, type_name = MODELS["an int8 net that makes images larger"]
    board = load_board(board_name)
    plan = compiled(tmp_path, data, "--board", board.name, "--input", "rows")
    (tmp_path / "main.c").write_text(pulling_program(type_name=type_name, by_rows=True, turns=4))
    sources = [tmp_path / name for name in ("net.c", "net_weights.c", "main.c")]
    elf = build_program(board, sources, tmp_path / "app.elf", work_folder=tmp_path / "objects", include_folders=[tmp_path])
    assert run_program(elf, board, work_folder=tmp_path).exit_code == 0
    checked = aidge_build("check", elf, "--board", board.name, "--plan", tmp_path / "net.plan.json")
    assert checked.exit_code == 0, checked
    assert f"rows {plan['rows']['progress_bytes']} B = plan" in checked.stdout
    assert read_image(elf).symbol("net_rows").size_bytes == plan["rows"]["progress_bytes"]


@needs_cross_compiler
def test_a_firmware_that_only_pulls_rows_has_its_stack_bound(tmp_path):
    data, _ = MODELS["an int8 net that makes images larger"]
    compiled(tmp_path, data, "--board", "mps2-an386")
    body = "static int8_t image[NET_INPUT_SIZE], row[NET_OUTPUT_ROW_BYTES];\nint main(void)\n{\n    (void)net_begin(image);\n"
    body += "    while (net_pull_output(row, 1) == NET_OK) {}\n    return net_end();\n}\n"
    (tmp_path / "main.c").write_text(f'#include "net.h"\n{body}')
    sources = [tmp_path / name for name in ("net.c", "net_weights.c", "main.c")]
    built = {"work_folder": tmp_path / "objects", "include_folders": [tmp_path]}
    elf = build_program(load_board("mps2-an386"), sources, tmp_path / "app.elf", **built)
    result = aidge_build("check", elf, "--board", "mps2-an386", "--json")
    assert result.exit_code == 0 and not result.json["findings"], result
    assert result.json["models"][0]["stack_bound_bytes"] > 100


@needs_cross_compiler
@needs_qemu
def test_run_counts_the_instructions_of_an_inference_that_only_pushes_and_pulls(tmp_path):
    compiled(tmp_path, upscaler(), "--board", "mps2-an386", "--input", "rows")
    sources = [tmp_path / name for name in ("net.c", "net_weights.c", "main.c")]
    rows = "static int8_t image[NET_INPUT_SIZE], mask[NET_OUTPUT_SIZE], row[NET_INPUT_ROW_BYTES];\n"
    by_rows = "for (left = 0; left < NET_INPUT_ROWS; left++) { (void)net_push_input(row, 1); "
    by_rows += "while (net_pull_output(mask, 1) == NET_OK) {} }"
    counts = []
    for calls in ("(void)net_run(image, mask);", f"(void)net_begin(); {by_rows} (void)net_end();"):
        body = f"int main(void)\n{{\n    int turn, left = 0;\n    for (turn = 0; turn < 3; turn++) {{ {calls} }}\n"
        body += "    return left < 0;\n}\n"
        (tmp_path / "main.c").write_text(f'#include "net.h"\n{rows}{body}')
        built = {"work_folder": tmp_path / "objects", "include_folders": [tmp_path]}
        elf = build_program(load_board("mps2-an386"), sources, tmp_path / "app.elf", **built)
        result = aidge_build("run", elf, "--board", "mps2-an386", "--json")
        assert result.exit_code == 0 and result.json["runs"] == 3, result
        counts.append(result.json["run_instructions"])
        assert all(layer["instructions"] > 0 for layer in result.json["layers"])
        assert result.json["run_pieces"] == (["net_push_input", "net_pull_output", "net_end"] if len(counts) == 2 else [])
    assert counts[0] < counts[1] < 1.05 * counts[0]
    line = aidge_build("run", elf, "--board", "mps2-an386").stdout
    assert " per inference inside of net_push_input and net_pull_output and net_end on " in line


@needs_cross_compiler
@needs_qemu
def test_verify_compares_every_layer_of_a_model_whose_output_leaves_by_rows(tmp_path):
    (tmp_path / "net.onnx").write_bytes(upscaler())
    x = numpy.random.default_rng(7).integers(-128, 128, (2, 1, 1, 11, 8)).astype(numpy.int8)
    numpy.savez(tmp_path / "io.npz", x=x)
    common = (
        "--io-data",
        tmp_path / "io.npz",
        "--output",
        "rows",
        "--io",
        "arena",
        "--layers",
        "--json",
        "--board",
        "mps2-an386",
    )
    result = aidge_build("verify", tmp_path / "net.onnx", *common)
    assert result.exit_code == 0 and result.json["differing_values"] == 0, result


def test_the_output_is_not_resident_and_the_header_says_how_many_rows_leave(tmp_path):
    whole = compiled(
        tmp_path, upscaler(), "--cpu", "cortex-m4", "--output", "whole", "--io", "arena", "--memory-model", "cascade"
    )
    plan = compiled(tmp_path, upscaler(), "--cpu", "cortex-m4", "--io", "arena")
    header = (tmp_path / "net.h").read_text()
    assert "#define NET_OUTPUT_ROWS 22\n" in header and "#define NET_OUTPUT_ROW_BYTES 16\n" in header
    for declared in (
        "begin(void)",
        "pull_output(int8_t *rows, int32_t count)",
        "end(void)",
        "cancel(void)",
        "run(int8_t *output)",
    ):
        assert f" net_{declared};" in header
    assert not re.search(r"net_push|NET_INPUT_ROWS|#define NET_OUTPUT \(", header)
    kept = plan["rows"]
    assert (kept["output"], kept["output_rows"], kept["output_row_bytes"]) == ("y", 22, 16)
    assert plan["arena_bytes"] < whole["arena_bytes"] and plan["io_bytes"] == whole["io_bytes"] - 22 * 16


def test_where_both_sides_go_by_rows_the_words_of_the_header_say_who_waits_for_whom(tmp_path):
    compiled(tmp_path, upscaler(), "--cpu", "cortex-m4", "--input", "rows")
    header = (tmp_path / "net.h").read_text()
    assert "NET_MORE when rows of the output must leave first: net_pull_output, then this again with the same rows" in header
    assert "NET_MORE when rows of the input are missing: net_push_input, then this again" in header
    compiled(tmp_path, segmenter(), "--cpu", "cortex-m4", "--input", "rows")
    header = (tmp_path / "net.h").read_text()
    assert "NET_MORE when rows of the input are missing: net_push_input first, nothing is done." in header
    assert header.count("NET_MORE when") == 1


REFUSED = {
    "two outputs": (
        model("y = Relu(x) z = Neg(x)", inputs="float[1,1,8,4] x", outputs="float[1,1,8,4] y, float[1,1,8,4] z"),
        "the model has 2 outputs, and rows leave of one alone",
    ),
    **WITHOUT_ROWS,
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_output_that_cannot_leave_by_rows_is_refused_in_one_line_that_says_why(name, tmp_path):
    data, reason = REFUSED[name]
    (tmp_path / "net.onnx").write_bytes(data)
    made = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--cpu", "host", "--output", "rows")
    assert made.exit_code == 2 and reason in made.stderr, made
    assert "--output whole" in made.stderr and made.stderr.count("\n") == 1, made


def test_steps_of_a_bounded_length_are_refused_for_an_output_by_rows(tmp_path):
    (tmp_path / "net.onnx").write_bytes(upscaler())
    words = ("--cpu", "host", "--output", "rows", "--max-step", "9000")
    made = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, *words)
    assert made.exit_code == 2 and "with --output rows N_pull computes all that its rows allow" in made.stderr, made


@needs_cross_compiler
@pytest.mark.parametrize("side", ["whole", "rows"])
def test_hooks_get_the_rows_that_were_pulled_and_never_the_whole_output(side, tmp_path):
    compiled(tmp_path, upscaler(), "--board", "mps2-an386", "--dma", "hooks", "--input", side)
    code = (tmp_path / "net.c").read_text()
    assert code.count("net_after_output(rows, (uint32_t)count * (uint32_t)NET_OUTPUT_ROW_BYTES);") == 1
    assert code.count("    net_after_output(") == 1 and code.count("    net_before_input(") == 1
    assert ("net_before_input(rows, " in code) == (side == "rows")


TWO = """arena = ["SRAM2", "CCM"]
[regions.SRAM2]
origin = 0x2001C000
length = {size}
kind = "ram"
[regions.CCM]
origin = 0x10000000
length = 1600
kind = "ram"
dma = false
"""


@needs_cross_compiler
@pytest.mark.parametrize("sides, size", [(("input",), 3000), (("output",), 2000), (("input", "output"), 2000)])
def test_rows_that_come_and_go_may_lie_in_several_memories(sides, size, tmp_path):
    """Neither memory has room for the arena alone. Rows on both sides pass through all code that compares layers."""
    (tmp_path / "net.onnx").write_bytes(upscaler(20, 20))
    board, vectors = small_board(tmp_path / "board", 8192, TWO.format(size=size)), random_inputs(tmp_path / "io.npz")
    words = (*board, "--io", "arena", "--optimize", "size", *(word for side in sides for word in (f"--{side}", "rows")))
    kept = (*(("--layers",) if STRESS or len(sides) == 2 else ()), "--keep", tmp_path / "kept", "--json")
    found = aidge_build("verify", tmp_path / "net.onnx", *words, "--io-data", vectors, *kept)
    assert found.exit_code == 0 and found.json["differing_values"] == 0, found.stderr or found.stdout
    plan = json.loads((tmp_path / "kept" / "model.plan.json").read_text())
    used = {region["name"]: region["used_bytes"] for region in plan["regions"]}
    assert set(used) == {"SRAM2", "CCM"} and min(used.values()) > 0 and plan["arena_bytes"] > size
    assert aidge_build("check", tmp_path / "kept" / "model.elf", *board).exit_code == 0


@needs_cross_compiler
def test_firmware_that_pushes_and_pulls_for_ever_ends_after_the_inferences_that_were_asked_for(tmp_path):
    """The pieces of an inference are counted up to the same instruction; what begins after the last one counts in none."""
    compiled(tmp_path, upscaler(), "--board", "mps2-an386", "--input", "rows")
    rows = "static int8_t mask[NET_OUTPUT_SIZE], row[NET_INPUT_ROW_BYTES];\n"
    by_rows = "for (left = 0; left < NET_INPUT_ROWS; left++) { (void)net_push_input(row, 1); "
    by_rows += "while (net_pull_output(mask, 1) == NET_OK) {} }"
    found = []
    for turns in ("turn < 2", "turn >= 0"):
        body = f"int main(void)\n{{\n    volatile int turn;\n    int left = 0;\n    for (turn = 0; {turns}; turn++) {{ "
        body += f"(void)net_begin(); {by_rows} (void)net_end(); }}\n    return left < 0;\n}}\n"
        (tmp_path / "main.c").write_text(f'#include "net.h"\n{rows}{body}')
        sources = [tmp_path / name for name in ("net.c", "net_weights.c", "main.c")]
        built = {"work_folder": tmp_path / "objects", "include_folders": [tmp_path]}
        elf = build_program(load_board("mps2-an386"), sources, tmp_path / "app.elf", **built)
        words = ("--inferences", "2") if turns == "turn >= 0" else ()
        result = aidge_build("run", elf, "--board", "mps2-an386", *words, "--json")
        assert result.exit_code == 0 and result.json["runs"] == 2, result
        found.append(result.json)
    ended, endless = found
    for key in ("run_instructions", "run_pieces", "layers"):
        assert ended[key] == endless[key], key
    assert endless["ended_by"] == "inferences" and endless["instructions"] < ended["instructions"]
