# SPDX-License-Identifier: MIT
"""What the importer makes of a model that is good."""

from __future__ import annotations

import numpy
import pytest
from onnx import TensorProto, helper

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.cpu import run
from aidge_build.operators import builtin_operators, collect, merge
from aidge_build.operators.base import Operator
from aidge_build.sources import folding
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import graph, model, types
from tests.refusals import own_words

INT64 = numpy.int64


def test_shape_arithmetic_of_pytorch_disappears():
    view = graph(
        """shape = Shape(x) batch = Gather<axis=0>(shape, zero) rows = Unsqueeze(batch, axes)
           target = Concat<axis=0>(rows, rest) y = Reshape(x, target)""",
        inputs="float[2,3,4] x",
        outputs="float[2,12] y",
        constants={"zero": INT64(0), "axes": numpy.array([0], INT64), "rest": numpy.array([-1], INT64)},
    )
    assert types(view) == ["Reshape"]
    assert view.tensor("y").dims == (2, 12)
    assert sorted(view.tensors) == ["x", "y"]


def test_a_constant_that_is_dequantized_stays_visible_to_the_recipes():
    view = graph(
        "wf = DequantizeLinear(w, s) y = MatMul(x, wf)",
        inputs="float[1,2] x",
        outputs="float[1,2] y",
        constants={"w": numpy.ones((2, 2), numpy.int8), "s": numpy.float32(0.5)},
    )
    assert types(view) == ["DequantizeLinear", "MatMul"]
    assert not view.tensor("wf").is_constant


def test_folded_values_are_those_of_the_numpy_backend():
    view = graph(
        "b = Exp(a) y = Add(x, b)",
        inputs="float[2] x",
        outputs="float[2] y",
        constants={"a": numpy.array([0.1, 0.2], numpy.float32)},
    )
    assert view.tensor("b").data.tolist() == numpy.exp(numpy.array([0.1, 0.2], numpy.float32).astype(float)).astype("f4").tolist()


def folded(**constants: numpy.ndarray):
    """A model in which each constant becomes another one of its size."""
    names = list(constants)
    text = " ".join(f"n_{name} = Neg({name})" for name in names) + f" y = Sum(x, {', '.join(f'n_{name}' for name in names)})"
    return graph(text, inputs="float[1] x", outputs="float[?] y", constants=constants)


@pytest.mark.parametrize(
    "limit, most, constants, excess",
    [
        ("MOST_ELEMENTS", 100, {"a": 100}, {"a": 101}),
        ("MOST_BYTES", 400, {"a": 100}, {"a": 101}),
        ("MOST_BYTES_TOGETHER", 800, {"a": 100, "b": 100}, {"a": 100, "b": 1, "c": 100}),
    ],
)
def test_constants_are_evaluated_up_to_a_limit(monkeypatch, limit, most, constants, excess):
    monkeypatch.setattr(folding, limit, most)

    def made(sizes):
        return folded(**{name: numpy.ones(size, numpy.float32) for name, size in sizes.items()})

    assert types(made(constants)) == ["Sum"]
    with pytest.raises(AidgeError, match=r"the constant result 'n_[abc]' has \d+ bytes, too many to evaluate while importing"):
        made(excess)


@pytest.mark.requirement("FOLD")
def test_a_product_of_constants_is_evaluated_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(folding, "MOST_WORK", 6 * 5 * 4)

    def made(length):
        constants = {"a": numpy.ones((6, length), numpy.float32), "b": numpy.ones((length, 4), numpy.float32)}
        return graph("c = MatMul(a, b) y = Add(x, c)", inputs="float[1] x", outputs="float[6,4] y", constants=constants)

    assert types(made(5)) == ["Add"]
    with pytest.raises(AidgeError, match="its inputs are constant, but evaluating it takes too long"):
        made(6)


def test_an_output_that_nobody_reads_is_not_computed_and_one_that_is_read_is_refused():
    view = graph("y, mask = Dropout(x)", inputs="float[2] x", outputs="float[2] y")
    assert types(view) == ["Dropout"]
    with pytest.raises(AidgeError, match=r"its output 3 \('saved'\) is not supported"):
        graph(
            "y, m, v, saved = BatchNormalization(x, s, b, mean, var)",
            opset=13,
            inputs="float[2,3] x, float[3] s, float[3] b, float[3] mean, float[3] var",
            outputs="float[2,3] y, float[3] saved",
        )


def test_origin_names_the_node_of_the_file():
    view, _ = import_onnx(model("y = Relu(x)", inputs="float[2] x", outputs="float[2] y"), "m", builtin_operators(), {}, {})
    assert view.nodes[0].origin == ("Relu_0",)


@pytest.mark.parametrize("opset, row", [(11, 6), (13, 2)])
def test_softmax_before_opset_13_normalizes_all_later_axes_together(opset, row):
    view = graph("y = Softmax<axis=1>(x)", inputs="float[1,2,3] x", outputs="float[1,2,3] y", opset=opset)
    x = numpy.zeros((1, 2, 3), numpy.float32)
    assert run(view, {"x": x})["y"].reshape(-1).tolist() == pytest.approx([1 / row] * 6)


@pytest.mark.parametrize("opset, clip", [(10, "Clip<min=-1.0, max=2.0>(x)"), (11, "Clip(x, low, high)")])
def test_bounds_of_clip_are_attributes_and_later_inputs(opset, clip):
    view = graph(
        f"y = {clip}",
        inputs="float[3] x",
        outputs="float[3] y",
        opset=opset,
        constants={"low": numpy.float32(-1), "high": numpy.float32(2)},
    )
    assert run(view, {"x": numpy.array([-5, 0.5, 5], numpy.float32)})["y"].tolist() == [-1, 0.5, 2]


@pytest.mark.parametrize("given", ["x, , , sizes", "x, , scales"])
def test_resize_of_opset_11_may_lack_what_it_does_not_read(given):
    constants = {"sizes": INT64([1, 1, 4, 6]), "scales": numpy.array([1, 1, 2, 2], numpy.float32)}
    view = graph(
        f'y = Resize<mode = "nearest">({given})',
        opset=11,
        inputs="float[1,1,2,3] x",
        outputs="float[1,1,4,6] y",
        constants={name: value for name, value in constants.items() if name in given},
    )
    assert view.tensor("y").dims == (1, 1, 4, 6)


def test_keras_upsampling_by_tf2onnx_takes_the_middle_of_each_output_element():
    view = graph(
        'y = Resize<nearest_mode = "floor", coordinate_transformation_mode = "tf_half_pixel_for_nn">(x, , scales)',
        opset=11,
        inputs="float[4] x",
        outputs="float[2] y",
        constants={"scales": numpy.array([0.5], numpy.float32)},
    )
    assert run(view, {"x": numpy.arange(4, dtype=numpy.float32)})["y"].tolist() == [1, 3]


def test_damaged_weights_are_noticed():
    data = model(
        "y = Add(x, w)", inputs="float[1] x", outputs="float[1] y", constants={"w": numpy.array([numpy.nan], numpy.float32)}
    )
    assert import_onnx(data, "m", builtin_operators(), {}, {})[1] == ("constant 'w' holds NaN or infinity",)


def test_two_classes_for_one_onnx_operator_are_refused():
    class Other(Operator):
        onnx_names = ("Conv",)

    with pytest.raises(AidgeError, match="two operators read the ONNX operator Conv: .*conv.Conv and .*Other"):
        merge(dict(builtin_operators()), {"Conv": Other})


def test_operators_of_another_module_can_be_added(tmp_path, monkeypatch):
    (tmp_path / "my_operators.py").write_text(
        "from aidge_build.operators.kinds import ElementWise\nfrom aidge_build.operators.register import operator\n"
        "@operator('my.domain::Twice')\nclass Twice(ElementWise):\n    'y = 2 * x.'\n"
        "    def forward(self, data):\n        return 2 * data\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import my_operators

    operators = {**builtin_operators(), **collect(my_operators)}
    assert sorted(collect(my_operators)) == ["my.domain::Twice"]
    node = helper.make_node("Twice", ["x"], ["y"], domain="my.domain")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (2,)) for name in "xy")
    made = helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("my.domain", 1)])
    view, _ = import_onnx(made.SerializeToString(), "m", operators, {}, {})
    assert run(view, {"x": numpy.array([1, 2], numpy.float32)})["y"].tolist() == [2, 4]


def test_a_wrong_input_is_refused_with_what_the_model_wants():
    view = graph("y = Relu(x)", inputs="float[2] x", outputs="float[2] y")
    for inputs, message in (
        ({"x": numpy.zeros(3, numpy.float32)}, "the input 'x' is float32[3], the model wants float32[2]"),
        ({"x": numpy.zeros(2)}, "the input 'x' is float64[2], the model wants float32[2]"),
        ({}, "the input 'x' is not given"),
        ({"z": numpy.zeros(2)}, "the model has no input 'z'. Hint: its inputs are: x"),
    ):
        with pytest.raises(AidgeError) as refused:
            run(view, inputs)
        assert own_words(refused.value) == message
