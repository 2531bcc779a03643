# SPDX-License-Identifier: MIT
"""The parts of training: optimizers, first weights, batches, and gradients of layers with a memory."""

from __future__ import annotations

import numpy
import pytest

from aidge_build import net
from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.context import Context
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType
from aidge_build.prepare.training import SGD, Adam, batches, fit, glorot, he, orthogonal


def stepped(optimizer, gradients, start=1.0):
    context = Context({"w": numpy.array([start])})
    for gradient in gradients:
        context.gradients["w"] = numpy.array([gradient])
        optimizer.step(context)
    return context.params["w"].item()


def test_adams_first_step_is_the_rate_whatever_the_size_of_the_gradient():
    for gradient, wanted in ((1e-3, 0.9), (500.0, 0.9), (-0.02, 1.1)):
        assert stepped(Adam(0.1), [gradient]) == pytest.approx(wanted, abs=1e-5)


def test_adam_follows_the_formula_of_its_paper():
    value, mean, square = 1.0, 0.0, 0.0
    for step, gradient in enumerate((0.5, -0.1, 0.3), start=1):
        mean, square = 0.8 * mean + 0.2 * gradient, 0.9 * square + 0.1 * gradient**2
        direction = (mean / (1 - 0.8**step)) / ((square / (1 - 0.9**step)) ** 0.5 + 0.01)
        value -= 0.1 * (direction + 0.05 * value)
    assert stepped(Adam(0.1, (0.8, 0.9), 0.01, 0.05), [0.5, -0.1, 0.3]) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("wrong", [{"rate": -1.0}, {"decay": -1.0}, {"epsilon": 0.0}, {"betas": (0.9, 1.0)}])
def test_adam_refuses_numbers_that_make_no_sense(wrong):
    with pytest.raises(AidgeError, match="must not be negative"):
        Adam(**wrong)


def test_batches_are_every_sample_once_in_an_order_that_the_seed_decides():
    data = {"x": numpy.arange(10), "y": -numpy.arange(10)}
    first, again, other = (list(batches(data, 3, numpy.random.default_rng(seed))) for seed in (1, 1, 2))
    assert len(first) == 3 and all(len(part["x"]) == 3 and (part["x"] == -part["y"]).all() for part in first)
    seen = numpy.concatenate([part["x"] for part in first])
    assert len(set(seen.tolist())) == 9 and seen.tolist() != sorted(seen.tolist())
    assert all((one["x"] == two["x"]).all() for one, two in zip(first, again, strict=True))
    assert any((one["x"] != two["x"]).any() for one, two in zip(first, other, strict=True))
    assert [part["x"].tolist() for part in batches(data, 5)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


@pytest.mark.parametrize("size", [0, 11])
def test_batches_of_no_sample_or_of_more_than_there_are_are_refused(size):
    with pytest.raises(AidgeError, match=f"batches of {size} of 10 samples"):
        batches({"x": numpy.zeros(10)}, size)
    with pytest.raises(AidgeError, match="different numbers of samples"):
        batches({"x": numpy.zeros(10), "y": numpy.zeros(9)}, 2)


def test_first_weights_have_the_variance_that_keeps_values_alive():
    random = numpy.random.default_rng(0)
    assert he((64, 32, 3, 3), random).var() == pytest.approx(2 / (32 * 9), rel=0.03)
    assert he((200, 64), random, inputs_first=True).var() == pytest.approx(2 / 200, rel=0.05)
    assert glorot((64, 32, 3, 3), random).var() == pytest.approx(2 / ((32 + 64) * 9), rel=0.03)
    assert glorot((200, 64), random).dtype == he((2, 2), random).dtype == numpy.float32
    matrices = orthogonal((2, 12, 4), random).reshape(6, 4, 4)
    assert numpy.allclose(matrices @ matrices.transpose(0, 2, 1), numpy.eye(4), atol=1e-6)
    assert not numpy.allclose(matrices[0], matrices[1])


@pytest.mark.parametrize("dims", [(4,), (4, 0)])
def test_first_weights_of_what_is_no_matrix_are_refused(dims):
    with pytest.raises(AidgeError, match="at least two axes"):
        he(dims, numpy.random.default_rng(0))
    with pytest.raises(AidgeError, match="square matrices"):
        orthogonal((3, 2), numpy.random.default_rng(0))


CELLS = {"RNN": 1, "GRU": 3, "LSTM": 4}


@pytest.mark.parametrize("kind", CELLS)
def test_a_layer_with_a_memory_learns_which_sign_came_first(kind):
    """Twelve steps of noise behind one signed step: only gradients through all of time find it."""
    gates, hidden, steps, size, random = CELLS[kind], 8, 12, 32, numpy.random.default_rng(3)
    graph = net.Graph(kind)
    x, wanted = graph.input("x", (steps, size, 1)), graph.input("labels", (size,), DType.int64)
    weights = graph.parameter("w", glorot((1, gates * hidden, 1), random))
    recurrence = graph.parameter("r", orthogonal((1, gates * hidden, hidden), random))
    bias = graph.parameter("b", numpy.zeros((1, 2 * gates * hidden)))
    _, last, *_ = getattr(net, kind)(x, weights, recurrence, bias, hidden_size=hidden, outputs=2)
    rows = net.Reshape(last, graph.constant([size, hidden]))
    scores = net.Gemm(rows, graph.parameter("v", glorot((2, hidden), random)), transB=1)
    graph.output(net.SoftmaxCrossEntropyLoss(scores, wanted), "loss")
    execution = prepare(graph.view(), exact=True)
    context, optimizer = execution.context({k: v.astype(float) for k, v in graph.parameters().items()}), Adam(0.02)

    def drawn(count):
        for _ in range(count):
            values = random.uniform(-0.5, 0.5, (steps, size, 1))
            labels = random.integers(0, 2, size)
            values[0, :, 0] = 2.0 * labels - 1
            yield {"x": values, "labels": labels}

    first = fit(execution, context, SGD(0.0), drawn(4))
    for _ in range(3):
        last_loss = fit(execution, context, optimizer, drawn(15))
    assert first > 0.5 and last_loss < 0.25
