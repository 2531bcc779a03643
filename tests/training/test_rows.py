# SPDX-License-Identifier: MIT
"""Tables of which a step of training reads some rows: the gradients hold those rows alone, and only they change."""

from __future__ import annotations

import numpy
import pytest

from aidge_build import net
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType
from aidge_build.operators.row_gradient import RowGradient
from aidge_build.prepare.training import SGD, Adam

ROWS, WIDTH = 9, 3
IDS = numpy.array([[2, 5, 2], [-1, 0, 5]])  # a row twice, one counted from the end
TABLE = numpy.random.default_rng(1).normal(size=(ROWS, WIDTH))


def execution_and_context(by_rows: bool, also_whole: bool = False):
    """The sum of the squares of the rows that IDS name, looked up by Gather or by a product with zeros and ones."""
    graph = net.Graph("rows")
    table = graph.parameter("table", TABLE)
    if by_rows:
        read = net.Gather(table, graph.input("ids", IDS.shape, DType.int64), axis=0)
    else:
        read = net.MatMul(graph.input("ids", (*IDS.shape, ROWS)), table)
    loss = net.ReduceSumSquare(read, keepdims=0)
    graph.output(net.Add(loss, net.ReduceSum(table, keepdims=0)) if also_whole else loss, "loss")
    execution = prepare(graph.view(), exact=True)
    context = execution.context({"table": TABLE.copy()})
    execution.forward(context, {"ids": IDS if by_rows else numpy.eye(ROWS)[IDS]})
    return execution, execution.backward(context, {"loss": 1.0})


@pytest.mark.parametrize("also_whole", (False, True))
def test_the_gradient_of_a_table_is_that_of_a_product_with_zeros_and_ones(also_whole):
    (_, found), (_, wanted) = (execution_and_context(by_rows, also_whole) for by_rows in (True, False))
    numpy.testing.assert_allclose(found.gradients["table"], wanted.gradients["table"], rtol=1e-14)


def test_gradients_of_several_passes_add_up_by_rows():
    execution, context = execution_and_context(by_rows=True)
    once = context.gradients["table"]
    execution.forward(context, {"ids": numpy.flip(IDS)})
    execution.backward(context, {"loss": 1.0})
    twice = context.gradients["table"]
    assert isinstance(twice, RowGradient) and twice.rows.tolist() == [0, 2, 5, 8]
    numpy.testing.assert_allclose(twice, 2 * once, rtol=1e-14)


def test_the_gradient_of_a_table_reads_as_an_array():
    _, context = execution_and_context(by_rows=True)
    gradient, whole = context.gradients["table"], numpy.asarray(context.gradients["table"])
    assert isinstance(gradient, RowGradient) and gradient.shape == (ROWS, WIDTH) and gradient.sum() == whole.sum()
    for result in (gradient - 2 * whole + whole, whole - gradient, abs(gradient) - abs(whole), gradient.copy() - gradient):
        assert (result == 0).all() and (gradient[2] == whole[2]).all()


def test_a_table_that_an_operator_computed_gets_its_whole_gradient():
    graph = net.Graph("computed")
    table = net.Neg(graph.parameter("table", TABLE))
    graph.output(net.ReduceSum(net.Gather(table, graph.constant(IDS), axis=0), keepdims=0), "loss")
    execution = prepare(graph.view(), exact=True)
    context = execution.context({"table": TABLE.copy()})
    gradient = execution.backward(execution.forward(context, {}), {"loss": 1.0}).gradients["table"]
    assert gradient[:, 0].tolist() == [-1, 0, -2, 0, 0, -2, 0, 0, -1]


@pytest.mark.parametrize("optimizer", (SGD(0.1), SGD(0.1, momentum=0.9, decay=0.01), Adam(0.1, decay=0.01)), ids=repr)
def test_a_step_changes_the_rows_that_were_read_as_a_step_with_the_whole_gradient_does(optimizer):
    (_, found), (_, wanted) = (execution_and_context(by_rows) for by_rows in (True, False))
    optimizer.step(found)
    type(optimizer)(**{name: value for name, value in vars(optimizer).items() if not name.startswith("_")}).step(wanted)
    read = [0, 2, 5, 8]
    numpy.testing.assert_allclose(found.params["table"][read], wanted.params["table"][read], rtol=1e-14)
    kept = [row for row in range(ROWS) if row not in read]
    assert (found.params["table"][kept] == TABLE[kept]).all() and not found.gradients
