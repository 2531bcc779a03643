# SPDX-License-Identifier: MIT
"""How a search for cascades goes on: which chains it tries, what it refuses from then on, and what it says of what it found."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy
import pytest
from test_cascades import cascaded

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Call
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.operators import builtin_operators
from aidge_build.plan.cascade import calls, unroll
from aidge_build.plan.cascade.cascade import Cascade, Line, Work
from aidge_build.plan.cascade.kernels import BandKernels, sizes_of
from aidge_build.plan.cascade.lifetimes import Run
from aidge_build.plan.cascade.messages import layers_of, role_of, saved, smallest
from aidge_build.plan.cascade.question import Question
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.cascade.search import _some
from aidge_build.plan.cascade.unroll import walked
from aidge_build.plan.cascade.widening import MOST_AHEAD, widened
from aidge_build.prepare.adaptation.match import Target
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import model


def test_of_many_chains_the_shortest_half_is_tried_and_others_of_all_lengths_up_to_the_longest():
    chains = [(first, last) for last in range(30) for first in range(last)]
    found = _some(chains, 24)
    lengths = [last - first for first, last in found]
    assert len(found) == len(set(found)) == 24 and set(found) <= set(chains)
    assert lengths[:12] == [1] * 12 and lengths == sorted(lengths) and (lengths[12], lengths[-1]) == (1, 29)
    assert len(set(lengths[12:])) >= 10
    assert _some(chains[:24], 24) == chains[:24] and len(set(_some(chains[:25], 24))) == 24


def test_a_layer_without_rows_at_both_ends_is_none_by_rows():
    view, _ = import_onnx(model("y = Relu(x)", inputs="float[4,8] x", outputs="float[4,8] y"), "n", builtin_operators(), {}, {})
    assert RowLayer.of(NodeView.of(view, view.nodes[0])) is None


def test_rows_that_a_layer_cannot_compute_apart_have_no_band_read_nothing_and_are_cut_nowhere():
    text = 'y = Resize<coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor">(x, none, scales)'
    constants = {"scales": numpy.array([1, 1, 2, 2], numpy.float32), "none": numpy.zeros(0, numpy.float32)}
    made = model(text, inputs="float[1,1,4,4] x", outputs="float[1,1,8,8] y", constants=constants)
    view, _ = import_onnx(made, "n", builtin_operators(), {}, {})
    layer = RowLayer.of(NodeView.of(view, view.nodes[0]))
    assert layer.multiple == 2 and (layer.most_rows(1), layer.most_rows(3), layer.most_rows(9)) == (2, 4, 8)
    assert layer.band(1, 3) is None and layer.reads(1, 3) is None and layer.cut(1, 2) is None
    assert layer.reads(2, 6) == {"x": (1, 3)} and layer.cut(2, 4) == ((0, 2), (2, 6), (6, 8))


def test_a_layer_is_in_no_cascade_where_it_cannot_be_cut_into_bands_of_so_many_rows():
    """One row of this average is added up in another order than the whole image."""
    text = "y = AveragePool<kernel_shape = [2, 4]>(x)"
    view, _ = import_onnx(model(text, inputs="float[1,1,9,4] x", outputs="float[1,1,8,1] y"), "n", builtin_operators(), {}, {})
    layer = RowLayer.of(NodeView.of(view, view.nodes[0]))
    found = {rows: walked([layer], frozenset({"y"}), {layer.name: rows}) for rows in (1, 2, 3)}
    assert found[1] is None and found[2].bands == {layer.name: ((0, 2), (2, 4), (4, 6), (6, 8))}
    assert found[3].bands == {layer.name: ((0, 3), (3, 6), (6, 8))}


def test_a_cascade_has_as_many_steps_as_a_walk_may_have_and_not_one_more(monkeypatch):
    layers, _, _ = cascaded(1, 2)
    words = layers, frozenset({layers[-1].output.name}), dict.fromkeys((layer.name for layer in layers), 2)
    steps = len(walked(*words).run)
    for most, is_walked in ((steps, True), (steps - 1, False)):
        monkeypatch.setattr(unroll, "MOST_STEPS", most)
        assert (walked(*words) is not None) is is_walked


@pytest.mark.parametrize("scratch, expected", [((4, 8, 6), 8), ((None, 8, 6), None), ((4, 8, None), None), ((9, 9, 8), 9)])
def test_bands_ask_for_what_the_largest_of_them_asks_for_and_for_nothing_if_one_is_refused(monkeypatch, scratch, expected):
    asked = dict(zip([(0, 2), (2, 4), (4, 5)], [size and Demands(scratch_bytes=size) for size in scratch]))
    monkeypatch.setattr(BandKernels, "of_band", lambda self, layer, band, sizes: asked[band])
    found = BandKernels(None, (), None).demands(SimpleNamespace(one_of_each=list), [*asked])
    assert (found and found.scratch_bytes) == expected


@pytest.mark.requirement("CASCADE")
def test_bands_of_a_layer_with_different_functions_are_refused_when_their_calls_are_made(monkeypatch):
    (layer, *_), cascade, _ = cascaded(1, 2)
    functions = count()
    kernel = SimpleNamespace(name="odd", call=lambda view, _: Call(f"function_{next(functions)}", (), ()))
    kernels = SimpleNamespace(layer=lambda node: layer, kernel=lambda layer: kernel)
    monkeypatch.setattr(calls, "_view", lambda *words: None)
    with pytest.raises(AidgeError, match="kernel odd computes the bands of a layer with different functions") as refused:
        calls.calls_of(kernels, layer.seen.node, cascade, None)
    assert refused.value.code == "CASCADE"


@pytest.mark.parametrize("agree", [True, False])
def test_bands_that_a_kernel_computes_in_different_ways_are_refused_from_then_on(monkeypatch, agree):
    (layer, *_), cascade, _ = cascaded(1, 2)
    bands = cascade.bands_of(layer.name)
    assert len(layer.one_of_each(bands)) > 1
    numbers = count()
    kernel = SimpleNamespace(
        call=lambda view, _: Call("same" if agree else f"function_{next(numbers)}", (), ()),
        rejection=lambda *words: "",
        demands=lambda view: Demands(bands=True),
    )
    monkeypatch.setattr(BandKernels, "kernel", lambda self, layer: kernel)
    target = Target(objective="speed")
    kernels = BandKernels(None, (), target)
    assert kernels.demands(layer, bands) is not None
    assert kernels.agree(layer, bands) is agree
    assert [kernels.of_band(layer, band, sizes_of(bands)) is not None for band in bands] == [agree] * len(bands)
    assert (kernels.demands(layer, bands) is not None) is agree


def test_what_bands_that_do_not_agree_were_good_for_is_forgotten(monkeypatch):
    verdicts = iter((True, False))
    kernels = SimpleNamespace(agree=lambda layer, bands: next(verdicts), layer=lambda node: SimpleNamespace(name="layer"))
    question = Question(SimpleNamespace(kernels=kernels), SimpleNamespace(steps=("node",)), lambda nodes: None)
    assert question.keeps("any cascade", ()) and replace(question)._known is not question._known
    run = Run(replace(cascaded(0, 2)[1], nodes=("layer",), work=SimpleNamespace(bands={"layer": ((0, 1),)})), 0, {})
    for known in (question._known.runs, question._known.live, question._known.plans):
        known["key"] = None
    found = SimpleNamespace(runs=(run,))
    assert question.agree(found) and question._known.runs and question._known.live and question._known.plans
    assert not question.has_refused
    assert (
        not question.agree(found)
        and question.has_refused
        and not (question._known.runs or question._known.live or question._known.plans)
    )


class Ahead:
    """A question whose plans need `needed` bytes for each layer ahead, and where each layer ahead saves so much."""

    def __init__(self, saves: dict[str, int], needed: int):
        self.saves, self.needed, self.asked = saves, needed, 0

    def run(self, first, rows, ahead=frozenset()):
        saved = sum(self.saves[name] for name in ahead)
        cascade = Cascade(tuple(self.saves), dict(rows), {}, (), beyond=100 - saved, ahead=ahead)
        bands = {name: ((0, 1), (1, 8)) for name in self.saves}
        return Run(replace(cascade, work=SimpleNamespace(bands=bands)), first, dict.fromkeys(self.saves, Demands(instructions=9)))

    def live_inside(self, run):
        return [10]

    def planned(self, runs, enough_bytes=0):
        self.asked += 1
        (run,) = runs
        peak = SimpleNamespace(peak_bytes=50 + self.needed * len(run.cascade.ahead))
        return SimpleNamespace(runs=tuple(runs), peak=peak, cost=run.cascade.beyond)


@pytest.mark.parametrize(
    "limit_bytes, ahead", [(59, ""), (60, "b"), (69, "b"), (70, "bc"), (80, "bca"), (500, "bca")], ids=lambda value: str(value)
)
def test_layers_begin_a_row_ahead_where_that_saves_most_as_long_as_the_plan_fits(limit_bytes, ahead):
    question = Ahead({"a": 1, "b": 3, "c": 2, "d": 0, "e": -1}, needed=10)
    start = question.planned([question.run(0, dict.fromkeys("abcde", 1))])
    found = widened(start, question, limit_bytes)
    assert found.runs[0].cascade.ahead == frozenset(ahead) and found.peak.peak_bytes <= limit_bytes
    assert len(ahead) <= MOST_AHEAD


def test_bands_that_cost_more_than_a_known_plan_are_not_planned():
    question = Ahead({"a": 1, "b": 3}, needed=10)
    start = question.planned([question.run(0, {"a": 1, "b": 1})])
    asked = question.asked
    assert widened(start, question, 500, known_cost=79) is start and question.asked == asked
    assert widened(start, question, 500, known_cost=81).cost < start.cost and question.asked > asked


class Packed:
    """A question about six layers with five live bytes for each row; offsets take twice the live bytes."""

    def run(self, first, rows, ahead=frozenset()):
        cascade = Cascade(tuple(rows), rows, {}, (), beyond=sum(100 / count for count in rows.values()))
        bands = {name: ((0, 1), (1, 64)) for name in rows}
        return Run(replace(cascade, work=SimpleNamespace(bands=bands)), first, dict.fromkeys(rows, Demands()))

    def live_inside(self, run):
        return [5 * sum(run.cascade.rows_of.values())]

    def planned(self, runs, enough_bytes=0):
        (run,) = runs
        peak = SimpleNamespace(peak_bytes=2 * self.live_inside(run)[0])
        return SimpleNamespace(runs=tuple(runs), peak=peak, cost=run.cascade.beyond)


@pytest.mark.parametrize("limit_bytes, live_bytes", [(59, 30), (60, 30), (80, 40), (120, 60), (180, 90), (240, 120)])
def test_bands_get_as_many_rows_as_offsets_within_the_limit_allow(limit_bytes, live_bytes):
    question = Packed()
    found = widened(question.planned([question.run(0, dict.fromkeys("abcdef", 1))]), question, limit_bytes)
    assert question.live_inside(found.runs[0]) == [live_bytes]


def test_a_cascade_as_text_says_its_layers_rows_and_bytes():
    layers, cascade, _ = cascaded(3, 2)
    first, last = (f"{layer.name} by {cascade.rows_of[layer.name]}" for layer in (layers[0], layers[-1]))
    text = str(cascade)
    assert text.startswith(f"  cascade of {first}, ") and f", {last}: keeps " in text
    for line in cascade.lines.values():
        assert f"{line.rows} of {line.height} rows of {line.tensor}" in text
    assert text.endswith(f"; {len(cascade.steps)} steps, {cascade.shifted_bytes:,} B moved")
    empty = Cascade((), {}, {}, ())
    assert str(empty).endswith("; 0 steps, 0 B moved") and (empty.work, empty.beyond) == (Work({}, 0, {}, 0), 0)
    assert " (rows of x arrive)" in str(replace(cascade, arriving="x"))
    assert " (rows of y leave)" in str(replace(cascade, departing="y"))


def test_a_cascade_in_a_message_is_its_first_and_its_last_layer():
    cascade = Cascade(("one", "two", "three"), {}, {}, ())
    assert layers_of(cascade) == "'one' to 'three' (3 layers)"
    first, last = layers_of(replace(cascade, nodes=("n" * 40, "n" * 41))).split("'")[1::2]
    assert first == "n" * 40 and "..." in last and len(last) == 40


def test_what_was_tried_where_nothing_fits_names_the_layers_and_the_one_that_needs_the_most():
    steps = [SimpleNamespace(where=lambda: "node 'small'"), SimpleNamespace(where=lambda: "node 'large'")]
    cascade = Cascade(("one", "two"), {}, {}, ())
    found = SimpleNamespace(schedule=SimpleNamespace(steps=steps, cascades=()), peak=SimpleNamespace(bound_step=1), runs=())
    assert smallest(found, 1234) == "layers some rows at a time, which saves nothing at node 'large'"
    found.runs, found.schedule.cascades = ("run",), (cascade,)
    expected = "'one' to 'two' (2 layers) some rows at a time, which needs 1,234 B, most of it at node 'large'"
    assert smallest(found, 1234) == expected


def test_the_role_of_a_layer_says_its_bands_and_the_rows_that_are_kept():
    work = Work({"one": ((0, 4), (4, 7)), "two": ((0, 1),)})
    cascade = Cascade(("one", "two"), {"one": 4, "two": 1}, {"t": Line("t", 7, 5, 8, {})}, (), work=work)
    other = replace(cascade, nodes=("three",))
    assert role_of("one", "t", "conv", (other, cascade)) == (
        "cascade 2: 4 of 7 rows at a time, in 2 bands, by conv, 5 of 7 rows of the output are kept"
    )
    assert role_of("two", "y", "add", (cascade,)) == "cascade 1: 1 of 1 row at a time, in 1 band, by add"
    assert role_of("one", "t", "conv", (replace(cascade, permits={(0, 4): Demands()}),)) == "in 2 steps of at most 4 of 7 rows"
    assert role_of("four", "t", "conv", (other, cascade)) is None


def test_without_cascades_or_with_layers_that_are_merely_cut_nothing_is_saved_and_nothing_said():
    cascade = Cascade(("one", "two"), {}, {}, (), beyond=7)
    cut = replace(cascade, permits={(0, 1): Demands()})
    assert saved((), 5, 9) == [] and saved((cut,), 5, 9) == []
    assert len(saved((cut, cascade), 5, 9)) == 2 and "5 B instead of 9 B" in saved((cascade,), 5, 9)[-1]
