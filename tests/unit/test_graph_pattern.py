# SPDX-License-Identifier: MIT
"""Patterns of nodes: sequences, branches, optional and repeated nodes, alternatives, anchors, predicates."""

from __future__ import annotations

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.graph.pattern import find
from tests.models import graph

CHAIN = graph("a = Relu(x) b = Tanh(a) c = Relu(b) y = Sigmoid(c)", inputs="float[2] x", outputs="float[2] y")
RESIDUAL = graph("a = Relu(x) b = Tanh(a) c = Sigmoid(b) d = Add(a, c) y = Neg(d)", inputs="float[2] x", outputs="float[2] y")


def names(view, pattern, predicates=None, **keywords):
    return [[node.type for node in found.nodes] for found in find(view, pattern, predicates, **keywords)]


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ("ReLU->Tanh", [["ReLU", "Tanh"]]),
        ("Tanh->ReLU->Sigmoid", [["Tanh", "ReLU", "Sigmoid"]]),
        ("ReLU", [["ReLU"], ["ReLU"]]),
        ("ReLU->Neg?->Tanh", [["ReLU", "Tanh"]]),
        ("ReLU?->Tanh", [["ReLU", "Tanh"]]),
        ("Neg?->Tanh", [["Tanh"]]),
        ("(Tanh|Sigmoid)", [["Tanh"], ["Sigmoid"]]),
        ("ReLU->(Sigmoid|Tanh->ReLU)", [["ReLU", "Tanh", "ReLU"]]),
        ("(ReLU|Tanh)+", [["ReLU", "Tanh", "ReLU"]]),
        (".*->Sigmoid", [["ReLU", "Tanh", "ReLU", "Sigmoid"]]),
        ("Sigmoid<-ReLU", []),
        ("ReLU->Sigmoid->Tanh", []),
    ],
)
def test_sequences_options_alternatives_and_repetition(pattern, expected):
    assert names(CHAIN, pattern) == expected


def test_an_edge_names_the_input_that_is_read():
    assert names(RESIDUAL, "Sigmoid-1>Add") == [["Sigmoid", "Add"]]
    assert names(RESIDUAL, "Sigmoid-0>Add") == []


def test_the_other_direction_follows_producers():
    assert names(RESIDUAL, "Add<1-Sigmoid", closed=False) == [["Sigmoid", "Add"]]


def test_anchors_tie_branches_together():
    (found,) = find(RESIDUAL, "ReLU#r->Tanh->Sigmoid->Add#sum; ReLU#r-0>Add#sum")
    assert [node.type for node in found.nodes] == ["ReLU", "Tanh", "Sigmoid", "Add"]
    assert found.anchors["sum"] is found.last and found.origin == ("Relu_0", "Tanh_1", "Sigmoid_2", "Add_3")


def test_a_closed_pattern_lets_no_data_out_but_at_its_end():
    assert names(RESIDUAL, "ReLU->Tanh") == []
    assert names(RESIDUAL, "ReLU->Tanh", closed=False) == [["ReLU", "Tanh"]]


def test_matches_share_no_node():
    view = graph("a = Relu(x) b = Relu(a) c = Relu(b) y = Relu(c)", inputs="float[2] x", outputs="float[2] y")
    assert [[node.name for node in found.nodes] for found in find(view, "ReLU->ReLU")] == [
        ["Relu_0", "Relu_1"],
        ["Relu_2", "Relu_3"],
    ]


def test_a_family_name_matches_each_of_its_types():
    view = graph("y = MaxPool<kernel_shape=[2,2]>(x)", inputs="float[1,2,4,4] x", outputs="float[1,2,3,3] y")
    assert names(view, "MaxPooling2D") == names(view, "MaxPooling") == [["MaxPooling2D"]]


@pytest.mark.requirement("PATTERN")
def test_predicates_are_named():
    assert names(CHAIN, "ReLU[first]", {"first": lambda node: node.name == "Relu_0"}) == [["ReLU"]]
    with pytest.raises(AidgeError, match=r"names the predicate \[first\], which is not given"):
        find(CHAIN, "ReLU[first]")


@pytest.mark.requirement("PATTERN")
@pytest.mark.parametrize(
    "pattern, message",
    [
        ("", "wants a node's type at the end"),
        ("A->", "wants a node's type"),
        ("(A", r"wants '\)'"),
        ("A B", "wants nothing more"),
        ("A;B", "begins at an anchor"),
        ("A&B", "no part of a pattern"),
    ],
)
def test_a_pattern_that_cannot_be_read_is_named(pattern, message):
    with pytest.raises(AidgeError, match=message):
        find(CHAIN, pattern)
