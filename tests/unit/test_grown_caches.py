# SPDX-License-Identifier: MIT
"""Caches that grow by a row are states, and inputs that only count are computed: files as exporters write decoders."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes.slide_states import slide_states
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.wanted_states import wanted_states
from tests.models import model
from tests.refusals import own_words

PAST, FRAMES = 3, numpy.arange(1, 7, dtype=numpy.float32)
# The sum of the valid rows of a cache, weighted by the position of the new row.
TEXT = (
    "present_0_key = Concat<axis=-2>(past_key_values_0_key, x) m = Cast<to=1>(attention_mask) c = Squeeze(present_0_key) "
    "v = Mul(c, m) s = ReduceSum(v) p = Cast<to=1>(position_ids) y = Mul(s, p)"
)
INPUTS = (
    "float[1,1,1] x, float[batch,past,1] past_key_values_0_key, int64[batch,total] attention_mask, int64[batch,1] position_ids"
)
OUTPUTS = "float[1,1] y, float[1,?,1] present_0_key"


def read(words, *, text=TEXT, inputs=INPUTS, outputs=OUTPUTS, past=PAST, constants=None, opset=17):
    data = model(text, inputs=inputs, outputs=outputs, constants=constants, opset=opset)
    bind = {"past": past, "total": past + 1} if inputs is INPUTS else {}
    return import_onnx(data, "net.onnx", builtin_operators(), bind, {}, words)[0]


def test_auto_pairs_the_names_of_exporters_and_only_the_frame_is_an_input():
    view = read({"auto": ""})
    assert view.given == ("x",) and view.handed_out == ("y",)
    assert {state.read for state in view.states} == {"past_key_values_0_key", "count"}
    slid = slide_states(view)
    assert "Slide" in slid.types
    wanted = [n * sum(FRAMES[max(0, n - PAST) : n + 1]) for n in range(6)]  # the oldest row leaves
    for graph in (view, slid):
        assert run_in_order(graph, {"x": FRAMES.reshape(6, 1, 1, 1)})["y"].reshape(-1).tolist() == wanted


def test_a_star_stands_for_the_same_text_in_both_names():
    view = read({"present_*": "past_key_values_*", "position_ids": ""})
    assert view.given == ("x", "attention_mask")


def test_a_cache_of_fixed_length_is_filled_from_its_first_row_on():
    view = read(
        {"n": "s", "mask": "", "place": ""},
        text="i = Unsqueeze(place, axis) n = ScatterND(s, i, x) m = Cast<to=1>(mask) t = Mul(n, m) y = ReduceSum(t)",
        inputs="float[1] x, float[3] s, bool[3] mask, int64[1] place",
        constants={"axis": numpy.array([1])},
        outputs="float[1] y, float[3] n",
    )
    assert run_in_order(view, {"x": FRAMES[:3].reshape(3, 1)})["y"].reshape(-1).tolist() == [1, 3, 6]


def test_the_name_of_a_sum_of_dims_needs_no_value():
    inputs = "float[1,past,1] s, float[1,1,1] x, int64[1,total] m".replace("total", "past_and_new")
    data = model(
        "n = Concat<axis=1>(s, x) c = Cast<to=1>(m) y = ReduceSum(c)", inputs=inputs, outputs="float[1,1] y, float[1,?,1] n"
    )
    data = data.replace(b"past_and_new", b"past + fresh")
    view = import_onnx(data, "net.onnx", builtin_operators(), {"past": 3, "fresh": 1}, {}, {"n": "s"})[0]
    assert view.tensor("m").dims == (1, 4)
    with pytest.raises(AidgeError, match="has no fixed size") as refused:
        import_onnx(data, "net.onnx", builtin_operators(), {"past": 3}, {}, {"n": "s"})
    assert refused.value.hint == "give it one: --bind fresh=..."


def test_a_pair_precedes_a_pattern_and_a_pattern_auto():
    names = ["past.0.k", "past.0.v", "past.1.k"], ["present.0.k", "present.0.v", "present.1.k"]
    words = {"auto": "", "present.0.*": "past.1.*", "present.0.k": "past.0.v"}
    with pytest.raises(AidgeError, match="the model has no input 'past.1.v'"):
        wanted_states(words, *names)
    del names[1][1]
    assert wanted_states(words, *names).pairs == {"present.0.k": "past.0.v", "present.1.k": "past.1.k"}
    del words["present.0.k"]
    assert wanted_states(words, *names).pairs == {"present.0.k": "past.1.k", "present.1.k": "past.1.k"}


@pytest.mark.requirement("STATE")
def test_two_patterns_that_differ_about_an_output_are_refused():
    with pytest.raises(AidgeError, match="two patterns pair output 'next_k', with 'next_old' and 'past_k'"):
        wanted_states({"*_k": "*_old", "next_*": "past_*"}, ["next_old", "past_k"], ["next_k"])
    named = {"*_k": "*_old", "next_*": "past_*", "next_k": "past_k"}
    assert wanted_states(named, ["next_old", "past_k"], ["next_k"]).pairs == {"next_k": "past_k"}


REFUSED = {
    "no pair": ({"auto": ""}, "x, y", "--state auto: no output 'present...' has an input"),
    "no output": ({"next_*": "past_*"}, "", "--state next_*=past_*: no output fits 'next_*'"),
    "no input": ({"present_*": "last_*"}, "", "the model has no input 'last_0_key'"),
    "two stars": ({"present_*_*": "past_*"}, "", "a pattern has one * in the output and one in the input"),
    "nothing counts": ({"present_0_key": "past_key_values_0_key", "count": ""}, "", "--state count: the model has no such input"),
    "no row of integers": ({"past_key_values_0_key": ""}, "", "--state past_key_values_0_key: an input that counts is a row"),
    "no cache is as long": ({"attention_mask": ""}, "", "--state attention_mask: no cache has 4 rows"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_words_that_name_no_state_are_refused(name):
    words, plain, reason = REFUSED[name]
    keywords = {"text": "y = Neg(x)", "inputs": "float[1] x", "outputs": "float[1] y"} if plain else {}
    with pytest.raises(AidgeError) as refused:
        read(words, **keywords)
    assert reason in own_words(refused.value)


@pytest.mark.parametrize("position, is_refused", [("Shape(past_key_values_0_key)", True), ("ReduceSum(attention_mask)", False)])
def test_positions_that_follow_from_the_length_of_a_cache_are_refused(position, is_refused):
    text = TEXT.replace("p = Cast<to=1>(position_ids)", f"l = {position} q = Cast<to=1>(l) p = ReduceMax<keepdims=0>(q)")
    inputs = INPUTS.replace(", int64[batch,1] position_ids", "")
    data = model(text, inputs=inputs, outputs=OUTPUTS)
    words = data, "net.onnx", builtin_operators(), {"past": PAST, "total": PAST + 1}, {}, {"auto": ""}
    if is_refused:
        with pytest.raises(AidgeError, match="output 'y' changes with the length of the caches"):
            import_onnx(*words)
    else:
        assert import_onnx(*words)[0].given == ("x",)


@pytest.mark.requirement("STATE")
def test_rows_that_are_not_joined_to_the_end_are_refused():
    text = TEXT.replace("(past_key_values_0_key, x)", "(x, past_key_values_0_key)")
    with pytest.raises(AidgeError, match=r"is float32\[1, 4, 1\], input 'past_key_values_0_key' is float32\[1, 3, 1\]"):
        read({"auto": ""}, text=text)


TWO_ROWS = {
    "joined": ("n = Concat<axis=0>(s, x) y = Add(x, place)", "float[2] x, float[4] s, float[1] place", "float[2] y, float[6] n"),
    "written": (
        "n = TensorScatter<axis=1>(s, x, place) y = ReduceSum(n)",
        "float[1,2,3] x, float[1,4,3] s, int64[1] place",
        "float[1,1,1] y, float[1,4,3] n",
    ),
}


@pytest.mark.parametrize("way", TWO_ROWS)
def test_a_count_adds_one_row(way):
    text, inputs, outputs = TWO_ROWS[way]
    with pytest.raises(AidgeError, match="each inference adds 2 rows to a cache, a count adds one"):
        read({"n": "s", "place": ""}, text=text, inputs=inputs, outputs=outputs, opset=24)
