# SPDX-License-Identifier: MIT
"""docs/quantization.md: its commands run as they are written, and its table of options is that of the scheme."""

from __future__ import annotations

import ast
import dataclasses
import re
import shlex
from pathlib import Path

import numpy
import pytest

from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.prepare.quantization.scheme import CALIBRATIONS
from tests.command import aidge_build
from tests.models import model

SAMPLES = numpy.random.default_rng(1).normal(size=(5, 1, 1, 4, 4)).astype(numpy.float32)
TEXT = (Path(__file__).resolve().parents[2] / "docs" / "quantization.md").read_text()
NETWORK = model(
    "conv1 = Conv (image, w) scores = Relu (conv1)",
    inputs="float[1,1,4,4] image",
    outputs="float[1,2,2,2] scores",
    constants={"w": SAMPLES.reshape(-1)[:18].reshape(2, 1, 3, 3)},
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A float model and its samples by the names that the document has."""
    monkeypatch.chdir(tmp_path)
    Path("float.onnx").write_bytes(NETWORK)
    return tmp_path


def test_its_command_quantizes_with_samples_written_as_it_says(folder):
    (written,) = re.findall(r"`(numpy\.savez\(.*?\))`", TEXT)
    exec(written, {"numpy": numpy, "images": SAMPLES})
    (command,) = re.findall(r"^aidge-build (quantize .*)$", TEXT, re.MULTILINE)
    done = aidge_build(*shlex.split(command))
    assert done.exit_code == 0 and Path("int8.onnx").read_bytes() == quantize(NETWORK, {"x": SAMPLES}), done.stderr


def test_its_call_in_python_quantizes():
    (call,) = re.findall(r"`aidge_build\.quantization\.(quantize\(.*\))`", TEXT)
    made = eval(call, {"quantize": quantize, "Scheme": Scheme, "model_bytes": NETWORK, "samples": SAMPLES})
    assert b"QuantizeLinear" in made


def test_its_table_of_options_has_their_names_values_and_defaults(folder):
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", TEXT, re.MULTILINE))
    named = {"ranges": "calibration", "layer_types": "layers"}
    fields = {field.name for field in dataclasses.fields(Scheme)}
    assert {named.get(name, name) for name in rows} <= fields and len(rows) == 5
    assert rows["ranges"].startswith(f"**{Scheme().calibration}**") and all(word in rows["ranges"] for word in CALIBRATIONS)
    types = ast.literal_eval(re.match(r"`({.*?})`", rows["layer_types"])[1])
    Scheme(layers=types)
    words = ["--calibration", "calibration.npz", *(f"--layer-types={layer}={kind}" for layer, kind in types.items())]
    numpy.savez("calibration.npz", x=SAMPLES)
    assert aidge_build("quantize", "float.onnx", *words, "--out", "q.onnx").exit_code == 0
