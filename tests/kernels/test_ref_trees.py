# SPDX-License-Identifier: MIT
"""Forests as generated C: equal to their numpy meaning as data and as code, for every type of features and kind of votes."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy
import pytest
from harness import Case, differing, far, libraries, run
from onnx import TensorProto

from aidge_build.contract.spec import NodeView
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.forests import MODES, TRANSFORMS, Model, random_model, random_rows

STRESS = "AIDGE_STRESS" in os.environ
ROWS = 5
ELEMENTS = {
    TensorProto.FLOAT: numpy.float32,
    TensorProto.DOUBLE: numpy.float64,
    TensorProto.INT32: numpy.int32,
    TensorProto.INT64: numpy.int64,
}


def case_of(model: Model, rows: numpy.ndarray, element: int = TensorProto.FLOAT, objective: str = "size") -> Case:
    view = import_onnx(model.file(len(rows), element), "forest", builtin_operators(), {}, {})[0]
    (node,) = view.nodes
    return Case(replace(NodeView.of(view, node), objective=objective), (rows,))


def random_case(seed: int, objective: str) -> Case:
    """A forest of the seed; together they have every kind of votes, with and without base values."""
    random = numpy.random.default_rng(seed)
    element = list(ELEMENTS)[seed % 4]
    votes, count = (("target", 1), ("class", 2), ("target", 3), ("class", 3))[seed // 4 % 4]
    who = ("all", "first") if (votes, count) == ("class", 2) else ("all", "tree", "any")
    extra: dict[str, object] = {} if votes == "class" else {"aggregate_function": str(random.choice(["SUM", "AVERAGE"]))}
    given = {"who": str(random.choice(who)), "weights": [(), (0.0, 0.3), (0.0, 0.3, 0.7)][int(random.integers(3))]}
    if random.random() < 0.5 and given["who"] != "any":
        extra["base_values"] = random.normal(size=count).astype(numpy.float32).tolist()
    if (votes, given["who"]) == ("class", "any"):
        given["weights"] = (0.2, 0.3)
    model = random_model(random, votes, count, int(random.integers(1, 9)), int(random.integers(1, 6)), **given, **extra)
    return case_of(model, random_rows(random, ROWS, model.features, ELEMENTS[element]), element, objective)


def test_data_and_code_give_the_values_of_the_numpy_meaning():
    count = 400 if STRESS else 24
    cases = [random_case(seed, objective) for seed in range(count) for objective in ("size", "speed")]
    notes = " ".join(entry.call.note for entry in cases)
    for form in ("data, ranks of uint8", "code, keys of int32", "code, keys of int64", "code, features of int32"):
        assert f"trees as {form}" in notes
    for flags in (("-std=c99", "-O0"), ("-std=c99", "-O2")) if STRESS else (("-std=c99", "-O1"),):
        assert differing(cases, run(cases, *flags)) == []


def test_zeros_of_both_signs_are_equal():
    random = numpy.random.default_rng(8)
    model = random_model(random, trees=12, depth=2, features=2, grid=[0.0, -0.0])
    assert {str(value) for value in model.attributes["nodes_values"]} == {"0.0", "-0.0"}
    rows = numpy.float32([[a, b] for a in (0.0, -0.0, 1e-45, -1e-45) for b in (0.0, -0.0, numpy.nan, -numpy.nan)])
    cases = [case_of(model, rows, objective=objective) for objective in ("size", "speed")]
    assert differing(cases, run(cases)) == []


@pytest.mark.parametrize("aggregate", ["MIN", "MAX"])
def test_the_smallest_and_the_largest_vote(aggregate):
    random = numpy.random.default_rng(1)
    models = [random_model(random, count=count, aggregate_function=aggregate) for count in (1, 3)]
    cases = [case_of(model, random_rows(random, ROWS, 3), objective=form) for model in models for form in ("size", "speed")]
    assert differing(cases, run(cases)) == []


@pytest.mark.filterwarnings("ignore:invalid value encountered in subtract")  # of infinities, which are equal
def test_scores_are_transformed():
    cases = []
    for seed, transform in enumerate(TRANSFORMS):
        random = numpy.random.default_rng(seed)
        for votes, count, who in (("class", 3, "all"), ("class", 2, "all"), ("class", 2, "first"), ("target", 2, "all")):
            if (transform, count, who) != ("PROBIT", 2, "first"):
                model = random_model(random, votes, count, who=who, weights=(0.0, 0.05, 0.11), post_transform=transform)
                cases.append(case_of(model, random_rows(random, ROWS, 3)))
    results = run(cases)
    assert far(cases, results) == []
    assert [
        entry.view for entry, result in zip(cases, results) if (result[0] != entry.expected[0]).any() and len(result) > 1
    ] == []


def tall(random: numpy.random.Generator, features: int, trees: int, depth: int) -> Model:
    """Trees with many thresholds, as a regression has them."""
    grid = random.normal(size=2000).astype(numpy.float32).tolist()
    return random_model(random, trees=trees, depth=depth, features=features, grid=grid, modes=MODES[:2])


@pytest.mark.parametrize(
    "features, trees, depth, node",
    [(3, 3, 6, "uint8"), (9, 2, 10, "uint8"), (300, 60, 5, "uint16")],
)
def test_nodes_are_as_small_as_the_forest_allows(features, trees, depth, node):
    random = numpy.random.default_rng(features + depth)
    model = tall(random, features, trees, depth)
    rows = numpy.concatenate([random_rows(random, ROWS, features), random.normal(size=(40, features)).astype(numpy.float32)])
    entry = case_of(model, rows)
    assert any(f" aidge_ref_tree_walk_{node}_uint8(" in text for text in entry.call.texts)
    assert differing([entry], run([entry])) == []


def test_a_feature_with_more_than_255_thresholds_has_several_ranks():
    random = numpy.random.default_rng(5)
    entry = case_of(tall(random, 1, 700, 1), random_rows(random, 40, 1))
    features = next(one for one in entry.call.constants if one.name == "features").values
    assert len(features) > 2 and set(features[:, 0]) == {0} and 255 in features[:, 1]
    assert differing([entry], run([entry])) == []


def flash(entry: Case) -> int:
    return sum(one.values.nbytes for one in entry.call.constants)


def test_votes_of_one_weight_are_counted_and_leaves_that_are_equal_are_stored_once():
    random = numpy.random.default_rng(2)
    counted = case_of(random_model(random, "class", 3, trees=20, who="any", weights=(0.05,)), random_rows(random, ROWS, 3))
    assert [one.values.nbytes for one in counted.call.constants if one.name == "counted"] == [4 * 21]
    assert "weights" not in {one.name for one in counted.call.constants}
    few = case_of(random_model(random, "target", 1, trees=20, weights=(0.25, 0.5)), random_rows(random, ROWS, 3))
    assert [one.values.tolist() for one in few.call.constants if one.name == "weights"] in ([[0.25, 0.5]], [[0.5, 0.25]])
    assert differing([counted, few], run([counted, few])) == []


def test_what_the_questions_above_decide_is_not_asked():
    """Integers between 3.2 and 3.7 there are none: the second question has the answer of the first."""
    nodes = {"treeids": [0] * 5, "nodeids": [0, 1, 2, 3, 4], "featureids": [0] * 5, "truenodeids": [1, 3, 0, 0, 0]}
    nodes |= {"falsenodeids": [2, 4, 0, 0, 0], "modes": ["BRANCH_LEQ"] * 2 + ["LEAF"] * 3, "values": [3.7, 3.2, 0.0, 0.0, 0.0]}
    votes = {"treeids": [0] * 3, "nodeids": [2, 3, 4], "ids": [0] * 3, "weights": [1.0, 2.0, 4.0]}
    attributes = {f"nodes_{name}": given for name, given in nodes.items()} | {f"target_{name}": v for name, v in votes.items()}
    model = Model(attributes, "target", 1, 1)
    rows = numpy.array([[3], [4]])
    integers = case_of(model, rows.astype(numpy.int32), TensorProto.INT32)
    reals = case_of(model, numpy.float32([[3.2], [3.5], [3.75]]))
    assert ("1 different nodes" in integers.call.note, "2 different nodes" in reals.call.note) == (True, True)
    assert [result[0].reshape(-1).tolist() for result in run([integers, reals])] == [[2.0, 1.0], [2.0, 4.0, 1.0]]


def chain(length: int) -> Model:
    """x in {0, 1, 2, ...}, as a chain of equalities whose true branches lead to one node, which compares another feature."""
    count = length + 4
    inner, ends = list(range(length)), [length + 1, length + 2, length + 3]  # node `length` is the shared one
    nodes = {
        "treeids": [0] * count,
        "nodeids": list(range(count)),
        "featureids": [0] * length + [1] + [0] * 3,
        "modes": ["BRANCH_EQ"] * length + ["BRANCH_LEQ"] + ["LEAF"] * 3,
        "values": [float(value) for value in inner] + [0.5] + [0.0] * 3,
        "truenodeids": [length] * length + [ends[0]] + [0] * 3,
        "falsenodeids": [*inner[1:], ends[2], ends[1], 0, 0, 0],
    }
    votes = {"treeids": [0] * 3, "nodeids": ends, "ids": [0] * 3, "weights": [1.0, 2.0, 4.0]}
    attributes = {f"nodes_{name}": given for name, given in nodes.items()} | {f"target_{name}": v for name, v in votes.items()}
    return Model(attributes, "target", 1, 2)


@pytest.mark.parametrize("length", [40, 90, 2000])
def test_a_node_that_several_nodes_lead_to_is_stored_once(length):
    rows = numpy.float32([[0, 0], [0, 1], [length - 1, 0], [length, 0], [1.5, 0], [2, numpy.nan]])
    cases = [case_of(chain(length), rows, objective=objective) for objective in ("size", "speed")]
    assert [result[0].reshape(-1).tolist() for result in run(cases)] == [[1.0, 2.0, 1.0, 4.0, 4.0, 2.0]] * 2
    stream = next(one for one in cases[0].call.constants if one.name == "stream").values
    assert len(stream) < 17 * length + 20


def test_equal_trees_are_code_of_their_own():
    """Labels belong to a tree: both have the node that several lead to."""
    once = chain(10).attributes
    twice = {name: values * 2 for name, values in once.items()}
    for name in ("nodes_treeids", "target_treeids"):
        twice[name] = [tree for tree in (0, 1) for _ in once[name]]
    entry = case_of(Model(twice, "target", 1, 2), numpy.float32([[3, 0], [3, 1], [11, 0]]), objective="speed")
    assert "trees as code" in entry.call.note and "goto " in entry.call.texts[-1]
    assert run([entry])[0][0].reshape(-1).tolist() == [2.0, 4.0, 8.0]


def refusal(entry: Case) -> str:
    (kernel,) = libraries("ref")[0].kernels_for(entry.view.node.type)
    return kernel.spec.rejection(entry.view, frozenset(), "onnx")


def test_what_depends_on_who_has_votes_is_refused():
    random = numpy.random.default_rng(0)
    rows = random_rows(random, 1, 3)
    reason = "it depends on the data which targets have votes, and weights may be negative"
    assert refusal(case_of(random_model(random, "class", 3, who="any"), rows)) == reason
    assert refusal(case_of(random_model(random, "target", 3, who="any", base_values=[1.0, 2.0, 3.0]), rows)) == reason
    found = refusal(case_of(random_model(random, "target", 3, who="any", aggregate_function="MIN"), rows))
    assert found == "MIN of a target for which some rows have no vote"
    assert refusal(case_of(random_model(random, "class", 3, who="any", weights=(0.1,)), rows)) == ""


def test_a_build_for_speed_takes_code_and_one_for_size_the_smaller_form():
    random = numpy.random.default_rng(4)
    model, rows = tall(random, 4, 30, 5), random_rows(random, ROWS, 4)
    speed, size = (case_of(model, rows, objective=objective) for objective in ("speed", "size"))
    assert "trees as code" in speed.call.note and "trees as data" in size.call.note
    assert flash(size) < sum(len(text) for text in speed.call.texts)
