# SPDX-License-Identifier: MIT
"""`verify --against`: a model beside the firmware of before, both called with the same inputs."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.plan.program import Program
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.prove.elf.claim import claim_from
from aidge_build.run.emulate.model_calls import instance_bytes
from tests.command import Result, aidge_build
from tests.compiled import request_of
from tests.models import model as model_of
from tests.programs import needs_cross_compiler
from tests.small_model import small_model
from tests.stateful import MODELS

pytestmark = needs_cross_compiler
BOARD, VECTORS = "stm32f4", 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two models of one shape, one of another, and vectors."""
    made = tmp_path_factory.mktemp("against")
    for name, model in (("a", small_model()), ("b", small_model(seed=3)), ("wide", small_model(outputs=4))):
        (made / f"{name}.onnx").write_bytes(model)
    numpy.savez(made / "io.npz", x=numpy.random.default_rng(0).integers(-128, 128, (VECTORS, 1, 8)).astype(numpy.int8))
    return made


def verified(folder: Path, model: str, *words) -> Result:
    return aidge_build("verify", folder / f"{model}.onnx", "--board", BOARD, "--io-data", folder / "io.npz", *words)


def linked(folder: Path, name: str, *words: str) -> tuple[Path, dict]:
    """The program of model a with these options, and what `verify` says of it."""
    done = verified(folder, "a", "--keep", folder / name, *words, "--json")
    assert done.exit_code == 0, done
    return folder / name / "model.elf", done.json


@pytest.fixture(scope="module")
def old(folder) -> tuple[Path, dict]:
    return linked(folder, "old", "--lib", "ref")


def meant(folder: Path, model: str) -> numpy.ndarray:
    program: Program = build_program(request_of((folder / f"{model}.onnx").read_bytes(), model, load_board("host")))
    values = run_in_order(program.view, {program.view.given[0]: numpy.load(folder / "io.npz")["x"]})
    return values[program.view.handed_out[0]].astype(int)


def test_another_build_of_one_file_has_the_same_values_and_figures_of_its_own(folder, old):
    elf, known = old
    done = verified(folder, "a", "--against", elf, "--lib", "cortexm,ref", "--json")
    data = done.json
    now = verified(folder, "a", "--json").json
    assert data["ok"] and data["same_model_file"] and (data["values"], data["differing_values"]) == (VECTORS * 3, 0)
    for side, wanted in (("old", known), ("new", now)):
        assert data[side]["instructions"] == wanted["instructions_per_inference"]
        assert data[side]["ram_bytes"] == wanted["arena_bytes"]
        assert (data[side]["code_bytes"], data[side]["weights_bytes"]) == tuple(wanted["flash_bytes"].values())
    checked = aidge_build("check", elf, "--board", BOARD, "--json").json
    assert data["old"]["stack_bytes"] == checked["models"][0]["stack_bound_bytes"]
    assert data["old"]["instructions"] > data["new"]["instructions"]


def test_the_new_program_has_the_options_of_the_old_one_unless_the_command_says_others(folder, old):
    same = verified(folder, "a", "--against", old[0])
    assert same.stdout.splitlines()[2] == "options of both: --board=stm32f4 --lib=ref"
    rows = [line.split() for line in same.stdout.splitlines() if line.endswith("  0")]
    assert len(rows) == 5, same  # nothing changed
    other = verified(folder, "a", "--against", old[0], "--lib", "cortexm,ref", "--optimize", "size")
    assert other.stdout.splitlines()[2] == "options: old --lib ref --optimize balanced; new --lib cortexm,ref --optimize size"


def test_another_model_is_compared_value_by_value_and_is_no_failure(folder, old):
    done = verified(folder, "b", "--against", old[0], "--json")
    difference = numpy.abs(meant(folder, "a") - meant(folder, "b"))
    assert done.exit_code == 0 and not done.json["same_model_file"]
    assert done.json["differing_values"] == numpy.count_nonzero(difference) > 0
    assert done.json["max_difference"] == difference.max()
    table = verified(folder, "b", "--against", old[0], "--markdown").stdout
    assert "| | old | new | change |\n|---|---:|---:|---:|\n| RAM of the model, bytes |" in table


def test_programs_with_other_input_scales_get_stored_samples_by_their_own(folder, old, tmp_path):
    (tmp_path / "coarse.onnx").write_bytes(small_model(scale=0.1))
    even = 2 * numpy.random.default_rng(1).integers(-60, 60, (VECTORS, 1, 8)) + 3  # exact in both scales
    stored = {"x": even.astype(numpy.int8), "x_scale": numpy.float32(0.05), "x_zero_point": 3}
    numpy.savez(tmp_path / "io.npz", **stored)
    words = ("--board", BOARD, "--io-data", tmp_path / "io.npz", "--against", old[0])
    done = aidge_build("verify", tmp_path / "coarse.onnx", "--name", "model", *words)
    assert "(largest difference 1)" in done.stdout or "0 of 12 values differ" in done.stdout, done  # biases are rounded
    line = "x: stored with scale 0.0500000007 and zero point 3, converted to the input's scale 0.100000001 and zero point 3"
    assert line in done.stdout.splitlines()


def test_one_file_with_other_values_is_a_failure(folder, old, tmp_path):
    image, data = read_image(old[0]), bytearray(old[0].read_bytes())
    (claim,) = read_claims(image)
    weights = image.symbol("model_gemm_7_weights") or image.symbol(claim.weights[-1])
    assert weights is not None
    place = data.index(image.content(weights))
    data[place : place + weights.size_bytes] = bytes(weights.size_bytes)
    (tmp_path / "broken.elf").write_bytes(data)
    done = verified(folder, "a", "--against", tmp_path / "broken.elf")
    assert done.exit_code == 1 and "FAILED: the same model file gives other values" in done.stdout, done


CALLER = ("--arena", "caller")


@pytest.mark.parametrize(
    "words",
    [
        ("--io", "arena"),
        ("--update", "weights"),
        CALLER,
        (*CALLER, "--io", "arena"),
        (*CALLER, "--max-step", "5000"),
        (*CALLER, "--update", "weights", "--integrity", "on", "--io", "arena"),
    ],
    ids=" ".join,
)
def test_memory_and_weights_that_the_firmware_hands_over_are_as_in_the_firmware(folder, words):
    elf, known = linked(folder, "-".join(words), *words)
    data = verified(folder, "a", "--against", elf, "--json").json
    assert data["ok"] and data["differing_values"] == 0 and data["old"]["ram_bytes"] == data["new"]["ram_bytes"] > 0
    assert abs(data["old"]["instructions"] - known["instructions_per_inference"]) <= 1


SIZE = """
#include "net.h"
_Static_assert(sizeof(net_instance) > 4096 && sizeof(net_instance) <= ROOM, "room");
"""


def test_an_instance_of_a_model_with_many_counted_outputs_has_room(tmp_path):
    text = " ".join(f"y{number} = Add(x, w)" for number in range(70))
    outputs = ", ".join(f"float[1,64] y{number}" for number in range(70))
    data = model_of(text, inputs="float[1,64] x", outputs=outputs, constants={"w": numpy.ones((1, 64), numpy.float32)})
    request = request_of(data, "net.onnx", load_board("host"))
    made = emit(build_program(replace(request, options=replace(request.options, monitor="on", arena="caller"))))
    room = instance_bytes(claim_from(made.manifest["claim"]).passed)
    (tmp_path / "net.h").write_bytes(made.files["net.h"])
    (tmp_path / "size.c").write_text(SIZE.replace("ROOM", str(room)))
    subprocess.run(["cc", "-c", str(tmp_path / "size.c"), "-o", str(tmp_path / "size.o")], check=True)


def test_programs_that_cannot_get_the_same_bytes_are_refused(folder, old):
    refused = verified(folder, "wide", "--against", old[0])
    assert refused.exit_code == 2 and "output int8 [1, 3]" in refused.stderr and "output int8 [1, 4]" in refused.stderr
    (folder / "sum.onnx").write_bytes(MODELS["a running sum in place"].file())
    numpy.savez(folder / "sum.npz", x=numpy.ones((VECTORS, 1, 4), numpy.float32))
    words = ("--board", BOARD, "--io-data", folder / "sum.npz", *CALLER, "--state=n=s")
    assert aidge_build("verify", folder / "sum.onnx", *words, "--keep", folder / "sum").exit_code == 0
    refused = aidge_build("verify", folder / "sum.onnx", *words, "--against", folder / "sum" / "model.elf")
    assert refused.exit_code == 2 and "the firmware owns its state" in refused.stderr
    refused = verified(folder, "a", "--against", old[0], "--name", "kws")
    assert refused.exit_code == 2 and "its models are model" in refused.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--layers",), "--layers: does not fit --against"),
        (("--label-array", "y"), "--label-array: does not fit --against"),
        (("--board", "host"), "can only be called in Unicorn"),
    ],
)
def test_options_that_do_not_belong_together(folder, old, words, reason):
    refused = verified(folder, "a", "--against", old[0], *words)
    assert refused.exit_code == 2 and reason in refused.stderr, refused
    lonely = verified(folder, "a", "--markdown")
    assert lonely.exit_code == 2 and "--markdown: works only with --against" in lonely.stderr
