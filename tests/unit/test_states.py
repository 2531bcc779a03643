# SPDX-License-Identifier: MIT
"""States in the graph, in the plan and in the header; what cannot be one is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.imported import reduced
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.operators import builtin_operators
from aidge_build.plan.options import Options
from aidge_build.plan.program import Program
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.inner_states import inner_states
from aidge_build.prepare.recipes.slide_states import slide_states
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.compiled import request_of
from tests.refusals import own_words
from tests.stateful import MODELS, Stateful, random_stateful, text_of, wide


def program_of(stateful: Stateful, **options) -> Program:
    request = request_of(stateful.file(), "net.onnx", load_board("host"))
    return build_program(replace(request, state=stateful.pairs, options=Options(**options)))


def stores(program: Program) -> list[str]:
    """The layers that copy next values into the state."""
    return [layer.node.name for layer in program.layers if layer.node.name.endswith("_store")]


def test_a_state_is_no_input_and_no_output_of_the_header():
    header = emit(program_of(MODELS["a delay line of three"])).files["net.h"].decode()
    assert "int net_run(const float *input, float *output);" in header and "void net_reset(void);" in header
    assert "#define NET_STATE_BYTES 52" in header  # three of 16 bytes, and the word that says that the initial values are there


def test_a_model_without_state_has_no_word_of_it():
    plain = Stateful("y = Neg(x)", wide("x"), wide("y"), {})
    texts = b"".join(emit(program_of(plain)).files.values()).decode().lower()
    assert "net_state" not in texts and "reset" not in texts and "<string.h>" not in texts


@pytest.mark.parametrize(
    "name, copies",
    [
        ("a running sum in place", []),
        ("the old value is read behind the new one", ["n_store"]),
        ("the next value is an output, too", ["n_store"]),
        ("a window that slides", []),
        ("a window of pairs of channels", []),
        ("a window that another layer reads, too", []),
        ("the old frames are read beside the window", ["n_store"]),
        ("a row of a cache", ["j_store"]),
    ],
)
def test_a_next_value_is_computed_where_it_stays_if_every_reader_of_the_old_one_comes_before(name, copies):
    assert stores(program_of(MODELS[name])) == copies


def test_states_count_neither_in_the_arena_nor_in_the_peak():
    program = program_of(MODELS["a running sum in place"])
    assert program.memory.states.size_bytes == 16 and program.memory.io_bytes == 32
    assert (program.memory.arena.peak_bytes, program.memory.peak.peak_bytes) == (0, 16)
    (state,) = emit(program).manifest["states"]
    assert {"input": "s", "output": "n", "offset_bytes": 0, "size_bytes": 16}.items() <= state.items()


def test_constants_hold_the_initial_values_only_where_they_are_not_zeros():
    assert program_of(MODELS["a running sum in place"]).memory.states.needs_start is False
    program = program_of(MODELS["a delay line of three"])
    assert program.initial_state_bytes().view(numpy.float32).tolist() == [0] * 4 + [1, -2, 3.5, 0] + [0] * 4


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(["caller", "arena"]))
def test_the_plan_of_any_graph_with_states_passes_the_independent_replay(seed, io):
    stateful = random_stateful(seed)
    program = program_of(stateful, io=io)
    written = [layer.outputs[0].name for layer in program.layers]
    for name in stores(program):  # nothing is computed behind the first copy
        assert all(
            other.endswith("_store") for other in [layer.node.name for layer in program.layers][written.index(name[:-6]) :]
        )


def test_numpy_carries_the_state_from_one_inference_to_the_next():
    stateful = MODELS["a delay line of three"]
    view, _ = import_onnx(stateful.file(), "net.onnx", builtin_operators(), {}, {}, stateful.pairs)
    given_values = numpy.arange(20, dtype=numpy.float32).reshape(5, 1, 4)
    found = run_in_order(view, {"x": given_values})["y"]
    assert found[:, 0].tolist() == [[0] * 4, [1, -2, 3.5, 0], [0] * 4, *given_values[:2, 0].tolist()]


def random(seed, *dims):
    return numpy.random.Generator(numpy.random.PCG64(seed)).normal(size=dims).astype(numpy.float32)


def cut(source: str, axis: int, kept: range, length: int, by_split: bool) -> tuple[str, dict[str, numpy.ndarray]]:
    """The text that cuts a range at one end out of a tensor as `t`, and its constants."""
    if by_split:
        sizes = numpy.array([kept.start or kept.stop, length - (kept.start or kept.stop)])
        return f"{'d, t' if kept.start else 't, d'} = Split<axis={axis}>({source}, sizes)", {"sizes": sizes}
    bounds = {"begin": numpy.array([kept.start]), "end": numpy.array([kept.stop]), "axes": numpy.array([axis])}
    return f"t = Slice({source}, begin, end, axes)", bounds


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
    st.integers(0, 2),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
def test_a_window_in_the_state_shows_layers_what_joined_frames_showed_them(old, axis, count, newest_first, by_split, seed):
    axis %= len(old)
    length = old[axis] + count
    dims = {"s": old, "x": [*old[:axis], count, *old[axis + 1 :]], "y": [*old[:axis], length, *old[axis + 1 :]]}
    signature = {name: f"float[{','.join(map(str, size))}] {name}" for name, size in (*dims.items(), ("t", old))}
    text, constants = cut("w", axis, range(old[axis]) if newest_first else range(count, length), length, by_split)
    stateful = Stateful(
        f"w = Concat<axis={axis}>({'x, s' if newest_first else 's, x'}) {text} y = Neg(w)",
        f"{signature['x']}, {signature['s']}",
        f"{signature['y']}, {signature['t']}",
        {"t": "s"},
        {"s": random(seed, *old)},
        constants,
    )
    view, _ = import_onnx(stateful.file(), "net.onnx", builtin_operators(), {}, {}, stateful.pairs)
    slid, frames = slide_states(view), {"x": random(seed + 1, 4, *dims["x"])}
    assert ("Slide" in slid.types) == (2 * count <= old[axis])  # longer frames would cost more than they save
    assert numpy.array_equal(run_in_order(view, frames)["y"], run_in_order(slid, frames)["y"])


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("by_split", [False, True])
def test_a_window_without_its_oldest_frames_and_with_new_ones_moves_on_in_place(newest_first, by_split):
    text, constants = cut("s", 1, range(3) if newest_first else range(2, 5), 5, by_split)
    stateful = Stateful(
        f"{text} n = Concat<axis=1>({'x, t' if newest_first else 't, x'}) y = Neg(n)",
        "float[1,2] x, float[1,5] s",
        "float[1,5] y, float[1,5] n",
        {"n": "s"},
        {"s": random(0, 1, 5)},
        constants,
    )
    view, _ = import_onnx(stateful.file(), "net.onnx", builtin_operators(), {}, {}, stateful.pairs)
    slid, frames = slide_states(view), {"x": random(1, 4, 1, 2)}
    assert slid.types == {"Slide", "Neg"} and not stores(program_of(stateful))
    assert numpy.array_equal(run_in_order(view, frames)["y"], run_in_order(slid, frames)["y"])


@pytest.mark.parametrize("text", ["d, t = Split<axis=1>(w, sizes) y = Neg(d)", "t = Slice(w, begin, end, axes) y = Neg(w)"])
def test_a_window_of_which_the_oldest_frames_are_read_or_stay_is_joined(text):
    constants = {"sizes": numpy.array([1, 4]), "begin": numpy.array([0]), "end": numpy.array([4]), "axes": numpy.array([1])}
    stateful = Stateful(
        f"w = Concat<axis=1>(s, x) {text}",
        f"float[1,1] x, {wide('s')}",
        f"float[1,{1 if 'Split' in text else 5}] y, {wide('t')}",
        {"t": "s"},
        constants={name: values for name, values in constants.items() if name in text},
    )
    view, _ = import_onnx(stateful.file(), "net.onnx", builtin_operators(), {}, {}, stateful.pairs)
    assert slide_states(view) is view


CONSTANTS = {
    "coarse": numpy.float32(0.5),
    "other": numpy.float32(0.25),
    "zero": numpy.int8(3),
    "point": numpy.uint8(131),
    "one": numpy.array([1]),
    "end": numpy.array([5]),
    "axes": numpy.array([1]),
}
QUANTIZED = (
    "q = QuantizeLinear(x, coarse, POINT) b = DequantizeLinear(q, coarse, POINT) w = Concat<axis=1>(a, b) "
    "c = Slice(w, one, end, axes) f = QuantizeLinear(c, coarse, POINT) g = QuantizeLinear(w, coarse, POINT) "
    "y = DequantizeLinear(g, coarse, POINT)"
)
CONVERTED = {  # the text, the inputs, the outputs, and the state as layers have it
    "turned and back": (
        "a = Transpose<perm=[1,0]>(s) b = Transpose<perm=[1,0]>(x) w = Concat<axis=1>(a, b) c = Slice(w, one, end, axes) "
        "n = Transpose<perm=[1,0]>(c) y = Neg(w)",
        "float[1,1] x, float[4,1] s",
        "float[1,5] y, float[4,1] n",
        "float32[1, 5]",
    ),
    "quantized and back": (
        f"p = QuantizeLinear(s, coarse, zero) a = DequantizeLinear(p, coarse, zero) {QUANTIZED.replace('POINT', 'zero')} "
        "n = DequantizeLinear(f, coarse, zero)",
        "float[1,1] x, float[1,4] s",
        "float[1,5] y, float[1,4] n",
        "int8[1, 5]",
    ),
    "unsigned": (
        f"a = DequantizeLinear(s, coarse, point) {QUANTIZED.replace('POINT', 'point')} n = Identity(f)",
        "float[1,1] x, uint8[1,4] s",
        "float[1,5] y, uint8[1,4] n",
        "int8[1, 5]",
    ),
    "quantized with two scales": (
        "p = QuantizeLinear(s, coarse, zero) a = DequantizeLinear(p, coarse, zero) b = Add(a, x) y = Neg(b) "
        "f = QuantizeLinear(b, other, zero) n = DequantizeLinear(f, other, zero)",
        "float[1,4] x, float[1,4] s",
        "float[1,4] y, float[1,4] n",
        "float32[1, 4]",
    ),
    "turned once": (
        "a = Transpose<perm=[1,2,0]>(s) b = Add(a, x) y = Neg(b) n = Transpose<perm=[1,2,0]>(b)",
        "float[2,2,2] x, float[2,2,2] s",
        "float[2,2,2] y, float[2,2,2] n",
        "float32[2, 2, 2]",
    ),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_a_state_is_stored_as_layers_have_it_if_nothing_is_lost(name):
    text, inputs, outputs, kind = CONVERTED[name]
    constants = {key: values for key, values in CONSTANTS.items() if f"{key}," in text or f"{key})" in text}
    dims = [int(size) for size in inputs.split("[")[-1].split("]")[0].split(",")]
    initial = (8 * random(0, *dims)).astype(numpy.uint8 if name == "unsigned" else numpy.float32)
    stateful = Stateful(text, inputs, outputs, {"n": "s"}, {"s": initial}, constants)
    view, _ = import_onnx(stateful.file(), "net.onnx", builtin_operators(), {}, {}, stateful.pairs)
    found = reduced(simplify(view), Options())
    (state,) = found.states
    assert (inner_states(view) is view) == (name in ("unsigned", "quantized with two scales", "turned once"))
    assert str(found.tensor(state.read)).startswith(kind)
    frames = {"x": 4 * random(1, 6, *view.tensor("x").dims)}
    assert numpy.array_equal(run_in_order(view, frames)["y"], run_in_order(found, frames)["y"])


def test_a_state_that_is_joined_to_itself_is_no_window():
    stateful = Stateful(
        "w = Concat<axis=1>(s, s) n = Slice(w, four, end, axes) y = Mul(w, x)",
        f"{wide('x', 8)}, {wide('s')}",
        f"{wide('y', 8)}, {wide('n')}",
        {"n": "s"},
        {"s": numpy.array([[1, -2, 3, 4]], numpy.float32)},
        {"four": numpy.array([4]), "end": numpy.array([8]), "axes": numpy.array([1])},
    )
    view, _ = import_onnx(stateful.file(), "net.onnx", builtin_operators(), {}, {}, stateful.pairs)
    ones = {"x": numpy.ones((2, 1, 8), numpy.float32)}
    assert run_in_order(slide_states(view), ones)["y"].tolist() == [[[1, -2, 3, 4] * 2]] * 2


def test_frames_with_another_scale_than_the_window_are_joined_and_converted():
    stateful = Stateful(
        "f = QuantizeLinear(x, fine, zero) g = DequantizeLinear(f, fine, zero) r = DequantizeLinear(s, coarse, zero) "
        "v = Concat<axis=1>(r, g) w = QuantizeLinear(v, coarse, zero) n = Slice(w, one, end, axes) "
        "y = DequantizeLinear(w, coarse, zero)",
        "float[1,1] x, int8[1,4] s",
        f"{wide('y', 5)}, int8[1,4] n",
        {"n": "s"},
        constants={
            "one": numpy.array([1]),
            "end": numpy.array([5]),
            "axes": numpy.array([1]),
            "fine": numpy.float32(0.25),
            "coarse": numpy.float32(0.5),
            "zero": numpy.int8(0),
        },
    )
    view, _ = import_onnx(stateful.file(), "net.onnx", builtin_operators(), {}, {}, stateful.pairs)
    frames = {"x": numpy.array([[[8]], [[-3]]], numpy.float32)}
    assert run_in_order(slide_states(simplify(view)), frames)["y"].tolist() == [[[0, 0, 0, 0, 8]], [[0, 0, 0, 8, -3]]]


@pytest.mark.parametrize("board, columns", [("host", 5), ("mps2-an386", 5), ("mps2-an386", 3)])
def test_attention_reads_keys_where_the_cache_holds_them(board, columns):
    stateful = Stateful(
        "n = ScatterND(s, i, x) k = Transpose<perm=[1,2,0]>(n) q = Transpose<perm=[1,0,2]>(x) y = MatMul(q, k)",
        f"float[1,2,4] x, float[{columns},2,4] s",
        f"float[2,1,{columns}] y, float[{columns},2,4] n",
        {"n": "s"},
        constants={"i": numpy.array([[1]])},
    )
    request = request_of(stateful.file(), "net.onnx", load_board(board))
    program = build_program(replace(request, state=stateful.pairs))
    (product,) = (layer for layer in program.layers if layer.node.type == "StoredMatMul")
    assert product.kernel.library == ("cortexm" if board != "host" and columns >= 4 else "ref")
    assert not stores(program)


REFUSED = {
    "no such output": ({"m": "s"}, "--state: the model has no output 'm'. Tried: y; n."),
    "no such input": ({"n": "state"}, "--state: the model has no input 'state'"),
    "twice": ({"n": "s", "y": "s"}, "--state y=s: 's' belongs to two states"),
    "of another size": (
        {"y": "s"},
        "--state y=s: output 'y' is float32[1, 2], input 's' is float32[1, 4]: a state keeps its dims",
    ),
    "all": ({"n": "s", "y": "x"}, "--state y=x: every output is a state: an inference would return nothing"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_be_no_state_is_refused_in_one_line(name):
    pairs, words = REFUSED[name]
    narrow = "" if name == "all" else "y = Slice(z, zero, two, one)"
    stateful = Stateful(
        f"n = Add(s, x) {'y' if name == 'all' else 'z'} = Neg(s) {narrow}",
        text_of("x", "s"),
        f"{wide('y', 4 if name == 'all' else 2)}, {wide('n')}",
        pairs,
        constants={} if name == "all" else {"zero": numpy.array([0]), "one": numpy.array([1]), "two": numpy.array([2])},
    )
    with pytest.raises(AidgeError) as refused:
        import_onnx(stateful.file(), "net.onnx", builtin_operators(), {}, {}, pairs)
    assert words in own_words(refused.value)


def test_bytes_that_would_be_read_with_another_scale_are_refused():
    stateful = Stateful(
        "r = DequantizeLinear(s, a, zero) v = Add(r, x) n = QuantizeLinear(v, b, zero) y = Neg(x)",
        f"{wide('x')}, int8[1,4] s",
        f"{wide('y')}, int8[1,4] n",
        {"n": "s"},
        constants={"a": numpy.float32(0.5), "b": numpy.float32(0.25), "zero": numpy.int8(0)},
    )
    with pytest.raises(AidgeError, match="written as int8.* scale 0.25 .*read as int8.* scale 0.5"):
        program_of(stateful)
