# SPDX-License-Identifier: MIT
"""Roundabout forms in files of decoders: heads that are repeated, scaled keys, masks of NaN, rows that move."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes.cast_once import cast_once
from aidge_build.prepare.recipes.fill_undefined import fill_undefined
from aidge_build.prepare.recipes.mask_once import mask_once
from aidge_build.prepare.recipes.name_root_mean_squares import name_root_mean_squares
from aidge_build.prepare.recipes.remove_identities import remove_identities
from aidge_build.prepare.recipes.repeated_heads import repeated_heads
from aidge_build.prepare.recipes.replace_blocks import replace_blocks
from aidge_build.prepare.recipes.ring_caches import ring_caches
from aidge_build.prepare.recipes.scale_queries import scale_queries
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import graph, model, same_meaning, types

F, HALF = numpy.float32, numpy.float32(0.5)

HEADS = {
    "text": "u = Unsqueeze(k, two) e = Expand(u, many) r = Reshape(e, merged) t = Transpose<perm=[0,1,3,2]>(r) "
    "m = Mul(t, half) y = MatMul(q, m)",
    "inputs": "float[1,6,1,4] q, float[1,2,5,4] k",
    "outputs": "float[1,6,1,5] y",
    "constants": {
        "two": numpy.array([2]),
        "many": numpy.array([1, 2, 3, 5, 4]),
        "merged": numpy.array([1, 6, 5, 4]),
        "half": HALF,
    },
}


def test_heads_that_several_queries_share_are_read_once():
    view = graph(**HEADS)
    once = repeated_heads(view)
    assert "Expand" not in once.types and same_meaning(view, once)
    assert next(once.tensor(node.output).dims for node in once.nodes if node.type == "MatMul") == (1, 2, 3, 5)


@pytest.mark.parametrize(
    "old, new",
    [
        ("y = MatMul(q, m)", "z = Neg(r) o = MatMul(q, m) l = ReduceMax(z) y = Add(o, l)"),
        ("perm=[0,1,3,2]", "perm=[0,3,1,2]"),
        ("Mul(t, half)", "Add(t, half)"),
    ],
)
def test_heads_that_are_read_in_another_way_stay_repeated(old, new):
    words = {**HEADS, "text": HEADS["text"].replace(old, new)}
    if "perm" in old:
        words |= {"inputs": "float[1,4,1,6] q, float[1,2,5,4] k", "outputs": "float[1,4,1,5] y"}
    view = graph(**words)
    assert repeated_heads(view) is view


def test_the_smaller_operand_is_scaled():
    text = "a = Mul(q, third) b = Mul(k, third) y = MatMul(a, b)"
    view = graph(text, inputs="float[2,4] q, float[4,5] k", outputs="float[2,5] y", constants={"third": F(1 / 3)})
    scaled = scale_queries(view)
    assert types(scaled) == ["Mul", "MatMul"] and scaled.nodes[0].input == "q" and same_meaning(view, scaled)
    larger = graph(text, inputs="float[6,4] q, float[4,5] k", outputs="float[6,5] y", constants={"third": F(1 / 3)})
    assert scale_queries(larger) is larger
    rows = graph(
        text, inputs="float[1,4] q, float[4,5] k", outputs="float[1,5] y", constants={"third": F([0.1, 0.2, 0.3, 1, 2])[:1]}
    )
    assert types(scale_queries(rows)) == ["Mul", "MatMul"]


def test_nan_is_looked_for_once_in_a_row():
    text, dims = "s = Softmax<axis={axis}>(x) n = IsNaN(s) y = Where(n, zero, s)", "float[2,3]"
    for axis in (0, 1):
        view = graph(text.format(axis=axis), inputs=f"{dims} x", outputs=f"{dims} y", constants={"zero": F(0)})
        filled = fill_undefined(view)
        assert types(filled) == ["Softmax", "ZeroedRows"]
        data = numpy.array([[[1, -numpy.inf, -numpy.inf], [2, -numpy.inf, 3]], [[-numpy.inf] * 3, [1, 2, 3]]], F)
        with numpy.errstate(invalid="ignore"):
            assert numpy.array_equal(*(run_in_order(one, {"x": data})["y"] for one in (view, filled)))
    for other in ("n = IsNaN(x) y = Where(n, zero, x)", "s = Softmax(x) n = IsNaN(x) y = Where(n, zero, s)"):
        view = graph(other, inputs=f"{dims} x", outputs=f"{dims} y", constants={"zero": F(0)})
        assert fill_undefined(view) is view


NORM = "p = Pow(x, two) m = ReduceMean<axes=[-1]>(p) a = Add(m, e) s = Sqrt(a) d = Div(one, s) n = Mul(x, d) y = Mul(w, n)"
NUMBERS = {"two": F(2), "e": F(1e-3), "one": F(1), "w": F([0.5, 1, 2, -1])}


@pytest.mark.parametrize(
    "change",
    [
        ("", ""),
        ("p = Pow(x, two)", "p = Mul(x, x)"),
        ("d = Div(one, s) n = Mul(x, d)", "n = Div(x, s)"),
        ("Div(one, s)", "Reciprocal(s)"),
    ],
)
def test_a_written_out_norm_gets_its_name(change):
    view = graph(NORM.replace(*change), inputs="float[2,3,4] x", outputs="float[2,3,4] y", constants=NUMBERS)
    named = name_root_mean_squares(view)
    assert types(named) == ["RMSNormalization"] and same_meaning(view, named)


@pytest.mark.parametrize("change", [("axes=[-1]", "axes=[1]"), ("Pow(x, two)", "Pow(x, e)"), ("Div(one, s)", "Div(two, s)")])
def test_other_norms_stay(change):
    view = graph(NORM.replace(*change), inputs="float[2,4,4] x", outputs="float[2,4,4] y", constants=NUMBERS)
    assert name_root_mean_squares(view) is view


def test_a_truth_value_is_cast_once():
    view = graph(
        "a = Cast<to=7>(b) r = Reshape(a, dims) y = Cast<to=1>(r) c = Cast<to=9>(r) z = Not(c)",
        inputs="bool[4] b",
        outputs="float[2,2] y, bool[2,2] z",
        constants={"dims": numpy.array([2, 2])},
    )
    once = remove_identities(cast_once(view))
    assert sorted(types(once)) == ["Cast", "Not", "Reshape", "Reshape"] and same_meaning(view, once)
    integers = graph("a = Cast<to=6>(b) y = Cast<to=1>(a)", inputs="int64[4] b", outputs="float[4] y")
    assert cast_once(integers) is integers


def test_a_mask_is_computed_once():
    text = "a = Where(m, zero, low) b = Where(m, none, low) p = Add(x, a) y = Mul(p, b) c = Where(m, low, zero) z = Neg(c)"
    numbers = {"zero": F(0), "none": F(0), "low": F(-9)}
    view = graph(text, inputs="bool[3] m, float[3] x", outputs="float[3] y, float[3] z", constants=numbers)
    once = mask_once(view)
    assert types(once).count("Where") == 2 and same_meaning(view, once)
    floats = graph("a = Neg(x) b = Neg(x) y = Mul(a, b)", inputs="float[3] x", outputs="float[3] y")
    outputs = graph("a = Not(m) b = Not(m)", inputs="bool[3] m", outputs="bool[3] a, bool[3] b")
    assert mask_once(floats) is floats and mask_once(outputs) is outputs


def test_nodes_that_change_nothing_are_left_out():
    view = graph(
        "a = And(all, m) e = Expand(a, dims) p = Pad(e, none) s = Slice(p, zero, dims) g = Gather<axis=0>(s, order) y = Not(g)",
        inputs="bool[3] m",
        outputs="bool[1,3] y",
        constants={
            "all": numpy.ones(3, bool),
            "dims": numpy.array([3]),
            "none": numpy.array([0, 0]),
            "zero": numpy.array([0]),
            "order": numpy.array([[0, 1, 2]]),
        },
    )
    plain = replace_blocks(remove_identities(view))
    assert types(plain) == ["Reshape", "Not"] and same_meaning(view, plain)
    some = graph("y = And(m, all)", inputs="bool[3] m", outputs="bool[3] y", constants={"all": numpy.array([True, True, False])})
    wide = graph("y = And(m, all)", inputs="bool[3] m", outputs="bool[2,3] y", constants={"all": numpy.ones((2, 3), bool)})
    ends = {"last": numpy.array([-1]), "first": numpy.array([-9]), "axis": numpy.array([0])}
    back = graph("y = Slice(m, last, first, axis, last)", inputs="bool[3] m", outputs="bool[3] y", constants=ends)
    assert types(remove_identities(back)) == ["Slice"]
    assert remove_identities(some) is some and remove_identities(wide) is wide


def test_an_update_of_the_whole_tensor_is_the_update():
    indices = numpy.stack(numpy.meshgrid(numpy.arange(2), numpy.arange(3), indexing="ij"), -1)
    view = graph(
        "y = ScatterND(x, i, u)",
        inputs="float[2,3] u",
        outputs="float[2,3] y",
        constants={"x": numpy.zeros((2, 3), F), "i": indices},
    )
    assert types(replace_blocks(view)) == ["Reshape"] and same_meaning(view, replace_blocks(view))


CACHE = {
    "text": "kn = Concat<axis=2>(ks, x) vn = Concat<axis=2>(vs, x) t = Transpose<perm=[0,1,3,2]>(kn) s = MatMul(x, t) "
    "c = Cast<to=1>(mask) o = Sub(c, one) b = Mul(o, large) a = Add(s, b) p = Softmax(a) y = MatMul(p, vn)",
    "inputs": "float[1,1,1,4] x, float[1,1,3,4] ks, float[1,1,3,4] vs, int64[1,4] mask",
    "outputs": "float[1,1,1,4] y, float[1,1,4,4] kn, float[1,1,4,4] vn",
    "constants": {
        "one": F(1),
        "large": F(1e4),
        "order": F([1, 2, 3, 4]),
        "same": F([2, 2, 2, 2]),
        "one_": numpy.array([0]),
        "two_": numpy.array([1]),
        "three_": numpy.array([3]),
    },
}
STATES = {"kn": "ks", "vn": "vs", "mask": ""}


def decoder(change: tuple[str, str] = ("", ""), states: dict[str, str] = STATES):
    words = {**CACHE, "text": CACHE["text"].replace(*change)}
    text = words.pop("text")
    return import_onnx(model(text, **words), "net.onnx", builtin_operators(), {}, {}, states)[0]


@pytest.mark.parametrize("new", ["p = Softmax(a)", "w = Mul(a, same) p = Softmax(w)"])
def test_rows_stay_where_they_were_written_if_nobody_sees_their_order(new):
    view = decoder(("p = Softmax(a)", new))
    ring = ring_caches(view)
    assert ring.types.issuperset({"TensorScatter", "LessOrEqual"}) and "Concat" not in ring.types
    frames = {"x": numpy.random.default_rng(1).normal(size=(9, 1, 1, 1, 4)).astype(F)}
    one, two = (run_in_order(graph, frames)["y"] for graph in (view, ring))
    assert numpy.allclose(one, two, atol=1e-6) and len(numpy.unique(one)) > 9


@pytest.mark.parametrize(
    "old, new",
    [
        ("a = Add(s, b)", "o2 = Mul(b, order) a = Add(s, o2)"),
        ("p = Softmax(a)", "w = Mul(a, order) p = Softmax(w)"),
        (
            "y = MatMul(p, vn)",
            "l = ReduceMax<axes=[2],keepdims=1>(t) z = MatMul(p, vn) w = MatMul(l, t) v = ReduceMax(w) y = Add(z, v)",
        ),
        ("y = MatMul(p, vn)", "z = MatMul(p, vn) f = Slice(p, one_, two_, three_) y = Add(z, f)"),
    ],
)
def test_rows_move_where_their_order_matters(old, new):
    view = decoder((old, new))
    assert ring_caches(view) is view


def test_rows_move_where_the_caller_gives_the_mask():
    view = decoder(states={"kn": "ks", "vn": "vs"})
    assert ring_caches(view) is view
