# SPDX-License-Identifier: MIT
"""Training goes on behind the quantization: the file that comes back has the scales that it had, and loses less."""

from __future__ import annotations

from functools import cache

import numpy
import onnx
import pytest
from digit_networks import split

from aidge_build import net
from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType
from aidge_build.operators import builtin_operators
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.training import Adam, QuantizedTraining, batches, coarser, fit, he, pruned
from aidge_build.sources.formats.onnx.importer import import_onnx

BATCH, LEVELS = 32, 1
INT8, REAL = "int8", "float32"  # at the border


def mlp(params: dict[str, numpy.ndarray], size: int) -> tuple[net.Graph, net.Value]:
    """64 - 24 - 10, fully connected."""
    graph = net.Graph("mlp")
    p = {name: graph.parameter(name, values) for name, values in params.items()}
    hidden = net.Relu(net.Gemm(graph.input("x", (size, 64)), p["w1"], p["b1"], transB=1))
    return graph, graph.output(net.Gemm(hidden, p["w2"], p["b2"], transB=1), "scores")


def trained(graph: net.Graph, scores: net.Value, epochs: int, rate: float) -> dict[str, numpy.ndarray]:
    """Its parameters after so many epochs of the digits."""
    images, labels, _, _ = split()
    graph.output(net.SoftmaxCrossEntropyLoss(scores, graph.input("labels", (BATCH,), DType.int64)), "loss")
    execution = prepare(graph.view(), exact=True)
    context = execution.context({name: values.astype(float) for name, values in graph.parameters().items()})
    optimizer, random = Adam(rate), numpy.random.default_rng(2)
    for epoch in range(epochs):
        optimizer.rate = rate * (1 - epoch / epochs)
        fit(execution, context, optimizer, batches({"x": images.reshape(-1, 64), "labels": labels}, BATCH, random))
    return dict(context.params)


@cache
def float_model() -> bytes:
    random = numpy.random.default_rng(1)
    first = {"w1": he((24, 64), random), "b1": numpy.zeros(24), "w2": he((10, 24), random), "b2": numpy.zeros(10)}
    return mlp(trained(*mlp(first, BATCH), 8, 5e-3), 1)[0].onnx()


@cache
def quantized(border: str) -> bytes:
    return quantize(float_model(), {"x": split()[0][:100].reshape(-1, 64).astype(numpy.float32)}, Scheme(io_type=border))


def right(model: bytes) -> float:
    """The share of held-out digits with the right answer, on the integers of the model."""
    view, _ = import_onnx(model, "m.onnx", builtin_operators(), {}, {})
    execution, (_, _, images, labels) = prepare(simplify(view)), split()
    found = [
        execution.forward(execution.context({}), {"x": image.reshape(1, 64).astype(numpy.float32)})["scores"].argmax()
        for image in images
    ]
    return float((numpy.array(found) == labels).mean())


def constants(model: bytes) -> dict[str, numpy.ndarray]:
    return {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load_from_string(model).graph.initializer}


def test_training_wins_back_what_weights_of_three_values_lose_and_keeps_every_scale():
    coarse = coarser(quantized(REAL), LEVELS)
    lost = right(quantized(REAL)) - right(coarse)
    assert lost > 0.05  # far more than a point
    training = QuantizedTraining(coarse, BATCH, LEVELS)
    found = training.model(trained(training.graph, training.outputs["scores"], 8, 2e-3))
    assert right(found) > right(coarse) + lost / 3
    before, after = constants(coarse), constants(found)
    changed = {name for name in before if not numpy.array_equal(before[name], after[name])}
    stored = {name for name, values in before.items() if values.dtype in (numpy.int8, numpy.int32) and values.size > 10}
    assert {values.dtype for values in map(before.get, changed)} == {numpy.dtype(numpy.int8), numpy.dtype(numpy.int32)}
    weights = [after[name] for name in stored if after[name].ndim == 2]
    assert len(weights) == 2 and all(set(numpy.unique(values)) <= {-1, 0, 1} for values in weights)


def test_training_wins_back_what_blocks_of_zeros_lose_and_keeps_every_zero():
    sparse = pruned(quantized(REAL), 0.75)
    lost = right(quantized(REAL)) - right(sparse)
    assert lost > 0.05
    training = QuantizedTraining(sparse, BATCH, keeps_zeros=True)
    found = training.model(trained(training.graph, training.outputs["scores"], 8, 5e-3))
    assert right(found) > right(sparse) + lost / 3
    before, after = ([values for values in constants(one).values() if values.ndim == 2] for one in (sparse, found))
    assert len(before) == 2 and all((new[old == 0] == 0).all() for old, new in zip(before, after))
    for values in before:
        blocks = values.reshape(-1, 4)
        assert round(0.75 * len(blocks)) <= (blocks == 0).all(axis=1).sum() < 0.78 * len(blocks)


def test_weights_of_few_bits_keep_them_and_others_do_not_get_them():
    scheme = Scheme(io_type=REAL, layers={"Gemm": "int4"}, least_sqnr=-numpy.inf)
    mixed = quantize(float_model(), {"x": split()[0][:100].reshape(-1, 64).astype(numpy.float32)}, scheme)
    training = QuantizedTraining(mixed, BATCH)
    found = constants(training.model(trained(training.graph, training.outputs["scores"], 1, 2e-2)))
    weights = {values.shape: values for values in found.values() if values.ndim == 2}
    assert not numpy.array_equal(weights[24, 64], next(one for one in constants(mixed).values() if one.shape == (24, 64)))
    assert abs(weights[24, 64]).max() == 7 and abs(weights[10, 24].astype(int)).max() > 100


@pytest.mark.parametrize("border", [INT8, REAL])
def test_an_untrained_graph_gives_back_the_same_file_and_computes_what_it_means(border):
    model = quantized(border)
    training = QuantizedTraining(model, 3)
    assert constants(training.model(training.graph.parameters())).keys() == constants(model).keys()
    for name, values in constants(training.model(training.graph.parameters())).items():
        assert numpy.array_equal(values, constants(model)[name]), name
    training.graph.output(training.outputs["scores"], "real")
    execution = prepare(training.graph.view())
    images = split()[2][:3].reshape(3, 64).astype(numpy.float32)
    ours = execution.forward(execution.context(training.graph.parameters()), {"x": images})["real"]
    view, _ = import_onnx(quantized(REAL), "m.onnx", builtin_operators(), {}, {})
    deployed = prepare(simplify(view))
    theirs = [deployed.forward(deployed.context({}), {"x": image[None]})["scores"][0] for image in images]
    levels = numpy.abs(ours - numpy.array(theirs)) / constants(quantized(REAL))["scores_scale"]
    assert levels.max() < 1.01 and (levels > 0.5).mean() <= 0.1


def test_gradients_pass_quantizers_where_nothing_is_saturated():
    data, scale, zero_point = numpy.array([-60.0, -1.3, 0.0, 5.0, 66.0]), numpy.array(0.5), numpy.array(-4, numpy.int8)
    gradient = numpy.array([1.0, 2.0, 3.0, 4.0, 5.0])
    quantizing, dequantizing = QuantizeLinear(0, DType.int8), DequantizeLinear(0)
    stored = quantizing.forward(data, scale, zero_point)
    assert stored.tolist() == [-124, -7, -4, 6, 127]
    (by_stored, *rest) = dequantizing.backward([gradient], (stored, scale, zero_point), ())
    (by_data, *more) = quantizing.backward([by_stored], (data, scale, zero_point), (stored,))
    assert by_data.tolist() == [1.0, 2.0, 3.0, 4.0, 0.0] and rest + more == [None] * 4


def test_gradients_of_scales_along_an_axis_are_those_of_each_row():
    data, scales = numpy.array([[1.0, 40.0], [1.0, 40.0]]), numpy.array([0.1, 1.0])
    stored = QuantizeLinear(0, DType.int8).forward(data, scales, None)
    (by_stored, _) = DequantizeLinear(0).backward([numpy.ones((2, 2))], (stored, scales), ())
    assert by_stored.tolist() == [[0.1, 0.1], [1.0, 1.0]]
    (by_data, _) = QuantizeLinear(0, DType.int8).backward([by_stored], (data, scales), (stored,))
    assert by_data.tolist() == [[1.0, 0.0], [1.0, 1.0]]


@pytest.mark.requirement("TRAINING")
def test_what_cannot_be_trained_is_refused():
    with pytest.raises(AidgeError, match="is not quantized"):
        QuantizedTraining(float_model(), BATCH)
    with pytest.raises(AidgeError, match="0 levels on each side of zero"):
        coarser(quantized(REAL), 0)
    with pytest.raises(AidgeError, match="1.0 of the blocks"):
        pruned(quantized(REAL), 1.0)
    training = QuantizedTraining(quantized(REAL), BATCH)
    with pytest.raises(AidgeError, match="no parameter 'w9'"):
        training.model({"w9": numpy.zeros(3)})


def test_weights_that_an_exporter_left_in_float_in_front_of_their_quantizer_are_trained_too():
    """As PyTorch writes fake-quantized layers: QuantizeLinear and DequantizeLinear of float weights, and a float bias."""
    graph = net.Graph("exported")
    scale, zero_point = (
        graph.constant(numpy.array(value), name) for value, name in ((numpy.float32(0.02), "s"), (numpy.int8(0), "z"))
    )
    random = numpy.random.default_rng(0)

    def rounded(value: net.Value) -> net.Value:
        return net.DequantizeLinear(net.QuantizeLinear(value, scale, zero_point), scale, zero_point)

    weights, bias = graph.constant(he((10, 64), random), "weights"), graph.constant(numpy.zeros(10, numpy.float32), "bias")
    graph.output(rounded(net.Gemm(rounded(graph.input("x", (1, 64))), rounded(weights), bias, transB=1)), "scores")
    training = QuantizedTraining(graph.onnx(), BATCH)
    assert set(training.graph.parameters()) == {"weights", "bias"}
    found = training.model(trained(training.graph, training.outputs["scores"], 2, 5e-3))
    before, after = constants(graph.onnx()), constants(found)
    assert {name for name in before if not numpy.array_equal(before[name], after[name])} == {"weights", "bias"}
    assert right(found) > right(graph.onnx()) + 0.4


def test_training_makes_no_weight_of_minus_128_if_the_file_has_none():
    training = QuantizedTraining(quantized(REAL), BATCH)
    far = {name: numpy.full_like(values, -1e3) for name, values in training.graph.parameters().items()}
    weights = [values for values in constants(training.model(far)).values() if values.dtype == numpy.int8 and values.ndim == 2]
    assert [values.min() for values in weights] == [-127, -127]
