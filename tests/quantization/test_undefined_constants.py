# SPDX-License-Identifier: MIT
"""NaN and infinity in a float model that is quantized: refused by name where integers would stand for them."""

from __future__ import annotations

import numpy
import onnx
import pytest
from onnx import numpy_helper

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.prepare.quantization import Scheme, quantized
from aidge_build.prepare.quantization.nearness import Nearness
from tests.command import aidge_build
from tests.models import model
from tests.quantization.networks import graph_of, samples, small_cnn

WEIGHTS = numpy.random.default_rng(5).normal(size=(6, 4)).astype(numpy.float32)
SCORES = {"x": numpy.random.default_rng(6).normal(size=(8, 1, 6)).astype(numpy.float32)}
HIDDEN = numpy.array([[True, False, True, True]])
LAST_IN_FLOAT = Scheme(layers={"y": "float32"}, io_type="float32")

pytestmark = pytest.mark.filterwarnings("error")


def holed(name: str, value: float) -> bytes:
    """The small CNN with this value as the first of a constant."""
    network = onnx.load_from_string(small_cnn())
    tensor = next(one for one in network.graph.initializer if one.name == name)
    values = numpy_helper.to_array(tensor).copy()
    values.flat[0] = value
    tensor.CopyFrom(numpy_helper.from_array(values, name))
    return network.SerializeToString()


def masked(nodes: str, value: float) -> bytes:
    """Four scores, the second behind this value."""
    mask = numpy.array([[0, value, 0, 0]], numpy.float32)
    constants = {"w": WEIGHTS, "mask": mask, "hidden": HIDDEN}
    return model(f"g = MatMul (x, w) {nodes}", inputs="float[1,6] x", outputs="float[1,4] y", constants=constants)


@pytest.mark.parametrize(
    ("name", "value"),
    [("w0", numpy.nan), ("w1", numpy.nan), ("w2", numpy.inf), ("b1", numpy.nan), ("w3", -numpy.inf), ("gamma", numpy.inf)],
)
def test_a_constant_with_nan_or_infinity_is_refused_by_its_name_in_the_file_before_anything_is_quantized(name, value):
    with pytest.raises(AidgeError, match=rf"^net.onnx: node '.*: constant '{name}' holds NaN or infinity, and integers have"):
        quantized(holed(name, value), samples(2), Scheme(equalize=True), name="net.onnx")


@pytest.mark.requirement("QUANTIZATION")
def test_finite_constants_whose_fold_is_nan_are_refused_too():
    with pytest.raises(AidgeError, match="constant 'w0_normalized', computed from finite constants, holds NaN or infinity"):
        quantized(holed("variance", -3.0), samples(2))
    assert graph_of(holed("variance", -3.0)).nodes  # and computed as float32 without a warning of numpy


def test_the_verbs_refuse_such_a_model_in_one_line_and_write_nothing(tmp_path):
    (tmp_path / "net.onnx").write_bytes(holed("w3", numpy.nan))
    numpy.savez(tmp_path / "cal.npz", **samples(2))
    for verb in ("quantize", "compile"):
        out = tmp_path / f"{verb}.onnx"
        done = aidge_build(verb, tmp_path / "net.onnx", "--quantize", tmp_path / "cal.npz", "--out", out)
        assert (done.exit_code, done.stderr.count("\n"), out.exists()) == (2, 1, False), done.stderr
        assert "constant 'w3' holds NaN or infinity" in done.stderr and "Hint: the model is damaged" in done.stderr


@pytest.mark.parametrize(
    ("nodes", "named"),
    [
        ("y = Add (g, mask)", "constant 'mask' holds"),
        ("a = Where (hidden, g, mask) y = Softmax (a)", "tensor 'a' of the float model has"),
        ("r = Relu (g) y = Log (r)", "tensor 'y' of the float model has"),
    ],
)
def test_what_integers_would_hold_must_be_finite_on_every_sample(nodes, named):
    with pytest.raises(AidgeError, match=f"{named} NaN or infinity"):
        quantized(masked(nodes, -numpy.inf), SCORES)


def test_infinity_that_stays_in_float32_or_becomes_finite_is_quantized_around():
    softmax = "a = Where (hidden, g, mask) y = Softmax (a)"
    assert quantized(masked(softmax, -numpy.inf), SCORES, LAST_IN_FLOAT).outputs["y"].verdict == "good (25 dB or more)"
    assert quantized(holed("variance", numpy.inf), samples(2)).outputs["y"].sqnr > 25
    (line, _) = quantized(masked("y = Where (hidden, g, mask)", -numpy.inf), SCORES, LAST_IN_FLOAT).verdicts("cal.npz")
    assert "ranges: undecided (8 of 32 values of the float model are NaN or infinity)" in line


def test_an_output_that_is_nan_in_the_float_model_is_never_near_to_it():
    said = "output 'y' of the float model is NaN or infinity in 8 of 32 values on the 8 samples.* is node 'Where_1' .*"
    with pytest.raises(CheckFailed, match=f"{said} Hint: constant 'mask' holds NaN or infinity; repair the model"):
        quantized(masked("y = Where (hidden, g, mask)", numpy.nan), SCORES, LAST_IN_FLOAT)


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
def test_no_comparison_with_nan_or_infinity_is_exact_or_good(value):
    wanted = numpy.array([1, value], numpy.float32)
    for other in (wanted, numpy.ones(2, numpy.float32)):
        found = Nearness()
        found.add(wanted, other)
        assert "exact" not in str(found) and found.verdict.startswith("undecided (1 of 2 values")
        assert found.is_enough(10) == numpy.array_equal(wanted, other)
