# SPDX-License-Identifier: MIT
"""Each recipe: where it applies, where it must not, and that the meaning stays."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.clamp_levels import clamp_levels
from aidge_build.prepare.recipes.flatten_products import flatten_products
from aidge_build.prepare.recipes.fold_quantize import fold_quantize
from aidge_build.prepare.recipes.fuse_activations import fuse_activations
from aidge_build.prepare.recipes.fuse_batch_norm import fuse_batch_norm
from aidge_build.prepare.recipes.fuse_fully_connected import fuse_fully_connected
from aidge_build.prepare.recipes.fuse_pad import fuse_pad
from aidge_build.prepare.recipes.fuse_scalings import fuse_scalings
from aidge_build.prepare.recipes.pad_reals import pad_reals
from aidge_build.prepare.recipes.quantize_constants import quantize_constants
from aidge_build.prepare.recipes.quantize_islands import quantize_islands
from aidge_build.prepare.recipes.quantize_once import quantize_once
from aidge_build.prepare.recipes.remove_identities import remove_identities
from aidge_build.prepare.recipes.square_powers import square_powers
from tests.compiled import program_of
from tests.models import graph, model, same_meaning, types

F = numpy.float32
RANDOM = numpy.random.default_rng(1)
IMAGE = {"inputs": "float[1,3,6,7] x", "outputs": "float[1,4,?,?] y"}
WEIGHTS = RANDOM.normal(size=(4, 3, 3, 3)).astype(numpy.float32)


def floats(*shape):
    return RANDOM.normal(size=shape).astype(numpy.float32)


def quantized_conv(bias_factor: float = 1.0, after: str = "", scale: float = 0.05):
    """An int8 convolution as quantization tools write it; `after` are nodes between Conv and QuantizeLinear (a -> b)."""
    weights_scale = numpy.linspace(0.01, 0.02, 4).astype(numpy.float32)
    return graph(
        f"""xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=0>(w, sw, zw) bf = DequantizeLinear<axis=0>(b, sb, zb)
        a = Conv<pads=[1,1,1,1]>(xf, wf, bf) {after or "b1 = Identity(a)"} y = QuantizeLinear(b1, sy, zy)""",
        inputs="int8[1,3,6,7] x",
        outputs="int8[1,4,6,7] y",
        constants={
            "sx": numpy.float32(scale),
            "zx": numpy.int8(3),
            "w": RANDOM.integers(-128, 128, (4, 3, 3, 3)).astype(numpy.int8),
            "sw": weights_scale,
            "zw": numpy.zeros(4, numpy.int8),
            "b": RANDOM.integers(-9999, 9999, 4).astype(numpy.int32),
            "sb": (numpy.float32(scale) * weights_scale * numpy.float32(bias_factor)).astype(numpy.float32),
            "zb": numpy.zeros(4, numpy.int32),
            "sy": numpy.float32(0.3),
            "zy": numpy.int8(-7),
        },
    )


def test_identities_disappear_inside_a_graph():
    before = graph("a = Identity(x) b = Relu(a) y = Identity(b)", inputs="float[2,3] x", outputs="float[2,3] y")
    after = remove_identities(before)
    assert types(after) == ["ReLU"]
    assert after.outputs == ("y",) and same_meaning(before, after)


def test_an_identity_between_input_and_output_stays_because_it_copies():
    view = graph("y = Identity(x)", inputs="float[2,3] x", outputs="float[2,3] y")
    assert types(remove_identities(view)) == ["Identity"]


def test_two_outputs_of_the_same_value_keep_their_names():
    before = graph("a = Relu(x) y = Identity(a) z = Identity(a)", inputs="float[2,3] x", outputs="float[2,3] y, float[2,3] z")
    after = remove_identities(before)
    assert after.outputs == ("y", "z") and same_meaning(before, after)


def test_zero_padding_becomes_part_of_the_convolution():
    before = graph(
        "p = Pad(x, pads) y = Conv(p, w)", **IMAGE, constants={"w": WEIGHTS, "pads": numpy.array([0, 0, 1, 2, 0, 0, 0, 1])}
    )
    after = fuse_pad(before)
    assert types(after) == ["Conv2D"] and after.nodes[0].operator.window.pads_begin == (1, 2)
    assert same_meaning(before, after)


@pytest.mark.parametrize("pads, value", [([0, 0, 1, 1, 0, 0, 1, 1], 1.0), ([0, 1, 0, 0, 0, 0, 0, 0], 0.0)])
def test_other_padding_stays(pads, value):
    weights = floats(4, 4 if pads[1] else 3, 3, 3)
    view = graph(
        "p = Pad(x, pads, v) y = Conv(p, w)",
        **IMAGE,
        constants={"w": weights, "pads": numpy.array(pads), "v": numpy.float32(value)},
    )
    assert types(fuse_pad(view)) == ["Pad", "Conv2D"]


def test_padding_that_is_the_weights_too_stays():
    pads = numpy.array([0, 0, 1, 1, 0, 0, 1, 1])
    view = graph(
        "p = Pad(x, pads) y = Conv(p, p)", inputs="float[1,4,6,6] x", outputs="float[1,1,1,1] y", constants={"pads": pads}
    )
    assert types(fuse_pad(view)) == ["Pad", "Conv2D"]


def test_padding_in_front_of_an_average_pool_counts():
    before = graph(
        "p = Pad(x, pads) y = AveragePool<kernel_shape=[3,3]>(p)",
        inputs="float[1,4,6,6] x",
        outputs="float[1,4,?,?] y",
        constants={"pads": numpy.array([0, 0, 1, 1, 0, 0, 1, 1])},
    )
    after = fuse_pad(before)
    assert types(after) == ["AvgPooling2D"] and same_meaning(before, after)


def test_matmul_and_add_become_a_fully_connected_layer():
    before = graph(
        "a = MatMul(x, w) b = Add(c, a) y = Relu(b)",
        inputs="float[2,5] x",
        outputs="float[2,4] y",
        constants={"w": floats(5, 4), "c": floats(4)},
    )
    after = fuse_fully_connected(before)
    assert types(after) == ["FC", "ReLU"] and same_meaning(before, after)


def test_a_product_of_a_sequence_with_weights_becomes_a_fully_connected_layer_between_views():
    before = graph(
        "a = MatMul(x, w) b = Add(c, a) d = MatMul(b, v) y = Relu(d)",
        inputs="float[2,3,5] x",
        outputs="float[2,3,6] y",
        constants={"w": floats(5, 4), "c": floats(4), "v": floats(4, 6)},
    )
    after = fuse_fully_connected(flatten_products(before))
    assert types(after) == ["Reshape", "FC", "Reshape", "Reshape", "FC", "Reshape", "ReLU"] and same_meaning(before, after)


@pytest.mark.parametrize(
    ("added", "dims"), [("c", (3, 4)), ("c", (1,)), ("c", (2, 1, 1, 4)), ("x", ())], ids=["rows", "one", "more axes", "itself"]
)
def test_what_is_no_bias_is_added_behind_the_views(added, dims):
    before = graph(
        f"a = MatMul(x, w) y = Add(a, {'a' if added == 'x' else 'c'})",
        inputs="float[2,3,5] x",
        outputs="float[?,?,?,4] y" if len(dims) == 4 else "float[2,3,4] y",
        constants={"w": floats(5, 4), **({"c": floats(*dims)} if dims else {})},
    )
    after = flatten_products(before)
    assert types(after) == ["Reshape", "MatMul", "Reshape", "Add"] and same_meaning(before, after)


def test_products_of_matrices_vectors_and_computed_weights_stay():
    for inputs, outputs, constants in (
        ("float[3,5] x", "float[3,4] y", {"w": floats(5, 4)}),
        ("float[2,3,5] x", "float[2,3] y", {"w": floats(5)}),
        ("float[2,3,5] x", "float[2,3,4] y", {"w": floats(2, 5, 4)}),
        ("float[2,3,5] x, float[5,4] w", "float[2,3,4] y", {}),
    ):
        view = graph("y = MatMul(x, w)", inputs=inputs, outputs=outputs, constants=constants)
        assert types(flatten_products(view)) == ["MatMul"]


def test_gemm_with_factors_and_a_scalar_bias_becomes_a_fully_connected_layer():
    before = graph(
        "y = Gemm<alpha=0.5, beta=2.0, transB=1>(x, w, c)",
        inputs="float[2,5] x",
        outputs="float[2,4] y",
        constants={"w": floats(4, 5), "c": floats(1)},
    )
    after = fuse_fully_connected(before)
    assert types(after) == ["FC"] and same_meaning(before, after)


@pytest.mark.parametrize(("dims", "alpha"), [([2, 4], 1.0), ([4], 0.5), ([2, 1], 1.0)])
def test_what_gemm_adds_that_is_computed_is_added_behind_a_fully_connected_layer(dims, alpha):
    before = graph(
        f"y = Gemm<alpha={alpha}>(x, w, c)",
        inputs=f"float[2,5] x, float{dims} c",
        outputs="float[2,4] y",
        constants={"w": floats(5, 4)},
    )
    after = fuse_fully_connected(before)
    assert types(after) == ["FC", "Add"] and same_meaning(before, after)


def test_a_computed_summand_with_a_factor_leaves_gemm_alone():
    view = graph(
        "y = Gemm<beta=2.0>(x, w, c)", inputs="float[2,5] x, float[4] c", outputs="float[2,4] y", constants={"w": floats(5, 4)}
    )
    assert types(fuse_fully_connected(view)) == ["Gemm"]


def test_a_product_of_two_computed_matrices_stays():
    view = graph("y = MatMul(x, z)", inputs="float[2,5] x, float[5,4] z", outputs="float[2,4] y")
    assert types(fuse_fully_connected(view)) == ["MatMul"]


def test_batch_normalization_folds_into_the_convolution():
    before = graph(
        "a = Conv(x, w, b) y = BatchNormalization(a, g, t, m, v)",
        **IMAGE,
        constants={"w": WEIGHTS, "b": floats(4), "g": floats(4), "t": floats(4), "m": floats(4), "v": numpy.abs(floats(4)) + 0.1},
    )
    after = fuse_batch_norm(before)
    assert types(after) == ["Conv2D"] and same_meaning(before, after, relative=1e-5)


def test_batch_normalization_stays_when_the_convolution_has_another_reader():
    view = graph(
        "a = Conv(x, w) y = BatchNormalization(a, g, t, m, v) z = Relu(a)",
        inputs="float[1,3,6,7] x",
        outputs="float[1,4,4,5] y, float[1,4,4,5] z",
        constants={"w": WEIGHTS, "g": floats(4), "t": floats(4), "m": floats(4), "v": numpy.abs(floats(4)) + 0.1},
    )
    assert types(fuse_batch_norm(view)) == ["Conv2D", "BatchNormalization", "ReLU"]


CHANNELS = floats(4).reshape(4, 1, 1)


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Mul(a, g)",
        "y = Mul(g, a)",
        "y = Add(g, a)",
        "y = Sub(a, g)",
        "y = Sub(g, a)",
        "y = Div(a, g)",
        "y = Add(a, one)",
        "d = Mul(a, g) e = Add(d, h) y = Sub(one, e)",
    ],
)
def test_factors_and_summands_of_channels_fold_into_the_convolution_before_them(nodes):
    constants = {"w": WEIGHTS, "b": floats(4), "g": CHANNELS, "h": floats(1, 4, 1, 1), "one": numpy.float32(1.5)}
    before = graph(f"a = Conv(x, w, b) {nodes}", **IMAGE, constants=constants)
    after = fuse_scalings(before)
    assert types(after) == ["Conv2D"] and same_meaning(before, after, relative=1e-5)
    assert set(after.nodes[0].origin) == {node.name for node in before.nodes}


def test_factors_and_summands_fold_into_fully_connected_layers_and_convolutions_without_bias():
    constants = {"w": floats(4, 5), "v": WEIGHTS, "g": floats(4), "k": CHANNELS}
    dense = graph("a = Gemm<transB=1>(x, w) y = Mul(a, g)", inputs="float[2,5] x", outputs="float[2,4] y", constants=constants)
    image = graph("a = Conv(x, v) y = Add(a, k)", **IMAGE, constants=constants)
    for before in (fuse_fully_connected(dense), image):
        after = fuse_scalings(before)
        assert len(after.nodes) == 1 and same_meaning(before, after, relative=1e-5)


@pytest.mark.parametrize(
    ("nodes", "kept"),
    [
        ("y = Div(g, a)", ["Conv2D", "Div"]),
        ("y = Div(a, zero)", ["Conv2D", "Div"]),
        ("y = Mul(a, a)", ["Conv2D", "Mul"]),
        ("y = Mul(a, row)", ["Conv2D", "Mul"]),
        ("y = Mul(a, wide)", ["Conv2D", "Mul"]),
        ("d = Relu(a) y = Mul(d, g)", ["Conv2D", "ReLU", "Mul"]),
        ("d = Mul(a, g) y = Add(d, a)", ["Conv2D", "Mul", "Add"]),
    ],
)
def test_what_is_no_factor_or_summand_of_each_channel_stays(nodes, kept):
    constants = {"w": WEIGHTS, "g": CHANNELS, "zero": CHANNELS * 0, "row": floats(5), "wide": floats(2, 4, 1, 1)}
    outputs = "float[2,4,4,5] y" if "wide" in nodes else IMAGE["outputs"]
    view = graph(f"a = Conv(x, w) {nodes}", inputs=IMAGE["inputs"], outputs=outputs, constants=constants)
    assert types(fuse_scalings(view)) == kept


def test_a_factor_behind_a_clamp_stays():
    before = graph("a = Conv(x, w) d = Relu(a) y = Mul(d, g)", **IMAGE, constants={"w": WEIGHTS, "g": CHANNELS})
    assert types(fuse_scalings(fuse_activations(before))) == ["Conv2D", "Mul"]


def test_activations_become_clamps():
    before = graph(
        "a = Conv(x, w) b = Clip(a, low, high) y = Relu(b)",
        **IMAGE,
        constants={"w": WEIGHTS, "low": numpy.float32(-1), "high": numpy.float32(2)},
    )
    after = fuse_activations(before)
    assert types(after) == ["Conv2D"]
    assert (after.nodes[0].operator.minimum, after.nodes[0].operator.maximum) == (0.0, 2.0)
    assert same_meaning(before, after)


def test_an_activation_stays_when_the_sum_has_another_reader():
    view = graph(
        "a = Add(x, z) y = Relu(a) u = Sigmoid(a)", inputs="float[2,3] x, float[2,3] z", outputs="float[2,3] y, float[2,3] u"
    )
    assert types(fuse_activations(view)) == ["Add", "ReLU", "Sigmoid"]


def test_a_quantized_convolution_becomes_one_node_on_quantized_tensors():
    before = quantized_conv(after="b1 = Relu(a)")
    after = simplify(before)
    assert types(after) == ["Conv2D"]
    (node,) = after.nodes
    assert after.tensor(node.inputs[0]).quantization.zero_point == 3
    assert after.tensor(node.inputs[1]).quantization.axis == 0
    assert same_meaning(before, after)


def test_an_activation_between_two_quantizations_stays_a_node():
    before = quantized_conv(after="q1 = QuantizeLinear(a, sx, zx) d1 = DequantizeLinear(q1, sx, zx) b1 = Relu(d1)")
    after = simplify(before)
    assert types(after) == ["Conv2D", "ReLU"]
    assert same_meaning(before, after)


def test_an_activation_between_equal_quantizations_becomes_a_clamp():
    before = quantized_conv(after="q1 = QuantizeLinear(a, sy, zy) d1 = DequantizeLinear(q1, sy, zy) b1 = Relu(d1)")
    after = simplify(before)
    assert types(after) == ["Conv2D"]
    assert same_meaning(before, after)


def test_a_tensor_with_two_quantizations_stays_explicit():
    view = graph(
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s2, z) c = Sigmoid(b) y = QuantizeLinear(c, s, z)",
        inputs="float[2,3] x",
        outputs="int8[2,3] y",
        constants={"s": numpy.float32(0.1), "s2": numpy.float32(0.2), "z": numpy.int8(0)},
    )
    after = quantize_islands(quantize_constants(view))
    assert types(after) == ["QuantizeLinear", "DequantizeLinear", "Sigmoid", "QuantizeLinear"]
    assert same_meaning(view, after)


def test_a_reshape_that_also_requantizes_is_not_a_view():
    view = graph(
        "b = DequantizeLinear(x, s, z) c = Reshape(b, shape) y = QuantizeLinear(c, s2, z)",
        inputs="int8[2,3] x",
        outputs="int8[6] y",
        constants={"s": numpy.float32(0.1), "s2": numpy.float32(0.2), "z": numpy.int8(0), "shape": numpy.array([6])},
    )
    after = simplify(view)
    assert types(after) == ["Reshape", "Table"] and same_meaning(view, after)


@pytest.mark.parametrize("operator", ["Relu(a)", "Clip(a, low, high)", "MaxPool<kernel_shape=[2]>(a)", "Concat<axis=1>(a, a)"])
def test_an_operator_on_plain_integers_between_quantized_tensors_keeps_its_meaning(operator):
    before = graph(
        f"a = QuantizeLinear(x, s, z) b = {operator} y = DequantizeLinear(b, s2, z2)",
        inputs="float[1,2,8] x",
        outputs="float[?,?,?] y",
        constants={
            "s": numpy.float32(0.1),
            "s2": numpy.float32(0.2),
            "z": numpy.int8(9),
            "z2": numpy.int8(-3),
            "low": numpy.int8(-2),
            "high": numpy.int8(5),
        },
    )
    assert same_meaning(before, simplify(before))


@pytest.mark.parametrize("value, pad", [("z", []), ("z2", ["Pad"])])
def test_a_convolution_behind_a_pad_of_stored_values_computes_on_bytes(value, pad):
    before = graph(
        f"""q = QuantizeLinear(x, s, z) p = Pad(q, pads, {value})
        y = QLinearConv(p, s, z, w, s, w0, s2, z)""",
        inputs="float[1,2,8] x",
        outputs="int8[1,3,9] y",
        constants={
            "s": numpy.float32(0.25),
            "s2": numpy.float32(2),
            "z": numpy.int8(-9),
            "w0": numpy.int8(0),
            "w": numpy.arange(-9, 9).astype(numpy.int8).reshape(3, 2, 3),
            "pads": numpy.array([0, 0, 2, 0, 0, 1]),
            **({"z2": numpy.int8(5)} if value == "z2" else {}),
        },
    )
    after = simplify(before)
    assert types(after) == ["QuantizeLinear", *pad, "Conv1D"]
    assert same_meaning(before, after)


@pytest.mark.parametrize(
    ("nodes", "pads_reals"),
    [
        ("y = Pad(q, pads, z)", True),
        ("p = Pad(x, pads, z) y = DequantizeLinear(p, s, z)", True),
        ("y = Pad(x, pads, z)", False),
        ("p = Pad(x, pads, z) y = DequantizeLinear<axis=1>(p, lists, points)", False),
    ],
)
def test_a_pad_next_to_one_scale_pads_real_numbers(nodes, pads_reals):
    """Only a QuantizeLinear before the Pad or a DequantizeLinear after it states what the stored values mean."""
    before = graph(
        f"q = QuantizeLinear(r, s, z) {nodes}",
        inputs="int8[1,2,8] x, float[1,2,8] r",
        outputs="float[1,2,11] y" if "Dequantize" in nodes else "int8[1,2,11] y",
        constants={"s": F(0.5), "z": numpy.int8(3), "pads": numpy.array([0, 0, 2, 0, 0, 1])}
        | {"lists": numpy.array([0.5, 0.25], F), "points": numpy.array([3, 3], numpy.int8)},
    )
    after = pad_reals(before)
    assert (after is not before) == pads_reals and same_meaning(before, after)


def test_a_pad_of_stored_values_whose_reals_overflow_stays():
    before = graph(
        "q = QuantizeLinear(x, s, z) p = Pad(q, pads, z) y = DequantizeLinear(p, s, z)",
        inputs="float[1,2,8] x",
        outputs="float[1,2,11] y",
        constants={"s": numpy.float32(1e37), "z": numpy.int8(0), "pads": numpy.array([0, 0, 2, 0, 0, 1])},
    )
    assert types(pad_reals(before)) == types(before)


SPLIT = {
    "s": numpy.float32(0.1),
    "z": numpy.uint8(120),
    "s2": numpy.float32(0.2),
    "z2": numpy.uint8(7),
    "parts": numpy.array([3, 5]),
}


def test_layers_on_both_sides_of_a_split_of_stored_values_compute_on_them():
    before = graph(
        """d = DequantizeLinear(x, s, z) a = Sigmoid(d) q = QuantizeLinear(a, s, z) p, r = Split<axis=1>(q, parts)
        e = DequantizeLinear(p, s, z) f = Sigmoid(e) y = QuantizeLinear(f, s, z) w = DequantizeLinear(r, s, z)""",
        inputs="uint8[1,8,2] x",
        outputs="uint8[1,3,2] y, float[1,5,2] w",
        constants=SPLIT,
    )
    after = simplify(before)
    assert types(after) == ["Restated", "Table", "Split", "DequantizeLinear", "Table", "Restated"]
    assert same_meaning(before, after)


def test_a_split_behind_which_another_scale_is_read_keeps_its_meaning():
    before = graph(
        """q = QuantizeLinear(x, s, z) p, r = Split<axis=1>(q, parts)
        y = DequantizeLinear(p, s, z) w = DequantizeLinear(r, s2, z2)""",
        inputs="float[1,8,2] x",
        outputs="float[1,3,2] y, float[1,5,2] w",
        constants=SPLIT,
    )
    assert same_meaning(before, simplify(before))


def test_quantization_passes_through_a_transpose_to_the_graph_input():
    view = simplify(
        graph(
            "t = Transpose<perm=[0,2,1]>(x) b = DequantizeLinear(t, s, z) c = Sigmoid(b) y = QuantizeLinear(c, s, z)",
            inputs="int8[1,2,3] x",
            outputs="int8[1,3,2] y",
            constants={"s": numpy.float32(0.1), "z": numpy.int8(4)},
        )
    )
    assert types(view) == ["Transpose", "Sigmoid"]
    assert view.tensor("x").quantization.zero_point == 4


def test_quantized_weights_of_a_float_layer_become_float():
    before = graph(
        "wf = DequantizeLinear(w, s, z) y = Conv(x, wf)",
        **IMAGE,
        constants={
            "w": RANDOM.integers(-128, 128, (4, 3, 3, 3)).astype(numpy.int8),
            "s": numpy.float32(0.02),
            "z": numpy.int8(0),
        },
    )
    after = simplify(before)
    assert types(after) == ["Conv2D"]
    assert after.tensor(after.nodes[0].inputs[1]).dtype.is_float and same_meaning(before, after)


@pytest.mark.parametrize("beta", [0.0, 1.0, 0.5])
def test_the_factor_of_a_bias_counts_also_where_it_is_zero(beta):
    before = graph(
        f"y = Gemm<beta={beta}>(x, w, c)",
        inputs="float[2,5] x",
        outputs="float[2,3] y",
        constants={"w": floats(5, 3), "c": floats(3)},
    )
    assert same_meaning(before, simplify(before))


@pytest.mark.parametrize(
    "nodes",
    [
        "y = QLinearMatMul(a, s, za, b, s, zb, s, zy)",
        "af = DequantizeLinear(a, s, za) bf = DequantizeLinear(b, s, zb) c = MatMul(af, bf) y = QuantizeLinear(c, s, zy)",
    ],
    ids=["QLinearMatMul", "QDQ"],
)
def test_a_product_of_two_computed_int8_matrices_becomes_one_node_on_quantized_tensors(nodes):
    """With a scale that is a power of two the sums of float32 are exact: the meaning keeps every bit."""
    before = graph(
        nodes,
        inputs="int8[2,5,7] a, int8[2,7,3] b",
        outputs="int8[2,5,3] y",
        constants={
            "s": numpy.float32(0.0625),
            "za": numpy.int8(-128),
            "zb": numpy.int8(127),
            "zy": numpy.int8(3),
        },
    )
    after = simplify(before)
    assert types(after) == ["MatMul"]
    assert after.tensor("a").quantization is not None and same_meaning(before, after)


@pytest.mark.parametrize("scale", [F(0.02), numpy.array([0.02], F), numpy.array([0.02, 0.03, 0.04], F)], ids=str)
@pytest.mark.parametrize("point", [numpy.int8(1), numpy.array([1], numpy.int8), numpy.array([1, 2, -3], numpy.int8)], ids=str)
def test_weights_of_qlinearconv_have_scales_and_zero_points_each_one_or_one_for_each_output(scale, point):
    before = graph(
        "y = QLinearConv(x, s, z, w, sw, zw, s, z)",
        inputs="int8[1,2,4,4] x",
        outputs="int8[1,3,2,2] y",
        constants={"s": F(0.1), "z": numpy.int8(3), "w": RANDOM.integers(-9, 9, (3, 2, 3, 3)).astype(numpy.int8)}
        | {"sw": scale, "zw": point},
    )
    after = simplify(before)
    assert types(after) == ["Conv2D"] and same_meaning(before, after)


@pytest.mark.parametrize(("channels", "outputs", "kind"), [(2, 2, "ConvDepthWise2D"), (4, 2, "Conv2D"), (2, 4, "Conv2D")])
def test_qlinearconv_with_a_group_for_each_channel_and_output_is_depthwise(channels, outputs, kind):
    weights = RANDOM.integers(-9, 9, (outputs, channels // 2, 3, 2)).astype(numpy.int8)
    before = graph(
        "y = QLinearConv<group=2>(x, s, z, w, s, z, s, z)",
        inputs=f"int8[3,{channels},5,6] x",
        outputs=f"int8[3,{outputs},3,5] y",
        constants={"s": F(0.1), "z": numpy.int8(3), "w": weights},
    )
    after = simplify(before)
    assert types(after) == [kind] and same_meaning(before, after)


@pytest.mark.parametrize(("dims", "scale", "expands"), [([4, 3], 3, True), ([2, 4, 3], 1, True), ([2, 4, 3], 3, False)], ids=str)
def test_scales_for_each_column_of_stacked_matrices_leave_their_product_as_it_is(dims, scale, expands):
    before = graph(
        "y = QLinearMatMul(x, s, z, w, sw, zw, s, z)",
        inputs=f"int8[{','.join(map(str, [*dims[:-2], 5, 4]))}] x",
        outputs=f"int8[{','.join(map(str, [*dims[:-2], 5, 3]))}] y",
        constants={"s": F(0.1), "z": numpy.int8(3), "w": RANDOM.integers(-9, 9, dims).astype(numpy.int8)}
        | {"sw": numpy.linspace(0.02, 0.04, scale, dtype=F), "zw": numpy.zeros(scale, numpy.int8)},
    )
    after = simplify(before)
    assert ("QLinearMatMul" not in types(after)) == expands and same_meaning(before, after)


def test_a_product_whose_sums_could_leave_int32_stays_what_it_was():
    before = graph(
        "y = QLinearMatMul(a, s, z, b, s, z, s, z)",
        inputs="int8[1,32768] a, int8[32768,1] b",
        outputs="int8[1,1] y",
        constants={"s": numpy.float32(0.0625), "z": numpy.int8(0)},
    )
    assert types(simplify(before)) == ["QLinearMatMul"]


def test_a_computed_value_that_is_quantized_again_is_no_constant():
    before = graph(
        "a = DequantizeLinear(x, s, z) q = QuantizeLinear(a, t, u) y = DequantizeLinear(q, t, u)",
        inputs="int8[2,3] x",
        outputs="float[2,3] y",
        constants={"s": numpy.float32(0.5), "z": numpy.int8(1), "t": numpy.float32(0.25), "u": numpy.int8(-2)},
    )
    assert types(fold_quantize(before)) == ["DequantizeLinear", "QuantizeLinear", "DequantizeLinear"]


def power(exponent: numpy.ndarray, inputs: str = "float[2,3] x", outputs: str = "float[2,3] y"):
    """x ^ exponent."""
    return graph("y = Pow(x, e)", inputs=inputs, outputs=outputs, constants={"e": exponent})


@pytest.mark.parametrize("exponent", [numpy.float32(2), numpy.int64([2]), numpy.full((2, 3), 2, numpy.float32)])
def test_a_square_is_a_product(exponent):
    view = power(exponent)
    squared = square_powers(view)
    assert types(squared) == ["Mul"] and squared.nodes[0].inputs == ("x", "x")
    assert same_meaning(view, squared, relative=0)


@pytest.mark.parametrize(
    "view",
    [
        power(numpy.float32(3)),
        power(numpy.array([2, 2, 0.5], numpy.float32)),
        power(numpy.full((4, 2, 3), 2, numpy.float32), outputs="float[4,2,3] y"),
        power(numpy.int64(2), "int32[2,3] x", "int32[2,3] y"),
        graph("y = Pow(x, e)", inputs="float[2] x, float[2] e", outputs="float[2] y"),
    ],
)
def test_other_powers_stay(view):
    assert types(square_powers(view)) == ["Pow"]


def test_a_power_between_quantized_tensors_stays():
    view = graph(
        "xf = DequantizeLinear(x, s, z) a = Pow(xf, e) y = QuantizeLinear(a, s, z)",
        inputs="int8[1,3] x",
        outputs="int8[1,3] y",
        constants={"s": numpy.float32(0.1), "z": numpy.int8(3), "e": numpy.float32(2)},
    )
    assert "Mul" not in types(simplify(view))


def quantized_twice(second, outputs="float[4] y"):
    """A tensor that two products read as bytes; `second` is what the second DynamicQuantizeLinear (to d, e, f) is of."""
    return graph(
        f"""r = Reshape(x, two) v = {second}
        a, b, c = DynamicQuantizeLinear(r) d, e, f = DynamicQuantizeLinear(v)
        i = MatMulInteger(a, w, c) j = MatMulInteger(d, w, f) k = Add(i, j) l = Cast<to=1>(k) m = Mul(l, b) n = Mul(m, e)
        y = Reshape(n, four)""",
        inputs="float[4] x",
        outputs=outputs,
        constants={
            "two": numpy.array([2, 2]),
            "other": numpy.array([-1, 2]),
            "four": numpy.array([4]),
            "w": RANDOM.integers(-9, 9, (2, 2)).astype(numpy.int8),
        },
    )


@pytest.mark.parametrize("second", ["Identity(r)", "Reshape(x, other)"])
def test_what_two_layers_read_is_quantized_once(second):
    before = remove_identities(quantized_twice(second))
    after = quantize_once(before)
    assert types(after).count("DynamicQuantizeLinear") == 1
    assert same_meaning(before, after)


def test_tensors_and_views_that_differ_are_quantized_each():
    assert types(quantize_once(quantized_twice("Neg(r)"))).count("DynamicQuantizeLinear") == 2
    assert types(quantize_once(quantized_twice("Transpose(r)"))).count("DynamicQuantizeLinear") == 2


def test_bytes_that_the_graph_hands_out_are_quantized_under_their_own_name():
    view = remove_identities(quantized_twice("Identity(r)", "float[4] y, uint8[2,2] d"))
    assert types(quantize_once(view)).count("DynamicQuantizeLinear") == 2


OUTPUTS = "uint8[1,2,?,?] q, float s, uint8 z"


def quantized_behind(nodes, outputs):
    """What `nodes` make of x, as p, is quantized."""
    constants = {"six": numpy.float32(6), "low": numpy.float32(0), "half": numpy.float32(0.5), "flat": numpy.array([1, -1])}
    return graph(f"{nodes} q, s, z = DynamicQuantizeLinear(p)", inputs="float[1,2,4,4] x", outputs=outputs, constants=constants)


@pytest.mark.parametrize(
    ("nodes", "left"),
    [
        ("p = Relu(x)", []),
        ("y = Neg(x) p = Clip(y, low, six)", ["Neg"]),
        ("y = Add(x, x) p = Relu(y)", ["Add"]),
        ("y = Add(x, x) c = Clip(y, low, six) p = MaxPool<kernel_shape=[2,2]>(c)", ["Add", "MaxPooling2D"]),
        ("y = Mul(x, half) c = Clip(y, low, six) p = Reshape(c, flat)", ["Mul", "Reshape"]),
    ],
)
def test_a_clamp_from_0_on_becomes_part_of_the_quantization_behind_it(nodes, left):
    before = fuse_activations(quantized_behind(nodes, "uint8[?,?] q, float s, uint8 z" if "flat" in nodes else OUTPUTS))
    after = clamp_levels(before)
    assert types(after) == [*left, "DynamicQuantizeLinear"]
    assert [getattr(node.operator, "clamps", False) for node in after.nodes] == [*(False for _ in left), True]
    assert same_meaning(before, after)
    assert clamp_levels(after) is after


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        ("y = Add(x, x) p = Clip(y, half, six)", OUTPUTS),
        ("y = Add(x, x) p = Clip(y, low)", OUTPUTS + ", float[1,2,4,4] p"),
        ("y = Add(x, x) p = Clip(y, low, six) b = Neg(p)", OUTPUTS + ", float[1,2,4,4] b"),
        ("y = Add(x, x) c = Clip(y, low, six) p = AveragePool<kernel_shape=[2,2]>(c)", OUTPUTS),
        ("y = Neg(x) c = Clip(y, low, six) p = Neg(c)", OUTPUTS),
        ("y = Add(x, x) c = Clip(y, low, six) p = MaxPool<kernel_shape=[2,2]>(c) b = Neg(c)", OUTPUTS + ", float[1,2,4,4] b"),
    ],
)
def test_a_clamp_that_others_see_stays(nodes, outputs):
    before = fuse_activations(quantized_behind(nodes, outputs))
    assert clamp_levels(before) is before


@pytest.mark.parametrize("kind", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize("count", [23, 24, 60, 131])
def test_many_operands_are_taken_in_groups_whose_results_are_the_same(kind, count):
    dims = ("3,4", "4", "3,1")
    names = [f"x{index}" for index in range(count)]
    inputs = ", ".join(f"float[{dims[index % 3]}] {name}" for index, name in enumerate(names))
    words = {"inputs": inputs, "outputs": "float[3,4] y"}
    view = graph(f"y = {kind}({', '.join(names)})", **words)
    after = simplify(view)
    assert max(len(node.inputs) for node in after.nodes) == (count if count <= 23 else 16)
    assert same_meaning(view, after, relative=0.0)
    assert program_of(model(f"y = {kind}({', '.join(names)})", **words), "many.onnx", load_board("host")).layers


@pytest.mark.parametrize(
    ("nodes", "inputs", "outputs"),
    [
        ("a = Transpose<perm=[0,3,1,2]>(x) y = DequantizeLinear<axis=1>(a, s, z)", "uint8[1,3,4,5] x", "float[1,5,3,4] y"),
        ("a = Reshape(x, flat) y = DequantizeLinear<axis=1>(a, s, z)", "uint8[1,5,3,4] x", "float[1,5,12] y"),
        ("a = QuantizeLinear<axis=3>(x, s, z) y = Reshape(a, row)", "float[1,3,4,5] x", "uint8[1,60] y"),
        (
            "a = QuantizeLinear<axis=3>(x, s, z) b = Transpose<perm=[0,3,1,2]>(a) y = DequantizeLinear<axis=1>(b, s, z)",
            "float[1,3,4,5] x",
            "float[1,5,3,4] y",
        ),
    ],
)
def test_scales_of_each_channel_beside_a_view_stay_in_their_nodes(nodes, inputs, outputs):
    constants = {
        "s": numpy.linspace(0.1, 0.5, 5, dtype=numpy.float32),
        "z": numpy.array([0, 3, 128, 255, 7], numpy.uint8),
        "flat": numpy.array([1, 5, 12]),
        "row": numpy.array([1, 60]),
    }
    before = graph(nodes, inputs=inputs, outputs=outputs, constants=constants)
    after = simplify(before)
    assert types(after) == types(before) and same_meaning(before, after, relative=0.0)
