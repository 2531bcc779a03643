# SPDX-License-Identifier: MIT
"""A graph prepared once: forward and backward with a context that owns the values."""

from __future__ import annotations

from functools import partial

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.compat.cpu_impl import CpuImpl
from aidge_build.contract.reference import cpu
from aidge_build.contract.reference.execution import prepare
from aidge_build.contract.spec import NodeView
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.effort import counted
from tests.models import graph
from tests.shared import float_model, int8_model

X = numpy.array([[1.5, -2.0, 0.5]], numpy.float32)


def gradients_of(text: str, constants=None, output="float[1,3] y", inputs="float[1,3] x", values=None, seed=1.0):
    execution = prepare(graph(text, inputs=inputs, outputs=output, constants=constants or {}), exact=True)
    context = execution.forward(execution.context(), values or {"x": X})
    return execution.backward(context, {"y": numpy.float64(seed)}), execution


def test_the_gradients_of_all_readers_of_a_tensor_are_added():
    context, _ = gradients_of("a = Mul(x, x)\nb = Neg(x)\ny = Sum(a, b, x, x)")
    assert context.gradients["x"].tolist() == (2 * X - 1 + 2).tolist()


def test_gradients_of_parameters_add_up_over_passes_and_those_of_a_pass_do_not_outlive_it():
    context, execution = gradients_of("y = Mul(x, w)", {"w": numpy.array([2, 3, 4], numpy.float32)})
    once = context.gradients["w"].copy()
    execution.backward(execution.forward(context, {"x": 2 * X}), {"y": numpy.ones((1, 3))})
    assert context.gradients["w"].tolist() == (3 * once).tolist()
    assert context.gradients["x"].tolist() == [[2, 3, 4]]
    context.clear_gradients()
    assert context.gradients == {}


def test_the_gradient_may_enter_at_several_tensors():
    execution = prepare(graph("a = Mul(x, x)\ny = Neg(a)", inputs="float[1,3] x", outputs="float[1,3] y"), exact=True)
    context = execution.forward(execution.context(), {"x": X})
    assert execution.backward(context, {"y": numpy.ones(1), "a": numpy.full(1, 3.0)}).gradients["x"].tolist() == (4 * X).tolist()


def test_a_gradient_at_a_tensor_that_the_graph_does_not_have_is_refused():
    with pytest.raises(AidgeError, match="^there is no value of a tensor 'loss'. Hint: only tensors of the graph"):
        execution = prepare(graph("y = Neg(x)", inputs="float[1,3] x", outputs="float[1,3] y"))
        execution.backward(execution.forward(execution.context(), {"x": X}), {"loss": numpy.ones(1)})


def test_forward_reads_the_parameters_of_the_context_and_changes_none():
    execution = prepare(
        graph("y = Mul(x, w)", inputs="float[1,3] x", outputs="float[1,3] y", constants={"w": numpy.ones(3, numpy.float32)})
    )
    own = {"w": numpy.array([5, 6, 7], numpy.float32)}
    context = execution.forward(execution.context(own), {"x": X})
    assert context["y"].tolist() == (X * own["w"]).tolist() and own["w"].tolist() == [5, 6, 7]
    with pytest.raises(AidgeError, match=r"the parameter 'w' has the dims \[2\], the graph wants \[3\]"):
        execution.context({"w": numpy.ones(2)})


def test_parameters_that_an_operator_renews_wait_until_they_are_kept():
    ones, zeros = numpy.ones(3, numpy.float32), numpy.zeros(3, numpy.float32)
    constants = {"s": ones, "b": zeros, "mean": zeros, "variance": ones}
    execution = prepare(
        graph(
            "y, m, v = BatchNormalization<training_mode=1, momentum=0.5>(x, s, b, mean, variance)",
            inputs="float[2,3] x",
            outputs="float[2,3] y",
            constants=constants,
            opset=15,
        ),
        exact=True,
    )
    context = execution.forward(execution.context(), {"x": numpy.array([[2, 4, 6], [4, 4, 4]], numpy.float32)})
    assert context.params["mean"].tolist() == [0, 0, 0] and context.overwritten_params["mean"].tolist() == [1.5, 2, 2.5]
    execution.backward(context, {"y": numpy.ones(1)})
    assert sorted(context.gradients.keys() & context.params.keys()) == ["b", "s"], "the running values are not trained"
    context.keep_overwritten()
    assert context.params["variance"].tolist() == [1.0, 0.5, 1.0] and context.overwritten_params == {}


def test_a_node_without_backward_is_refused_where_a_gradient_has_to_pass_it():
    with pytest.raises(AidgeError, match=r"^node '.*' \(DequantizeByInput\): DequantizeByInput has no backward\. Hint: "):
        gradients_of(
            "q, s, z = DynamicQuantizeLinear(x) y = DequantizeLinear(q, s, z)",
            {},
            output="float[1,3] y",
            inputs="float[1,3] x",
            values={"x": X},
        )


def test_results_are_rounded_to_their_type_unless_the_execution_is_exact():
    view = graph("a = Mul(x, x)\ny = Sqrt(a)", inputs="float[1,3] x", outputs="float[1,3] y")
    plain, exact = prepare(view), prepare(view, exact=True)
    assert plain.forward(plain.context(), {"x": X})["y"].dtype == numpy.float32
    assert exact.forward(exact.context(), {"x": X})["y"].dtype == numpy.float64


def test_the_numpy_backend_is_asked_like_any_other_and_lets_element_wise_operators_run_in_place():
    view = graph("a = Add(x, x)\ny = Softmax(a)", inputs="float[1,3] x", outputs="float[1,3] y")
    add, softmax = (CpuImpl(NodeView.of(view, node)) for node in view.nodes)
    assert (add.backend(), add.get_prod_conso().protected_bytes(0), softmax.get_prod_conso().protected_bytes(0)) == ("cpu", 0, 12)
    assert add.forward(X, X)[0].tolist() == (2 * X).tolist()
    assert [part.tolist() for part in add.backward((X, X), (numpy.ones((1, 3)),))] == [[[1, 1, 1]]] * 2


def test_a_layer_is_a_few_operations_on_whole_tensors_and_no_loop_over_pixels():
    for path in (float_model("vww_mobilenet025"), int8_model("vww_mobilenet025")):
        view, _ = import_onnx(path.read_bytes(), "vww", builtin_operators(), {}, {})
        inputs = {name: numpy.zeros(view.tensor(name).dims, view.tensor(name).dtype.numpy) for name in view.inputs}
        cpu.run(view, inputs)
        _, calls = counted(partial(cpu.run, view, inputs))
        assert calls < 300 * len(view.nodes)
