# SPDX-License-Identifier: MIT
"""Images in front of a network: what becomes of their pixels, in numpy and as nodes of a model."""

from __future__ import annotations

import numpy
import pytest

from aidge_build import frontend, net
from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType
from aidge_build.operators import builtin_operators
from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.onnx_format import read_model

RANDOM = numpy.random.Generator(numpy.random.PCG64(9))
IMAGES = RANDOM.integers(0, 256, (4, 12, 16, 3)).astype(numpy.uint8)


def run(file: bytes, values: dict[str, numpy.ndarray]) -> numpy.ndarray:
    """The only output of a model as its recipes leave it."""
    view, _ = import_onnx(file, "net.onnx", builtin_operators(), {}, {})
    execution = prepare(simplify(view))
    return execution.forward(execution.context({}), values).hidden[view.outputs[0]]


def classifier(dims: tuple[int, ...]) -> bytes:
    graph = net.Graph("classifier")
    x = graph.input("x", dims)
    weights = numpy.random.Generator(numpy.random.PCG64(2)).normal(size=(int(numpy.prod(dims)), 3)).astype(numpy.float32)
    graph.output(net.Gemm(net.Flatten(x), graph.parameter("w", weights)), "scores")
    return graph.onnx()


def test_a_part_of_the_image_is_that_part():
    front = frontend.Pixels(12, 16, crop=(2, 3, 7, 9))
    assert numpy.array_equal(front.pixels(IMAGES), IMAGES[:, 2:9, 3:12].transpose(0, 3, 1, 2))
    assert front.result == (3, 7, 9)


def test_gray_is_the_rounded_brightness():
    found = frontend.Pixels(12, 16, gray=True).pixels(IMAGES)
    wanted = numpy.rint((IMAGES.astype(float) @ [38, 75, 15]) / 128)
    assert found.shape == (4, 1, 12, 16) and numpy.array_equal(found[:, 0], wanted)


@pytest.mark.parametrize("size", [(6, 8), (24, 32), (9, 5)])
def test_another_size_is_that_of_linear_weights_rounded(size):
    found = frontend.Pixels(12, 16, size=size).pixels(IMAGES)

    def weights(old, new):
        place = numpy.clip((numpy.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
        matrix = numpy.maximum(0, 1 - numpy.abs(place[:, None] - numpy.arange(old)))
        return matrix / matrix.sum(1, keepdims=True)

    wanted = numpy.einsum("rh,cw,nhwk->nkrc", weights(12, size[0]), weights(16, size[1]), IMAGES.astype(float))
    assert found.dtype == numpy.uint8 and numpy.abs(found - wanted).max() <= 0.51


def test_features_are_pixels_less_the_mean_by_the_deviation():
    front = frontend.Pixels(12, 16, mean=(0.5, 0.25, 0.125), deviation=(0.5, 0.25, 2.0))
    wanted = (IMAGES / 255 - [0.5, 0.25, 0.125]) / [0.5, 0.25, 2.0]
    assert numpy.abs(front.features(IMAGES) - wanted.transpose(0, 3, 1, 2)).max() < 1e-6


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("io_type", ["float32", "int8", "none"])
def test_a_model_that_takes_images_gives_what_it_gives_for_their_features(layout, io_type):
    front = frontend.Pixels(12, 16, crop=(1, 2, 10, 12), size=(5, 6), gray=True, mean=(0.4,), deviation=(0.3,))
    features = front.features(IMAGES) if layout == "nchw" else front.features(IMAGES).transpose(0, 2, 3, 1)
    model = classifier((1, *features.shape[1:]))
    if io_type != "none":
        model = quantize(model, {"x": features[:, None]}, Scheme(io_type=io_type))
    file = frontend.with_image(model, front, layout=layout)
    (value,) = read_model(file, "", {}).inputs
    assert (value.name, value.dtype, value.dims) == ("image_pixels", DType.uint8, (1, 12, 16, 3))
    for image, one in zip(IMAGES, features):
        given = one[None]
        if io_type == "int8":
            constants = read_model(model, "", {})
            reader = next(node for node in constants.nodes if node.op_type == "DequantizeLinear" and node.inputs[0] == "x")
            scale, point = (constants.initializers[name] for name in reader.inputs[1:])
            given = numpy.clip(numpy.rint(given / scale) + point, -128, 127).astype(numpy.int8)
        wanted, found = run(model, {"x": given}), run(file, {"image_pixels": image[None]})
        if io_type == "none":  # nothing is rounded between the steps
            assert numpy.abs(found - wanted).max() < 0.05 * numpy.abs(wanted).max()
        else:
            assert numpy.array_equal(found, wanted)


@pytest.mark.parametrize(
    "words, message",
    [
        ({"crop": (6, 0, 7, 16)}, r"crop \(6, 0, 7, 16\) and size None of 12 x 16 pixels"),
        ({"size": (0, 4)}, "and size"),
        ({"mode": "cubic"}, "mode is 'cubic'"),
        ({"gray": True, "channels": 1}, "1 channels are no red, green and blue"),
        ({"gray": True, "mean": (0.1, 0.2, 0.3)}, "3 numbers for 1 channels"),
        ({"deviation": (0.0,)}, "deviations of"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(words, message):
    with pytest.raises(AidgeError, match=message):
        frontend.Pixels(12, 16, **words)


def test_what_does_not_fit_is_refused():
    front = frontend.Pixels(12, 16)
    with pytest.raises(AidgeError, match=r"images of float64 \[12, 16, 3\], want uint8"):
        front.features(IMAGES / 1.0)
    with pytest.raises(AidgeError, match=r"has the dims \[1, 3, 4, 4\], the front end gives \[1, 3, 12, 16\] \(nchw\)"):
        frontend.with_image(classifier((1, 3, 4, 4)), front)


def test_the_nearest_pixel_is_one_of_the_image():
    found = frontend.Pixels(12, 16, size=(4, 8), mode="nearest").pixels(IMAGES)
    rows, columns = (numpy.floor((numpy.arange(new) + 0.5) * old / new - 0.5).astype(int) for old, new in ((12, 4), (16, 8)))
    assert numpy.array_equal(found, IMAGES[:, rows][:, :, columns].transpose(0, 3, 1, 2))
