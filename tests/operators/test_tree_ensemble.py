# SPDX-License-Identifier: MIT
"""Tree ensembles of ai.onnx.ml: the numpy meaning against a plain walk and onnxruntime's values, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.cpu import run
from aidge_build.operators import builtin_operators
from aidge_build.operators.tree_ensemble import TreeEnsembleClassifier
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.forests import MODES, Model, node_file, random_model, random_rows, sums

sys.path.insert(0, str(Path(__file__).parents[1] / "exactness"))
import forest_references


def imported(model: bytes):
    return import_onnx(model, "forest", builtin_operators(), {}, {})[0]


def values(model: bytes, rows: numpy.ndarray) -> list[numpy.ndarray]:
    view = imported(model)
    found = run(view, {"x": rows})
    return [found[name] for name in view.outputs]


def stump(**changes: object) -> Model:
    """x <= 0.5 votes 0.25 for target 0, any other x votes 0.75."""
    attributes = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [0.25, 0.75],
    }
    return Model({**attributes, **changes}, "target", 1, 1)


@settings(max_examples=15, derandomize=True)
@given(st.integers(0, 1 << 30), st.sampled_from(["all", "tree", "any"]), st.integers(1, 4))
def test_trees_are_walked_and_added_up_as_a_plain_loop_does_it(seed, who, count):
    random = numpy.random.default_rng(seed)
    model = random_model(random, count=count, who=who, trees=int(random.integers(1, 7)))
    rows = random_rows(random, 6, model.features)
    (found,) = values(model.file(6), rows)
    assert found.tolist() == [list(map(float, sums(model, row))) for row in rows]


@pytest.mark.parametrize("case", forest_references.CASES, ids=str)
def test_values_are_those_of_onnxruntime(case):
    forest_references.compare(case, values(case.model(), case.rows()))


def test_the_references_hold_every_kind_of_model():
    cases = forest_references.CASES
    assert {case.votes for case in cases} == {"class", "target"}
    assert {case.transform for case in cases} == {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}
    assert {case.aggregate for case in cases if case.votes == "target"} == {"SUM", "AVERAGE", "MIN", "MAX"}
    assert {(case.who, case.base) for case in cases if case.votes == "class" and case.count == 2} >= {
        ("first", 0), ("first", 1), ("first", 2), ("all", 0), ("all", 1), ("all", 2)
    }  # fmt: skip


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"nodes_modes": ["BRANCH_LEQ", "LEAF"]}, "nodes_modes has 2 entries, nodes_treeids has 3"),
        ({"nodes_values": [0.5]}, "nodes_values has 1 entries, nodes_treeids has 3"),
        ({"nodes_truenodeids": [7, 0, 0]}, "tree 0 has no node 7"),
        ({"nodes_falsenodeids": [-1, 0, 0]}, "tree 0 has no node -1"),
        ({"nodes_falsenodeids": [0, 0, 0]}, "the branches of a tree lead in a circle"),
        ({"nodes_nodeids": [0, 1, 1]}, "node 1 of tree 0 is there twice"),
        ({"nodes_featureids": [1, 0, 0]}, "the trees read 2 features of 1"),
        ({"nodes_featureids": [-1, 0, 0]}, "node 0 reads feature -1"),
        ({"nodes_modes": ["BRANCH_LESS", "LEAF", "LEAF"]}, "the node mode 'BRANCH_LESS' is unknown"),
        ({"nodes_missing_value_tracks_true": [1]}, "nodes_missing_value_tracks_true has 1 entries, wants 3"),
        ({"target_ids": [0, 1]}, "a leaf votes for target 1 of 1"),
        ({"target_ids": [0]}, "target_nodeids has 2 entries, target_ids has 1"),
        ({"target_nodeids": [1, 5]}, "tree 0 has no node 5"),
        ({"base_values": [1.0, 2.0]}, "base_values has 2 entries, wants 1 or none"),
        ({"n_targets": 0}, "n_targets is 0"),
        ({"aggregate_function": "MEDIAN"}, "'MEDIAN' is unknown"),
        ({"post_transform": "TANH"}, "'TANH' is unknown"),
        ({"nodes_weight": [1]}, "unknown attribute 'nodes_weight'"),
        (
            {"nodes_treeids": [0, 1, 0], "nodes_nodeids": [0, 0, 2], "nodes_truenodeids": [2, 0, 0], "target_nodeids": [2, 2]},
            "the nodes of tree 0 are not listed together",
        ),
    ],
)
def test_a_malformed_ensemble_is_refused(changes, reason):
    assert values(stump().file(2), numpy.array([[0.5], [0.75]], numpy.float32))[0].tolist() == [[0.25], [0.75]]
    with pytest.raises(AidgeError, match=reason):
        imported(stump(**changes).file(2))


def test_a_double_ensemble_compares_and_adds_in_double():
    limit = numpy.array([1 / 3, 0, 0])
    weights = helper.make_tensor("w", TensorProto.DOUBLE, [2], [0.25, 1 / 3])
    model = stump(
        nodes_values_as_tensor=helper.make_tensor("v", TensorProto.DOUBLE, [3], limit), target_weights_as_tensor=weights
    )
    del model.attributes["nodes_values"], model.attributes["target_weights"]
    rows = numpy.array([[limit[0]], [numpy.nextafter(limit[0], 1)]])
    assert values(model.file(2, TensorProto.DOUBLE), rows)[0].tolist() == [[0.25], [float(numpy.float32(1 / 3))]]
    with pytest.raises(AidgeError, match="nodes_values_as_tensor is float64, but features are compared in float32"):
        imported(model.file(2))


def test_integer_features_are_rounded_to_float32_before_they_are_compared():
    big = (1 << 24) + 1  # float32 has no such number: it becomes 1 << 24
    model = stump(nodes_values=[float(1 << 24), 0.0, 0.0])
    for element, dtype in ((TensorProto.INT64, numpy.int64), (TensorProto.INT32, numpy.int32)):
        assert values(model.file(1, element), numpy.array([[big]], dtype))[0].tolist() == [[0.25]]


def tree_ensemble(**changes: object) -> bytes:
    """A tree of ai.onnx.ml 5 with a set: feature 0 in {1, 2, 4} votes 1.5 for target 1, else 2.5 for target 0."""

    def tensor(values: list, kind: int = TensorProto.FLOAT):
        return helper.make_tensor("t", kind, [len(values)], values)

    attributes = {
        "n_targets": 2,
        "tree_roots": [0],
        "nodes_modes": tensor([6], TensorProto.UINT8),
        "nodes_featureids": [0],
        "nodes_splits": tensor([0.0]),
        "nodes_truenodeids": [0],
        "nodes_trueleafs": [1],
        "nodes_falsenodeids": [1],
        "nodes_falseleafs": [1],
        "leaf_targetids": [1, 0],
        "leaf_weights": tensor([1.5, 2.5]),
        "membership_values": tensor([1.0, 2.0, 4.0, numpy.nan]),
    }
    given = {name: value for name, value in {**attributes, **changes}.items() if value is not None}
    return node_file(helper.make_node("TreeEnsemble", ["x"], ["z"], domain="ai.onnx.ml", **given), 3, 1, 2, version=5)


def test_a_node_asks_whether_a_value_is_in_a_set():
    rows = numpy.array([[2], [3], [numpy.nan]], numpy.float32)
    assert values(tree_ensemble(), rows)[0].tolist() == [[0, 1.5], [2.5, 0], [2.5, 0]]
    assert values(tree_ensemble(nodes_missing_value_tracks_true=[1]), rows)[0][2].tolist() == [0, 1.5]


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"membership_values": None}, "membership_values is missing"),
        (
            {"membership_values": helper.make_tensor("t", FLOAT := TensorProto.FLOAT, [3], [1, numpy.nan, 2])},
            "has 2 sets, 1 node",
        ),
        ({"nodes_modes": helper.make_tensor("t", TensorProto.UINT8, [1], [7])}, "a node has the mode 7"),
        ({"nodes_truenodeids": [2]}, "the true branch of node 0 is not there"),
        ({"nodes_truenodeids": [0], "nodes_trueleafs": [0]}, "the branches of a tree lead in a circle"),
        ({"nodes_falsenodeids": [-1]}, "nodes_falsenodeids holds a negative number"),
        ({"tree_roots": [1]}, "the root of tree 0 is not there"),
        ({"tree_roots": None}, "the required attribute 'tree_roots' is missing"),
        ({"leaf_weights": helper.make_tensor("t", FLOAT, [1], [1])}, "leaf_weights has 1 entries, leaf_targetids has 2"),
        ({"leaf_weights": helper.make_tensor("t", TensorProto.DOUBLE, [2], [1, 2])}, "leaf_weights is float64"),
        ({"tree_roots": [0, 0]}, "trees 0 and 1 share node 0"),
        ({"post_transform": 9}, "transform 9 is unknown"),
        ({"aggregate_function": 4}, "aggregate 4 is unknown"),
    ],
)
def test_a_malformed_ensemble_of_version_5_is_refused(changes, reason):
    with pytest.raises(AidgeError, match=reason):
        imported(tree_ensemble(**changes))


def classifier(random: numpy.random.Generator, **given: object) -> Model:
    return random_model(random, "class", **given)


def test_what_onnxruntime_leaves_open_for_two_classes_is_refused():
    random = numpy.random.default_rng(0)
    with pytest.raises(AidgeError, match="it depends on the data for which of two classes there are votes"):
        imported(classifier(random, count=2, who="any").file(1))
    with pytest.raises(AidgeError, match="PROBIT of one column of weights for two classes"):
        imported(classifier(random, count=2, who="first", post_transform="PROBIT").file(1))
    with pytest.raises(AidgeError, match="there is one class"):
        imported(classifier(random, count=1).file(1))
    with pytest.raises(AidgeError, match="base_values has 2 entries, wants 0 or 3"):
        imported(classifier(random, count=3, base_values=[0.0, 0.0]).file(1))
    with pytest.raises(AidgeError, match="it has no class labels"):
        imported(classifier(random, count=2, classlabels_int64s=[]).file(1))


def test_a_class_without_votes_never_wins():
    random = numpy.random.default_rng(3)
    model = classifier(random, count=3, who="first", weights=[-1.0], modes=MODES[:1])
    label, scores = values(model.file(2), random_rows(random, 2, 3))
    assert label.tolist() == [10, 10] and (scores[:, 0] < 0).all() and (scores[:, 1:] == 0).all()


def test_an_ensemble_prints_its_size_and_not_its_numbers():
    (node,) = imported(stump().file(1)).nodes
    assert str(node.operator) == "TreeEnsembleRegressor[forest=1 trees, 1 nodes]"
    assert TreeEnsembleClassifier.onnx_names == ("ai.onnx.ml::TreeEnsembleClassifier",)
