# SPDX-License-Identifier: MIT
"""Before it is quantized, a float graph is put right: what computes for nothing goes, scalings move into their layers."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.prepare.quantization import Scheme, prepare, quantize
from aidge_build.prepare.quantization.prepare import prepared
from tests.command import aidge_build
from tests.models import graph, model, same_meaning, types
from tests.programs import needs_cross_compiler
from tests.quantization.networks import graph_of, keras_cnn

RANDOM = numpy.random.default_rng(3)
IMAGE = {"inputs": "float[1,6,5,3] x", "outputs": "float[1,4] y"}
LAST, FIRST = "<perm = [0, 3, 1, 2]>", "<perm = [0, 2, 3, 1]>"


def floats(*dims: int) -> numpy.ndarray:
    return RANDOM.normal(size=dims).astype(numpy.float32)


CONSTANTS = {
    "w": floats(4, 3, 3, 3),
    "v": floats(4, 4, 1, 1),
    "g": floats(4),
    "h": floats(1, 1, 1, 4),
    "axes": numpy.array([1, 2]),
    "pads": numpy.array([0, 0, 1, 1, 0, 0, 1, 1]),
    "bn": numpy.abs(floats(4)) + 1,
}
# As exporters for Keras write a convolution with batch normalization and a mean, channels last: 10 nodes for 3 layers.
KERAS = f"""t0 = Transpose {LAST} (x) p0 = Pad (t0, pads) c0 = Conv (p0, w) t1 = Transpose {FIRST} (c0)
    m0 = Mul (t1, g) a0 = Add (m0, h) d0 = Dropout (a0) r0 = Relu (d0)
    t2 = Transpose {LAST} (r0) c1 = Conv (t2, v) t3 = Transpose {FIRST} (c1) i1 = Identity (t3)
    y = ReduceMean <keepdims = 0> (i1, axes)"""


def test_what_exporters_for_keras_write_around_a_layer_becomes_the_layer():
    before = graph(KERAS, **IMAGE, constants=CONSTANTS, opset=18)
    after = prepared(before)
    assert types(after) == ["Transpose", "Conv2D", "ReLU", "Conv2D", "GlobalAveragePooling", "Reshape"]
    assert same_meaning(before, after, relative=1e-5)
    file = quantize(model(KERAS, **IMAGE, constants=CONSTANTS, opset=18), {"x": floats(9, 1, 6, 5, 3)})
    assert types(graph_of(file)) == ["Transpose", "Conv2D", "Conv2D", "GlobalAveragePooling", "Reshape"]


@needs_cross_compiler
def test_folding_batch_normalization_of_keras_saves_instructions(tmp_path, monkeypatch):
    images = numpy.abs(numpy.random.default_rng(1).normal(size=(50, 1, 8, 8, 1))).astype(numpy.float32)
    path = tmp_path / "net.onnx"
    numpy.savez(tmp_path / "test.npz", x=images[:1], labels=numpy.array([0]))
    counts = []
    for recipes in (prepare.PREPARATIONS, [recipe for recipe in prepare.PREPARATIONS if recipe is not prepare.fuse_scalings]):
        monkeypatch.setattr(prepare, "PREPARATIONS", recipes)
        path.write_bytes(quantize(keras_cnn(), {"x": images}))
        done = aidge_build("accuracy", path, "--labels", tmp_path / "test.npz", "--board", "mps2-an386", "--json")
        counts.append(done.json["stages"][-1]["instructions"])
    assert counts[0] < 0.88 * counts[1], counts  # what is not folded is one pass of seven instructions for a value


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        (f"a = Transpose {FIRST} (x) b = Transpose {LAST} (a) y = Neg (b)", ["Neg"]),
        (f"a = Transpose {FIRST} (x) b = Clip (a) c = Mul (b, h) y = Transpose {LAST} (c)", ["Clip", "Mul"]),
        (
            f"a = Transpose {FIRST} (x) b = Neg (x) c = Transpose {FIRST} (b) d = Add (a, c) y = Transpose {LAST} (d)",
            ["Neg", "Add"],
        ),
        (
            f"a = Transpose {FIRST} (x) b = Abs (a) c = Sub (b, a) y = Transpose {LAST} (c)",
            ["Transpose", "Transpose", "Abs", "Sub"],
        ),
        (f"a = Transpose {FIRST} (x) b = Softmax <axis = 1> (a) y = Transpose {LAST} (b)", ["Transpose", "Softmax", "Transpose"]),
    ],
)
def test_transposes_that_cancel_each_other_go(nodes, wanted):
    before = graph(nodes, inputs="float[1,4,5,6] x", outputs="float[1,4,5,6] y", constants=CONSTANTS)
    after = prepared(before)
    assert sorted(types(after)) == sorted(wanted) and same_meaning(before, after)


@pytest.mark.parametrize(
    ("nodes", "outputs", "pools"),
    [
        ("y = ReduceMean <axes = [2, 3]> (x)", "float[2,4,1,1] y", True),
        ("y = ReduceMean <axes = [-1, -2], keepdims = 0> (x)", "float[2,4] y", True),
        (f"a = Transpose {FIRST} (x) y = ReduceMean <axes = [1, 2]> (a)", "float[2,1,1,4] y", True),
        (f"a = Transpose {FIRST} (x) y = ReduceMean <axes = [2, 3]> (a)", "float[2,5,1,1] y", False),
        ("a = Transpose <perm = [1, 0, 2, 3]> (x) y = ReduceMean <axes = [2, 3]> (a)", "float[4,2,1,1] y", False),
        ("y = ReduceMean <axes = [1, 3]> (x)", "float[2,1,5,1] y", False),
        ("y = ReduceMean <axes = [1, 2, 3]> (x)", "float[2,1,1,1] y", False),
    ],
)
def test_a_mean_of_images_is_a_pool_and_no_other_mean_is(nodes, outputs, pools):
    before = graph(nodes, inputs="float[2,4,5,6] x", outputs=outputs, opset=13)
    after = prepared(before)
    assert ("GlobalAveragePooling" in types(after)) == pools == ("ReduceMean" not in types(after))
    assert same_meaning(before, after)


def test_batch_normalization_without_a_layer_before_it_is_a_convolution_of_one_tap():
    before = graph(
        "r = Relu (x) n = BatchNormalization (r, g, g, g, bn) y = Relu (n)",
        inputs="float[2,4,5,6] x",
        outputs="float[2,4,5,6] y",
        constants=CONSTANTS,
    )
    after = prepared(before)
    assert types(after) == ["ReLU", "ConvDepthWise2D", "ReLU"] and same_meaning(before, after, relative=1e-5)


def test_weights_that_the_file_stores_as_integers_keep_their_values():
    stored = RANDOM.integers(-127, 128, (4, 3, 3, 3)).astype(numpy.int8)
    scales = numpy.linspace(0.01, 0.02, 4).astype(numpy.float32)
    stored[0], stored[1] = stored[0] // 2, stored[1] // 4  # the largest of a channel is rarely 127
    file = model(
        "f = DequantizeLinear <axis = 0> (w, s) y = Conv (x, f)",
        inputs="float[1,3,6,5] x",
        outputs="float[1,4,4,3] y",
        constants={"w": stored, "s": scales},
    )
    view = graph_of(quantize(file, {"x": floats(4, 1, 3, 6, 5)}))
    (weights,) = [tensor for tensor in view.tensors.values() if tensor.dims == (4, 3, 3, 3)]
    found = weights.data * numpy.array(weights.quantization.scales)[:, None, None, None]
    assert numpy.allclose(found, stored * scales[:, None, None, None].astype(float), rtol=1e-6, atol=0)
    assert numpy.array_equal(weights.data[2:], stored[2:])


@pytest.mark.requirement("QUANTIZATION")
def test_a_model_that_is_quantized_already_is_refused():
    file = quantize(model("y = Relu (x)", inputs="float[1,3] x", outputs="float[1,3] y"), {"x": floats(4, 1, 3)})
    with pytest.raises(AidgeError, match="quantized already") as refused:
        quantize(file, {"x": floats(4, 1, 3)}, Scheme(), name="net.onnx")
    assert str(refused.value).startswith("net.onnx: ")
