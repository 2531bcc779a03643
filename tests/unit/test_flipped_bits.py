# SPDX-License-Identifier: MIT
"""Flipped bits as data: which are drawn, what counts as changed, and the bytes of structs that a digest covers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.build.emit.struct_bytes import bytes_of_struct, structs_in
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.measure.accuracy.flips.bits import Constants, Flip
from aidge_build.measure.accuracy.flips.native import Outcome
from aidge_build.measure.accuracy.flips.tally import Judge, Tally
from aidge_build.measure.accuracy.labelled import NO_LABEL, LabelledSet
from aidge_build.measure.accuracy.task import Task
from aidge_build.plan.constant_arrays import Array

ROOT = Path(__file__).resolve().parents[2]
ARRAYS = Constants(
    (Array("net_a_weights", numpy.zeros(3, numpy.int8), "a"), Array("net_a_bias", numpy.zeros(2, numpy.int32), "a")), ("a", "b")
)


def test_every_bit_is_drawn_once_and_a_sample_is_the_same_for_the_same_seed():
    every = ARRAYS.drawn(1000, 1)
    assert len(every) == len(set(every)) == ARRAYS.bits == 88
    assert {flip.byte for flip in every if flip.array == 0} == {0, 1, 2} and max(flip.byte for flip in every) == 7
    some = ARRAYS.drawn(40, 1)
    assert some == ARRAYS.drawn(40, 1) != ARRAYS.drawn(40, 2) and set(some) < set(every) and len(set(some)) == 40
    drawn = Counter(flip for seed in range(400) for flip in ARRAYS.drawn(22, seed))
    assert len(drawn) == 88 and 60 < min(drawn.values()) and max(drawn.values()) < 140


def test_the_place_of_a_bit_counts_from_the_least_significant_one_of_its_element():
    assert ARRAYS.position(Flip(0, 2, 7)) == ("int8_t", 7)
    assert ARRAYS.position(Flip(1, 7, 7)) == ("int32_t", 28)
    assert ARRAYS.position(Flip(1, 4, 1)) == ("int32_t", 0)


def tally(task: Task | None, labels=None, targets=None) -> Tally:
    view = GraphView("net", (), {"y": Tensor("y", (1, 3), DType.int8)}, (), ("y",))
    samples = LabelledSet({"x": numpy.zeros((2, 1))}, labels=labels, targets=targets or {})
    return Tally(view, ARRAYS, bytes([1, 5, 2, 9, 0, 100]), Judge(samples, {"x": numpy.zeros((2, 1))}, task))


def test_a_flip_changes_a_value_or_an_answer_or_ends_in_a_fault():
    counted = tally(Task("classes", "y"), numpy.array([1, 2]))
    effects = [bytes([1, 5, 2, 9, 0, 100]), bytes([1, 6, 2, 9, 0, 100]), bytes([7, 5, 2, 9, 101, 100]), None]
    flips = [Flip(0, 0, 7), Flip(0, 1, 7), Flip(1, 0, 0), Flip(1, 0, 1)]
    counted.add(flips, [Outcome(effect, True) for effect in effects])
    found = counted.as_json()
    assert [found[name] for name in ("flips", "values", "answers", "faults", "found")] == [4, 3, 2, 1, 4]
    assert [(row["layer"], row["values"], row["answers"]) for row in found["layers"]] == [("a", 1, 0), ("b", 2, 2)]
    assert [(row["type"], row["bit"], row["flips"]) for row in found["bits"]] == [("int32_t", 0, 2), ("int8_t", 7, 2)]
    assert (found["figure"], found["without_flips"], found["worst"]) == ("top-1", 1.0, 0.0)
    assert found["mean"] == pytest.approx(2 / 3) and found["changed_answers_share"] == pytest.approx(2 / 6)


def test_another_number_of_a_class_is_another_answer_with_labels_and_without():
    view = GraphView("net", (), {"y": Tensor("y", (1, 1), DType.int32)}, (), ("y",))
    samples = LabelledSet({"x": numpy.zeros((2, 1))}, labels=numpy.array([NO_LABEL, 100]))
    right, other = (numpy.array(numbers, numpy.int32).tobytes() for numbers in ([7, 100], [7, 101]))
    for task, figures in ((Task("decisions", "y"), [1.0, 0.0]), (None, [])):
        counted = Tally(view, ARRAYS, right, Judge(samples, {"x": numpy.zeros((2, 1))}, task))
        counted.add([Flip(0, 0, 0), Flip(0, 0, 1)], [Outcome(right), Outcome(other)])
        assert (counted.all.values, counted.all.answers, counted.figures) == (1, 1, figures)


def test_a_real_answer_changes_beyond_a_hundredth_of_the_largest_value():
    counted = tally(Task("regression", "y"), targets={"y": numpy.array([[1, 5, 2], [9, 0, 100]])})
    counted.add([Flip(0, 0, 0), Flip(0, 0, 1)], [Outcome(bytes([1, 5, 2, 9, 0, last])) for last in (101, 102)])
    assert (counted.all.values, counted.all.answers) == (2, 1)
    assert counted.as_json()["worst"] == pytest.approx(2 / 6)


def test_a_struct_has_the_bytes_that_compilers_give_it():
    declared = structs_in(
        [
            "typedef struct {\n int8_t a; /* one */\n int32_t b, c[3];\n} inner;",
            "typedef struct { uint8_t first; inner in; int16_t end; } outer;",
        ]
    )
    data = bytes_of_struct(declared, "outer", ["255", "{-1, 2, {3, 4}}", "(-32767 - 1)"])
    assert data == bytes([255, 0, 0, 0, 255, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, *bytes(7), 0, 128, 0, 0])
    for kind, values in (("unknown", []), ("inner", ["1"] * 6), ("inner", ["1", "{2, 3}"])):
        with pytest.raises(AidgeError, match="the bytes of a constant of type"):
            bytes_of_struct(declared, kind, values)


def test_the_structs_of_all_kernels_can_be_read():
    declared = structs_in([path.read_text() for path in sorted(ROOT.glob("kernels/**/*.h"))])
    python = "".join(path.read_text() for path in sorted(ROOT.glob("kernels/**/*.py")))
    passed = set(re.findall(r'Struct\(\s*f?"(aidge_\w+)"', python))
    assert len(passed) > 30
    for kind in sorted(passed):
        assert len(bytes_of_struct(declared, kind, ["1"])) % 4 == 0, kind
