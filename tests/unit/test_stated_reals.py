# SPDX-License-Identifier: MIT
"""A .tflite file states quantizations on its tensors: pad values, bounds and constants beside a QUANTIZE are real numbers."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference.execution import prepare
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.tflite.importer import import_tflite
from tests.models import graph as onnx_graph
from tests.tflite_files import Graph, write

CONTRACTS = ("onnx", "double")
INT8 = {"dtype": "int8", "scale": 0.05, "zero_point": -18}
UINT8 = {"dtype": "uint8", "scale": 0.05, "zero_point": 110}
OTHER = {"dtype": "int8", "scale": 0.083, "zero_point": 40}
DIMS = (1, 4, 4, 2)
BORDER = numpy.array([[0, 0], [1, 2], [2, 0], [0, 0]], numpy.int32)
WIDE = (1, 7, 6, 2)


def stored(reals, how):
    """What QUANTIZE makes of real numbers of which none lies between two levels."""
    info = numpy.iinfo(how["dtype"])
    levels = numpy.rint(numpy.asarray(reals, numpy.float64) / how["scale"]) + how["zero_point"]
    return numpy.clip(levels, info.min, info.max).astype(how["dtype"])


def real(levels, how):
    """What stored values stand for."""
    return (levels.astype(numpy.float64) - how["zero_point"]) * how["scale"]


def levels_of(how, dims=DIMS):
    """Seeded stored values."""
    info = numpy.iinfo(how["dtype"])
    return numpy.random.default_rng(5).integers(info.min, info.max, dims, endpoint=True).astype(how["dtype"])


def computed(graph, given, rounding):
    """The only output of the graph for its only input."""
    view = simplify(import_tflite(write(graph), "case.tflite", rounding=rounding)[0], rounding)
    execution, (name,) = prepare(view), view.outputs
    values = view.tensor(view.inputs[0]).from_stored(given)
    context = execution.forward(execution.context(), {view.inputs[0]: values})
    return view.tensor(name).to_stored(context[name])


def one_between(kind, how, made, dims, constants=(), options=(0,), before=True, behind=True):
    """One operator behind QUANTIZE, in front of DEQUANTIZE, or both."""
    graph = Graph()
    data = graph.input(DIMS, **({} if before else how))
    if before:
        data, given = graph.tensor(DIMS, **how), data
        graph.node("QUANTIZE", [given], [data])
    result = graph.tensor(dims, **made)
    graph.node(kind, [data, *(graph.constant(values, **more) for values, more in constants)], [result], *options)
    if behind:
        graph.node("DEQUANTIZE", [result], [graph.output(dims)])
    else:
        graph.outputs.append(result)
    return graph


def check(graph, how, made, wanted, rounding, before, behind):
    """`wanted`: stored values, of those of `levels_of`."""
    levels = levels_of(how)
    found = computed(graph, real(levels, how).astype(numpy.float32) if before else levels, rounding)
    if behind:
        assert numpy.allclose(found, real(wanted, made), atol=1e-5)
    else:
        assert numpy.array_equal(found, wanted)


SIDES = [(True, False), (False, True), (True, True)]
EVERYWHERE = [pytest.mark.parametrize("rounding", CONTRACTS), pytest.mark.parametrize(("before", "behind"), SIDES)]


def everywhere(test):
    for mark in EVERYWHERE:
        test = mark(test)
    return test


@everywhere
@pytest.mark.parametrize("how", [INT8, UINT8], ids=["int8", "uint8"])
def test_a_pad_beside_a_quantization_puts_what_stands_for_zero_around(how, rounding, before, behind):
    graph = one_between("PAD", how, how, WIDE, [(BORDER, {})], before=before, behind=behind)
    padded = numpy.pad(real(levels_of(how), how), BORDER)
    check(graph, how, how, stored(padded, how), rounding, before, behind)


@everywhere
def test_a_pad_value_of_a_file_is_the_number_that_its_own_scale_says(rounding, before, behind):
    value = numpy.array(25, numpy.int8), {"scale": INT8["scale"], "zero_point": INT8["zero_point"]}
    graph = one_between("PADV2", INT8, INT8, WIDE, [(BORDER, {}), value], before=before, behind=behind)
    padded = numpy.pad(real(levels_of(INT8), INT8), BORDER, constant_values=real(value[0], INT8))
    check(graph, INT8, INT8, stored(padded, INT8), rounding, before, behind)


@everywhere
def test_images_of_a_batch_are_padded_with_what_stands_for_zero(rounding, before, behind):
    constants = [(numpy.array([2, 2], numpy.int32), {}), (numpy.array([[1, 1], [2, 0]], numpy.int32), {})]
    graph = one_between("SPACE_TO_BATCH_ND", INT8, INT8, (4, 3, 3, 2), constants, before=before, behind=behind)
    padded = numpy.pad(real(levels_of(INT8), INT8), [(0, 0), (1, 1), (2, 0), (0, 0)])
    images = padded.reshape(3, 2, 3, 2, 2).transpose(1, 3, 0, 2, 4).reshape(4, 3, 3, 2)
    check(graph, INT8, INT8, stored(images, INT8), rounding, before, behind)


@everywhere
@pytest.mark.parametrize("made", [INT8, OTHER], ids=["one scale", "two scales"])
@pytest.mark.parametrize(("kind", "low", "high"), [("RELU6", 0.0, 6.0), ("RELU_N1_TO_1", -1.0, 1.0), ("RELU", 0.0, 1e9)])
def test_bounds_of_a_clamp_beside_a_quantization_are_reals(kind, low, high, made, rounding, before, behind):
    graph = one_between(kind, INT8, made, DIMS, before=before, behind=behind)
    levels, results = levels_of(INT8), numpy.clip(real(levels_of(INT8), INT8), low, high)
    given = real(levels, INT8).astype(numpy.float32) if before else levels
    found = computed(graph, given, rounding)
    found = found if behind else real(found, made)
    assert numpy.abs(found - real(stored(results, made), made)).max() <= made["scale"] * (1.01 if made is OTHER else 0.01)


@everywhere
def test_a_second_quantization_states_the_numbers_anew(rounding, before, behind):
    graph = one_between("QUANTIZE", INT8, OTHER, DIMS, before=before, behind=behind)
    found = computed(graph, real(levels_of(INT8), INT8).astype(numpy.float32) if before else levels_of(INT8), rounding)
    found = found if behind else real(found, OTHER)
    assert numpy.abs(found - real(stored(real(levels_of(INT8), INT8), OTHER), OTHER)).max() <= OTHER["scale"] * 1.01


@pytest.mark.parametrize("rounding", CONTRACTS)
@pytest.mark.parametrize("kind", ["RELU", "RELU6", "QUANTIZE"])
def test_what_moves_in_front_of_a_view_keeps_the_scale_of_its_result(kind, rounding):
    """Space to batch ends in a Reshape, in front of which a clamp is computed once."""
    graph = Graph()
    data, images, result = graph.input(DIMS), graph.tensor(DIMS, **INT8), graph.tensor((4, 2, 2, 2), **OTHER)
    apart = graph.tensor((4, 2, 2, 2), **INT8)
    blocks, pads = graph.constant(numpy.array([2, 2], numpy.int32)), graph.constant(numpy.zeros((2, 2), numpy.int32))
    graph.node("QUANTIZE", [data], [images])
    graph.node("SPACE_TO_BATCH_ND", [images, blocks, pads], [apart])
    graph.node(kind, [apart], [result])
    graph.node("DEQUANTIZE", [result], [graph.output((4, 2, 2, 2))])
    reals = real(levels_of(INT8), INT8)
    wanted = numpy.clip(reals, *{"RELU": (0, 1e9), "RELU6": (0, 6), "QUANTIZE": (-1e9, 1e9)}[kind])
    wanted = wanted.reshape(2, 2, 2, 2, 2).transpose(1, 3, 0, 2, 4).reshape(4, 2, 2, 2)
    found = computed(graph, reals.astype(numpy.float32), rounding)
    assert numpy.abs(found - real(stored(wanted, OTHER), OTHER)).max() <= OTHER["scale"] * 1.01


@pytest.mark.parametrize("rounding", CONTRACTS)
@pytest.mark.parametrize("kind", ["RELU", "RELU6", "QUANTIZE"])
def test_what_moves_in_front_of_a_copying_layer_keeps_the_scale_of_its_result(kind, rounding):
    """A clamp of an image that was made larger is computed once for each of its pixels."""
    graph, twice = Graph(), (1, 8, 8, 2)
    data, absolute, larger = graph.input(DIMS, **INT8), graph.tensor(DIMS, **INT8), graph.tensor(twice, **INT8)
    graph.node("ABS", [data], [absolute])
    graph.node("RESIZE_NEAREST_NEIGHBOR", [absolute, graph.constant(numpy.array([8, 8], numpy.int32))], [larger], 74)
    graph.node(kind, [larger], [graph.output(twice, **OTHER)])
    view = simplify(import_tflite(write(graph), "case.tflite", rounding=rounding)[0], rounding)
    assert all(tensor.quantization is not None for tensor in view.tensors.values() if not tensor.is_constant)
    absolutes = real(stored(numpy.abs(real(levels_of(INT8), INT8)), INT8), INT8)
    wanted = numpy.clip(absolutes, *{"RELU": (0, 1e9), "RELU6": (0, 6), "QUANTIZE": (-1e9, 1e9)}[kind])
    found = computed(graph, levels_of(INT8), rounding)
    levels = stored(wanted.repeat(2, axis=1).repeat(2, axis=2), OTHER)
    assert numpy.abs(found.astype(int) - levels).max() <= 1


@pytest.mark.parametrize("rounding", CONTRACTS)
@pytest.mark.parametrize("how", [INT8, UINT8], ids=["int8", "uint8"])
@pytest.mark.parametrize("kind", ["EQUAL", "NOT_EQUAL", "GREATER", "LESS_EQUAL"])
def test_stored_values_are_compared_with_a_constant_of_their_scale(kind, how, rounding):
    threshold = levels_of(how)[:, ::-1]
    graph = Graph()
    given = [graph.input(DIMS, **how), graph.constant(threshold, scale=how["scale"], zero_point=how["zero_point"])]
    graph.node(kind, given, [graph.output(DIMS, "bool")])
    function = {"EQUAL": numpy.equal, "NOT_EQUAL": numpy.not_equal, "GREATER": numpy.greater, "LESS_EQUAL": numpy.less_equal}[
        kind
    ]
    assert numpy.array_equal(computed(graph, levels_of(how), rounding), function(levels_of(how), threshold))


@pytest.mark.parametrize("how", [INT8, UINT8], ids=["int8", "uint8"])
@pytest.mark.parametrize(
    ("kind", "function"),
    [("NEG", numpy.negative), ("RELU6", lambda data: numpy.clip(data, 0, 6)), ("TANH", numpy.tanh), ("ABS", numpy.abs)],
)
def test_under_the_contract_of_tflite_what_a_file_computes_in_floats_has_no_rule_of_stored_values(kind, function, how):
    """LiteRT's NEG of int8 negates the stored value; between DEQUANTIZE and QUANTIZE it is the number's."""
    graph, made = Graph(), {**how, "scale": 0.07, "zero_point": how["zero_point"] - 5}
    data, reals, results, result = (graph.input(DIMS, **how), graph.tensor(DIMS), graph.tensor(DIMS), graph.output(DIMS, **made))
    graph.node("DEQUANTIZE", [data], [reals])
    graph.node(kind, [reals], [results])
    graph.node("QUANTIZE", [results], [result])
    levels = levels_of(how)
    assert numpy.array_equal(computed(graph, levels, "double"), stored(function(real(levels, how)), made))


def test_an_input_of_uint8_that_is_an_output_too_is_handed_out_as_it_came():
    graph = Graph()
    given = graph.input(DIMS, **UINT8)
    graph.node("RELU", [given], [graph.output(DIMS, **UINT8)])
    graph.outputs.append(given)
    view = simplify(import_tflite(write(graph), "case.tflite")[0])
    execution, levels = prepare(view), levels_of(UINT8)
    context = execution.forward(execution.context(), {view.inputs[0]: levels})
    assert numpy.array_equal(context[view.outputs[1]], levels)
    assert numpy.array_equal(context[view.outputs[0]], numpy.maximum(levels, UINT8["zero_point"]))


@pytest.mark.parametrize("rounding", CONTRACTS)
def test_a_minus_of_an_onnx_file_is_that_of_the_number_under_either_contract(rounding):
    view = onnx_graph(
        "real = DequantizeLinear(x, sx, zx) minus = Neg(real) y = QuantizeLinear(minus, sy, zy)",
        inputs="int8[1,4,4,2] x",
        outputs="int8[1,4,4,2] y",
        constants={
            **{"sx": numpy.float32(INT8["scale"]), "zx": numpy.int8(INT8["zero_point"])},
            **{"sy": numpy.float32(OTHER["scale"]), "zy": numpy.int8(OTHER["zero_point"])},
        },
    )
    execution, levels = prepare(simplify(view, rounding)), levels_of(INT8)
    found = execution.forward(execution.context(), {"x": levels})["y"]
    assert numpy.array_equal(found, stored(-real(levels, INT8), OTHER))
