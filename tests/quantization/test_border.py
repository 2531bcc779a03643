# SPDX-License-Identifier: MIT
"""Inputs and outputs of a quantized model: their types, and images as the firmware has them."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.prepare.quantization import Scheme, quantize, quantized
from tests.command import aidge_build
from tests.models import model, types
from tests.quantization.networks import graph_of, ours, samples, small_cnn, theirs


def test_images_with_their_channels_last_give_the_same_integers_and_no_copy_in_front_of_the_network(tmp_path):
    first, last = (quantize(small_cnn(), samples(), Scheme(io_layout=layout)) for layout in ("model", "nhwc"))
    image = samples(1, seed=5)["x"][0]
    quantization = graph_of(last).tensor("x").quantization
    stored = numpy.clip(numpy.rint(image / quantization.scale) + quantization.zero_point, -128, 127).astype(numpy.int8)
    turned = numpy.ascontiguousarray(stored.transpose(0, 2, 3, 1))
    assert graph_of(last).tensor("x").dims == (1, 8, 8, 3)
    assert numpy.array_equal(ours(first, {"x": stored})["y"], ours(last, {"x": turned})["y"])
    assert numpy.array_equal(theirs(last, {"x": turned})["y"], ours(last, {"x": turned})["y"])
    copies = []
    for name, file in (("first", first), ("last", last)):
        (tmp_path / f"{name}.onnx").write_bytes(file)
        found = aidge_build("explain", tmp_path / f"{name}.onnx", "--cpu=cortex-m4", "--fpu=auto")
        copies.append("Reformat" in found.stdout)
    assert copies == [True, False]


@pytest.mark.parametrize(
    ("nodes", "dims"),
    [
        ("a = Mul (x, half) y = MaxPool <kernel_shape = [2, 2]> (a)", (1, 6, 5, 4)),
        ("a = Transpose <perm = [0, 3, 1, 2]> (x) y = MaxPool <kernel_shape = [2, 2]> (a)", (1, 4, 6, 5)),
        ("y = Relu (x)", (1, 4, 6, 5)),
    ],
)
def test_only_inputs_that_layers_of_images_read_are_images(nodes, dims):
    file = model(nodes, inputs="float[1,4,6,5] x", outputs="float[1,?,?,?] y", constants={"half": numpy.float32(0.5)})
    made = quantized(file, {"x": samples(3)["x"][:, :, :1].repeat(40, 2).reshape(-1, 1, 4, 6, 5)[:4]}, Scheme(io_layout="nhwc"))
    assert graph_of(made.file).tensor("x").dims == dims
    assert any("channels last" in line for line in made.notices) == (dims == (1, 6, 5, 4))
    assert any("no input is an image" in line for line in made.notices) == (dims != (1, 6, 5, 4))


def test_a_border_of_floats_quantizes_inside():
    view = graph_of(quantize(small_cnn(), samples(), Scheme(io_type="float32")))
    assert [view.tensor(name).dtype.name for name in (*view.inputs, *view.outputs)] == ["float32", "float32"]
    assert types(view)[0] == "QuantizeLinear" and types(view)[-1] == "DequantizeLinear"
