# SPDX-License-Identifier: MIT
"""Handwritten digits by a forest: 24 trees that vote, in float32 (comparisons of integers in C)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from tools.zoo.made import EXAMPLES, Arrays, Made

SEED, TREES, DEPTH, LEAST = 1, 24, 9, 2  # LEAST: samples of a leaf
CLASSES, LEVELS, TRIED = 10, 17, 10  # pixels are 0 to 16; pixels that a node chooses from


@dataclass
class Forest:
    """The arrays of TreeEnsemble (ai.onnx.ml 5): a branch goes left where a pixel is at most the split."""

    roots: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    splits: list[float] = field(default_factory=list)
    sides: list[list[tuple[int, bool]]] = field(default_factory=list)  # left and right: a place, and whether it is a leaf
    leaves: list[int] = field(default_factory=list)  # classes

    def grow(self, pixels: numpy.ndarray, labels: numpy.ndarray, depth: int, random: numpy.random.Generator) -> tuple[int, bool]:
        """Adds the subtree for these samples; returns its place, and whether it is a leaf."""
        counts = numpy.bincount(labels, minlength=CLASSES)
        found = best_split(pixels, labels, random) if depth and counts.max() < len(labels) else None
        if found is None:
            self.leaves.append(int(counts.argmax()))
            return len(self.leaves) - 1, True
        feature, level = found
        place = len(self.features)
        self.features.append(feature)
        self.splits.append(level + 0.5)
        self.sides.append([])
        left = pixels[:, feature] <= level
        for side in (left, ~left):
            self.sides[place].append(self.grow(pixels[side], labels[side], depth - 1, random))
        return place, False


def best_split(pixels: numpy.ndarray, labels: numpy.ndarray, random: numpy.random.Generator) -> tuple[int, int] | None:
    """The pixel of some random ones, and the level, with the least Gini impurity: exact, as counts are integers."""
    best, found = -1.0, None
    for feature in random.permutation(pixels.shape[1])[:TRIED]:
        counts = numpy.bincount(pixels[:, feature].astype(int) * CLASSES + labels, minlength=LEVELS * CLASSES)
        below = counts.reshape(LEVELS, CLASSES).cumsum(axis=0)[:-1]
        above = below[-1] + counts.reshape(LEVELS, CLASSES)[-1] - below
        sizes = below.sum(axis=1), above.sum(axis=1)
        is_possible = (sizes[0] >= LEAST) & (sizes[1] >= LEAST)
        purity = sum((part**2).sum(axis=1) / numpy.maximum(size, 1) for part, size in zip((below, above), sizes)) * is_possible
        level = int(purity.argmax())
        if is_possible[level] and purity[level] > best:
            best, found = float(purity[level]), (int(feature), level)
    return found


def made() -> Made:
    """Each tree sees as many of the 1,347 training images as there are, drawn with repetition."""
    data = numpy.load(EXAMPLES / "training" / "digits.npz")
    pixels, labels = data["training_images"].reshape(-1, 64), data["training_labels"]
    random, forest = numpy.random.default_rng(SEED), Forest()
    for _ in range(TREES):
        drawn = random.integers(0, len(pixels), len(pixels))
        place, is_leaf = forest.grow(pixels[drawn], labels[drawn], DEPTH, random)
        assert not is_leaf
        forest.roots.append(place)
    return Made(file_of(forest))


def file_of(forest: Forest) -> bytes:
    """The forest on pixels from 0 to 16; the score of a class is the share of trees that vote for it."""
    floats = {
        "nodes_splits": numpy.array(forest.splits, numpy.float32),
        "leaf_weights": numpy.full(len(forest.leaves), 1 / TREES, numpy.float32),
        "nodes_modes": numpy.zeros(len(forest.splits), numpy.uint8),  # BRANCH_LEQ
    }
    left, right = zip(*forest.sides)
    node = helper.make_node(
        "TreeEnsemble",
        ["pixels"],
        ["scores"],
        "forest",
        domain="ai.onnx.ml",
        n_targets=CLASSES,
        aggregate_function=1,  # the sum
        tree_roots=forest.roots,
        nodes_featureids=forest.features,
        nodes_truenodeids=[place for place, _ in left],
        nodes_trueleafs=[int(is_leaf) for _, is_leaf in left],
        nodes_falsenodeids=[place for place, _ in right],
        nodes_falseleafs=[int(is_leaf) for _, is_leaf in right],
        leaf_targetids=forest.leaves,
        **{name: numpy_helper.from_array(values, name) for name, values in floats.items()},
    )
    graph = helper.make_graph(
        [node],
        "forest",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, [1, 64])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, CLASSES])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 5)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="tools.zoo")
    onnx.checker.check_model(made)
    return made.SerializeToString(deterministic=True)


def held_out() -> Arrays:
    """The 450 test images that the network of examples/digits is tested with."""
    data = numpy.load(EXAMPLES / "training" / "digits.npz")
    return {"x": data["test_images"].reshape(-1, 64), "x_scale": numpy.float32(1), "labels": data["test_labels"]}
