# SPDX-License-Identifier: MIT
"""Caches of keys and values in bytes (--state-type int8): a quarter of the RAM, values within half a level of each row."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.operators import builtin_operators
from aidge_build.plan.options import Options
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.byte_caches import byte_caches
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.compiled import request_of
from tests.refusals import own_words
from tests.stateful import Stateful

HEADS, ROWS, SIZE = 2, 5, 4
ATTENTION = (
    "n = ScatterND(k, i, x) m = ScatterND(v, i, x) a = Reshape(x, one) b = Reshape(n, rows) c = Reshape(m, rows) "
    "q = Transpose<perm=[1,0,2]>(a) t = Transpose<perm=[1,2,0]>(b) u = Transpose<perm=[1,0,2]>(c) "
    "s = MatMul(q, t) p = Softmax<axis=-1>(s) y = MatMul(p, u)"
)


def stateful(text: str = ATTENTION, outputs: str = f"float[{HEADS},1,{SIZE}] y") -> Stateful:
    width = HEADS * SIZE
    cache = f"float[{ROWS},{width}]"
    constants = {"one": numpy.array([1, HEADS, SIZE]), "rows": numpy.array([ROWS, HEADS, SIZE])}
    initial = numpy.random.default_rng(0).normal(size=(ROWS, width)).astype(numpy.float32)
    return Stateful(
        text,
        f"float[1,{width}] x, int64[1,1] i, {cache} k, {cache} v",
        f"{outputs}, {cache} n, {cache} m",
        {"n": "k", "m": "v"},
        {"k": initial, "v": 3 * initial},
        {name: values for name, values in constants.items() if f"{name})" in text},
    )


def imported(model: Stateful):
    return simplify(import_onnx(model.file(), "net.onnx", builtin_operators(), {}, {}, model.pairs)[0])


def results(view, steps: int = 7) -> numpy.ndarray:
    frames = numpy.random.default_rng(1).normal(size=(steps, 1, HEADS * SIZE)).astype(numpy.float32)
    return run_in_order(view, {"x": frames, "i": numpy.arange(steps).reshape(steps, 1, 1) % ROWS})["y"]


def test_attention_reads_bytes_and_gives_nearly_the_values_of_floats():
    view = imported(stateful())
    made = byte_caches(view)
    assert sorted(made.tensor(state.read).dtype.name for state in made.states) == ["float32"] * 2 + ["int8"] * 2
    assert made.given == view.given and made.handed_out == view.handed_out
    one, other = results(view), results(made)
    assert 0 < numpy.abs(one - other).max() < 0.02 * numpy.abs(one).max()


@pytest.mark.parametrize("board, library", [("host", "ref"), ("mps2-an386", "cortexm"), ("mps3-an547", "helium")])
def test_products_read_the_bytes_where_the_cache_holds_them(board, library):
    request = request_of(stateful().file(), "net.onnx", load_board(board))
    program = build_program(replace(request, state=stateful().pairs, options=Options(state_type="int8")))
    products = [layer for layer in program.layers if layer.node.type == "StoredMatMul"]
    assert [layer.kernel.library for layer in products] == [library] * 2
    assert program.memory.states.size_bytes < 2 * ROWS * (HEADS * SIZE + 4) + 16
    assert not [layer for layer in program.layers if layer.node.name.endswith("_store")]


@pytest.mark.parametrize(
    "text, outputs",
    [
        (ATTENTION + " z = ReduceMax<axes=[0],keepdims=1>(n)", f"float[{HEADS},1,{SIZE}] y, float[1,{HEADS * SIZE}] z"),
        (
            'n = ScatterND<reduction="add">(k, i, x) m = ScatterND<reduction="add">(v, i, x) t = Transpose<perm=[1,0]>(n) '
            "s = MatMul(x, t) y = MatMul(s, m)",
            f"float[1,{HEADS * SIZE}] y",
        ),
        (
            "n = Add(k, x) m = Add(v, x) t = Transpose<perm=[1,0]>(n) s = MatMul(x, t) w = MatMul(s, m) f = Cast<to=1>(i) "
            "y = Add(w, f)",
            f"float[1,{HEADS * SIZE}] y",
        ),
    ],
    ids=["another reader", "sums", "no rows"],
)
def test_a_state_that_is_no_cache_of_rows_keeps_its_type(text, outputs):
    made = byte_caches(imported(stateful(text, outputs)))
    assert made.tensor("k").dtype.name == "float32"


@pytest.mark.requirement("OPTION")
def test_a_model_without_a_cache_is_refused():
    plain = Stateful("n = Add(s, x) y = Neg(n)", "float[1,4] x, float[1,4] s", "float[1,4] y, float[1,4] n", {"n": "s"})
    request = request_of(plain.file(), "net.onnx", load_board("host"))
    with pytest.raises(AidgeError) as refused:
        build_program(replace(request, state=plain.pairs, options=Options(state_type="int8")))
    assert "--state-type int8: no state is a cache that ScatterND writes by rows" in own_words(refused.value)
