# SPDX-License-Identifier: MIT
"""`bench` measures a folder of models, and fails when an instruction count grew; a sample of the recorded figures."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy
import pytest

from aidge_build.base.machine import CROSS_COMPILER
from aidge_build.measure.bench.other_weights import with_other_weights
from aidge_build.sources.onnx_format.reader import read_model
from tests.command import aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler, needs_qemu
from tests.shared import MLPERF_TINY, shared

pytestmark = [needs_cross_compiler, needs_qemu]
ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "benchmarks.json"
PAGE = "before\n<!-- figures: begin (written by `./sconsw bench --update`) -->\nold\n<!-- figures: end -->\nafter\n"


@pytest.fixture
def folder(tmp_path):
    """A folder of one small model with two vectors, whose reference is the numpy backend."""
    shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", tmp_path / "digits_int8_qdq.onnx")
    images = numpy.random.Generator(numpy.random.PCG64(7)).integers(-128, 128, (2, 8, 8, 1))
    numpy.savez(tmp_path / "digits_io.npz", x=images.astype(numpy.int8))
    return tmp_path


@pytest.fixture
def float_folder(tmp_path):
    """A folder of one tiny float32 model."""
    text = "a = Relu(x) b = Sigmoid(a) y = Add(x, b)"
    (tmp_path / "toy_float.onnx").write_bytes(model(text, inputs="float[1,40] x", outputs="float[1,40] y"))
    numpy.savez(tmp_path / "toy_io.npz", x=numpy.linspace(-3, 3, 80, dtype=numpy.float32).reshape(2, 1, 40))
    return tmp_path


def measured(folder: Path, *words) -> dict:
    result = aidge_build("bench", folder, *words, "--json")
    assert result.exit_code == 0, result.stderr
    return result.json


def test_figures_are_recorded_and_one_more_instruction_is_a_failure(float_folder):
    folder = float_folder
    record, page = folder / "figures.json", folder / "figures.md"
    page.write_text(PAGE)
    (entry,) = measured(folder, "--update", record)["results"]
    assert entry["differing_values"] == 0 and entry["cycles"] > entry["instructions"] > 80 and entry["model"] == "toy"
    assert sum(layer["instructions"] for layer in entry["layers"]) <= entry["instructions"]
    assert page.read_text().startswith("before\n") and page.read_text().endswith("after\n")
    assert f"{entry['instructions']:,}" in page.read_text()
    kept = json.loads(record.read_text())

    def checked(instructions: int, compiler: str = kept["compiler"]):
        layers = [
            [name, kernel, count - (index == 2) * (entry["instructions"] - instructions)]
            for index, (name, kernel, count) in enumerate(kept["results"][0]["layers"])
        ]
        results = [{**kept["results"][0], "instructions": instructions, "layers": layers}]
        record.write_text(json.dumps({**kept, "compiler": compiler, "results": results}))
        return aidge_build("bench", folder, "--check", record)

    same, worse, better = (checked(entry["instructions"] + change) for change in (0, -1, 1))
    assert (same.exit_code, worse.exit_code, better.exit_code) == (0, 1, 0)
    assert "no time on mps2-an386: the board's file states no clock" in same.stdout
    assert "no count became worse" in same.stdout and "1 counts became worse" in worse.stdout
    assert f"(+1); most in '{entry['layers'][2]['name']}'" in worse.stdout
    assert "(-1)" in better.stdout and "--update" in better.stdout
    fewer = aidge_build("bench", folder, "--check", record, "--vectors", "1")
    assert fewer.exit_code == 2 and "measured with 1 vector, recorded with 2" in fewer.stderr
    other = checked(entry["instructions"], "another 1.0")
    assert other.exit_code == 3 and "not comparable" in other.stderr


def test_a_folder_that_is_not_there_is_something_missing(tmp_path):
    result = aidge_build("bench", tmp_path / "models")
    assert result.exit_code == 3 and "is not there" in result.stderr
    assert aidge_build("bench", tmp_path).exit_code == 2


def test_models_called_as_one_likes_are_measured_without_vectors(tmp_path):
    shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", tmp_path / "mine.onnx")
    (tmp_path / "notes.txt").write_text("")
    (entry,) = measured(tmp_path, "--html", tmp_path / "bench.html")["results"]
    assert (entry["model"], entry["vectors"], entry["differing_values"]) == ("mine", 1, 0) and entry["instructions"] > 10_000
    assert "| mine | cortex-m4 |" in aidge_build("bench", tmp_path).stdout and "mine" in (tmp_path / "bench.html").read_text()
    shutil.copy(tmp_path / "mine.onnx", tmp_path / "named_int8_qdq.onnx")
    assert aidge_build("bench", tmp_path, "--models", "mine").stderr.count("holds no model 'mine'") == 1
    assert "holds no model of this type of data" in aidge_build("bench", tmp_path, "--data", "float").stderr


def test_a_model_that_is_refused_is_named_with_the_reason_and_the_others_are_measured(float_folder):
    (float_folder / "broken_float.onnx").write_bytes(b"no model")
    result = aidge_build("bench", float_folder, "--out", float_folder / "figures.json")
    assert result.exit_code == 2 and "| toy | cortex-m4 |" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("broken float on mps2-an386 is refused: ")
    (refused,) = json.loads((float_folder / "figures.json").read_text())["refused"]
    assert refused["title"] == "broken float on mps2-an386" and refused["what"] and refused["hint"]
    recording = aidge_build("bench", float_folder, "--update", float_folder / "record.json")
    assert recording.exit_code == 2 and "broken_float.onnx" in recording.stderr.splitlines()[-1]
    assert not (float_folder / "record.json").exists()  # it is of all models
    alone = aidge_build("bench", float_folder, "--models", "broken")
    assert alone.exit_code == 2 and alone.stdout == "" and "broken_float.onnx" in alone.stderr


def test_the_page_shows_every_layer_and_needs_nothing_from_elsewhere(folder):
    page, figures = folder / "bench.html", folder / "bench.json"
    peers = folder / "peers.json"
    peers.write_text('{"tflm_cmsis_nn": {"instructions": {"cortex-m4": {"digits": 1234567}}}}')
    found = measured(folder, "--boards", "mps2-an386,mps3-an547", "--html", page, "--out", figures, "--peers", peers)
    text = page.read_text()
    assert json.loads(figures.read_text())["results"] == found["results"]
    assert [entry["cpu"] for entry in found["results"]] == ["cortex-m4", "cortex-m55"]
    for entry in found["results"]:
        assert all(f"{layer['instructions']:,}" in text and layer["kernel"] in text for layer in entry["layers"])
    assert text.count('class="bars"') >= sum(len(entry["layers"]) for entry in found["results"])
    assert not re.search(r"https?:|<script|<link|url\(", text)
    assert "CMSIS-NN 1,234,567" in text and "prefers-color-scheme: dark" in text


def test_weights_in_another_order_are_measured_beside_the_stored_ones(folder):
    (found,) = measured(folder, "--other-weights", 1)["results"]
    counts = found["instructions_other_weights"]
    assert len(counts) == 1 and found["differing_values"] == 0 and found["model"] == "digits"
    assert max(counts) < 2 * min(counts) and found["instructions"] <= found["instructions_all_channels"]
    result = aidge_build("bench", folder, "--other-weights", 0)
    assert result.exit_code == 2 and "at least 1" in result.stderr


def test_other_weights_are_the_same_numbers_in_an_order_that_the_seed_decides():
    original = (ROOT / "examples" / "digits" / "digits.onnx").read_bytes()
    made = [with_other_weights(original, seed) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
    before, after = (read_model(data, "", {}).initializers for data in (original, made[0]))
    changed = [name for name in before if (before[name] != after[name]).any()]
    assert {(before[name].dtype.name, before[name].ndim > 1) for name in changed} == {("int8", True)}
    for name in changed:
        rows = [numpy.sort(weights[name].reshape(len(weights[name]), -1), axis=1) for weights in (before, after)]
        assert (rows[0] == rows[1]).all() and before.keys() == after.keys()


def test_the_recorded_figures_still_hold():
    """A sample; all of them: ./sconsw bench --check. Faster is fine: the hint says how to record it."""
    record = json.loads(RECORD.read_text())
    if record["compiler"] != f"{CROSS_COMPILER.name} {CROSS_COMPILER.version()}":
        pytest.skip(f"the figures were recorded with {record['compiler']}")
    result = aidge_build(
        "bench",
        shared(MLPERF_TINY),
        "--models",
        "sww_dscnn1d",
        "--boards",
        "mps2-an386,mps2-an500,mps2-an505,mps3-an547",
        "--check",
        RECORD,
        "--json",
    )
    print("\n".join(result.json["better"]))
    assert result.exit_code == 0, "\n".join(result.json["worse"])
    counts = {entry["cpu"]: entry["instructions"] for entry in result.json["results"]}
    for cpu in ("cortex-m7", "cortex-m33"):
        assert abs(counts[cpu] - counts["cortex-m4"]) <= 0.05 * counts["cortex-m4"], counts
