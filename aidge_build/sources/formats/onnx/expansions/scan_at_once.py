# SPDX-License-Identifier: MIT
"""A Scan with independent steps, as one computation: over the rows of a training set, for example (neighbours, Gaussian
processes). Each operator of the body then works on all rows at once, with the step as its first axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aidge_build.graph.dtype import DType
from aidge_build.sources.formats.onnx.expansion import Draft
from aidge_build.sources.onnx_format import ModelNode, SubGraph

_ONE = frozenset({"Abs", "Cast", "Exp", "Identity", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sign", "Sqrt", "Tanh"})
_TWO = frozenset({"Add", "Div", "Mul", "Pow", "Sub"})
_REDUCE = frozenset({"ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "ReduceSumSquare"})
_DISTANCES = {"ReduceSumSquare": "sqeuclidean", "ReduceL2": "euclidean"}


def at_once(draft: Draft, body: SubGraph, states: Sequence[str], scanned: Sequence[str]) -> tuple[str, ...] | None:
    """The tensors of the scanned outputs, the step as their first axis; None where the steps depend on each other or the body
    holds other operators than element-wise ones and sums over axes. `scanned` are inputs that are cut along their first axis."""
    makers = {name: node for node in body.nodes for name in node.outputs if name}
    kept = [_renamed(name, makers) for name in body.outputs[: len(states)]]
    if kept != list(body.inputs[: len(states)]) or not all(_is_known(node, draft, body) for node in body.nodes):
        return None
    names = dict(zip(body.inputs, states))
    names |= {name: draft.constant(values) for name, values in body.initializers.items()}
    steps = _Steps(draft, body, makers, names, dict(zip(body.inputs[len(states) :], scanned)))
    for node in body.nodes:
        steps.add(node)
    made = body.outputs[len(states) :]
    return tuple(steps.rows[name] for name in made) if all(name in steps.rows for name in made) else None


def _renamed(name: str, makers: Mapping[str, ModelNode]) -> str:
    """Returns the name of the tensor that Identity nodes pass on under this name."""
    while name in makers and makers[name].op_type == "Identity":
        name = makers[name].inputs[0]
    return name


def _is_known(node: ModelNode, draft: Draft, body: SubGraph) -> bool:
    if node.domain or len(node.outputs) != 1:
        return False
    if node.op_type in _REDUCE:
        return not node.attributes.get("noop_with_empty_axes") and (
            len(node.inputs) == 1 or node.inputs[1] in body.initializers or draft.is_constant_around(node.inputs[1])
        )
    return len(node.inputs) == (node.op_type in _ONE) + 2 * (node.op_type in _TWO) > 0


class _Steps:
    """All steps so far: `names` are tensors that are the same in each, `rows` have the step as their first axis."""

    def __init__(
        self, draft: Draft, body: SubGraph, makers: Mapping[str, ModelNode], names: dict[str, str], rows: dict[str, str]
    ):
        self.draft, self.body, self.makers, self.names, self.rows = draft, body, makers, names, rows

    def add(self, node: ModelNode) -> None:
        """One more node of the body."""
        if node.op_type in _REDUCE:
            made, several = self._reduced(node)
        else:
            several = any(name in self.rows for name in node.inputs)
            inputs = [self._wide(name, node) if several else self._same(name) for name in node.inputs]
            made = self.draft.one(node.op_type, *inputs, opset=self.draft.source.opset, **node.attributes)
        (self.rows if several else self.names)[node.outputs[0]] = made

    def _same(self, name: str) -> str:
        return self.names[name] if name in self.names else self.draft.outside(name)

    def _rank(self, name: str) -> int:
        """The number of axes in one step."""
        return self.draft.tensor(self.rows[name]).rank - 1 if name in self.rows else self.draft.tensor(self._same(name)).rank

    def _wide(self, name: str, node: ModelNode) -> str:
        """Returns an input with axes of length 1 after the step's axis: as many as the other input has more axes."""
        missing = max(map(self._rank, node.inputs)) - self._rank(name)
        if name not in self.rows:
            return self._same(name)
        if not missing:
            return self.rows[name]
        axes = self.draft.constant(list(range(1, 1 + missing)), "int64")
        return self.draft.one("Unsqueeze", self.rows[name], axes)

    def _reduced(self, node: ModelNode) -> tuple[str, bool]:
        """A sum over axes, which count from the last one so that the step stays out of it."""
        name, several = node.inputs[0], node.inputs[0] in self.rows
        rank = self._rank(name)
        given: Any = node.attributes.get("axes")
        if len(node.inputs) > 1:
            given = self.draft.integers(self._same(node.inputs[1]), "its axes")
        axes = [axis - rank if axis >= 0 else axis for axis in (range(rank) if given is None else given)]
        keep = bool(node.attributes.get("keepdims", 1))
        if several and node.op_type in _DISTANCES and axes == [-1] and not keep:
            found = self._distances(name, _DISTANCES[node.op_type])
            if found:
                return found, True
        data = self.rows[name] if several else self._same(name)
        words = {"opset": 18, "keepdims": int(keep)}
        return self.draft.one(node.op_type, data, self.draft.constant(axes, "int64"), **words), several

    def _distances(self, name: str, metric: str) -> str:
        """The distances of the rows of a matrix from the rows that are scanned, where `name` is their difference."""
        maker = self.makers.get(name)
        if maker is None or maker.op_type != "Sub":
            return ""
        scanned = [one for one in maker.inputs if one in self.rows and one in self.body.inputs]
        same = [one for one in maker.inputs if one not in self.rows]
        if len(scanned) != 1 or len(same) != 1:
            return ""
        matrix, rows = self._same(same[0]), self.rows[scanned[0]]
        first, second = self.draft.tensor(matrix), self.draft.tensor(rows)
        if (first.rank, second.rank) != (2, 2) or first.dims[1] != second.dims[1] or first.dtype is not DType.float32:
            return ""
        found = self.draft.one("CDist", matrix, rows, domain="com.microsoft", opset=1, metric=metric)
        return self.draft.one("Transpose", found, perm=(1, 0))
