# SPDX-License-Identifier: MIT
"""TRANSPOSE_CONV of int8 as converters write it, before another layer of int8: both are computed on stored values."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference.execution import prepare
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.tflite.importer import import_tflite
from tests.tflite_files import Graph, write

GIVEN = {"dtype": "int8", "scale": 0.0625, "zero_point": -3}
BETWEEN = {"dtype": "int8", "scale": 0.371937, "zero_point": 4}
ROWS, COLUMNS, CHANNELS, OUTPUTS = 3, 4, 2, 3
SAME, VALID = 0, 1


def sizes(stride, taps, padding):
    """Rows and columns of the result, and how many are cut off before it."""
    whole = [(size - 1) * stride + taps for size in (ROWS, COLUMNS)]
    if padding == VALID:
        return whole, 0
    return [size * stride for size in (ROWS, COLUMNS)], max(0, taps - stride) // 2


def weights(taps):
    return numpy.random.default_rng(taps).integers(-127, 128, (OUTPUTS, taps, taps, CHANNELS)).astype(numpy.int8)


def network(stride, taps, padding, behind):
    """TRANSPOSE_CONV, whose result a RELU, a resize or a sum reads."""
    graph, ((rows, columns), _) = Graph(), sizes(stride, taps, padding)
    dims = (1, rows, columns, OUTPUTS)
    data, between = graph.input((1, ROWS, COLUMNS, CHANNELS), **GIVEN), graph.tensor(dims, **BETWEEN)
    shape = graph.constant(numpy.array(dims, numpy.int32))
    kernel = graph.constant(weights(taps), scale=0.02)
    graph.node(
        "TRANSPOSE_CONV", [shape, kernel, data], [between], 49, (0, "int8", padding), (1, "int32", stride), (2, "int32", stride)
    )
    if behind == "RESIZE_NEAREST_NEIGHBOR":
        twice = graph.constant(numpy.array([2 * rows, 2 * columns], numpy.int32))
        graph.node(behind, [between, twice], [graph.output((1, 2 * rows, 2 * columns, OUTPUTS), **BETWEEN)], 74)
    else:
        graph.node(behind, [between], [graph.output(dims, **BETWEEN)])
    return graph


def wanted(data, stride, taps, padding, behind):
    """Every tap of every value, one by one, in real numbers, and then levels."""
    (rows, columns), cut = sizes(stride, taps, padding)
    real = (data[0].astype(float) - GIVEN["zero_point"]) * GIVEN["scale"]
    sums = numpy.zeros(((ROWS - 1) * stride + taps + stride, (COLUMNS - 1) * stride + taps + stride, OUTPUTS))
    for row in range(ROWS):
        for column in range(COLUMNS):
            part = numpy.einsum("c,oyxc->yxo", real[row, column], weights(taps) * 0.02)
            sums[row * stride :, column * stride :][:taps, :taps] += part
    levels = numpy.rint(sums[cut : cut + rows, cut : cut + columns] / BETWEEN["scale"]) + BETWEEN["zero_point"]
    levels = numpy.clip(levels, BETWEEN["zero_point"] if behind == "RELU" else -128, 127)
    return levels.repeat(2, axis=0).repeat(2, axis=1) if behind == "RESIZE_NEAREST_NEIGHBOR" else levels


@pytest.mark.parametrize("rounding", ["onnx", "double"])
@pytest.mark.parametrize("behind", ["RELU", "RESIZE_NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("padding", [SAME, VALID], ids=["same", "valid"])
@pytest.mark.parametrize(("stride", "taps"), [(1, 3), (2, 2), (2, 3), (2, 4), (3, 4)])
def test_it_and_the_layer_behind_it_read_and_write_levels(stride, taps, padding, behind, rounding):
    content = write(network(stride, taps, padding, behind))
    view = simplify(import_tflite(content, "transposed.tflite", rounding=rounding)[0], rounding)
    assert all(
        tensor.is_constant or tensor.quantization == view.tensor(view.outputs[0]).quantization
        for name, tensor in view.tensors.items()
        if name not in view.inputs
    )
    data = numpy.random.default_rng(7).integers(-128, 128, (1, ROWS, COLUMNS, CHANNELS)).astype(numpy.int8)
    execution = prepare(view)
    context = execution.forward(execution.context(), {view.inputs[0]: view.tensor(view.inputs[0]).from_stored(data)})
    found = view.tensor(view.outputs[0]).to_stored(context[view.outputs[0]])[0]
    apart = numpy.abs(found - wanted(data, stride, taps, padding, behind))
    assert apart.max() <= 1 and (apart > 0).mean() <= (0 if rounding == "onnx" else 0.02)
