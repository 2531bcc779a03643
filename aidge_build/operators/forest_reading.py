# SPDX-License-Identifier: MIT
"""The attributes of the tree ensembles of ai.onnx.ml as a `Forest`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.operators.base import require
from aidge_build.operators.forest import Forest, Mode

LEAF = "LEAF"
_MODES = {f"BRANCH_{mode.name}": mode for mode in Mode if mode is not Mode.MEMBER}
_NODE_INTEGERS = ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")

NODE_ATTRIBUTES = (
    *_NODE_INTEGERS,
    "nodes_modes",
    "nodes_values",
    "nodes_values_as_tensor",
    "nodes_hitrates",
    "nodes_hitrates_as_tensor",
    "nodes_missing_value_tracks_true",
    "base_values",
    "base_values_as_tensor",
    "post_transform",
)
TREE_ENSEMBLE_ATTRIBUTES = (
    "aggregate_function",
    "leaf_targetids",
    "leaf_weights",
    "membership_values",
    "n_targets",
    "nodes_falseleafs",
    "nodes_falsenodeids",
    "nodes_featureids",
    "nodes_hitrates",
    "nodes_missing_value_tracks_true",
    "nodes_modes",
    "nodes_splits",
    "nodes_trueleafs",
    "nodes_truenodeids",
    "post_transform",
    "tree_roots",
)


def compared_type(dtype: DType) -> numpy.dtype:
    """The type in which features of this type are compared and votes added up: float64 for float64, else float32."""
    kinds = {DType.float64: numpy.float64, DType.float16: numpy.float16}
    require(dtype in (*kinds, DType.float32, DType.int32, DType.int64), f"the features are {dtype.name}")
    return numpy.dtype(kinds.get(dtype, numpy.float32))


def read_numbers(source, name: str, dtype: numpy.dtype) -> numpy.ndarray:
    """Returns a list of floats, or its twin `..._as_tensor`, in the type of the comparisons."""
    listed, tensor = source.reals(name, ()), source.tensor(f"{name}_as_tensor", None)
    if tensor is None:
        return numpy.array(listed, dtype)
    require(not listed, f"{name} and {name}_as_tensor are both given")
    return _exact(tensor, f"{name}_as_tensor", dtype)


def _exact(tensor: numpy.ndarray, name: str, dtype: numpy.dtype) -> numpy.ndarray:
    require(tensor.ndim <= 1 and tensor.dtype.kind == "f", f"{name} is no list of floats")
    require(
        tensor.dtype == dtype,
        f"{name} is {tensor.dtype.name}, but features are compared in {dtype.name}",
        hint="both must have the same type: insert a Cast before the ensemble, or store the numbers again",
    )
    return tensor.reshape(-1)


def read_nodes(source, votes: str) -> Forest:
    """The forest of TreeEnsembleClassifier (`votes` is "class") or TreeEnsembleRegressor ("target")."""
    dtype = compared_type(source.input(0).dtype)
    integers = {name: source.integers(name, ()) for name in _NODE_INTEGERS}
    modes = _texts(source, "nodes_modes")
    thresholds = read_numbers(source, "nodes_values", dtype)
    missing = source.integers("nodes_missing_value_tracks_true", ())
    _same_lengths({**integers, "nodes_modes": modes, "nodes_values": thresholds}, "nodes_treeids")
    require(len(missing) in (0, len(modes)), f"nodes_missing_value_tracks_true has {len(missing)} entries, wants {len(modes)}")
    trees, ids = integers["nodes_treeids"], integers["nodes_nodeids"]
    numbered = _numbered(trees, ids, modes)
    branches = [place for place, mode in enumerate(modes) if mode != LEAF]
    children = [
        numpy.array([_child(numbered, trees[place], given[place]) for place in branches], numpy.int64)
        for given in (integers["nodes_truenodeids"], integers["nodes_falsenodeids"])
    ]
    starts, targets, weights = _votes(source, votes, numbered, len(modes) - len(branches), dtype)
    return Forest(
        modes=numpy.array([_mode(modes[place]) for place in branches], numpy.uint8),
        features=numpy.array([integers["nodes_featureids"][place] for place in branches], numpy.int64),
        thresholds=thresholds[branches],
        missing=numpy.array([bool(missing and missing[place]) for place in branches], bool),
        true=children[0],
        false=children[1],
        roots=numpy.array(_roots(trees, ids, numbered), numpy.int64),
        starts=starts,
        targets=targets,
        weights=weights,
        members={},
    )


def _texts(source, name: str) -> tuple[str, ...]:
    found = source.node.attributes.get(name, ())
    require(isinstance(found, tuple) and all(type(item) is str for item in found), f"attribute '{name}' is no list of texts")
    return found


def _mode(name: str) -> Mode:
    require(name in _MODES, f"the node mode {name!r} is unknown", hint=f"known are {', '.join((*_MODES, LEAF))}")
    return _MODES[name]


def _same_lengths(lists: dict[str, Sequence | numpy.ndarray], first: str) -> None:
    for name, found in sorted(lists.items()):
        require(len(found) == len(lists[first]), f"{name} has {len(found)} entries, {first} has {len(lists[first])}")


def _numbered(trees: Sequence[int], ids: Sequence[int], modes: Sequence[str]) -> dict[tuple[int, int], int]:
    """The number in the forest by (tree, node): branches count from 0 up, leaves from -1 down."""
    found: dict[tuple[int, int], int] = {}
    branches = 0
    for place, key in enumerate(zip(trees, ids)):
        require(key not in found, f"node {key[1]} of tree {key[0]} is there twice")
        is_leaf = modes[place] == LEAF
        found[key] = ~(place - branches) if is_leaf else branches
        branches += not is_leaf
    return found


def _child(numbered: dict[tuple[int, int], int], tree: int, node: int) -> int:
    if (tree, node) not in numbered:
        raise AidgeError(f"tree {tree} has no node {node}", code="OPERATOR")
    return numbered[tree, node]


def _roots(trees: Sequence[int], ids: Sequence[int], numbered: dict[tuple[int, int], int]) -> list[int]:
    """The node of each tree that is listed first."""
    found: dict[int, int] = {}
    last = None
    for key in zip(trees, ids):
        require(key[0] == last or key[0] not in found, f"the nodes of tree {key[0]} are not listed together")
        last = key[0]
        found.setdefault(last, numbered[key])
    return list(found.values())


def _votes(
    source, votes: str, numbered: dict[tuple[int, int], int], leaves: int, dtype: numpy.dtype
) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    trees, nodes, targets = (source.integers(f"{votes}_{name}", ()) for name in ("treeids", "nodeids", "ids"))
    weights = read_numbers(source, f"{votes}_weights", dtype)
    first = f"{votes}_ids"
    _same_lengths({f"{votes}_treeids": trees, f"{votes}_nodeids": nodes, first: targets, f"{votes}_weights": weights}, first)
    at = numpy.array([~_child(numbered, *key) for key in zip(trees, nodes)], numpy.int64)
    kept = numpy.flatnonzero(at >= 0)  # onnxruntime leaves the votes of branches out
    kept = kept[numpy.argsort(at[kept], kind="stable")]
    starts = numpy.searchsorted(at[kept], numpy.arange(leaves + 1))
    return starts, numpy.array(targets, numpy.int64)[kept], weights[kept]


def read_tree_ensemble(source) -> Forest:
    """The forest of TreeEnsemble (ai.onnx.ml 5)."""
    dtype = compared_type(source.input(0).dtype)
    modes = source.tensor("nodes_modes")
    require(modes.ndim == 1 and modes.dtype == numpy.uint8, "nodes_modes is no list of uint8")
    require(bool((modes <= max(Mode)).all()), f"a node has the mode {int(modes.max(initial=0))}")
    names = ("nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs")
    integers = {name: numpy.array(source.integers(name), numpy.int64) for name in names}
    missing = numpy.array(source.integers("nodes_missing_value_tracks_true", ()) or [0] * len(modes), bool)
    thresholds = _exact(source.tensor("nodes_splits"), "nodes_splits", dtype)
    weights = _exact(source.tensor("leaf_weights"), "leaf_weights", dtype)
    targets = numpy.array(source.integers("leaf_targetids"), numpy.int64)
    by_node = {**integers, "nodes_modes": modes, "nodes_splits": thresholds, "nodes_missing_value_tracks_true": missing}
    _same_lengths(by_node, "nodes_modes")
    _same_lengths({"leaf_targetids": targets, "leaf_weights": weights}, "leaf_targetids")
    children = {}
    for way in ("true", "false"):
        given, are_leaves = integers[f"nodes_{way}nodeids"], integers[f"nodes_{way}leafs"]
        require(bool((given >= 0).all()), f"nodes_{way}nodeids holds a negative number")
        children[way] = numpy.where(are_leaves != 0, ~given, given)
    roots = numpy.array(source.integers("tree_roots"), numpy.int64)
    require(bool((roots >= 0).all()), "tree_roots holds a negative number")
    return Forest(
        modes=modes,
        features=integers["nodes_featureids"],
        thresholds=thresholds,
        missing=missing,
        true=children["true"],
        false=children["false"],
        roots=roots,
        starts=numpy.arange(len(targets) + 1),
        targets=targets,
        weights=weights,
        members=_members(source, numpy.flatnonzero(modes == Mode.MEMBER).tolist(), dtype),
    )


def _members(source, nodes: Sequence[int], dtype: numpy.dtype) -> dict[int, numpy.ndarray]:
    """Returns the sets of the MEMBER nodes. The attribute holds them one after the other, with a NaN after each."""
    given = source.tensor("membership_values", None)
    if given is None:
        require(not nodes, "nodes have the mode BRANCH_MEMBER, but membership_values is missing")
        return {}
    values = _exact(given, "membership_values", dtype)
    ends = numpy.flatnonzero(numpy.isnan(values))
    if len(values) and (not len(ends) or ends[-1] != len(values) - 1):
        ends = numpy.append(ends, len(values))  # the last NaN may be left out
    require(len(ends) == len(nodes), f"membership_values has {len(ends)} sets, {len(nodes)} nodes want one")
    firsts = [0, *(ends[:-1] + 1).tolist()]
    return {node: values[first:end] for node, first, end in zip(nodes, firsts, ends.tolist())}
