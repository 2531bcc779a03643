# SPDX-License-Identifier: MIT
"""Files of TensorFlow Lite against LiteRT's reference kernels: operators, layers fed with LiteRT's own inputs, whole models."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.operators.arithmetic.fixed_multiplier import fixed_multipliers
from aidge_build.operators.conv import Conv
from aidge_build.operators.window import Window
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.check import check_graph
from aidge_build.sources.formats.tflite.file import TfliteTensor, read_tflite
from aidge_build.sources.formats.tflite.importer import import_tflite
from tests.exactness.tflite_references import LAYERS_OF, STORED, model_inputs, stored_case, unpacked
from tests.shared import MLPERF_TINY, shared
from tests.tflite_cases import CASES, inputs_of

# LiteRT rounds the product with a fixed-point multiplier, and the shift behind it once more (means: halves away from zero; int16:
# multipliers of 16 bits). What is rounded once here then is one level off: in at most this share of the values of a case.
ROUNDED_TWICE = {
    "LEAKY_RELU int8": 0.25,
    "RELU int8": 0.25,
    "RELU6 int8": 0.25,
    "RELU_N1_TO_1 int8": 0.25,
    "QUANTIZE int8": 0.25,
    "MEAN int8 True": 0.25,
    "AVERAGE_POOL_2D int8": 0.15,
    "AVERAGE_POOL_2D uint8": 0.15,
    "RESIZE_BILINEAR int8 asymmetric": 0.1,
    "RESIZE_BILINEAR int8 corners": 0.1,
    "RESIZE_BILINEAR int8 half": 0.1,
    "CONV_2D same int8": 0.02,
    "CONV_2D same int16": 0.05,
    "CONV_2D dilated int16": 0.05,
    "DEPTHWISE_CONV_2D int16": 0.05,
    "DEPTHWISE_CONV_2D plain int16": 0.15,
    "TRANSPOSE_CONV int16": 0.15,
}
FLOAT_TOLERANCE = 1e-5
BY_FLOAT_KERNELS = {"FULLY_CONNECTED hybrid": 0.01}  # LiteRT quantizes the data of a hybrid layer while it runs
# The real numbers count here. LiteRT negates stored values whatever their zero point is, and its sum of int8 is always -1.
OTHER_MEANING = ("NEG int8", "SUM int8 False", "SUM int8 True")


# Under `--rounding double` these have no meaning yet, or a rule of their own.
WITHOUT_CONTRACT = (
    "SUM int8 False",
    "SUM int8 True",
    "TRANSPOSE_CONV int16",
)


@pytest.fixture(scope="module")
def stored() -> dict[str, numpy.ndarray]:
    with numpy.load(STORED) as archive:
        return {key: archive[key] for key in archive.files}


def results(view: GraphView, rows: list[list[numpy.ndarray]]) -> Iterator[tuple[Tensor, numpy.ndarray]]:
    """The outputs for each row of inputs, in the order of the file."""
    execution, given = prepare(view), [view.tensor(name) for name in view.inputs]
    for row in rows:
        inputs = {tensor.name: tensor.from_stored(values) for tensor, values in zip(given, row, strict=True)}
        context = execution.forward(execution.context(), inputs)
        for name in view.outputs:
            yield view.tensor(name), view.tensor(name).to_stored(context[name])


@pytest.mark.parametrize("name", [name for name in CASES if name not in OTHER_MEANING])
def test_an_operator_gives_what_litert_gives(name, stored):
    view, _ = import_tflite(CASES[name](), "case.tflite")
    check_graph(view, "the import")
    view = simplify(view)
    types = [(view.tensor(one).layout.stored_dims, view.tensor(one).dtype.name) for one in view.inputs]
    found = [values for _, values in results(view, inputs_of(name, types))]
    for got, wanted in zip(found, unpacked(stored[stored_case(name)], found), strict=True):
        if got.dtype.kind == "f":
            largest = max(float(numpy.abs(wanted).max()), 1e-9)
            assert numpy.abs(got - wanted).max() <= BY_FLOAT_KERNELS.get(name, FLOAT_TOLERANCE) * largest
        else:
            apart = numpy.abs(got.astype(numpy.int64) - wanted.astype(numpy.int64))
            assert apart.max() <= 1 and (apart > 0).mean() <= ROUNDED_TWICE.get(name, 0)


@pytest.mark.parametrize("name", [name for name in CASES if name not in WITHOUT_CONTRACT])
def test_under_its_own_contract_an_operator_gives_every_integer_that_litert_gives(name, stored):
    view, _ = import_tflite(CASES[name](), "case.tflite", rounding="double")
    view = simplify(view, "double")
    types = [(view.tensor(one).layout.stored_dims, view.tensor(one).dtype.name) for one in view.inputs]
    found = [values for _, values in results(view, inputs_of(name, types))]
    for got, wanted in zip(found, unpacked(stored[stored_case(name)], found), strict=True):
        assert got.dtype.kind == "f" or numpy.array_equal(got, wanted)


@pytest.mark.parametrize("name", WITHOUT_CONTRACT)
def test_what_the_contract_does_not_say_is_refused(name):
    with pytest.raises(AidgeError, match="contract tflite|a rule of its own"):
        view = simplify(import_tflite(CASES[name](), "case.tflite", rounding="double")[0], "double")
        types = [(view.tensor(one).layout.stored_dims, view.tensor(one).dtype.name) for one in view.inputs]
        list(results(view, inputs_of(name, types)))


@pytest.mark.parametrize("name", LAYERS_OF)
def test_under_its_own_contract_a_network_gives_every_value_that_litert_gives(name):
    vectors = numpy.load(shared(MLPERF_TINY / f"{name}_io.npz"))
    view, _ = import_tflite(shared(MLPERF_TINY / f"{name}_int8.tflite").read_bytes(), name, rounding="double")
    rows = [[row.reshape(view.tensor(view.inputs[0]).layout.stored_dims)] for row in vectors["x"]]
    for (_, got), wanted in zip(results(simplify(view, "double"), rows), vectors["y_litert_ref"], strict=True):
        assert numpy.array_equal(got.reshape(-1), wanted.reshape(-1))


def in_graph(values: numpy.ndarray, tensor: Tensor, declared: TfliteTensor) -> numpy.ndarray:
    """A tensor of the file in the order of the graph: those of the importer differ by the place of the channels alone."""
    if tensor.dims == declared.dims:
        return values
    moved = numpy.moveaxis(values, -1, 1)
    assert moved.shape == tensor.dims
    return moved


@pytest.mark.parametrize("name", LAYERS_OF)
def test_each_layer_differs_from_litert_in_one_level_of_one_value_in_a_hundred(name, stored):
    content = shared(MLPERF_TINY / f"{name}_int8.tflite").read_bytes()
    graph, (view, _) = read_tflite(content).subgraphs[0], import_tflite(content, name)
    declared = {tensor.name: tensor for tensor in graph.tensors}
    ports = dict(zip((*view.inputs, *view.outputs), (graph.tensors[one].name for one in (*graph.inputs, *graph.outputs))))
    known: dict[str, numpy.ndarray] = {}

    def litert(tensor: Tensor) -> numpy.ndarray | None:
        own = ports.get(tensor.name, tensor.name)
        key = f"layer|{name}|{own}"
        return in_graph(stored[key], tensor, declared[own]) if key in stored else None

    compared = differing = 0
    for node in view.nodes:
        inputs, outputs = view.input_tensors(node), view.output_tensors(node)
        values = []
        for tensor in inputs:
            of_litert = None if tensor.is_constant else litert(tensor)
            values.append(tensor.data if tensor.is_constant else known[tensor.name] if of_litert is None else of_litert)
        (known[node.outputs[0]],) = evaluate(node.operator, values, inputs, outputs)
        wanted = litert(outputs[0])
        if wanted is not None:
            apart = numpy.abs(known[node.outputs[0]].astype(numpy.int64) - wanted.astype(numpy.int64))
            assert apart.max() <= 1 and (apart > 0).mean() <= 0.01, node.where()
            compared, differing = compared + apart.size, differing + int((apart > 0).sum())
    assert compared > 1000


# Of 20 seeded random inputs: how many values are at most 0, 1, 2, ... levels apart, and in how many inputs the class is the same.
@pytest.mark.parametrize(
    ("name", "furthest", "same_class"), [("ad_toycar", 2, None), ("kws_dscnn", 9, 20), ("sww_dscnn1d", 4, 20)]
)
def test_a_whole_model_stays_near_litert(name, furthest, same_class, stored):
    content = shared(MLPERF_TINY / f"{name}_int8.tflite").read_bytes()
    view = simplify(import_tflite(content, name)[0])
    (given,) = (view.tensor(one) for one in view.inputs)
    wanted = stored[f"model|{name}_int8"][:20]
    rows = model_inputs(name, given.layout.stored_dims, given.dtype.numpy, len(wanted))
    found = numpy.array([values for _, values in results(view, [[row] for row in rows])])
    assert numpy.abs(found.astype(numpy.int64) - wanted.astype(numpy.int64)).max() <= furthest
    if same_class is not None:
        flat = found.reshape(len(found), -1), wanted.reshape(len(wanted), -1)
        assert int((flat[0].argmax(1) == flat[1].argmax(1)).sum()) == same_class


@pytest.mark.parametrize("name", ["ad_toycar", "ic_resnet8"])
def test_a_float_model_agrees_with_litert(name, stored):
    content = shared(MLPERF_TINY / f"{name}_float.tflite").read_bytes()
    view = simplify(import_tflite(content, name)[0])
    (given,) = (view.tensor(one) for one in view.inputs)
    wanted = stored[f"model|{name}_float"]
    rows = model_inputs(name, given.layout.stored_dims, given.dtype.numpy, len(wanted))
    for (_, values), reference in zip(results(view, [[row] for row in rows]), wanted, strict=True):
        assert numpy.abs(values - reference).max() <= FLOAT_TOLERANCE * numpy.abs(reference).max()


@pytest.mark.parametrize(
    "name, is_single",
    [
        ("CONV_2D same uint8", True),
        ("DEPTHWISE_CONV_2D uint8", True),
        ("CONV_2D same int8", False),
        ("TRANSPOSE_CONV int8", False),
    ],
)
def test_convolutions_of_uint8_multiply_their_scales_in_float32_under_litert_and_no_others_do(name, is_single):
    """Source: GetQuantizedConvolutionMultipler in TensorFlow Lite's kernel_util.cc."""
    for rounding, wanted in (("double", is_single), ("onnx", False)):
        view, _ = import_tflite(CASES[name](), name, rounding=rounding)
        found = [node.operator.single_product for node in simplify(view, rounding).nodes if isinstance(node.operator, Conv)]
        assert found and set(found) == {wanted}


def test_the_product_of_scales_in_float32_gives_another_factor_than_in_float64():
    scales = numpy.float32([0.18911026, 0.0014702979, 0.023528477])
    data, weights, output = (
        Tensor(name, (1, 1, 1, 1), DType.int8, quantization=Quantization((float(scale),), (0,), rounding="double"))
        for name, scale in zip("xwy", scales)
    )
    window = Window((1, 1), (1, 1), (1, 1), (0, 0), (0, 0))
    single, double = (
        Conv(window=window, single_product=is_single).requantization([data, weights], output) for is_single in (True, False)
    )
    wanted = fixed_multipliers([float(scales[0] * scales[1]) / float(scales[2])])
    assert numpy.array_equal(single.factors, wanted)
    assert not numpy.array_equal(single.factors, double.factors)
