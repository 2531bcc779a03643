# SPDX-License-Identifier: MIT
"""A float model becomes a quantized one."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.prepare.quantization import Scheme, quantize
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


@pytest.mark.parametrize("calibration", ["minmax", "moving-average", "percentile", "mse", "entropy"])
@pytest.mark.parametrize("activations", ["asymmetric", "symmetric"])
def test_the_quantized_network_is_near_to_the_float_one_and_equal_calls_give_equal_bytes(calibration, activations):
    scheme = Scheme(activations=activations, calibration=calibration, io_type="float32")
    file = quantize(small_cnn(), samples(), scheme)
    assert activations == "symmetric" or file == quantize(small_cnn(), samples(), scheme)
    for one in samples(4, seed=3)["x"]:
        wanted, found = theirs(small_cnn(), {"x": one})["y"], ours(file, {"x": one})["y"]
        assert numpy.abs(found - wanted).max() < 0.15
