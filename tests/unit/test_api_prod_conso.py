# SPDX-License-Identifier: MIT
"""The producer-consumer model: whole tensors, parts of them, and the inherited names."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.compat.prod_conso import ProdConso
from aidge_build.contract.spec import Demands, NodeView
from tests.models import graph

CHAIN = graph(
    "a = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w) b = Relu(a) c = Conv(b, v) y = MaxPool<kernel_shape=[2,2]>(c)",
    inputs="float[1,2,9,8] x",
    outputs="float[1,3,2,1] y",
    constants={"w": numpy.ones((4, 2, 3, 3), numpy.float32), "v": numpy.ones((3, 4, 3, 3), numpy.float32)},
)
MODELS = {"whole": ProdConso.default_model, "rows": ProdConso.by_rows}


def views() -> list[NodeView]:
    return [NodeView.of(CHAIN, node) for node in CHAIN.nodes]


def test_one_evaluation_reads_and_writes_everything_by_default():
    model = ProdConso.default_model(views()[0])
    assert [model.get_nb_required_data(index) for index in (0, 1)] == [2 * 9 * 8, 4 * 2 * 3 * 3]
    assert (model.required_bytes(0), model.get_required_memory(0), model.required_memory_bytes(0)) == (576, 80, 320)
    assert (model.get_nb_consumed_data(0), model.get_nb_produced_data(0)) == (0, 0)
    model.update_consumer_producer()
    assert (model.get_nb_consumed_data(0), model.get_nb_produced_data(0)) == (144, 80)
    model.update_consummer_producer()
    assert (model.get_nb_consumed_data(0), model.get_nb_produced_data(0)) == (288, 160)
    model.reset_consumer_producer()
    assert model.get_nb_consumed_data(0) == 0


def test_protected_data_is_what_an_output_must_keep_clear_of():
    view = views()[1]
    assert ProdConso.default_model(view).get_nb_protected_data(0) == 80
    assert ProdConso.in_place_model(view).get_nb_protected_data(0) == 0
    assert ProdConso(view, Demands(overlap=((0, 22),))).get_nb_required_protected(0) == 6


def test_rows_of_a_window_are_required_as_it_moves_down():
    model = ProdConso.by_rows(views()[0])
    required = []
    for _ in range(5):
        required.append((model.get_nb_required_data(0), model.get_nb_required_data(1)))
        model.update_consumer_producer()
    assert required == [(2 * 16, 72), (2 * 16, 0), (2 * 16, 0), (2 * 16, 0), (1 * 16, 0)]
    assert (model.get_nb_consumed_data(0), model.get_nb_consumed_data(1), model.get_nb_produced_data(0)) == (144, 72, 80)
    assert model.get_nb_required_data(0) == 32  # of the next image
    assert ProdConso.by_rows(views()[0]).consumed_bytes(0, 6) == (144 + 32) * 4


def runs(kind: str) -> tuple[list[int], list[int]]:
    """A scheduler that asks the models alone: how often each node ran, and in which steps the last one did."""
    nodes = views()
    models = [MODELS[kind](view) for view in nodes]
    started: list[int] = []
    steps = 0
    while models[-1].evaluations < models[-1].evaluations_of_all:
        for position in reversed(range(len(models))):
            model = models[position]
            given = models[position - 1].get_nb_produced_data(0) if position else nodes[0].inputs[0].elements
            ready = given - model.get_nb_consumed_data(0) >= model.get_nb_required_data(0)
            if model.evaluations < model.evaluations_of_all and ready:
                model.update_consumer_producer()
                steps += 1
                started += [steps] if position == len(models) - 1 else []
                break
        else:
            raise AssertionError("no node can run")
    for producer, reader in zip(models, models[1:]):
        assert producer.get_nb_produced_data(0) == reader.get_nb_consumed_data(0)
    return [model.evaluations for model in models], started


def test_a_chain_streams_row_by_row_and_consumes_what_it_produces():
    assert runs("whole") == ([1, 1, 1, 1], [4])
    evaluations, started = runs("rows")
    assert evaluations == [5, 5, 3, 2]
    assert started[0] < sum(evaluations) - 1  # the last operator begins before the first one ends


def test_parts_of_ones_own_must_add_up():
    view = views()[1]
    model = ProdConso.in_parts(view, [[60, 20]], [[20, 60]])
    model.update_consumer_producer()
    assert (model.required_bytes(0), model.produced_bytes(0, 3)) == (80, 400)
    for inputs, outputs, reason in (
        ([[60, 10]], [[20, 60]], "70 of the 80 elements of an input"),
        ([[60, 20]], [[80]], "one number of evaluations"),
        ([[60, 20]], [[]], "a list per input and output"),
        ([], [[80]], "a list per input and output"),
        ([[100, -20]], [[20, 60]], "80 of the 80"),
    ):
        with pytest.raises(AidgeError, match=reason):
            ProdConso.in_parts(view, inputs, outputs)


def test_what_has_no_rows_is_refused():
    flat = graph("y = Softmax(x)", inputs="float[1,2,3,4] x", outputs="float[1,2,3,4] y")
    with pytest.raises(AidgeError, match=r"node 'Softmax_0' \(Softmax\): .* has no rows"):
        ProdConso.by_rows(NodeView.of(flat, flat.nodes[0]))


def test_its_text_holds_no_weights():
    text = repr(ProdConso.by_rows(views()[0]))
    assert "node 'Conv_0' (Conv2D)" in text and "evaluation 0 of 5" in text and len(text) < 300
