# SPDX-License-Identifier: MIT
"""Functions of several nodes: values by a formula of their own, gradients by central differences of that formula."""

from __future__ import annotations

import numpy
import pytest

from aidge_build import net
from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType

RANDOM = numpy.random.default_rng(1)
SCORES, TARGETS = RANDOM.normal(size=(3, 2)), numpy.array([[0, 1], [1, 0], [1, 1]], float)
CHANCES = RANDOM.uniform(0.2, 0.8, (3, 2))
FIELDS, OTHERS = RANDOM.normal(size=(2, 4, 3)), RANDOM.normal(size=(2, 2, 3))
FIRST, SECOND = numpy.triu_indices(4, 1)
IDS, TABLE = numpy.array([[0, 2, 3, 2], [1, 4, 0, 4]]), RANDOM.normal(size=(5, 3))


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def binary(p, y):
    return -y * numpy.log(p) - (1 - y) * numpy.log(1 - p)


def focal(p, y, alpha=0.25, gamma=2.0):
    return -alpha * (1 - p) ** gamma * y * numpy.log(p) - (1 - alpha) * p**gamma * (1 - y) * numpy.log(1 - p)


def pairs(x):
    return x[:, FIRST] * x[:, SECOND]


def cosine(x, y):
    return (x * y).sum(1, keepdims=True) / numpy.sqrt((x * x).sum(1, keepdims=True) * (y * y).sum(1, keepdims=True))


FORMULAS = {
    "Swish": (lambda x: x * sigmoid(1.5 * x), [SCORES], {"alpha": 1.5}),
    "SigmoidBCELoss": (lambda x, y: binary(sigmoid(x), y), [SCORES, TARGETS], {}),
    "BCELoss": (binary, [CHANCES, CHANCES[::-1].copy()], {}),
    "FocalLoss": (focal, [CHANCES, TARGETS], {}),
    "SigmoidFocalLoss": (lambda x, y: focal(sigmoid(x), y, 0.5, 1.5), [SCORES, TARGETS], {"alpha": 0.5, "gamma": 1.5}),
    "BatchDot": (lambda x, y: (x * y).sum(1, keepdims=True), [SCORES, CHANCES], {}),
    "BatchCos": (cosine, [SCORES, CHANCES], {}),
    "BatchFMInteraction": (pairs, [FIELDS], {}),
    "BatchFMInteraction2": (lambda x, y: (x[:, :, None] * y[:, None]).reshape(2, 8, 3), [FIELDS, OTHERS], {}),
    "BatchGroupFMQuadratic2": (lambda x: pairs(x).sum(1), [FIELDS], {}),
    "BatchGroupFMQuadratic": (lambda x: pairs(x).sum((1, 2))[:, None], [FIELDS], {}),
    "BatchFMQuadratic": (
        lambda ids, values, table: pairs(table[ids] * values[..., None]).sum((1, 2))[:, None],
        [IDS, RANDOM.normal(size=IDS.shape), TABLE],
        {},
    ),
    "Upsample": (lambda x: x.repeat(2, 1).repeat(3, 2), [FIELDS], {"scales": numpy.array([1, 2, 3], numpy.float32)}),
}


def executed(name: str, values: list[numpy.ndarray], keywords: dict):
    """Execution and context of the function of float64 parameters (integers: inputs), after its forward."""
    graph = net.Graph(name)
    given = {f"v{index}": value for index, value in enumerate(values) if value.dtype.kind == "i"}
    reads = [
        graph.input(f"v{index}", value.shape, DType.int64) if f"v{index}" in given else graph.parameter(f"v{index}", value)
        for index, value in enumerate(values)
    ]
    graph.output(getattr(net, name)(*reads, **keywords), "result")
    execution = prepare(graph.view(), exact=True)
    context = execution.context({f"v{index}": value for index, value in enumerate(values) if f"v{index}" not in given})
    return execution, execution.forward(context, given)


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_values_and_gradients_are_those_of_the_formula(name):
    formula, values, keywords = FORMULAS[name]
    execution, context = executed(name, values, keywords)
    wanted = formula(*values)
    numpy.testing.assert_allclose(context["result"], wanted, rtol=1e-12, atol=1e-12)
    weights = RANDOM.uniform(-1, 1, wanted.shape)
    execution.backward(context, {"result": weights})
    for index, value in enumerate(values):
        if value.dtype.kind == "i":
            continue
        numeric = numpy.zeros(value.shape)
        for place in numpy.ndindex(value.shape):
            step = numpy.zeros(value.shape)
            step[place] = 1e-5
            ends = [formula(*values[:index], value + sign * step, *values[index + 1 :]) for sign in (1, -1)]
            numeric[place] = (weights * (ends[0] - ends[1])).sum() / 2e-5
        numpy.testing.assert_allclose(numpy.asarray(context.gradients[f"v{index}"]), numeric, rtol=1e-7, atol=1e-7)


def test_large_scores_have_finite_losses():
    for name in ("SigmoidBCELoss", "SigmoidFocalLoss"):
        _, context = executed(name, [numpy.array([[800.0, -800.0]]), numpy.array([[0.0, 1.0]])], {})
        assert numpy.isfinite(context["result"]).all(), name


def test_no_gradient_goes_back_through_a_stop():
    graph = net.Graph("stop")
    weights = graph.parameter("w", SCORES)
    graph.output(net.ReduceSum(net.Mul(weights, net.StopGrad(weights)), keepdims=0), "loss")
    execution = prepare(graph.view(), exact=True)
    context = execution.context({"w": SCORES})
    execution.backward(execution.forward(context, {}), {"loss": 1.0})
    assert (context.gradients["w"] == SCORES).all()


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_wrong_arguments_are_refused_with_the_name_of_the_function(name):
    with pytest.raises(AidgeError, match=name):
        getattr(net, name)()
