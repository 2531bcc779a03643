# SPDX-License-Identifier: MIT
"""Random tree ensembles as the attributes of ONNX nodes, and a walk through them that shares nothing with the code it checks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy
import onnx
from onnx import TensorProto, helper

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
GRID = tuple(numpy.linspace(-1, 1, 9, dtype=numpy.float32).tolist())
FLOAT = TensorProto.FLOAT


@dataclass
class Model:
    """An ensemble of ai.onnx.ml, version 1 to 4: `votes` is "class" or "target"."""

    attributes: dict[str, list]
    votes: str
    count: int  # of classes or targets
    features: int
    extra: dict[str, object] = field(default_factory=dict)

    def file(self, rows: int, element: int = FLOAT, version: int = 3) -> bytes:
        """The model of this node alone."""
        return node_file(self.node(), rows, self.features, self.count, element, version)

    def node(self) -> onnx.NodeProto:
        kind, outputs = ("Classifier", ["y", "z"]) if self.votes == "class" else ("Regressor", ["z"])
        count = {"classlabels_int64s": list(range(10, 10 + self.count))} if self.votes == "class" else {"n_targets": self.count}
        given = {name: value for name, value in {**count, **self.attributes, **self.extra}.items() if value != []}
        return helper.make_node(f"TreeEnsemble{kind}", ["x"], outputs, domain="ai.onnx.ml", **given)


def node_file(node: onnx.NodeProto, rows: int, features: int, count: int, element: int = FLOAT, version: int = 1) -> bytes:
    result = element if node.op_type == "TreeEnsemble" else FLOAT
    kinds = {"y": (TensorProto.INT64, [rows]), "z": (result, [rows, count])}
    outputs = [helper.make_tensor_value_info(name, *kinds[name]) for name in node.output]
    inputs = [helper.make_tensor_value_info("x", element, [rows, features])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    graph = helper.make_graph([node], "forest", inputs, outputs)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def random_model(
    random: numpy.random.Generator,
    votes: str = "target",
    count: int = 1,
    trees: int = 4,
    depth: int = 4,
    features: int = 3,
    modes: Sequence[str] = MODES,
    who: str = "all",
    weights: Sequence[float] = (),
    grid: Sequence[float] = GRID,
    **extra: object,
) -> Model:
    """Trees of random shape. `who` a leaf votes for: "all", "tree" (one for each tree), "any" (one by chance), "first"."""
    names = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")
    nodes: dict[str, list] = {f"nodes_{name}": [] for name in names}
    ballot: dict[str, list] = {f"{votes}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}

    def add(tree: int, number: int, mode: str) -> int:
        row = (tree, number, int(random.integers(features)), mode, float(random.choice(grid)), 0, 0, int(random.random() < 0.3))
        for name, value in zip(names, row):
            nodes[f"nodes_{name}"].append(value)
        return len(nodes["nodes_modes"]) - 1

    def grow(tree: int, left: int, numbers: list[int]) -> int:
        number = numbers[0]
        numbers[0] += 1
        is_leaf = left == 0 or random.random() < 0.15
        place = add(tree, number, "LEAF" if is_leaf else str(random.choice(modes)))
        if is_leaf:
            voters = {"all": range(count), "tree": [tree % count], "first": [0]}.get(who, [int(random.integers(count))])
            for one in voters:
                weight = float(numpy.float32(random.choice(weights) if weights else random.normal() / 4))
                for name, value in zip(ballot, (tree, number, one, weight)):
                    ballot[name].append(value)
        else:
            nodes["nodes_truenodeids"][place] = grow(tree, left - 1, numbers)
            nodes["nodes_falsenodeids"][place] = grow(tree, left - 1, numbers)
        return number

    for tree in range(trees):
        grow(tree, depth, [0])
    return Model({**nodes, **ballot}, votes, count, features, dict(extra))


def random_rows(random: numpy.random.Generator, rows: int, features: int, dtype: type = numpy.float32) -> numpy.ndarray:
    """Values at and between the thresholds of the grid, zeros of both signs, infinities and NaN of both signs."""
    if numpy.dtype(dtype).kind == "i":
        return random.integers(-2, 3, (rows, features)).astype(dtype)
    special = (0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf)
    return random.choice([*GRID, *random.normal(size=9), *special], (rows, features)).astype(dtype)


def walk(model: Model, row: Sequence[float]) -> list[list[tuple[int, float]]]:
    """For each tree the votes (who, weight) of the leaf that this row of float32 numbers reaches: one node after the other."""
    found = []
    nodes = {name.removeprefix("nodes_"): values for name, values in model.attributes.items() if name.startswith("nodes_")}
    places = {key: place for place, key in enumerate(zip(nodes["treeids"], nodes["nodeids"]))}
    for tree in dict.fromkeys(nodes["treeids"]):
        at = places[tree, 0]
        while nodes["modes"][at] != "LEAF":
            way = "truenodeids" if _holds(nodes, at, row[nodes["featureids"][at]]) else "falsenodeids"
            at = places[tree, nodes[way][at]]
        ballot = [model.attributes[f"{model.votes}_{name}"] for name in ("treeids", "nodeids", "ids", "weights")]
        found.append([(who, weight) for *leaf, who, weight in zip(*ballot) if leaf == [tree, nodes["nodeids"][at]]])
    return found


def _holds(nodes: Mapping[str, list], at: int, value: float) -> bool:
    if math.isnan(value) and nodes["missing_value_tracks_true"][at]:
        return True
    limit = nodes["values"][at]
    match nodes["modes"][at]:
        case "BRANCH_LEQ":
            return value <= limit
        case "BRANCH_LT":
            return value < limit
        case "BRANCH_GTE":
            return value >= limit
        case "BRANCH_GT":
            return value > limit
        case "BRANCH_EQ":
            return value == limit
    return value != limit


def sums(model: Model, row: Sequence[float]) -> list[numpy.float32]:
    """The votes of the trees added up in float32, in their order."""
    totals = [numpy.float32(0)] * model.count
    for votes in walk(model, row):
        for who, weight in votes:
            totals[who] = totals[who] + numpy.float32(weight)
    return totals
