# SPDX-License-Identifier: MIT
"""Dilated convolutions of rows as Keras writes them: SPACE_TO_BATCH_ND, EXPAND_DIMS, CONV_2D, RESHAPE, BATCH_TO_SPACE_ND."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference.execution import prepare
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.tflite.importer import import_tflite
from tests.tflite_files import Graph, write

CHANNELS, OUTPUTS, LENGTH = 2, 3, 16
INT8 = {"dtype": "int8", "scale": 0.05, "zero_point": -3}
MADE = {"dtype": "int8", "scale": 0.4, "zero_point": 5}
FLOAT: dict = {}


def rows(dilation, taps, pads, *, how=FLOAT, made=FLOAT, is_open=True, narrow="RESHAPE", is_read=False):
    """A file with such a layer; the batch is open, or fixed, and then so are the dims between."""
    graph, images = Graph(), 1 if is_open else dilation
    length = LENGTH + sum(pads)
    apart = -(-length // dilation)
    end = apart * dilation - length
    few = apart - taps + 1

    def tensor(*dims, **more):
        signature = {"signature": [-1, *dims[1:]]} if is_open else {}
        return graph.tensor(dims, **signature, **more)

    def integers(values):
        return graph.constant(numpy.array(values, numpy.int32))

    batch = {"signature": [-1, LENGTH, CHANNELS]} if is_open else {}
    data, blocks = graph.input((1, LENGTH, CHANNELS), **how, **batch), integers([dilation])
    values = [data, tensor(images, apart, CHANNELS, **how), tensor(images, 1, apart, CHANNELS, **how)]
    values += [tensor(images, 1, few, OUTPUTS, **made), tensor(images, few, OUTPUTS, **made)]
    graph.node("SPACE_TO_BATCH_ND", [data, blocks, integers([[pads[0], pads[1] + end]])], [values[1]])
    graph.node("EXPAND_DIMS", [values[1], integers(-3)], [values[2]])
    weights, bias = parameters(taps, bool(how))
    parameter = [graph.constant(*weights[:1], **weights[1]), graph.constant(*bias[:1], **bias[1])]
    graph.node("CONV_2D", [values[2], *parameter], [values[3]], 1, *VALID)
    if narrow == "RESHAPE":
        graph.node("RESHAPE", [values[3], integers([-1 if is_open else images, few, OUTPUTS])], [values[4]])
    else:
        graph.node("SQUEEZE", [values[3]], [values[4]], 30, (0, "[int32]", [-3]))
    result = graph.output((1, few * dilation - end, OUTPUTS), **made, **({"signature": [-1, few, OUTPUTS]} if is_open else {}))
    graph.node("BATCH_TO_SPACE_ND", [values[4], blocks, integers([[0, end]])], [result])
    graph.outputs += [values[2]] * is_read
    return graph


VALID = (0, "int8", 1), (1, "int32", 1), (2, "int32", 1), (3, "int8", 0)


def parameters(taps, is_stored):
    """Weights and bias, with how they are stored."""
    random = numpy.random.default_rng(taps)
    weights = random.integers(-127, 128, (OUTPUTS, 1, taps, CHANNELS)).astype(numpy.int8)
    bias = random.integers(-900, 900, OUTPUTS).astype(numpy.int32)
    if is_stored:
        return (weights, {"scale": 0.01}), (bias, {"scale": numpy.float32(INT8["scale"]) * numpy.float32(0.01)})
    return ((weights * 0.01).astype(numpy.float32), {}), ((bias * 0.01).astype(numpy.float32), {})


def wanted(data, dilation, taps, pads):
    """The sums of the taps, one by one, of real numbers [length, channels]."""
    (weights, how), (bias, units) = parameters(taps, data.dtype == numpy.int8)
    real = (data.astype(float) - INT8["zero_point"]) * INT8["scale"] if data.dtype == numpy.int8 else data
    padded = numpy.pad(real, [pads, (0, 0)])
    count = len(padded) - dilation * (taps - 1)
    sums = sum(padded[tap * dilation :][:count] @ weights[:, 0, tap].T * how.get("scale", 1) for tap in range(taps))
    return sums + bias * float(units.get("scale", 1))


def computed(graph, data, rounding="onnx"):
    """The first output, and the graph that gave it."""
    view = simplify(import_tflite(write(graph), "rows.tflite", rounding=rounding)[0], rounding)
    execution = prepare(view)
    context = execution.forward(execution.context(), {view.inputs[0]: view.tensor(view.inputs[0]).from_stored(data)})
    return view.tensor(view.outputs[0]).to_stored(context[view.outputs[0]])[0], view


CASES = [(2, 3, (2, 2)), (2, 2, (0, 0)), (4, 3, (8, 0)), (8, 2, (4, 4)), (3, 5, (6, 6)), (4, 2, (4, 0))]


@pytest.mark.parametrize("is_open", [True, False], ids=["open batch", "fixed batch"])
@pytest.mark.parametrize(("dilation", "taps", "pads"), CASES)
def test_a_dilated_convolution_of_rows_is_one_layer_that_adds_up_taps_apart(dilation, taps, pads, is_open):
    data = numpy.random.default_rng(1).normal(size=(1, LENGTH, CHANNELS)).astype(numpy.float32)
    found, view = computed(rows(dilation, taps, pads, is_open=is_open), data)
    assert [node.type for node in view.nodes if not node.operator.views] == ["Conv2D"]
    assert numpy.allclose(found, wanted(data[0], dilation, taps, pads), atol=1e-5)


@pytest.mark.parametrize("rounding", ["onnx", "double"])
@pytest.mark.parametrize("narrow", ["RESHAPE", "SQUEEZE"])
def test_so_is_one_of_bytes(narrow, rounding):
    data = numpy.random.default_rng(1).integers(-128, 128, (1, LENGTH, CHANNELS)).astype(numpy.int8)
    found, view = computed(rows(2, 3, (2, 2), how=INT8, made=MADE, narrow=narrow), data, rounding)
    levels = numpy.clip(numpy.rint(wanted(data[0], 2, 3, (2, 2)) / MADE["scale"]) + MADE["zero_point"], -128, 127)
    assert [node.type for node in view.nodes if not node.operator.views] == ["Conv2D"]
    assert numpy.abs(found - levels).max() <= (0 if rounding == "onnx" else 1)


@pytest.mark.parametrize("narrow", ["RESHAPE", "SQUEEZE"])
def test_images_of_a_batch_that_the_file_leaves_open_keep_their_number_between(narrow):
    """What else reads a tensor between wants the images as they are: then the layers are computed one by one."""
    data = numpy.random.default_rng(1).normal(size=(1, LENGTH, CHANNELS)).astype(numpy.float32)
    found, view = computed(rows(2, 3, (2, 2), narrow=narrow, is_read=True), data)
    assert view.tensor(view.outputs[1]).layout.stored_dims == (2, 1, 10, CHANNELS)
    assert numpy.allclose(found, wanted(data[0], 2, 3, (2, 2)), atol=1e-5)
