# SPDX-License-Identifier: MIT
"""Inference in steps: any sequence of steps computes what N_run does, what is left changes nothing, and no step is too long."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from aidge_build.boards import load_board
from aidge_build.prove.elf import read_claims
from aidge_build.prove.elf.image import read_image
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.programs import needs_cross_compiler, needs_qemu
from tests.row_models import image_classifier, image_filter, running_image
from tests.sanitized import code_of, sanitized
from tests.step_models import program

MAX_STEP = 100_000  # the smallest that all of these models allow, without an FPU
MODELS = {
    "an int8 classifier": (image_classifier(height=64, width=16), "int8_t", False),
    "a float filter that writes rows": (image_filter(), "float", False),
    "a state": (running_image(), "float", True),
}
WAYS = {"io=caller": (), "io=arena": ("--io", "arena"), "arena=caller": ("--arena", "caller")}
WAYS["both"] = (*WAYS["io=arena"], *WAYS["arena=caller"])
CASCADES = ("--memory-model", "cascade")
ALL = [(name, way, more) for name in MODELS for way in WAYS for more in ((), CASCADES)]
SOME = [
    ("an int8 classifier", "io=caller", CASCADES),
    ("a float filter that writes rows", "arena=caller", ()),
    ("a state", "both", ()),
    ("a state", "io=caller", CASCADES),
]


def compiled(folder: Path, data: bytes, *words: str, max_step: int = MAX_STEP) -> dict:
    (folder / "net.onnx").write_bytes(data)
    made = aidge_build("compile", folder / "net.onnx", "--out", folder, "--max-step", str(max_step), "--json", *words)
    assert made.exit_code == 0, made
    return made.json


@pytest.mark.requirement("G10")
@pytest.mark.parametrize("name, way, more", ALL if "AIDGE_STRESS" in os.environ else SOME)
def test_steps_give_the_bits_of_a_run_and_what_is_left_changes_nothing(name, way, more, tmp_path):
    data, type_name, has_state = MODELS[name]
    state = ("--state", "n=s") if has_state else ()
    compiled(tmp_path, data, "--cpu", "host", *WAYS[way], *state, *more)
    words = WAYS[way]
    options = {"io" if word == "--io" else "arena": value for word, value in zip(words[::2], words[1::2], strict=True)}
    (tmp_path / "main.c").write_text(program(type_name=type_name, max_step=MAX_STEP, has_state=has_state, **options))
    assert code_of(sanitized(tmp_path)) == 0


def test_a_model_without_the_option_has_no_word_of_steps(tmp_path):
    (tmp_path / "net.onnx").write_bytes(image_classifier())
    assert aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--cpu", "cortex-m4").exit_code == 0
    header, code = ((tmp_path / f"net.{ending}").read_text() for ending in ("h", "c"))
    assert not re.search(r"STEP|net_begin|net_step|NET_OK|enum", header)
    assert "progress" not in code and '"steps"' not in (tmp_path / "net_weights.c").read_text()


def test_steps_and_an_input_by_rows_are_refused_together_with_the_reason(tmp_path):
    (tmp_path / "net.onnx").write_bytes(image_classifier())
    made = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--max-step", "9000", "--input", "rows")
    assert made.exit_code == 2 and "N_push computes all that its rows allow" in made.stderr, made
    made = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--max-step", "0")
    assert made.exit_code == 2 and "--max-step" in made.stderr, made


@needs_cross_compiler
@needs_qemu
def test_where_steps_wait_is_in_the_claim_and_a_step_that_is_too_long_is_a_failed_check(tmp_path):
    data, type_name, _ = MODELS["an int8 classifier"]
    board = load_board("mps2-an386")
    compiled(tmp_path, data, "--board", board.name, max_step=90_000)
    (tmp_path / "main.c").write_text(program(type_name=type_name, max_step=90_000, turns=3))
    sources = [tmp_path / name for name in ("net.c", "net_weights.c", "main.c")]

    folders = {"work_folder": tmp_path / "objects", "include_folders": [tmp_path]}
    elf = build_program(board, sources, tmp_path / "app.elf", **folders)
    checked = aidge_build("check", elf, "--board", board.name)
    assert checked.exit_code == 0 and "steps 20 B = plan" in checked.stdout, checked
    (claim,) = read_claims(read_image(elf))
    assert claim.max_step == 90_000 and claim.step_symbol == "net_step" and claim.step_count >= 5
    ran = aidge_build("run", elf, "--board", board.name, "--json")
    other = aidge_build("run", elf, "--board", board.name, "--json", "--emulator", "qemu")
    assert ran.json["steps"] == other.json["steps"], other
    assert ran.json["exit_code"] == 0 and 0 < ran.json["steps"]["longest"] <= 90_000, ran  # RUN01: it passes null pointers, too
    (bound,) = aidge_build("check", elf, "--board", board.name, "--json").json["steps"]
    longest = ran.json["steps"]["longest"]
    assert longest <= bound["longest"] <= 90_000 and f"at most {bound['longest']:,} instructions for any input" in checked.stdout
    # The same program, which now promises less than it keeps.
    elf.write_bytes(elf.read_bytes().replace(b'"max_step":90000', b'"max_step":%05d' % (longest - 1)))
    ran = aidge_build("run", elf, "--board", board.name)
    assert (
        ran.exit_code == 1
        and f"error INS02: a step takes {longest:,} instructions, the model promises at most {longest - 1:,}" in ran.stdout
    ), ran
    checked = aidge_build("check", elf, "--board", board.name)
    assert checked.exit_code == 1 and f"error INS02: a step of net may take {bound['longest']:,} instructions" in checked.stdout
