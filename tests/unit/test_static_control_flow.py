# SPDX-License-Identifier: MIT
"""Control flow, sequences and functions whose course is known are imported away; what depends on data is refused."""

from __future__ import annotations

import numpy
import onnx
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference import cpu
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx import construction, frame
from aidge_build.sources.formats.onnx.expansions import control_flow
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.formats.onnx.left_out import left_out
from aidge_build.sources.source_format import ModelFile
from tests.models import model, types

INT64 = numpy.int64
HEADER = '<ir_version: 10, opset_import: ["" : 18, "own" : 1]>'


def imported(data: bytes, **bind):
    return import_onnx(data, "m.onnx", builtin_operators(), bind, {})[0]


def refusal(data: bytes, **bind) -> str:
    with pytest.raises(AidgeError) as refused:
        imported(data, **bind)
    return str(refused.value)


def checked(data: bytes, bind=None, seed: int = 1):
    """The graph, whose values are those of onnxruntime on the file itself."""
    onnxruntime = pytest.importorskip("onnxruntime")
    view = imported(data, **(bind or {}))
    given = onnx.ModelProto.FromString(data).graph.input
    random = numpy.random.default_rng(seed)
    values = {name: random.normal(size=view.tensor(name).dims).astype(numpy.float32) for name in view.inputs}
    fixed = {
        name: numpy.asarray(value, onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type))
        for one in given
        for name, value in (bind or {}).items()
        if one.name == name
    }
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    wanted = session.run(None, {**values, **fixed})
    found = cpu.run(view, values)
    for name, expected in zip(view.outputs, wanted, strict=True):
        ours = view.tensor(name).data if view.tensor(name).is_constant else found[name]
        assert ours.shape == numpy.shape(expected) and numpy.allclose(ours, expected, rtol=1e-6, atol=1e-6), name
    return view


IF = """
    rate = Constant<value = int64 {16000}>() wide = Equal(sr, rate)
    y = If(wide) <
        then_branch = a () => (float[2,3] p) { q = Relu(x) p = Add(q, w) },
        else_branch = b () => (float[2,3] p) { q = Neg(x) p = Identity(q) }>
    z = Add(y, w)"""
IF_MODEL = model(
    IF, inputs="float[2,3] x, int64 sr", outputs="float[2,3] z", constants={"w": numpy.arange(6, dtype="f4").reshape(2, 3)}
)


@pytest.mark.parametrize("rate, kinds", [(16000, ["ReLU", "Add", "Add"]), (8000, ["Neg", "Add"])])
def test_the_branch_of_a_bound_input_is_taken(rate, kinds):
    view = checked(IF_MODEL, {"sr": rate})
    assert [kind for kind in types(view) if kind != "Identity"] == kinds
    assert view.inputs == ("x",)


def test_names_within_a_branch_may_repeat_those_of_the_other_branch_and_of_the_graph():
    twice = IF.replace("z = Add(y, w)", "q = Abs(y) z = Add(q, w)")
    view = checked(
        model(twice, inputs="float[2,3] x, int64 sr", outputs="float[2,3] z", constants={"w": numpy.float32(2)}), {"sr": 16000}
    )
    assert {"q", "y/then_branch/q"} & set(view.tensors) >= {"q"}


def test_a_condition_that_depends_on_data_is_refused_with_the_input_and_what_helps():
    assert refusal(IF_MODEL) == (
        "m.onnx: node 2 with output 'y' (If): its condition depends on data: 'wide' is computed at run time from the input 'sr'. "
        "Hint: if the input never changes, give it its value: --bind sr=VALUE"
    )
    large = IF.replace("wide = Equal(sr, rate)", "s = ReduceSum<keepdims = 0>(x) wide = Less(s, s)").replace("[2,3]", "[20,30]")
    data = model(large, inputs="float[20,30] x", outputs="float[20,30] z", constants={"w": numpy.float32(2)})
    assert refusal(data).endswith(
        "'wide' is computed at run time from the input 'x'. Hint: export the model without control flow that depends on data"
    )


def test_a_branch_that_is_not_taken_may_hold_what_is_not_supported():
    data = model(
        IF.replace("q = Neg(x)", "q = Unknowable(x)"), inputs="float[2,3] x, int64 sr", outputs="float[2,3] z",
        constants={"w": numpy.float32(2)},
    )  # fmt: skip
    assert imported(data, sr=16000).inputs == ("x",)
    assert "unsupported operator Unknowable: Unknowable at node 0 with output 'q'" in refusal(data, sr=1)


def test_a_condition_on_shapes_needs_no_binding():
    text = """shape = Shape(x) rank = Size(shape) two = Constant<value = int64 {2}>() c = Equal(rank, two)
        y = If(c) <then_branch = a () => (float[1,2,3] p) { zero = Constant<value_ints = [0]>() p = Unsqueeze(x, zero) },
                   else_branch = b () => (float[2,3] p) { p = Identity(x) }>"""
    assert checked(model(text, inputs="float[2,3] x", outputs="float[1,2,3] y")).tensor("y").dims == (1, 2, 3)


LOOP = """
    last, all = Loop(trips, go, x) <body = b (int64 i, bool c, float[2] s) => (bool c2, float[2] s2, float[2] taken) {
        f = Cast<to = 1>(i) half = Constant<value = float {0.5}>() t = Mul(s, half) s2 = Add(t, f) taken = Mul(s2, w)
        four = Constant<value = int64 {4}>() c2 = Less(i, four) }>"""


@pytest.mark.parametrize("trips, steps", [(3, 3), (9, 5)])
def test_a_loop_is_unrolled_until_its_trip_count_or_its_condition_ends_it(trips, steps):
    constants = {"trips": INT64(trips), "go": numpy.bool_(True), "w": numpy.array([2, 3], "f4")}
    view = checked(model(LOOP, inputs="float[2] x", outputs="float[2] last, float[n,2] all", constants=constants))
    assert types(view).count("Mul") == 2 * steps and view.tensor("all").dims == (steps, 2)
    assert sum(tensor.is_constant and tensor.elements == 1 and tensor.data.item() == 0.5 for tensor in view.tensors.values()) == 1


def test_a_loop_without_trip_count_and_condition_given_ends_where_its_body_says():
    constants = {"go": numpy.bool_(True), "w": numpy.array([2, 3], "f4")}
    data = model(LOOP.replace("trips", ""), inputs="float[2] x", outputs="float[2] last, float[n,2] all", constants=constants)
    assert checked(data).tensor("all").dims == (5, 2)
    stopped = {"go": numpy.bool_(False), "trips": INT64(3), "w": numpy.array([2, 3], "f4")}
    assert "it makes no step, and the dims of what it would gather are not known" in refusal(
        model(LOOP, inputs="float[2] x", outputs="float[2] last, float[n,2] all", constants=stopped)
    )


def test_a_loop_whose_end_depends_on_data_is_refused():
    body = LOOP.replace("c2 = Less(i, four)", "sum = ReduceSum<keepdims = 0>(s) c2 = Less(sum, half)")
    constants = {"trips": INT64(3), "go": numpy.bool_(True), "w": numpy.array([2, 3], "f4")}
    data = model(body, inputs="float[2] x", outputs="float[2] last, float[n,2] all", constants=constants)
    assert "its condition depends on data" in refusal(data)
    moving = model(LOOP, inputs="float[2] x, int64 trips", outputs="float[2] last, float[n,2] all", constants=constants | {})
    assert imported(moving).inputs == ("x",)  # an initialiser is the input's value
    del constants["trips"]
    open_count = model(LOOP, inputs="float[2] x, int64 trips", outputs="float[2] last, float[n,2] all", constants=constants)
    assert "its trip count depends on data: 'trips' is computed at run time from the input 'trips'" in refusal(open_count)


def test_a_loop_is_unrolled_up_to_a_limit_that_is_told_before_the_work(monkeypatch):
    monkeypatch.setattr(control_flow, "MOST_UNROLLED", 3 * 7)
    constants = {"go": numpy.bool_(True), "w": numpy.array([2, 3], "f4")}

    def made(trips):
        return model(LOOP.replace("c2 = Less(i, four)", "c2 = Identity(c) unused = Identity(four)"), inputs="float[2] x",
                     outputs="float[2] last, float[n,2] all", constants={**constants, "trips": INT64(trips)})  # fmt: skip

    assert "3 steps of 8 nodes would be unrolled to 24; the limit is 21" in refusal(made(3))
    assert "1,000,000 steps of 8 nodes would be unrolled to 8,000,000; the limit is 21" in refusal(made(1_000_000))
    assert len(imported(made(2)).nodes) > 4
    monkeypatch.setattr(construction, "MOST_WRITTEN", 12)
    assert "more than 12 nodes come from loops and functions" in refusal(made(2))


@pytest.mark.parametrize("directions", ["", ", scan_input_directions = [1], scan_output_directions = [1]"])
def test_a_scan_runs_over_slices_in_both_directions(directions):
    text = f"""end, all = Scan(start, x) <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1]{directions},
        body = b (float[2] s, float[2] row) => (float[2] s2, float[2] out) {{ s2 = Add(s, row) out = Neg(s2) }}>"""
    view = checked(model(text, inputs="float[2] start, float[2,4] x", outputs="float[2] end, float[2,4] all"))
    assert types(view).count("Neg") == 4


SCAN = """same, y = Scan(x, table) <num_scan_inputs = 1, body = b
    (float[2,3] s, float[{row}] r) => (float[2,3] s2, float[{dims}] out) {{ s2 = Identity(s) {body} }}>"""


def scanned(body: str, dims: str, row: tuple[int, ...] = (3,)):
    """A Scan over a table of 50 rows, whose steps have nothing to do with each other."""
    table = numpy.random.default_rng(2).normal(size=(50, *row)).astype("f4")
    constants = {"table": table, "last": INT64([-1]), "two": numpy.float32(2)}
    text = SCAN.format(body=body, dims=dims, row=",".join(map(str, row)))
    return checked(
        model(text, inputs="float[2,3] x", outputs=f"float[2,3] same, float[50{dims and ','}{dims}] y", constants=constants)
    )


@pytest.mark.parametrize("axis", (-1, 1))
@pytest.mark.parametrize("kind", ("ReduceSumSquare", "ReduceL2"))
def test_a_scan_over_a_training_set_is_the_distances_from_its_rows(kind, axis):
    view = scanned(f"d = Sub(s, r) out = {kind}<keepdims = 0, axes = [{axis}]>(d)", "2")
    assert [one for one in types(view) if one not in ("Identity", "Transpose")] == ["CDist"]


@pytest.mark.parametrize(
    "body, dims, row",
    [
        ("d = Sub(r, s) a = Abs(d) out = ReduceSum<keepdims = 0>(a, last)", "2", (3,)),
        ("d = Sub(s, r) a = Abs(d) p = Pow(a, two) out = ReduceMean<axes = [1]>(p)", "2,1", (3,)),
        ("d = Mul(s, r) out = ReduceMax<keepdims = 0>(d)", "", (3,)),
        ("k = Exp(r) e = Neg(s) d = Add(e, k) out = Tanh(d)", "2,3", ()),
        ("k = ReduceSum<keepdims = 0>(r, last) d = Div(s, k) out = Sigmoid(d)", "2,3", (4,)),
        ("d = Sub(s, r) out = ReduceSumSquare<keepdims = 0, axes = [-1]>(d)", "4,2", (4, 1, 3)),
    ],
)
def test_a_scan_whose_steps_do_not_depend_on_each_other_works_on_all_rows_at_once(body, dims, row):
    assert len(scanned(body, dims, row).nodes) <= 8


def test_a_scan_that_carries_a_state_or_whose_result_is_no_row_runs_step_by_step():
    body = "s2 = Add(s, r) out = ReduceSum<keepdims = 0>(s, last)"
    text = SCAN.replace("s2 = Identity(s) ", "").format(body=body, dims="2", row="3")
    constants = {"table": numpy.ones((5, 3), "f4"), "last": INT64([-1])}
    view = checked(model(text, inputs="float[2,3] x", outputs="float[2,3] same, float[5,2] y", constants=constants))
    assert types(view).count("Add") == 5
    assert types(scanned("d = Identity(r) out = Neg(s)", "2,3")).count("Neg") == 50


def test_sequences_with_places_that_are_known_leave_no_trace():
    text = """s = SequenceConstruct(x, y) t = SequenceInsert(s, x, one) u = SequenceErase(t, zero) v = SequenceInsert(u, y)
        n = SequenceLength(v) nf = Cast<to = 1>(n) first = SequenceAt(v, minus) added = Add(first, nf)
        parts = SplitToSequence<axis = 1>(added, two) p = SequenceAt(parts, one) w = SequenceInsert(empty, p)
        empty = SequenceEmpty()
        joined = ConcatFromSequence<axis = 0, new_axis = 1>(v) z = ConcatFromSequence<axis = 1>(w)"""
    constants = {"zero": INT64(0), "one": INT64(1), "minus": INT64(-3), "two": INT64(2)}
    view = checked(
        model(text, inputs="float[2,3] x, float[2,3] y", outputs="float[2,1] z, float[3,2,3] joined", constants=constants)
    )
    assert not any("Sequence" in kind for kind in types(view))


def test_a_sequence_may_be_carried_through_a_loop():
    text = """none = SequenceEmpty()
        m = Loop(three, , none) <body = b (int64 i, bool c, seq(float[2]) s) => (bool c2, seq(float[2]) s2) {
        f = Cast<to = 1>(i) v = Mul(x, f) s2 = SequenceInsert(s, v) c2 = Identity(c) }> y = ConcatFromSequence<axis = 0>(m)"""
    view = checked(model(text, inputs="float[2] x", outputs="float[6] y", constants={"three": INT64(3)}))
    assert view.tensor("y").dims == (6,)


def test_places_that_are_none_and_sequences_that_are_read_as_tensors_are_refused():
    at = "s = SequenceConstruct(x, x) y = SequenceAt(s, place)"
    assert "place 2 of a sequence of 2" in refusal(
        model(at, inputs="float[2] x", outputs="float[2] y", constants={"place": INT64(2)})
    )
    assert "the place depends on data" in refusal(model(at, inputs="float[2] x, int64 place", outputs="float[2] y"))
    assert "its input 's' is a sequence or an optional value, wants a tensor" in refusal(
        model("s = SequenceConstruct(x) y = Relu(s)", inputs="float[2] x", outputs="float[2] y")
    )
    assert "input 0 ('x') is float32, SequenceLength wants another kind" in refusal(
        model("y = SequenceLength(x)", inputs="float[2] x", outputs="int64 y")
    )


@pytest.mark.parametrize(
    "sizes, message",
    [
        (numpy.array([[1, 2]]), "the sizes of its parts must be a list of integers"),
        (numpy.array([1.0, 2.0], numpy.float32), "the sizes of its parts must be a list of integers"),
        (INT64(0), "parts of 0 elements"),
        (INT64(1), "more than 10000 parts"),
        (numpy.array([1, 2]), "parts of [1, 2], the axis has 20000 elements"),
    ],
)
def test_parts_that_are_none_are_refused(sizes, message):
    split = "s = SplitToSequence<axis = 0>(x, sizes) y = SequenceAt(s, zero)"
    constants = {"sizes": sizes, "zero": INT64(0)}
    assert message in refusal(model(split, inputs="float[20000] x", outputs="float[n] y", constants=constants))


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"bands": numpy.array([3, 3])}, "its bands has 2 elements"),
        ({"low": numpy.float32("nan")}, "a frequency is no finite number"),
        ({"low": numpy.float32(-800)}, "frequencies from -800.0"),
        ({"high": numpy.float32(15000), "bands": INT64(30)}, "frequencies up to 15000.0 at the rate 16000"),
        ({"length": INT64(1 << 40)}, "length 1099511627776"),
    ],
)
def test_bands_of_frequencies_that_are_none_are_refused(changed, message):
    constants = {
        "bands": INT64(3),
        "length": INT64(64),
        "rate": INT64(16000),
        "low": numpy.float32(0),
        "high": numpy.float32(8000),
    }
    text = "m = MelWeightMatrix(bands, length, rate, low, high) y = MatMul(x, m)"
    imported(model(text, inputs="float[1,33] x", outputs="float[1,3] y", constants=constants))
    assert message in refusal(model(text, inputs="float[1,33] x", outputs="float[1,3] y", constants={**constants, **changed}))


def test_optional_values_are_there_or_not():
    text = """o = Optional(x) h = OptionalHasElement(o) g = OptionalGetElement(o)
        y = If(h) <then_branch = a () => (float[2] p) { p = Neg(g) }, else_branch = b () => (float[2] p) { p = Abs(g) }>"""
    assert "Neg" in types(checked(model(text, inputs="float[2] x", outputs="float[2] y", opset=18)))
    missing = "o = Optional<type = float[2]>() y = OptionalGetElement(o)"
    assert "the optional value is not there" in refusal(model(missing, inputs="float[2] x", outputs="float[2] y", opset=18))


FUNCTIONS = (
    HEADER
    + """ agraph (float[2,3] x) => (float[2,3] y, float[2,3] z) { y = own.twice<gain = 3.0>(x) z = own.twice(y, x) }
    <domain: "own", opset_import: ["" : 18, "own" : 1]> twice<gain: float = 2.0>(a, b) => (c) {
        g = Constant<value_float: float = @gain>() h = own.scaled<by: float = @gain>(a) c = Sub(h, g) }
    <domain: "own", opset_import: ["" : 18]> scaled<by>(a) => (c) { g = Constant<value_float: float = @by>() c = Mul(a, g) }"""
)


def test_functions_of_the_model_are_inlined_with_their_attributes():
    data = onnx.parser.parse_model(FUNCTIONS).SerializeToString()
    view = checked(data)
    assert [kind for kind in types(view) if kind != "Identity"] == ["Mul", "Sub", "Mul", "Sub"]
    assert {node.origin for node in view.nodes} == {("twice_0",), ("twice_1",)}
    assert list(left_out(ModelFile(data, "m", {}), {"twice_0", "twice_1"})) == []


def test_a_function_that_calls_itself_is_refused(monkeypatch):
    monkeypatch.setattr(frame, "DEEPEST", 5)
    text = FUNCTIONS.replace("c = Mul(a, g)", "c = own.scaled<by = 1.0>(a)")
    assert "functions and sub-graphs are nested more than 5 deep" in refusal(onnx.parser.parse_model(text).SerializeToString())


def test_an_operator_that_onnx_defines_by_others_is_computed_by_them():
    text = "y = CenterCropPad<axes = [0, 1]>(x, size)"
    view = checked(model(text, inputs="float[4,5] x", outputs="float[2,7] y", constants={"size": numpy.array([2, 7])}, opset=18))
    assert view.tensor("y").dims == (2, 7)
    window = "w = HannWindow(n) y = Mul(x, w)"
    assert types(checked(model(window, inputs="float[8] x", outputs="float[8] y", constants={"n": INT64(8)}))) == ["Mul"]


@pytest.mark.parametrize(
    "declared, bound, dims",
    [
        ("int64", 2, ()),
        ("int64[1]", 2, (1,)),
        ("int64[n]", 2, (1,)),
        ("int64[2]", (1, 2), (2,)),
        ("float[2,k]", (1, 2.5, 3, 4), (2, 2)),
        ("bool", True, ()),
        ("float", -2, ()),
    ],
)
def test_a_bound_value_takes_the_dims_of_its_input(declared, bound, dims):
    result = declared.split("[")[0] + (f"[{','.join(map(str, dims))}]" if dims else "")
    data = model("y = Identity(s) z = Relu(x)", inputs=f"float[1] x, {declared} s", outputs=f"{result} y, float[1] z")
    view, notices = import_onnx(data, "m", builtin_operators(), {"s": bound}, {})
    assert view.tensor("y").dims == dims and view.tensor("y").data.reshape(-1).tolist() == list(numpy.atleast_1d(bound))
    assert len(notices) == 1 and notices[0].startswith("input 's' is a constant: ")


@pytest.mark.parametrize(
    "bind, message",
    [
        ({"s": 2.5}, "--bind s=2.5: the input is int64, which does not hold that"),
        ({"s": (1, 2, 3)}, "--bind s=1,2,3: 3 values; the input has the dims [2]. Hint: give them in order: --bind s=1,2,3"),
        ({"n": 4}, "--bind n=4: 'n' is an input and a dimension (axis 1 of input 'x'). Hint: rename one of them in the model"),
        ({"k": -1}, "--bind k=-1: a dimension must be a positive integer"),
        ({"k": 4}, "graph input 'x': dimension 1 ('n') has no fixed size. Hint: give it one: --bind n=..."),
        ({}, "dimension 1 ('n') has no fixed size. Hint: 3 sizes are needed: --bind n=... --bind k=... --bind x.3=..."),
    ],
)
def test_bindings_that_do_not_fit_are_refused(bind, message):
    inputs = "float[1,n] x" if "k" in bind and bind["k"] == 4 else "float[1,n,k,?] x"
    if "s" in bind:
        inputs = "float[1] x"
    elif "k" in bind and bind["k"] == 4:
        inputs = "float[1,n,k] x"
    data = model("y = Relu(x)", inputs=f"{inputs}, int64[2] s, float n", outputs="float[?] y")
    assert message in refusal(data, **bind)


@pytest.mark.requirement("BIND")
def test_minus_one_is_a_size_that_is_not_known():
    made = onnx.ModelProto.FromString(model("y = Relu(x)", inputs="float[1,4] x", outputs="float[?,?] y"))
    made.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -1
    assert refusal(made.SerializeToString()).endswith("dimension 1 ('x.1') has no fixed size. Hint: give it one: --bind x.1=...")
    assert imported(made.SerializeToString(), **{"x.1": 7}).tensor("y").dims == (1, 7)
