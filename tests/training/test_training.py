# SPDX-License-Identifier: MIT
"""Training from first to last: networks built in Python learn the digits on the numpy backend and run as generated C."""

from __future__ import annotations

import numpy
import pytest
from digit_networks import inference_graph, split, train

from aidge_build import net
from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.context import Context
from aidge_build.contract.reference.execution import prepare
from aidge_build.prepare.training import SGD, fit, train_step
from tests.command import aidge_build

EPOCHS = {"mlp": 30, "cnn": 8}
SHOWN = 40  # held-out images that the generated C classifies, too


@pytest.mark.parametrize("network", sorted(EPOCHS))
def test_a_network_learns_the_digits_and_its_firmware_gives_the_same_answers(network, tmp_path):
    images, labels, held_images, held_labels = split()
    params, losses = train(network, images, labels, EPOCHS[network])
    assert losses[-1] < 0.05 < losses[0]
    graph = inference_graph(network, params, len(held_labels))
    execution, held_images = prepare(graph.view()), held_images.astype(numpy.float32)
    scores = execution.forward(execution.context(graph.parameters()), {"x": held_images})["scores"]
    assert (scores.argmax(1) == held_labels).mean() >= 0.97

    (tmp_path / f"{network}.onnx").write_bytes(inference_graph(network, params).onnx())
    numpy.savez(tmp_path / "held.npz", x=held_images[:SHOWN, None], scores=scores[:SHOWN, None])
    done = aidge_build(
        "verify",
        tmp_path / f"{network}.onnx",
        "--io-data",
        tmp_path / "held.npz",
        "--reference",
        "scores",
        "--board",
        "host",
        "--json",
    )
    assert done.exit_code == 0, done.stderr
    assert done.json["vectors"] == SHOWN and done.json["top1_equal"] == SHOWN and done.json["max_difference"] < 1e-4


def test_a_regression_with_the_mean_squared_error_finds_the_line():
    random = numpy.random.default_rng(0)
    graph = net.Graph("line")
    x, wanted = graph.input("x", (16, 1)), graph.input("wanted", (16, 1))
    y = net.Gemm(x, graph.parameter("slope", numpy.zeros((1, 1))), graph.parameter("start", numpy.zeros(1)))
    graph.output(net.MeanSquaredError(y, wanted), "loss")
    execution = prepare(graph.view(), exact=True)
    context, optimizer = execution.context({name: values.astype(float) for name, values in graph.parameters().items()}), SGD(0.2)
    batches = [{"x": part, "wanted": 3 * part - 2} for part in random.uniform(-1, 1, (200, 16, 1))]
    fit(execution, context, optimizer, batches)
    assert context.params["slope"].item() == pytest.approx(3, abs=1e-6)
    assert context.params["start"].item() == pytest.approx(-2, abs=1e-6)


def test_momentum_and_decay_follow_their_formula_and_a_step_forgets_the_gradients():
    context, optimizer = Context({"w": numpy.array([1.0])}), SGD(0.5, momentum=0.9, decay=0.1)
    for wanted in (1 - 0.5 * (2 + 0.1), -0.05 - 0.5 * (0.9 * 2.1 + 2 + 0.1 * -0.05)):
        context.accumulate("w", numpy.array([2.0]))
        optimizer.step(context)
        assert context.params["w"].item() == pytest.approx(wanted) and context.gradients == {}


@pytest.mark.requirement("TRAINING")
def test_a_loss_that_is_no_number_stops_the_training():
    graph = net.Graph("bad")
    graph.output(net.ReduceMean(net.Log(graph.input("x", (2,))), keepdims=0), "loss")
    execution = prepare(graph.view(), exact=True)
    with pytest.raises(AidgeError, match="^the loss is nan"):
        train_step(execution, execution.context(), SGD(0.1), {"x": numpy.array([-1.0, 1.0])})
    with pytest.raises(AidgeError, match="the momentum in 0..1"):
        SGD(0.1, momentum=1.0)
