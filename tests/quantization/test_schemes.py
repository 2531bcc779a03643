# SPDX-License-Identifier: MIT
"""What the options of a scheme do: equalization, bias correction, rounding of weights, types of layers."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.operators import builtin_operators
from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.prepare.quantization.equalize import equalized
from aidge_build.prepare.quantization.prepare import prepared
from aidge_build.prepare.quantization.rounding import rounded
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import model, same_meaning
from tests.quantization.networks import graph_of, ours, samples, small_cnn, theirs

RANDOM = numpy.random.default_rng(11)
UNEQUAL = 10.0 ** numpy.linspace(-2, 1, 8).astype(numpy.float32)  # ranges of the channels between two layers


def floats(*dims: int) -> numpy.ndarray:
    return RANDOM.normal(size=dims).astype(numpy.float32)


def unequal_network() -> bytes:
    """Three layers; the channels between them differ by a factor of 1,000."""
    constants = {
        "w": floats(8, 3, 3, 3) * UNEQUAL.reshape(-1, 1, 1, 1),
        "b": floats(8) * UNEQUAL,
        "d": floats(8, 1, 3, 3),
        "v": floats(6, 8, 1, 1) / UNEQUAL.reshape(1, -1, 1, 1),
    }
    nodes = "a = Conv (x, w, b) r = Relu (a) c = Conv <group = 8> (r, d) s = Relu (c) y = Conv (s, v)"
    return model(nodes, inputs="float[1,3,8,8] x", outputs="float[1,6,4,4] y", constants=constants)


def noise(scheme: Scheme, network: bytes) -> float:
    """Mean squared error of the quantized network's outputs, relative to their mean square."""
    file = quantize(network, samples(24), scheme)
    pairs = [(ours(file, {"x": one})["y"], theirs(network, {"x": one})["y"]) for one in samples(8, seed=9)["x"]]
    found, wanted = (numpy.stack(values).astype(numpy.float64) for values in zip(*pairs))
    return float(((found - wanted) ** 2).mean() / (wanted**2).mean())


def test_equalization_keeps_the_function_and_takes_noise_from_channels_of_unequal_range():
    network = unequal_network()
    before = prepared(import_onnx(network, "net.onnx", builtin_operators(), {}, {})[0])
    after = equalized(before, samples(8))
    assert after is not before and same_meaning(before, after, relative=1e-5)
    plain, equal = (noise(Scheme(io_type="float32", equalize=one), network) for one in (False, True))
    assert equal < plain / 4


def test_equalization_leaves_alone_what_a_clamp_or_a_second_reader_stands_behind():
    view = prepared(import_onnx(small_cnn(), "net.onnx", builtin_operators(), {}, {})[0])
    assert equalized(view, samples(4)).nodes == view.nodes


def test_bias_correction_takes_the_mean_error_of_channels_away():
    constants = {"w": floats(6, 40), "v": floats(6)}
    network = model("y = Gemm <transB = 1> (x, w)", inputs="float[1,40] x", outputs="float[1,6] y", constants=constants)
    inputs = {"x": (floats(200, 1, 40) / 8 + 1).astype(numpy.float32)}
    moved = []
    for correct in (False, True):
        file = quantize(network, inputs, Scheme(io_type="float32", correct_bias=correct, layers={"y": "int16", "x": "int16"}))
        errors = [ours(file, {"x": one})["y"] - theirs(network, {"x": one})["y"] for one in inputs["x"][:60]]
        moved.append(float(numpy.abs(numpy.mean(errors, axis=0)).max()))
    assert moved[1] < moved[0] / 3


def test_weights_are_rounded_up_or_down_and_the_results_change_less_than_by_rounding_to_the_nearest():
    terms = floats(400, 12) @ floats(12, 12)  # they belong together
    products = terms.T.astype(numpy.float64) @ terms / len(terms)
    rows, scales = floats(5, 12).astype(numpy.float64), numpy.full(5, 0.2)
    found = rounded(rows, scales, products, 127)
    assert (numpy.abs(found - rows / 0.2) < 1).all() and (found == numpy.rint(found)).all()

    def error(levels: numpy.ndarray) -> numpy.ndarray:
        wrong = levels * 0.2 - rows
        return numpy.einsum("ri,ij,rj->r", wrong, products, wrong)

    nearest = error(numpy.rint(rows / 0.2))
    assert (error(found) <= nearest * 1.01).all() and error(found).sum() < nearest.sum() * 0.8
    assert (numpy.abs(rounded(rows * 100, scales, products, 127)) <= 127).all()


def test_rounding_weights_takes_noise_from_a_network():
    network = model(
        "y = Gemm <transB = 1> (x, w)", inputs="float[1,40] x", outputs="float[1,6] y", constants={"w": floats(6, 40)}
    )
    inputs = {"x": (floats(300, 1, 8) @ floats(8, 40)).astype(numpy.float32)}  # its elements belong together
    found = []
    for rounds in (False, True):
        scheme = Scheme(io_type="float32", round_weights=rounds, layers={"x": "int16", "y": "int16"})
        file = quantize(network, inputs, scheme)
        errors = [ours(file, {"x": one})["y"] - theirs(network, {"x": one})["y"] for one in inputs["x"][:60]]
        found.append(float(numpy.square(errors).mean()))
    assert found[1] < found[0] * 0.8


def test_a_layer_computes_in_the_type_that_the_scheme_names_by_its_node_or_its_tensor():
    file = quantize(small_cnn(), samples(), Scheme(layers={"c2": "int16", "g3": "float32", "x": "int16"}))
    view = graph_of(file)
    assert view.tensor("x").dtype.name == "int16" and view.tensor("y").dtype.name == "int8"
    by_type = {node.type: [tensor.dtype.name for tensor in view.input_tensors(node)[:1]] for node in view.nodes}
    assert by_type["FC"] == ["float32"]
    assert [view.input_tensors(node)[0].dtype.name for node in view.nodes if node.type == "Conv2D"] == ["int8", "int16"]
    one = samples(1, seed=3)["x"][0]
    stored = numpy.clip(numpy.rint(one / view.tensor("x").quantization.scale), -32768, 32767).astype(numpy.int16)
    assert numpy.array_equal(ours(file, {"x": stored})["y"], theirs(file, {"x": stored})["y"])


def test_a_layer_is_also_named_by_a_node_that_was_folded_into_it():
    view = graph_of(quantize(small_cnn(), samples(4), Scheme(layers={"BatchNormalization_1": "float32"})))
    assert [view.input_tensors(node)[0].dtype.name for node in view.nodes if node.type == "Conv2D"] == ["float32", "int8"]


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        (lambda: Scheme(calibration="median"), "calibration is 'median', wants minmax or moving-average"),
        (lambda: Scheme(layers={"c2": "int5"}), "layer 'c2' is to be 'int5', wants int8 or int4 or int3 or int2 or int16"),
        (lambda: Scheme(percentile=40.0), "percentile is 40.0, wants more than 50, at most 100"),
        (
            lambda: quantize(small_cnn(), samples(), Scheme(layers={"c_2": "int8"})),
            "there is no layer 'c_2'. Hint: did you mean 'c2'",
        ),
    ],
)
def test_what_no_scheme_can_be_is_refused_in_one_line(scheme, said):
    with pytest.raises(AidgeError) as refused:
        scheme()
    assert said in str(refused.value)
