# SPDX-License-Identifier: MIT
"""Operators and nodes as classes of the inherited style ask them: `operator.attr.kernel_dims`, `get_micro_graph()`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

from aidge_build.compat.attributes import operator_attributes
from aidge_build.errors import AidgeError
from aidge_build.operators.pad import Pad

_DIMENSIONLESS = {"Pad": "Pad", "BatchNormalization": "BatchNorm"}  # types that the inherited names give a number of axes


class _Type(str):
    """An operator's type: itself where it is read, the inherited name where it is called (`Pad2D` for a Pad of an image)."""

    inherited: str

    def __new__(cls, text: str, rank: int) -> _Type:
        found = super().__new__(cls, text)
        found.inherited = f"{_DIMENSIONLESS[text]}{rank}D" if text in _DIMENSIONLESS and rank > 0 else text
        return found

    def __call__(self) -> str:
        return self.inherited


class InheritedOperator:
    """An operator with the inherited spellings beside its own fields; `rank` counts its spatial axes."""

    def __init__(self, operator, rank: int = 0):
        self._operator, self._rank = operator, rank

    @property
    def type(self) -> _Type:
        """The operator's type, which may also be called."""
        return _Type(self._operator.type, self._rank)

    @property
    def attr(self) -> SimpleNamespace:
        """The attributes by their inherited names (kernel_dims, stride_dims, dilation_dims, begin_end_borders) and by ours."""
        found = operator_attributes(self._operator)
        if isinstance(self._operator, Pad):
            found["begin_end_borders"] = [*self._operator.pads_begin[-self._rank :], *self._operator.pads_end[-self._rank :]]
        return SimpleNamespace(**found)

    def get_micro_graph(self) -> MicroGraph:
        """The members of a meta-operator. A window with pads counts as a Pad and the window without: here it is one operator."""
        graph, window = getattr(self._operator, "graph", None), getattr(self._operator, "window", None)
        if graph is not None:
            return MicroGraph(
                [InheritedNode(node.name, node.operator, len(graph.tensor(node.inputs[0]).dims) - 2) for node in graph.nodes]
            )
        if window is None or not window.has_pads:
            raise AidgeError(f"{self._operator.type} is no meta-operator", code="OPERATOR")
        zeros = (0,) * window.rank
        pad = Pad((0, 0, *window.pads_begin), (0, 0, *window.pads_end))
        bare = replace(self._operator, window=replace(window, pads_begin=zeros, pads_end=zeros))
        return MicroGraph([InheritedNode("pad", pad, window.rank), InheritedNode(bare.type, bare, window.rank)])

    def __getattr__(self, name: str):
        return getattr(self._operator, name)


@dataclass(frozen=True)
class InheritedNode:
    """A member of a meta-operator."""

    title: str
    operator: object
    rank: int

    def name(self) -> str:
        """The node's name."""
        return self.title

    def type(self) -> str:
        """The operator's type under its inherited name."""
        return InheritedOperator(self.operator, self.rank).type()

    def get_operator(self) -> InheritedOperator:
        """The operator."""
        return InheritedOperator(self.operator, self.rank)


class MicroGraph:
    """The members of a meta-operator, in the order in which they are computed."""

    def __init__(self, nodes: Sequence[InheritedNode]):
        self._nodes = list(nodes)

    def get_nodes(self) -> list[InheritedNode]:
        """The members, in order."""
        return self._nodes

    get_ordered_nodes = get_nodes
