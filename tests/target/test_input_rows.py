# SPDX-License-Identifier: MIT
"""Input by rows: pushes of any size compute what N_run does, and what comes out of order changes nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.command import Result, aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler, needs_qemu
from tests.row_models import WITHOUT_ROWS, flat_image, image_classifier, image_filter, program, running_image, sparse_rows
from tests.sanitized import code_of, sanitized

BOARD = load_board("mps2-an386")
MODELS = {
    "an int8 classifier": (image_classifier(), "int8_t", False),
    "a float filter that writes rows": (image_filter(), "float", False),
    "a state": (running_image(), "float", True),
    "rows that nobody reads": (sparse_rows(), "float", False),
}


def compiled(folder: Path, data: bytes, *words: str) -> dict:
    (folder / "net.onnx").write_bytes(data)
    made = aidge_build("compile", folder / "net.onnx", "--out", folder, "--input", "rows", "--json", *words)
    assert made.exit_code == 0, made
    return made.json


WAYS = {"io=caller": (), "io=arena": ("--io", "arena"), "arena=caller": ("--arena", "caller")}
WAYS["both"] = (*WAYS["io=arena"], *WAYS["arena=caller"])
ALL = [(name, way) for name in MODELS for way in WAYS]
SOME = [*zip(MODELS, WAYS, strict=True)]  # each model and each way


@pytest.mark.requirement("G10")
@pytest.mark.parametrize("name, way", ALL if "AIDGE_STRESS" in os.environ else SOME)
def test_rows_that_are_pushed_in_any_number_give_the_bits_of_a_run(name, way, tmp_path):
    words = WAYS[way]
    data, type_name, has_state = MODELS[name]
    state = ("--state", "n=s") if has_state else ()
    compiled(tmp_path, data, "--cpu", "host", *words, *state)
    options = {"io" if word == "--io" else "arena": value for word, value in zip(words[::2], words[1::2], strict=True)}
    (tmp_path / "main.c").write_text(program(type_name=type_name, has_state=has_state, **options))
    assert code_of(sanitized(tmp_path)) == 0


def test_a_flat_input_has_the_rows_of_the_image_that_layers_make_of_it(tmp_path):
    compiled(tmp_path, flat_image(), "--cpu", "host")
    (place,) = (one["place"] for one in json.loads((tmp_path / "net.plan.json").read_text())["inputs"])
    assert place.endswith(" of 20 rows")
    (tmp_path / "main.c").write_text(program(type_name="float"))
    assert code_of(sanitized(tmp_path)) == 0


@pytest.fixture(scope="module")
def classifier(tmp_path_factory) -> tuple[Path, dict]:
    """The folder of the int8 classifier's code for the board, and its plan."""
    folder = tmp_path_factory.mktemp("classifier")
    return folder, compiled(folder, MODELS["an int8 classifier"][0], "--board", BOARD.name)


def linked(folder: Path, work: Path, main: str, weights: str = "net_weights.c") -> Path:
    """A program for the board of this code, with this main."""
    (work / "main.c").write_text(main)
    where = {"work_folder": work / "objects", "include_folders": [folder]}
    return build_program(BOARD, [folder / "net.c", folder / weights, work / "main.c"], work / "app.elf", **where)


@needs_cross_compiler
@needs_qemu
def test_on_a_board_pushes_give_the_bits_of_a_run_and_the_check_proves_every_byte(classifier, tmp_path):
    folder, plan = classifier
    elf = linked(folder, tmp_path, program(type_name="int8_t", turns=4))
    assert run_program(elf, BOARD, work_folder=tmp_path).exit_code == 0
    checked = aidge_build("check", elf, "--board", BOARD.name, "--plan", folder / "net.plan.json")
    assert checked.exit_code == 0, checked
    assert f"rows {plan['rows']['progress_bytes']} B = plan" in checked.stdout
    assert read_image(elf).symbol("net_rows").size_bytes == plan["rows"]["progress_bytes"]
    assert "net_push_input" in checked.stdout  # the deepest way goes through the push, whose stack is bounded


@needs_cross_compiler
def test_a_firmware_that_only_pushes_rows_has_its_stack_bound_and_its_generation_checked(classifier, tmp_path):
    folder, _ = classifier
    body = "static int8_t row[13], out[8];\nint main(void)\n{\n    int left = 23;\n    (void)net_begin(out);\n"
    body += "    while (left-- > 0)\n        (void)net_push_input(row, 1);\n    return net_end();\n}\n"

    def checked(weights: str) -> Result:
        elf = linked(folder, tmp_path, f'#include "net.h"\n{body}', weights)
        return aidge_build("check", elf, "--board", BOARD.name, "--json")

    result = checked("net_weights.c")
    assert result.exit_code == 0 and not result.json["findings"], result
    assert result.json["models"][0]["stack_bound_bytes"] > 100
    digest = re.search(r"NET_HEADER_(\w{12})", (folder / "net.h").read_text())[1]
    stale = (folder / "net_weights.c").read_text().replace(digest, "0123456789ab")
    (folder / "stale.c").write_text(stale)
    result = checked("stale.c")
    assert result.exit_code == 1 and "MEM04" in result.stdout, result


def test_what_waits_for_rows_is_checked_as_memory_of_its_own(tmp_path):
    """Its bytes in the ELF are those of the plan on a target with wide pointers, too, and nobody else may have them."""
    data, type_name, _ = MODELS["an int8 classifier"]
    compiled(tmp_path, data, "--cpu", "host")
    (tmp_path / "main.c").write_text(program(type_name=type_name))
    sources = [str(tmp_path / name) for name in ("net.c", "net_weights.c", "main.c")]
    elf = tmp_path / "app"
    subprocess.run(["gcc", "-std=c99", *sources, "-lm", "-o", str(elf)], check=True)
    checked = aidge_build("check", elf)
    assert checked.exit_code == 0 and re.search(r"rows \d+ B = plan", checked.stdout), checked
    code = (tmp_path / "net.c").read_text()
    (tmp_path / "net.c").write_text(
        code.replace("    uint16_t step;\n} net_progress;", "    uint16_t step[9];\n} net_progress;", 1)
        .replace("at->step", "at->step[0]")
        .replace("net_rows.step", "net_rows.step[0]")
    )
    subprocess.run(["gcc", "-std=c99", *sources, "-lm", "-o", str(elf)], check=True)
    checked = aidge_build("check", elf)
    assert checked.exit_code == 1 and "MEM02" in checked.stdout and "rows net_rows" in checked.stdout, checked


@needs_cross_compiler
@needs_qemu
def test_verify_collects_the_layers_of_a_model_by_rows_from_their_bands(tmp_path):
    data, _, _ = MODELS["an int8 classifier"]
    (tmp_path / "net.onnx").write_bytes(data)
    x = numpy.random.default_rng(7).integers(-128, 128, (3, 1, 1, 23, 13)).astype(numpy.int8)
    numpy.savez(tmp_path / "io.npz", x=x)
    common = ("--io-data", tmp_path / "io.npz", "--input", "rows", "--layers", "--json", "--board", "mps2-an386")
    result = aidge_build("verify", tmp_path / "net.onnx", *common)
    assert result.exit_code == 0 and result.json["differing_values"] == 0, result


def test_the_header_says_how_many_rows_there_are_and_the_codes(tmp_path):
    data, _, _ = MODELS["an int8 classifier"]
    plan = compiled(tmp_path, data, "--cpu", "cortex-m4")
    header = (tmp_path / "net.h").read_text()
    assert "#define NET_INPUT_ROWS 23\n" in header and "#define NET_INPUT_ROW_BYTES 13\n" in header
    assert "enum { NET_OK = 0, NET_POINTER = 1, NET_MORE = 2, NET_ORDER = 3 };" in header
    for declared in ("begin(int8_t *output)", "push_input(const int8_t *rows, int32_t count)", "end(void)", "cancel(void)"):
        assert f" net_{declared};" in header
    kept = plan["rows"]
    assert (kept["rows"], kept["row_bytes"]) == (23, 13) and kept["kept_rows"] < 23


def test_a_model_without_rows_keeps_its_header(tmp_path):
    (tmp_path / "net.onnx").write_bytes(image_classifier())
    assert aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--cpu", "cortex-m4").exit_code == 0
    header = (tmp_path / "net.h").read_text()
    assert not re.search(r"ROWS|net_begin|net_end|NET_OK|enum", header)
    assert "net_rows" not in (tmp_path / "net.c").read_text()


REFUSED = {
    "two inputs": (
        model("y = Add(x, z)", inputs="float[1,1,8,4] x, float[1,1,8,4] z", outputs="float[1,1,8,4] y"),
        "the model has 2 inputs, and rows come of one alone",
    ),
    **WITHOUT_ROWS,
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_input_that_cannot_come_by_rows_is_refused_in_one_line_that_says_why(name, tmp_path):
    data, reason = REFUSED[name]
    (tmp_path / "net.onnx").write_bytes(data)
    made = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--cpu", "host", "--input", "rows")
    assert made.exit_code == 2 and reason in made.stderr, made
    assert "--input whole" in made.stderr and made.stderr.count("\n") == 1, made


def test_a_budget_below_the_smallest_plan_by_rows_is_refused_with_that_plan(tmp_path):
    data = image_classifier(height=11, width=7)
    (tmp_path / "net.onnx").write_bytes(data)
    words = ("--cpu", "cortex-m4", "--input", "rows")
    made = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, *words, "--ram-budget", "100")
    found = re.search(r"ram_budget=(\d+) is met", made.stderr)
    assert made.exit_code == 2 and found, made
    assert compiled(tmp_path, data, "--cpu", "cortex-m4", "--ram-budget", found[1])["peak_bytes"] <= int(found[1])
