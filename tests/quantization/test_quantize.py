# SPDX-License-Identifier: MIT
"""A float model becomes a quantized one."""

from __future__ import annotations

import numpy
import onnx
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.operators import builtin_operators
from aidge_build.prepare.quantization import Scheme, quantize, quantized
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.slide_states import slide_states
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import model
from tests.quantization.networks import graph_of, ours, samples, small_cnn, theirs


def test_onnxruntime_and_we_compute_the_same_integers_of_the_file_that_we_write():
    file, inputs = quantize(small_cnn(), samples(), Scheme()), samples(8, seed=2)["x"]
    first = graph_of(file)
    quantization = first.tensor("x").quantization
    for one in inputs:
        stored = numpy.clip(numpy.rint(one / quantization.scale) + quantization.zero_point, -128, 127).astype(numpy.int8)
        found, wanted = ours(file, {"x": stored}), theirs(file, {"x": stored})
        assert found["y"].dtype == numpy.int8 and numpy.array_equal(found["y"], wanted["y"])


def test_every_layer_of_a_network_computes_in_int8():
    view = graph_of(quantize(small_cnn(), samples(), Scheme()))
    assert [node.type for node in view.nodes] == [
        *("Conv2D", "MaxPooling2D", "ConvDepthWise2D", "Conv2D", "Add", "GlobalAveragePooling", "Flatten", "FC", "Softmax"),
    ]
    assert all(tensor.dtype.name in ("int8", "int32") for tensor in view.tensors.values())


@pytest.mark.parametrize(("kind", "largest", "noise"), [("int4", 7, 0.15), ("int3", 3, 0.25), ("int2", 1, 0.5)])
@pytest.mark.parametrize("more", [{}, {"round_weights": True, "correct_bias": True}])
def test_weights_of_few_bits_fit_them_and_are_read_as_int8(kind, largest, noise, more):
    layers = dict.fromkeys(("c1", "c2", "g3"), kind)
    file = quantize(small_cnn(), samples(), Scheme(layers=layers, io_type="float32", least_sqnr=-numpy.inf, **more))
    view = graph_of(file)
    weights = [view.tensor(node.inputs[1]) for node in view.nodes if node.type in ("Conv2D", "ConvDepthWise2D", "FC")]
    assert [int(abs(tensor.data).max()) for tensor in weights] == [127, largest, largest, largest]
    inputs = samples(4, seed=3)["x"]
    pairs = [(theirs(file, {"x": one})["y"], ours(file, {"x": one})["y"], theirs(small_cnn(), {"x": one})["y"]) for one in inputs]
    assert all(numpy.array_equal(wanted, found) for wanted, found, _ in pairs)
    assert max(numpy.abs(found - real).max() for _, found, real in pairs) < noise


def test_few_bits_are_refused_for_a_layer_without_weights():
    with pytest.raises(AidgeError, match="'Add_7' has no weights that are quantized, and int4 is a type of weights"):
        quantize(small_cnn(), samples(), Scheme(layers={"s2": "int4"}))


@pytest.mark.parametrize("calibration", ["minmax", "moving-average", "percentile", "mse", "entropy"])
@pytest.mark.parametrize("activations", ["asymmetric", "symmetric"])
def test_the_quantized_network_is_near_to_the_float_one_and_equal_calls_give_equal_bytes(calibration, activations):
    scheme = Scheme(activations=activations, calibration=calibration, io_type="float32")
    file = quantize(small_cnn(), samples(), scheme)
    assert activations == "symmetric" or file == quantize(small_cnn(), samples(), scheme)
    for one in samples(4, seed=3)["x"]:
        wanted, found = theirs(small_cnn(), {"x": one})["y"], ours(file, {"x": one})["y"]
        assert numpy.abs(found - wanted).max() < 0.15


@pytest.mark.parametrize("stated", [True, False], ids=["by the file", "by the caller"])
def test_both_ends_of_a_state_and_the_frames_of_its_window_get_one_scale(stated):
    text = "f = Relu(x) w = Concat<axis=2>(s, f) n = Slice(w, one, end, axes) y = Conv<dilations=[2]>(w, k)"
    constants = {"one": numpy.array([1]), "end": numpy.array([5]), "axes": numpy.array([2])}
    constants["k"] = numpy.random.default_rng(1).normal(size=(2, 3, 3)).astype(numpy.float32)
    float_file = model(
        text, inputs="float[1,3,1] x, float[1,3,4] s", outputs="float[1,2,1] y, float[1,3,4] n", constants=constants
    )
    if stated:
        part = onnx.load_from_string(float_file)
        part.metadata_props.add(key="aidge_build.states", value='{"n": "s"}')
        float_file = part.SerializeToString()
    random = numpy.random.default_rng(2)
    given = {"x_x": random.normal(size=(50, 1, 3, 1)), "x_s": 0.7 * abs(random.normal(size=(50, 1, 3, 4)))}
    frames = {name: values.astype(numpy.float32) for name, values in given.items()}
    file = quantized(float_file, frames, Scheme(states={} if stated else {"n": "s"})).file
    view, _ = import_onnx(file, "net", builtin_operators(), {}, {})
    simple = slide_states(simplify(view))
    assert [(one.read, one.written) for one in simple.states] == [("s", "n")]
    (slide,) = (node for node in simple.nodes if node.type == "Slide")
    assert "FC" in simple.types and "Concat" not in simple.types
    assert len({simple.tensor(name).quantization.scale for name in (*slide.inputs, "n")}) == 1
