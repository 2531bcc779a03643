# SPDX-License-Identifier: MIT
"""A quantized network is compared with the float model on the samples, and one that is too far from it is refused."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy
import pytest

from aidge_build.base.errors import CheckFailed
from aidge_build.prepare.quantization import Scheme, quantize, quantized
from aidge_build.prepare.quantization.nearness import Nearness
from tests.command import aidge_build
from tests.models import model
from tests.quantization.networks import ours, samples, small_cnn, theirs

RANDOM = numpy.random.default_rng(5)
SCORES = {"x": (3 * RANDOM.normal(size=(40, 1, 6))).astype(numpy.float32)}
WEIGHTS = RANDOM.normal(size=(6, 4)).astype(numpy.float32)


def classifier(last: str) -> bytes:
    """Four scores, and a function of them."""
    nodes = f"g = MatMul (x, w) y = {last} (g)"
    return model(nodes, inputs="float[1,6] x", outputs="float[1,4] y", constants={"w": WEIGHTS})


@pytest.mark.parametrize("io_type", ["int8", "float32"])
@pytest.mark.parametrize("last", ["Softmax", "LogSoftmax", "Hardmax", "LogSoftmax <axis = 0>", "Sigmoid", "Identity"])
def test_whatever_a_classifier_ends_in_keeps_its_range(last, io_type):
    made = quantized(classifier(last), SCORES, Scheme(io_type=io_type))
    assert made.outputs["y"].sqnr > 25
    wanted = theirs(classifier(last), {"x": SCORES["x"][0]})["y"]
    if io_type == "float32":
        assert numpy.abs(ours(made.file, {"x": SCORES["x"][0]})["y"] - wanted).max() < 0.05 * max(1, numpy.abs(wanted).max())


def test_what_is_said_is_the_ratio_that_onnxruntime_has_on_the_samples():
    made = quantized(small_cnn(), samples(), Scheme(io_type="float32"))
    pairs = [(theirs(small_cnn(), {"x": one})["y"], theirs(made.file, {"x": one})["y"]) for one in samples()["x"]]
    wanted, found = (numpy.stack(values).astype(numpy.float64) for values in zip(*pairs))
    assert abs(made.outputs["y"].sqnr - 10 * numpy.log10((wanted**2).sum() / ((wanted - found) ** 2).sum())) < 0.05


def drowned() -> bytes:
    """A sum in which one addend is a thousand times the other, and its difference from the larger one."""
    nodes = "a = MatMul (x, large) b = Add (a, x) c = Sub (b, a) y = Relu (c)"
    large = (1000 * RANDOM.normal(size=(6, 6))).astype(numpy.float32)
    return model(nodes, inputs="float[1,6] x", outputs="float[1,6] y", constants={"large": large})


DROWNED = drowned()


@pytest.mark.requirement("SQNR")
def test_a_network_that_loses_its_signal_is_refused_with_the_output_and_the_first_layer_below_the_bound(tmp_path):
    with pytest.raises(CheckFailed) as refused:
        quantize(DROWNED, SCORES, Scheme())
    text = str(refused.value)
    assert "output 'y'" in text and "on the 40 samples, and 10 dB are wanted" in text and "--least-sqnr" in text
    assert "the first layer below that is node 'Sub_2' (Sub)" in text
    assert quantized(DROWNED, SCORES, Scheme(least_sqnr=-100)).outputs["y"].sqnr < 10
    (tmp_path / "net.onnx").write_bytes(DROWNED)
    numpy.savez(tmp_path / "cal.npz", **SCORES)
    words = ["quantize", tmp_path / "net.onnx", "--calibration", tmp_path / "cal.npz", "--out", tmp_path / "q.onnx"]
    done = aidge_build(*words)
    assert done.exit_code == 1 and not (tmp_path / "q.onnx").exists() and "Sub_2" in done.stderr
    skipped = aidge_build(*words, "--least-sqnr=-inf")
    assert skipped.exit_code == 0 and (tmp_path / "q.onnx").exists() and " dB" not in skipped.stdout, skipped
    (tmp_path / "q.onnx").unlink()
    asked = ("fit", tmp_path / "net.onnx", "--quantize", tmp_path / "cal.npz", "--least-sqnr=-inf", "--board", "stm32f4")
    fits = aidge_build(*asked)
    assert fits.exit_code == 0 and " --least-sqnr=-inf --build --measure" in fits.stdout, fits
    for word in ("inf", "nan", "-infinity"):
        refused = aidge_build(*words, f"--least-sqnr={word}")
        assert refused.exit_code == 2 and f"'{word}' is no finite number" in refused.stderr, refused
    assert "type --least-sqnr=-inf" in aidge_build(*words, "--least-sqnr", "-inf").stderr
    spared = aidge_build(*words, "--least-sqnr=-100")
    assert spared.exit_code == 0 and (tmp_path / "q.onnx").exists()
    assert "on the 40 samples of cal.npz, which also set the ranges: poor (less than 15 dB)" in spared.stdout
    assert (
        aidge_build("compile", tmp_path / "net.onnx", "--quantize", tmp_path / "cal.npz", "--out", tmp_path / "c").exit_code == 1
    )
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    "noise, verdict", [(10**-2.5, "good (25 dB or more)"), (10**-1.6, "ok (15 to 25 dB)"), (10**-1.4, "poor (less than 15 dB)")]
)
def test_a_ratio_has_a_verdict_by_bounds_that_are_printed(noise, verdict):
    found = Nearness()
    found.add(numpy.ones(4, numpy.float32), numpy.full(4, 1 - noise**0.5))
    assert found.verdict == verdict


def test_a_printed_figure_is_cut_off_and_never_reaches_a_bound_that_the_value_is_below():
    found = Nearness()
    found.add(numpy.ones(4), numpy.full(4, 1 - 10 ** (-24.97 / 20)))
    assert (str(found), found.verdict) == ("24.9 dB", "ok (15 to 25 dB)")
    labels = Nearness()
    labels.add(numpy.zeros(10_000, numpy.int64), numpy.arange(10_000) // 9_896)
    assert (str(labels), labels.verdict) == ("98.9 % equal", "ok (95 to 99 %)")


@pytest.mark.parametrize("count", [6, 29, 30])
def test_a_good_figure_is_said_to_be_of_these_samples_and_few_samples_are_called_few(count):
    output, *few = quantized(classifier("Identity"), {"x": SCORES["x"][:count]}).verdicts("cal.npz")
    assert "good (25 dB or more) on these; other samples show the loss on your data: `aidge-build accuracy`" in output
    assert [line.split(",")[0] for line in few] == (
        [f"cal.npz has {count} samples: a hundred are a good number"] if count < 30 else []
    )


def test_a_build_that_quantizes_says_on_which_samples_and_how_good_each_output_is(tmp_path):
    (tmp_path / "net.onnx").write_bytes(classifier("Identity"))
    numpy.savez(tmp_path / "cal.npz", **SCORES)
    done = aidge_build("compile", tmp_path / "net.onnx", "--quantize", tmp_path / "cal.npz", "--out", tmp_path / "c")
    said = (
        r"net.onnx: output 'y' has [\d.]+ dB of the float model's on the 40 samples of cal.npz, which also set the ranges: good"
    )
    assert re.search(said, done.stdout), done


def test_a_float_output_without_power_must_be_equal():
    nodes = "a = Relu (x) n = Neg (a) y = Relu (n)"  # nothing is above zero
    made = quantized(model(nodes, inputs="float[1,6] x", outputs="float[1,6] y"), SCORES)
    assert str(made.outputs["y"]) == "exact"


def test_outputs_of_integers_must_agree_in_nine_of_ten_samples():
    nodes = "{} y = ArgMax <axis = 1, keepdims = 0> (g)"
    apart = model(nodes.format("g = MatMul (x, w)"), inputs="float[1,6] x", outputs="int64[1] y", constants={"w": WEIGHTS})
    assert quantized(apart, SCORES).outputs["y"].is_enough(10)
    near = numpy.repeat(WEIGHTS[:, :1], 4, axis=1) * (1 + numpy.arange(4, dtype=numpy.float32) * 1e-4)
    equal = model(nodes.format("g = MatMul (x, w)"), inputs="float[1,6] x", outputs="int64[1] y", constants={"w": near})
    with pytest.raises(CheckFailed, match=r"output 'y' of the quantized model has \d+\.\d % equal .* and 90 % are wanted"):
        quantize(equal, SCORES)


def test_options_that_lose_against_the_defaults_are_said():
    wide = replace(Scheme(calibration="percentile", percentile=60.0), least_sqnr=0.0)
    assert any(
        "with --ranges" in line or "without --ranges" in line for line in quantized(classifier("Identity"), SCORES, wide).notices
    )
    assert not quantized(classifier("Identity"), SCORES, Scheme(calibration="mse")).notices
