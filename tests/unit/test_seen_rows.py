# SPDX-License-Identifier: MIT
"""Attention reads the rows of its caches up to a position only where the mask proves that later rows add nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.build.imported import import_model
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.operators import builtin_operators
from aidge_build.plan.options import Options
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.byte_caches import byte_caches
from aidge_build.prepare.recipes.seen_rows import seen_rows
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.compiled import request_of
from tests.stateful import Stateful

HEADS, ROWS, SIZE = 2, 8, 4
WIDTH = HEADS * SIZE
MASKS = {
    "where": "g = LessOrEqual(range, p) m = Where(g, zero, low)",
    "other way round": "g = Greater(range, p) m = Where(g, low, zero)",
    "product": "e = Add(p, one) g = GreaterOrEqual(range, e) f = Cast<to=1>(g) m = Mul(f, low)",
    "a row of a table": "m = Gather(table, p)",
}
ATTENTION = (
    "h = LayerNormalization<axis=-1>(x, scale) q = MatMul(h, wq) k = MatMul(h, wk) v = MatMul(h, wv) i = Reshape(p, pair) "
    "ks = ScatterND(kc, i, k) vs = ScatterND(vc, i, v) qh = Reshape(q, single) kh = Reshape(ks, rows) vh = Reshape(vs, rows) "
    "qt = Transpose<perm=[1,0,2]>(qh) kt = Transpose<perm=[1,2,0]>(kh) vt = Transpose<perm=[1,0,2]>(vh) "
    "s = MatMul(qt, kt) MASK a = Add(s, m) w = Softmax<axis=-1>(a) y = MatMul(w, vt)"
)


def stateful(mask: str = MASKS["where"], low: float = -1e9, text: str = ATTENTION) -> Stateful:
    random, text = numpy.random.default_rng(0), text.replace("MASK", mask)
    constants = {
        "scale": numpy.ones(WIDTH, numpy.float32),
        **{name: random.normal(size=(WIDTH, WIDTH)).astype(numpy.float32) for name in ("wq", "wk", "wv")},
        "pair": numpy.array([1, 1]),
        "single": numpy.array([1, HEADS, SIZE]),
        "rows": numpy.array([ROWS, HEADS, SIZE]),
        "range": numpy.arange(ROWS),
        "one": numpy.array([1]),
        "zero": numpy.array([0], numpy.float32),
        "low": numpy.array([low], numpy.float32),
        "table": numpy.where(numpy.tri(ROWS, dtype=bool), 0, low).astype(numpy.float32),
    }
    cache = f"float[{ROWS},{WIDTH}]"
    return Stateful(
        text,
        f"float[1,{WIDTH}] x, int64[1] p, {cache} kc, {cache} vc",
        f"float[{HEADS},1,{SIZE}] y, {cache} ks, {cache} vs",
        {"ks": "kc", "vs": "vc"},
        {"kc": random.normal(size=(ROWS, WIDTH)).astype(numpy.float32), "vc": numpy.ones((ROWS, WIDTH), numpy.float32)},
        {name: values for name, values in constants.items() if f" {name}" in text or f"({name}" in text},
    )


def imported(model: Stateful):
    return simplify(import_onnx(model.file(), "net.onnx", builtin_operators(), {}, {}, model.pairs)[0])


def results(view) -> numpy.ndarray:
    positions = numpy.array([0, 1, 2, 3, 4, 5, 2, 0, -1])[:, None]
    frames = numpy.random.default_rng(1).normal(size=(len(positions), 1, WIDTH)).astype(numpy.float32)
    return run_in_order(view, {"x": frames, "p": positions})["y"]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("low", [-1e9, -numpy.inf])
def test_attention_reads_rows_up_to_the_position_and_gives_the_same_values(mask, low):
    if mask == "product" and low == -numpy.inf:
        return  # 0 times infinity is no number: such a file hides nothing
    view = imported(stateful(MASKS[mask], low))
    made = seen_rows(view)
    assert [node.type for node in made.nodes].count("SeenMatMul") == 2
    assert numpy.array_equal(results(view)[:-1], results(made)[:-1])


def test_a_position_before_all_rows_reads_all_of_them():
    view = imported(stateful())
    assert numpy.array_equal(results(view)[-1], results(seen_rows(view))[-1])


REFUSED = {
    "a mask that a score can outweigh": stateful(low=-100.0),
    "a mask of rows before the position": stateful("g = Less(range, p) m = Where(g, low, zero)"),
    "a mask that depends on more": stateful("r = ReduceMax<axes=[1]>(x) g = LessOrEqual(range, p) m = Where(g, r, low)"),
    "keys without a bound": stateful(text=ATTENTION.replace("MatMul(h, wk)", "MatMul(x, wk)")),
    "old keys without a bound": stateful(
        text=ATTENTION.replace("MatMul(h, wk)", "MatMul(x, wk)").replace("(ks, rows)", "(kc, rows)")
    ),
    "values without a bound": stateful(text=ATTENTION.replace("MatMul(h, wv)", "MatMul(x, wv)")),
    "a mask with no number": stateful(MASKS["product"], -numpy.inf),
}


@pytest.mark.parametrize("name", REFUSED)
def test_where_it_is_not_proved_all_rows_are_read(name):
    view = imported(REFUSED[name])
    assert seen_rows(view) is view


def test_rows_of_bytes_are_read_up_to_the_position_too():
    view = byte_caches(seen_rows(imported(stateful())))
    assert [view.tensor(node.inputs[1]).dtype.name for node in view.nodes if node.type == "SeenMatMul"] == ["int8"] * 2
    assert numpy.abs(results(view) - results(imported(stateful()))).max() < 0.05


@pytest.mark.parametrize(
    "board, options, is_taken",
    [
        ("mps2-an386", {}, True),
        ("mps3-an547", {}, True),
        ("host", {}, True),
        ("mps3-an547", {"max_step": 100_000}, False),
        ("mps3-an547", {"update": "weights"}, False),
        ("qemu_riscv32_v", {}, False),
    ],
)
def test_only_builds_that_gain_by_it_and_keep_the_proof_read_rows_up_to_the_position(board, options, is_taken):
    request = request_of(stateful().file(), "net.onnx", load_board(board))
    view, _ = import_model(replace(request, state=stateful().pairs, options=Options(**options)))
    assert ("SeenMatMul" in view.types) == is_taken
