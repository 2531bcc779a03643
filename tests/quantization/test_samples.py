# SPDX-License-Identifier: MIT
"""Calibration data that is none: refused in one line each, with a hint, before anything is computed."""

from __future__ import annotations

import numpy
import onnx
import pytest

from aidge_build.prepare.quantization.samples import checked_samples
from tests.command import aidge_build
from tests.models import graph, model
from tests.quantization.networks import samples, small_cnn

GOOD = samples(6)["x"]
HOLED = GOOD.copy()
HOLED[2, 0, 1, 3, 3] = numpy.nan
HOLED[4, 0, 0, 0, 0] = numpy.inf


@pytest.mark.requirement("CALIBRATION")
@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": GOOD[:, :, :2]}, "array x has the dims [6, 1, 2, 8, 8], input 'x' wants [samples, 1, 3, 8, 8] of float32. Hint: "),
        (
            {"x": GOOD.astype(numpy.int8)},
            "array x is int8, input 'x' wants [samples, 1, 3, 8, 8] of float32. Hint: give the values",
        ),
        ({"x": GOOD.astype(str)}, "array x is <U"),
        (
            {"x": HOLED},
            "array x holds NaN or infinity in 2 of 6 samples. Hint: the first one has the index 2: leave such samples out",
        ),
        ({"x": GOOD.astype(float) * 1e300}, "array x holds NaN or infinity in 6 of 6 samples. Hint: "),
        ({"x": GOOD[:0]}, "array x holds no sample. Hint: "),
        ({"z": GOOD}, "there is no array for input 'x'; the arrays are: z. Hint: name it x: numpy.savez(file, x=samples)"),
        ({"x": numpy.float32(1)}, "array x has the dims [], input 'x' wants"),
        ({}, "there is no array for input 'x'; the arrays are: none. Hint: "),
    ],
)
@pytest.mark.filterwarnings("error")
def test_data_that_are_no_samples_are_refused(tmp_path, arrays, said):
    (tmp_path / "net.onnx").write_bytes(small_cnn())
    numpy.savez(tmp_path / "cal.npz", **arrays)
    found = aidge_build("quantize", tmp_path / "net.onnx", "--calibration", tmp_path / "cal.npz", "--out", tmp_path / "q.onnx")
    assert found.exit_code == 2 and found.stdout == "" and found.stderr.count("\n") == 1
    assert found.stderr.startswith(f"aidge-build: {tmp_path / 'cal.npz'}: ") and said in found.stderr
    assert not (tmp_path / "q.onnx").exists()


@pytest.mark.requirement("CALIBRATION")
def test_samples_of_two_inputs_are_found_by_name_and_must_be_as_many():
    view = graph("y = Add (a, b)", inputs="float[1,3] a, float[1,3] b", outputs="float[1,3] y")
    values = numpy.ones((4, 1, 3), numpy.float32)
    assert {name: len(array) for name, array in checked_samples({"a": values, "x_b": values[:, 0]}, view).items()} == {
        "a": 4,
        "b": 4,
    }
    with pytest.raises(Exception, match="different numbers of samples: 4 of 'a', 3 of 'b'"):
        checked_samples({"a": values, "b": values[:3]}, view)


def test_stored_integers_feed_a_float_input_through_their_scale():
    view = graph("y = Relu (x)", inputs="float[1,3] x", outputs="float[1,3] y")
    arrays = {"x": numpy.uint8([[0, 128, 255]]), "x_scale": numpy.float32(0.5), "x_zero_point": numpy.float32(128)}
    assert checked_samples(arrays, view)["x"].tolist() == [[[-64.0, 0.0, 63.5]]]


def test_the_verb_writes_the_file_and_says_what_stays_in_float(tmp_path):
    nodes = "a = Relu (x) y = LpNormalization <axis = 1> (a)"
    (tmp_path / "net.onnx").write_bytes(model(nodes, inputs="float[1,3] x", outputs="float[1,3] y"))
    numpy.savez(tmp_path / "cal.npz", x=numpy.random.default_rng(1).normal(size=(100, 3)).astype(numpy.float32))
    words = ["quantize", tmp_path / "net.onnx", "--calibration", tmp_path / "cal.npz", "--out", tmp_path / "new/q.onnx"]
    found = aidge_build(*words)
    assert found.exit_code == 0, found.stderr
    assert "LpNormalization stays in float32: LpNormalization_1" in found.stdout and found.stderr == ""
    first = (tmp_path / "new/q.onnx").read_bytes()
    assert aidge_build(*words).exit_code == 0 and (tmp_path / "new/q.onnx").read_bytes() == first
    assert aidge_build(*words[:-1], tmp_path / "net.onnx").exit_code == 2  # never over the float model


def test_the_verb_compares_with_all_bytes_of_a_float_model_whose_weights_are_in_a_file_of_their_own(tmp_path):
    weights = numpy.random.default_rng(1).normal(size=(64, 64)).astype(numpy.float32)
    whole = onnx.load_from_string(model("y = MatMul (x, w)", inputs="float[1,64] x", outputs="float[1,64] y"))
    whole.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save_model(whole, tmp_path / "net.onnx", save_as_external_data=True, location="net.onnx.data", size_threshold=0)
    numpy.savez(tmp_path / "cal.npz", x=numpy.random.default_rng(2).normal(size=(100, 64)).astype(numpy.float32))
    words = ["quantize", tmp_path / "net.onnx", "--quantize", tmp_path / "cal.npz", "--out", tmp_path / "q.onnx"]
    found = aidge_build(*words)
    assert found.exit_code == 0, found.stderr
    size = sum((tmp_path / name).stat().st_size for name in ("net.onnx", "net.onnx.data"))
    assert f"the float model has {size:,} B" in found.stdout and "the ONNX file is larger" not in found.stdout
