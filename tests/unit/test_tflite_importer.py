# SPDX-License-Identifier: MIT
"""TensorFlow Lite files become graphs in logical order on quantized tensors, with the file's own dims in the header."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.cli import main
from aidge_build.contract.reference.execution import prepare
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.run.verify.vectors import model_inputs, read_npz, reference_outputs
from aidge_build.sources.formats.tflite.dilation import spread_convolutions
from aidge_build.sources.formats.tflite.file import read_tflite
from aidge_build.sources.formats.tflite.importer import import_tflite
from aidge_build.sources.formats.tflite.order import file_order
from aidge_build.sources.formats.tflite.registry import pieces
from aidge_build.sources.formats.tflite.values import Value, value_of
from aidge_build.sources.importing import import_file
from aidge_build.sources.source_format import ModelFile
from tests.shared import MLPERF_TINY, shared, vectors
from tests.tflite_cases import CASES, GRAPHS
from tests.tflite_files import Graph, write

CLAMPED = (0, "int8", 0), (1, "int32", 1), (2, "int32", 1), (3, "int8", 1)  # SAME, strides 1, RELU


def convolution() -> Graph:
    """An int8 convolution of 2 x 2 with RELU over an image [1, 4, 5, 3]."""
    graph = Graph()
    x = graph.input((1, 4, 5, 3), "int8", scale=0.5, zero_point=3, name="image")
    weights = numpy.arange(-12, 12, dtype=numpy.int8).reshape(2, 2, 2, 3)
    w = graph.constant(weights, scale=[0.1, 0.2], zero_point=0, name="weights")
    b = graph.constant(numpy.array([7, -9], numpy.int32), scale=[0.05, 0.1], name="bias")
    y = graph.output((1, 4, 5, 2), "int8", scale=0.7, zero_point=-1, name="result")
    graph.node("CONV_2D", [x, w, b], [y], 1, *CLAMPED)
    return graph


def imported(graph: Graph, **more):
    return import_tflite(write(graph, **more), "m.tflite")[0]


def test_a_convolution_has_the_order_of_onnx_and_lies_as_in_the_file():
    view = imported(convolution())
    (node,) = view.nodes
    image, weights, bias, result = (view.tensor(name) for name in (*node.inputs, *node.outputs))
    assert (image.dims, str(image.format), image.layout.stored_dims) == ((1, 3, 4, 5), "nhwc", (1, 4, 5, 3))
    assert (result.dims, str(result.format), result.layout.stored_dims) == ((1, 2, 4, 5), "nhwc", (1, 4, 5, 2))
    assert weights.dims == (2, 3, 2, 2) and weights.data[1, 2, 0, 1] == 12 - 12 + 12 + 5 - 12
    assert node.operator.window.pads_begin == (0, 0) and node.operator.window.pads_end == (1, 1)
    assert (node.operator.minimum, node.operator.maximum) == (0.0, numpy.inf)
    assert image.quantization.zero_point == 3 and result.quantization.scale == numpy.float32(0.7)
    assert weights.quantization.axis == 0 and bias.quantization.scales == tuple(
        float(numpy.float32(0.5) * numpy.float32(scale)) for scale in (0.1, 0.2)
    )


def sum_with(values: list[int], scale: float = 0.0, zero_point: int = 0) -> Graph:
    """An int8 tensor and a constant of this scale."""
    graph = Graph()
    x = graph.input((1, 3), "int8", scale=0.5, zero_point=3)
    k = graph.constant(numpy.array([values], numpy.int8), scale=scale, zero_point=zero_point)
    graph.node("ADD", [x, k], [graph.output((1, 3), "int8", scale=0.5, zero_point=3)], 11, (0, "int8", 0))
    return graph


@pytest.mark.parametrize("rounding", ["onnx", "double"])
def test_constants_that_are_all_zero_may_have_the_scale_zero(rounding):
    view, _ = import_tflite(write(sum_with([0, 0, 0])), "m.tflite", rounding=rounding)
    x = numpy.array([[-7, 0, 99]], numpy.int8)
    execution = prepare(simplify(view, rounding))
    result = execution.forward(execution.context(), {view.inputs[0]: x})[view.outputs[0]]
    assert result.tolist() == x.tolist()


@pytest.mark.parametrize(("values", "zero_point"), [([0, 1, 0], 0), ([0, 0, 0], 5)])
def test_no_other_constant_has_the_scale_zero(values, zero_point):
    with pytest.raises(AidgeError, match=r"the scale 0\.0 is not a positive finite number"):
        imported(sum_with(values, zero_point=zero_point))


@pytest.mark.parametrize("rounding", ["onnx", "double"])
@pytest.mark.parametrize("scale", [0.0, 1e-40])
def test_a_pruned_channel_without_a_scale_is_0_whatever_it_stores_and_whatever_its_bias(scale, rounding):
    graph = Graph()
    x = graph.input((1, 5, 5, 3), "int8", scale=0.05, zero_point=-3)
    scales, weights = numpy.float32([0.01, scale, 0.02]), numpy.random.default_rng(1).integers(-90, 91, (3, 3, 3, 3))
    w = graph.constant(weights.astype(numpy.int8), scale=scales, zero_point=[0, 0, 0])
    b = graph.constant(numpy.array([100, 7000, -300], numpy.int32), scale=scales * numpy.float32(0.05), zero_point=[0, 0, 0])
    y = graph.output((1, 3, 3, 3), "int8", scale=0.1, zero_point=-5)
    graph.node("CONV_2D", [x, w, b], [y], 1, (0, "int8", 1), (1, "int32", 1), (2, "int32", 1))
    view, _ = import_tflite(write(graph), "m.tflite", rounding=rounding)
    values = numpy.random.default_rng(2).integers(-128, 128, view.tensor(view.inputs[0]).dims).astype(numpy.int8)
    execution = prepare(simplify(view, rounding))
    result = execution.forward(execution.context(), {view.inputs[0]: values})[view.outputs[0]]
    assert (result[:, 1] == -5).all() and (result[:, ::2] != -5).any()


def test_quotients_of_integers_are_rounded_down():
    graph = Graph()
    a, b = (graph.input((4,), "int32") for _ in range(2))
    graph.node("FLOOR_DIV", [a, b], [graph.output((4,), "int32")])
    view = simplify(imported(graph))
    given = {view.inputs[0]: numpy.int32([7, -7, 7, -8]), view.inputs[1]: numpy.int32([2, 2, -2, 4])}
    execution = prepare(view)
    assert execution.forward(execution.context(), given)[view.outputs[0]].tolist() == [3, -4, -4, -2]


def test_which_importer_reads_a_file_follows_from_its_content(tmp_path):
    (tmp_path / "net.onnx").write_bytes(write(convolution()))
    assert main(["compile", str(tmp_path / "net.onnx"), "--name", "net", "--out", str(tmp_path), "--cpu", "cortex-m4"]) == 0
    header = (tmp_path / "net.h").read_text()
    assert "#define NET_INPUT_DIMS {1, 4, 5, 3}" in header and "#define NET_OUTPUT_DIMS {1, 4, 5, 2}" in header
    assert "#define NET_INPUT_ZERO_POINT 3" in header and "#define NET_OUTPUT_SCALE 0.7" in header


def test_nothing_is_transposed_or_copied_between_layers(tmp_path):
    view = simplify(imported(convolution()))
    assert [node.type for node in view.nodes] == ["Conv2D"]


@pytest.mark.parametrize("name", ["ad_toycar", "kws_dscnn", "sww_dscnn1d"])
def test_an_int8_model_gives_what_its_onnx_form_gives(name):
    path = shared(MLPERF_TINY / f"{name}_int8.tflite")
    view, _ = import_file(ModelFile(path.read_bytes(), path.name, builtin_operators()))
    view = simplify(view)
    assert "Transpose" not in [node.type for node in view.nodes]
    arrays = read_npz(vectors(name))
    given = model_inputs(arrays, view)
    wanted = reference_outputs(arrays, "y_ort_qdq", view, len(arrays["x"]))
    execution = prepare(view)
    for index in range(2):
        context = execution.forward(execution.context(), {one: values[index] for one, values in given.items()})
        for one, values in wanted.items():
            assert numpy.array_equal(context[one], values[index])


def test_vectors_of_an_image_count_as_in_the_file():
    view = imported(convolution())
    x = numpy.arange(2 * 4 * 5 * 3, dtype=numpy.int8).reshape(2, 4, 5, 3)
    (given,) = model_inputs({"x": x}, view).values()
    assert given.shape == (2, 1, 3, 4, 5) and numpy.array_equal(given[:, 0], x.transpose(0, 3, 1, 2))
    y = numpy.arange(2 * 4 * 5 * 2, dtype=numpy.int8).reshape(2, 4, 5, 2)
    (wanted,) = reference_outputs({"y": y}, "y", view, 2).values()
    assert numpy.array_equal(wanted[:, 0], y.transpose(0, 3, 1, 2))


def signatures() -> tuple[list[Graph], list[dict]]:
    """Two graphs with a signature each: y = x + 1, z = x + x."""
    found = []
    for number in (1, 2):
        graph = Graph()
        x, y = graph.input((2,), name=f"serving_{number}:0"), graph.tensor((2,), name=f"call_{number}:0")
        graph.outputs.append(y)
        graph.node("ADD", [x, graph.constant(numpy.float32([1, 1])) if number == 1 else x], [y], 11)
        found.append(graph)
    keys = ("more", "double")
    return found, [
        {"key": key, "subgraph": index, "inputs": {"x": 0}, "outputs": {f"y_{key}": 1}} for index, key in enumerate(keys)
    ]


def test_a_signature_names_inputs_and_outputs_and_chooses_the_graph():
    data = write(*signatures())
    first, notices = import_tflite(data, "m.tflite")
    assert (first.inputs, first.outputs) == (("x",), ("y_more",))
    assert notices == ("of the signatures 'more' is compiled; --signature names another: 'double'",)
    second, notices = import_tflite(data, "m.tflite", "double")
    assert (second.inputs, second.outputs, notices) == (("x",), ("y_double",), ())
    assert second.nodes[0].inputs == ("x", "x")


def test_an_unknown_signature_is_refused_with_those_that_there_are():
    with pytest.raises(AidgeError, match=r"no signature 'doubel'. Tried: more; double. Hint: did you mean double\?"):
        import_tflite(write(*signatures()), "m.tflite", "doubel")


def test_the_page_lists_the_operators_that_are_registered():
    page = (Path(__file__).resolve().parents[2] / "docs" / "tflite.md").read_text()
    listed = page.partition("<!-- operators: begin -->")[2].partition("<!-- operators: end -->")[0]
    assert sorted(re.findall(r"`([A-Z0-9_]+)`", listed)) == sorted(pieces())


def test_blocks_around_a_convolution_become_its_dilation():
    view = import_tflite(CASES["CONV_2D in blocks"](), "m.tflite")[0]
    (node,) = view.nodes
    assert (node.type, node.operator.window.dilations) == ("Conv2D", (2, 3))
    assert (node.operator.window.pads_begin, node.operator.window.pads_end) == ((2, 3), (2, 3))


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph.outputs.append(6),
        lambda graph: graph.nodes[1].update(options=((0, "int8", 0), (1, "int32", 1), (2, "int32", 1))),
        lambda graph: graph.tensors[6].update(scales=[0.3]),
        lambda graph: graph.tensors[2].update(data=numpy.array([[0, 1], [4, 0]], numpy.int32)),
    ],
    ids=["the blocks are read, too", "the convolution has pads", "the scale changes", "more is cut off than padded"],
)
def test_blocks_stay_where_they_mean_something_else(change):
    graph = GRAPHS["CONV_2D in blocks"]()
    change(graph)
    found = read_tflite(write(graph)).subgraphs[0]

    def value(index: int) -> Value:
        return value_of(found.tensors[index], "", file_order(len(found.tensors[index].dims)))

    kept, spreads = spread_convolutions(found.operators, found.outputs, value)
    assert len(kept) == 3 and not spreads


def test_an_axis_that_older_converters_write_on_a_bias_means_nothing():
    graph = convolution()
    graph.tensors[2]["axis"] = 3
    assert numpy.array_equal(imported(graph).tensor("bias").data, [7, -9])


@pytest.mark.parametrize("name", ["CONV_2D same int16", "DEPTHWISE_CONV_2D int16", "FULLY_CONNECTED int16"])
def test_layers_of_int16_data_and_int8_weights_add_up_integers(name):
    view = simplify(import_tflite(CASES[name](), "case.tflite")[0])
    (layer,) = (node for node in view.nodes if len(node.inputs) == 3)
    assert not {"DequantizeLinear", "QuantizeLinear"} & {node.type for node in view.nodes}
    assert [view.tensor(one).dtype.name for one in layer.inputs] == ["int16", "int8", "int32"]


@pytest.mark.parametrize(("bias", "is_integers"), [(2**31 - 6 * 2**15, True), (2**31 - 5 * 2**15, False), (2**40, False)])
def test_int16_layers_whose_sums_int32_does_not_hold_stay_in_real_numbers(bias, is_integers):
    graph = Graph()
    x = graph.input((1, 2), "int16", scale=0.01, zero_point=0)
    w = graph.constant(numpy.array([[2, -3]], numpy.int8), scale=0.01, zero_point=0)
    b = graph.constant(numpy.array([bias], numpy.int64), scale=0.0001)
    y = graph.output((1, 1), "int16", scale=0.01, zero_point=0)
    graph.node("FULLY_CONNECTED", [x, w, b], [y], 8)
    assert ("DequantizeLinear" not in {node.type for node in imported(graph).nodes}) == is_integers


@pytest.mark.parametrize("dims", [(), (1,)], ids=["no axis", "one axis"])
@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "DIV", "MAXIMUM"])
def test_a_constant_of_half_precision_without_axes_is_a_number(kind, dims):
    graph = Graph()
    half, number = graph.constant(numpy.float16(2.5).reshape(dims)), graph.tensor(dims)
    graph.node("DEQUANTIZE", [half], [number])
    graph.node(kind, [graph.input((1, 2)), number], [graph.output((1, 2))])
    view = simplify(imported(graph))
    found = prepare(view).forward(prepare(view).context(), {view.inputs[0]: numpy.float32([[1, 4]])})[view.outputs[0]]
    function = {"ADD": numpy.add, "SUB": numpy.subtract, "MUL": numpy.multiply, "DIV": numpy.divide, "MAXIMUM": numpy.maximum}[
        kind
    ]
    assert found.tolist() == function(numpy.float32([[1, 4]]), numpy.float32(2.5)).tolist()


@pytest.mark.parametrize("rounding", ["onnx", "double"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_stored_constant_without_axes_is_an_operand(dtype, is_first, rounding):
    how = {"dtype": dtype, "scale": 0.25, "zero_point": {"int8": -3, "uint8": 125, "int16": 0}[dtype]}
    graph = Graph()
    names = [graph.input((2, 3), **how), graph.constant(numpy.array(9, dtype), scale=0.25, zero_point=how["zero_point"])]
    graph.node("SUB", names[:: -1 if is_first else 1], [graph.output((2, 3), **how)], 28, (0, "int8", 0), (1, "bool", False))
    view = simplify(import_tflite(write(graph), "m.tflite", rounding=rounding)[0], rounding)
    data = numpy.array([[9, 10, 11], [12, 13, 14]], dtype)
    found = prepare(view).forward(prepare(view).context(), {view.inputs[0]: data})[view.outputs[0]]
    wanted = (9 - data.astype(int)) * (1 if is_first else -1) + how["zero_point"]
    assert found.tolist() == wanted.tolist()


_LAYERS = {
    "CONV_2D": ((1, 4, 5, 2), (3, 2, 2, 2), (1, 4, 5, 3), 0, (1, (0, "int8", 0), (1, "int32", 1), (2, "int32", 1))),
    "DEPTHWISE_CONV_2D": ((1, 4, 5, 3), (1, 2, 2, 3), (1, 4, 5, 3), 3, (2, (0, "int8", 0), (1, "int32", 1), (2, "int32", 1))),
    "FULLY_CONNECTED": ((2, 6), (3, 6), (2, 3), 0, (8, (0, "int8", 0))),
}


def layer_with_bias(kind: str, dtype: str, factor: float, per_channel: bool) -> Graph:
    """A layer whose bias states `factor` times the scale of its sums."""
    dims, shape, made, axis, options = _LAYERS[kind]
    how = {"dtype": dtype, "scale": 0.05 if dtype != "int16" else 4e-4, "zero_point": 0 if dtype == "int16" else 20}
    scales = numpy.float32([0.01, 0.02, 0.005] if per_channel else [0.01])
    weights = numpy.random.default_rng(2).integers(0, 100, shape).astype("uint8" if dtype == "uint8" else "int8")
    graph, wide = Graph(), "int64" if dtype == "int16" else "int32"
    units = numpy.float32(how["scale"]) * scales * numpy.float32(factor)
    names = [graph.input(dims, **how), graph.constant(weights, scale=scales, zero_point=0, axis=axis)]
    names.append(graph.constant(numpy.array([300, -200, 100], wide), scale=units))
    graph.node(kind, names, [graph.output(made, **{**how, "scale": how["scale"] * 4})], *options)
    return graph


@pytest.mark.parametrize("kind", sorted(_LAYERS))
@pytest.mark.parametrize(
    ("dtype", "per_channel"), [("int8", True), ("int8", False), ("int16", True), ("int16", False), ("uint8", False)]
)
def test_a_bias_counts_in_units_of_the_sums_and_its_own_scale_is_compared_where_tensorflow_lite_does(kind, dtype, per_channel):
    """Source: GetQuantizedConvolutionMultipler in TensorFlow Lite's kernel_util.cc, and which kernels call it."""
    graph = layer_with_bias(kind, dtype, 1000.0, per_channel)
    if dtype == "uint8" or kind == "FULLY_CONNECTED" and not per_channel:
        with pytest.raises(AidgeError, match="its bias 't2' has the scale .* data times weights .*: TensorFlow Lite refuses"):
            imported(graph)
        return
    found, right = (
        next(tensor for name, tensor in imported(one).tensors.items() if name.startswith("t2"))
        for one in (graph, layer_with_bias(kind, dtype, 1.0, per_channel))
    )
    assert found.quantization == right.quantization and numpy.array_equal(found.data, right.data)
