# SPDX-License-Identifier: MIT
"""Windows, convolutions and pools against a slow computation straight from the definition."""

from __future__ import annotations

import itertools

import numpy
import onnxruntime
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.cpu import run
from aidge_build.operators import builtin_operators
from aidge_build.operators.conv import Conv
from aidge_build.operators.pool import AvgPooling, MaxPooling
from aidge_build.operators.window import Window
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.refusals import own_words


@st.composite
def shapes(draw, ceil_mode=st.booleans()):
    """An input [1, C, spatial...] of small integers and a window that fits it."""
    rank = draw(st.integers(1, 2))
    per_axis = [(draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))) for _ in range(rank)]
    kernel, strides, dilations = zip(*per_axis)
    extents = [(k - 1) * d + 1 for k, _, d in per_axis]
    begin = tuple(draw(st.integers(0, extent - 1)) for extent in extents)
    end = tuple(draw(st.integers(0, extent - 1)) for extent in extents)
    spatial = tuple(draw(st.integers(extent, extent + 5)) for extent in extents)
    channels = draw(st.integers(1, 3))
    seed = draw(st.integers(0, 1000))
    data = numpy.random.default_rng(seed).integers(-9, 9, (1, channels, *spatial)).astype(numpy.float64)
    return data, Window(kernel, strides, dilations, begin, end, draw(ceil_mode))


def _positions(window, out, tap):
    return tuple(o * s + t * d - b for o, s, t, d, b in zip(out, window.strides, tap, window.dilations, window.pads_begin))


def _taps(window, spatial, out):
    """(kernel index, input index, whether it lies in the input, in the padded input) of each tap of one window."""
    for tap in itertools.product(*map(range, window.kernel)):
        at = _positions(window, out, tap)
        inside = all(0 <= a < size for a, size in zip(at, spatial))
        padded = all(-b <= a < size + e for a, size, b, e in zip(at, spatial, window.pads_begin, window.pads_end))
        yield tap, at, inside, padded


@settings(max_examples=150, derandomize=True)
@given(shapes(ceil_mode=st.just(False)), st.integers(1, 2), st.booleans())
def test_a_convolution_is_the_sum_over_its_taps(shape, multiplier, depthwise):
    data, window = shape
    channels, spatial = data.shape[1], data.shape[2:]
    groups = channels if depthwise else 1
    outputs = groups * multiplier
    weights = numpy.random.default_rng(1).integers(-5, 5, (outputs, channels // groups, *window.kernel)).astype(numpy.float64)
    operator = Conv(window=window, groups=groups, depthwise=groups > 1 and outputs == channels)
    found = operator.forward(data, weights)
    dims = window.output_dims(spatial)
    assert found.shape == (1, outputs, *dims)
    for m in range(outputs):
        group = m // multiplier if depthwise else 0
        for out in itertools.product(*map(range, dims)):
            wanted = sum(
                weights[(m, c, *tap)] * data[(0, group * (channels // groups) + c, *at)]
                for tap, at, inside, _ in _taps(window, spatial, out)
                if inside
                for c in range(channels // groups)
            )
            assert found[(0, m, *out)] == wanted


@settings(max_examples=150, derandomize=True)
@given(shapes(), st.booleans())
def test_pools_look_at_exactly_the_taps_inside(shape, count_include_pad):
    data, window = shape
    spatial, dims = data.shape[2:], window.output_dims(data.shape[2:])
    largest = MaxPooling(window=window).forward(data)
    mean = AvgPooling(window=window, count_include_pad=count_include_pad).forward(data)
    for out in itertools.product(*map(range, dims)):
        taps = list(_taps(window, spatial, out))
        for c in range(data.shape[1]):
            values = [data[(0, c, *at)] for _, at, inside, _ in taps if inside]
            count = sum(padded for *_, padded in taps) if count_include_pad else len(values)
            if values:
                assert largest[(0, c, *out)] == max(values)
                assert mean[(0, c, *out)] == pytest.approx(sum(values) / count)


def _pool_model(op_type, dims, **attributes):
    node = helper.make_node(op_type, ["x"], ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9).SerializeToString()


@settings(max_examples=60, derandomize=True)
@given(
    st.sampled_from(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(4, 9),
    st.booleans(),
    st.sampled_from(["MaxPool", "AveragePool"]),
)
def test_auto_pad_and_ceil_mode_are_those_of_onnxruntime(auto_pad, kernel, stride, size, ceil_mode, op_type):
    assume(stride <= kernel)  # onnxruntime computes negative pads elsewhere, and stops
    dims = (1, 2, size, size + 1)
    attributes = {"auto_pad": auto_pad, "kernel_shape": [kernel, kernel], "strides": [stride, stride]}
    if auto_pad == "NOTSET":
        attributes["ceil_mode"] = int(ceil_mode)
    data = _pool_model(op_type, dims, **attributes)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    x = numpy.random.default_rng(0).normal(size=dims).astype(numpy.float32)
    (wanted,) = onnxruntime.InferenceSession(data, options).run(None, {"x": x})
    view, _ = import_onnx(data, "pool.onnx", builtin_operators(), {}, {})
    numpy.testing.assert_allclose(run(view, {"x": x})["y"], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "attributes, message",
    [
        ({"kernel_shape": [0, 3]}, "kernel_shape (0, 3): each must be in 1..65535"),
        ({"kernel_shape": [3, 3], "strides": [0, 1]}, "strides (0, 1): each must be in 1..65535"),
        ({"kernel_shape": [3, 3], "dilations": [1 << 31, 1]}, "dilations (2147483648, 1): each must be in 1..65535"),
        ({"kernel_shape": [3, 3], "pads": [-1, 0, 0, 0]}, "pads (-1, 0, 0, 0): each must be in 0..65535"),
        ({"kernel_shape": [3]}, "kernel_shape (3,) has 1 numbers, wants 2"),
        ({"kernel_shape": [9, 9]}, "the kernel spans 9 positions, the padded input has 8"),
        ({"kernel_shape": [3, 3], "pads": [3, 0, 0, 0]}, "the pads 3 and 0 are not smaller than the 3 positions of the kernel"),
        (
            {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "auto_pad": "SAME_UPPER"},
            "both pads (1, 1, 1, 1) and auto_pad SAME_UPPER",
        ),
        ({"kernel_shape": [3, 3], "auto_pad": "SIDEWAYS"}, "auto_pad 'SIDEWAYS' is unknown"),
        (
            {"kernel_shape": [2, 2], "dilations": [9, 1], "pads": [1, 0, 9, 0]},
            "a window looks only at pads, through the gaps of its dilation",
        ),
        ({"strides": [1, 1]}, "the required attribute 'kernel_shape' is missing"),
    ],
)
def test_an_impossible_window_is_refused(attributes, message):
    with pytest.raises(AidgeError) as refusal:
        import_onnx(_pool_model("MaxPool", (1, 1, 8, 8), **attributes), "pool.onnx", builtin_operators(), {}, {})
    assert own_words(refusal.value) == f"pool.onnx: node 0 with output 'y' (MaxPool): {message}"
