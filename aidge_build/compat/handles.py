# SPDX-License-Identifier: MIT
"""Nodes, operators, tensors and graphs as code of the inherited style asks them.

`node.type()`, `node.get_operator().attr.kernel_dims`, `operator.get_input(0).dims`, `graph.get_nodes()`. Names, types and lists
can be read as values, too, as everywhere else in this project: releases of the inherited API differ in what is a call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.compat.attributes import further_attributes, image_of, operator_attributes
from aidge_build.contract.node_view import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import Clip, ReLU
from aidge_build.operators.pad import Pad

# Types that the inherited names give a number of axes.
_DIMENSIONLESS = {"Pad": "Pad", "BatchNormalization": "BatchNorm"}


class CalledText(str):
    """A text that may also be called: `node.name`, `node.name()`."""

    def __call__(self) -> str:
        return str(self)


class CalledList(list):
    """A list that may also be called: `tensor.dims`, `tensor.dims()`."""

    def __call__(self) -> list:
        return list(self)


class CalledNumber(int):
    """A number that may also be called: `tensor.size`, `tensor.size()`."""

    def __call__(self) -> int:
        return int(self)


class _Places(tuple):
    """The names of tensors; a call gives the nodes of these tensors, each with a number (`node.inputs`, `node.inputs()`)."""

    nodes: Callable[[], list]

    def __new__(cls, names: Iterable[str], nodes: Callable[[], list]) -> _Places:
        found = super().__new__(cls, names)
        found.nodes = nodes
        return found

    def __call__(self) -> list:
        return self.nodes()


class _Type(str):
    """An operator's type: itself where it is read, the inherited name where it is called (`Pad2D` for a Pad of an image)."""

    inherited: str

    def __new__(cls, text: str, rank: int) -> _Type:
        found = super().__new__(cls, text)
        found.inherited = f"{_DIMENSIONLESS[text]}{rank}D" if text in _DIMENSIONLESS and rank > 0 else text
        return found

    def __call__(self) -> str:
        return self.inherited


class InheritedAttributes(SimpleNamespace):
    """Attributes by name: `attributes.axis`, `attributes.has_attr("axis")`, `attributes.get_attr("axis")`."""

    def has_attr(self, name: str) -> bool:
        """Whether there is an attribute of this name."""
        return name in vars(self)

    def get_attr(self, name: str) -> Any:
        """The attribute of this name; AttributeError where there is none."""
        return getattr(self, name)


class InheritedTensor:
    """A tensor: `dims` in logical (ONNX) order, `numpy.array(tensor)` of a constant."""

    def __init__(self, tensor: Tensor):
        self._tensor = tensor

    @property
    def dims(self) -> CalledList:
        """The sizes of the axes in logical order."""
        return CalledList(self._tensor.dims)

    @property
    def size(self) -> CalledNumber:
        """The number of elements."""
        return CalledNumber(self._tensor.elements)

    @property
    def strides(self) -> CalledList:
        """The distance in elements between neighbours along each logical axis."""
        return CalledList(self._tensor.layout.strides)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._tensor.dtype

    @property
    def dformat(self) -> str:
        """The storage order, e.g. `dformat.nhwc`."""
        return f"dformat.{self._tensor.storage}"

    @property
    def chan_height_width(self) -> tuple[int, int, int]:
        """Channels, height and width, whatever the storage order."""
        return image_of(self._tensor)

    def __array__(self, dtype=None, copy=None) -> numpy.ndarray:
        if self._tensor.data is None:
            raise AidgeError(f"the tensor {self._tensor.name!r} is no constant: its values are not known", code="OPERATOR")
        return numpy.array(self._tensor.data, dtype)

    def __getitem__(self, place: int) -> Any:
        return numpy.asarray(self).reshape(-1)[place]


class _NodeCalls:
    """The calls that a node answers; `_seen()` is the node at its place."""

    def _seen(self) -> NodeView:
        raise NotImplementedError

    def get_operator(self) -> InheritedOperator:
        """The operator at its place."""
        return InheritedOperator(self._seen())

    def attributes(self) -> InheritedAttributes:
        """Returns the notes of the inherited system's passes at the node: none, because none of these passes runs here."""
        return InheritedAttributes()

    annotations = attributes

    def get_nb_inputs(self) -> int:
        """The number of inputs, optional ones that are not given included."""
        return len(self._seen().inputs)

    def get_nb_outputs(self) -> int:
        """The number of outputs."""
        return len(self._seen().outputs)

    def input(self, index: int) -> tuple[InheritedNode | None, int]:
        """The node that computes input `index`, and which of its outputs that is; None, 0 for constants and graph inputs."""
        seen = self._seen()
        name = seen.node.inputs[index]
        producer = seen.graph.producer(name) if seen.graph else None
        return (None, 0) if producer is None else (InheritedNode(producer, seen.graph), producer.outputs.index(name))

    def output(self, index: int) -> list[tuple[InheritedNode, int]]:
        """The nodes that read output `index`, each with the number of the input that reads it."""
        seen = self._seen()
        name = seen.node.outputs[index]
        readers = seen.graph.consumers(name) if seen.graph else ()
        return [
            (InheritedNode(node, seen.graph), place) for node in readers for place, read in enumerate(node.inputs) if read == name
        ]

    def get_parent(self, index: int) -> InheritedNode | None:
        """The node that computes input `index`; None for constants, graph inputs, and inputs that are not there."""
        return self.input(index)[0] if index < self.get_nb_inputs() else None

    def get_parents(self) -> list[InheritedNode | None]:
        """The node that computes each input."""
        return [self.get_parent(index) for index in range(self.get_nb_inputs())]

    def get_children(self) -> list[InheritedNode]:
        """The nodes that read an output, each once."""
        found = (node for index in range(self.get_nb_outputs()) for node, _ in self.output(index))
        return list(dict.fromkeys(found))


class InheritedView(NodeView, _NodeCalls):
    """A node at its place, as constructors of export nodes get it."""

    @classmethod
    def seen_as(cls, view: NodeView) -> InheritedView:
        """The view with the inherited calls."""
        return view if isinstance(view, cls) else cls(**{name: getattr(view, name) for name in view.__dataclass_fields__})

    def _seen(self) -> NodeView:
        return self

    def name(self) -> str:
        """The node's name."""
        return self.node.name

    def type(self) -> str:
        """The operator's type under its inherited name."""
        return self.get_operator().type()


class InheritedNode(_NodeCalls):
    """A node of a graph: everything that `Node` has, and the inherited calls. It is equal to its `Node`."""

    def __init__(self, node: Node | InheritedNode, graph: GraphView | None):
        self._node: Node = node._node if isinstance(node, InheritedNode) else node
        self._graph = graph

    def _seen(self) -> NodeView:
        if self._graph is None:
            raise AidgeError("the node is not at a place in a graph", where=self._node.where(), code="OPERATOR")
        return NodeView.of(self._graph, self._node)

    @property
    def name(self) -> CalledText:
        """The node's name."""
        return CalledText(self._node.name)

    @property
    def inputs(self) -> _Places:
        """The names of the inputs; called, the node that computes each of them and which of its outputs that is."""
        return _Places(self._node.inputs, lambda: [self.input(index) for index in range(self.get_nb_inputs())])

    @property
    def outputs(self) -> _Places:
        """The names of the outputs; called, the readers of each of them."""
        return _Places(self._node.outputs, lambda: [self.output(index) for index in range(self.get_nb_outputs())])

    @property
    def type(self) -> _Type:
        """The operator's type."""
        outputs = self._graph.output_tensors(self._node) if self._graph else ()
        return _Type(self._node.type, outputs[0].rank - 2 if outputs else 0)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._node, name)

    def __eq__(self, other: object) -> bool:
        return self._node is (other._node if isinstance(other, InheritedNode) else other)

    def __hash__(self) -> int:
        return hash(self._node)


class InheritedOperator:
    """An operator at its place, with its own fields and the inherited spellings."""

    def __init__(self, view: NodeView):
        self._view, self._operator = view, view.operator
        self._rank = view.outputs[0].rank - 2 if view.outputs else 0

    @property
    def type(self) -> _Type:
        """The operator's type, which may also be called."""
        return _Type(self._operator.type, self._rank)

    @property
    def attr(self) -> InheritedAttributes:
        """The attributes by their inherited names (kernel_dims, stride_dims, dilation_dims, begin_end_borders) and by ours."""
        return InheritedAttributes(**operator_attributes(self._operator), **further_attributes(self._operator))

    def get_input(self, index: int) -> InheritedTensor | None:
        """Input `index`; None where it is not given."""
        tensor = self._view.inputs[index] if index < len(self._view.inputs) else None
        return None if tensor is None else InheritedTensor(tensor)

    def get_output(self, index: int) -> InheritedTensor:
        """Output `index`."""
        return InheritedTensor(self._view.outputs[index])

    def is_atomic(self) -> bool:
        """Whether the operator is one inherited operator, and not several (`get_micro_graph`)."""
        return len(members_of(self._view)) == 1

    def get_micro_graph(self) -> MicroGraph:
        """Returns the inherited operators of this operator: the members of a meta-operator; a Pad and the window without pads for
        a window with pads; the operator and a ReLU or Clip for a result that is clamped."""
        if self.is_atomic():
            raise AidgeError(f"{self._operator.type} is no meta-operator", code="OPERATOR")
        return MicroGraph(members_of(self._view))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._operator, name)


class MicroGraph:
    """The members of a meta-operator, in the order in which they are computed."""

    def __init__(self, members: Iterable[NodeView]):
        self._nodes = [InheritedView.seen_as(member) for member in members]

    def get_nodes(self) -> list[InheritedView]:
        """The members, in order."""
        return list(self._nodes)

    get_ordered_nodes = get_nodes

    def clone(self) -> MicroGraph:
        """Another graph with the same members."""
        return MicroGraph(self._nodes)

    def expand(self, recursively: bool = False) -> None:
        """Put the members of each meta-operator into its place."""
        found = [(node, members_of(node)) for node in self._nodes]
        self._nodes = [InheritedView.seen_as(member) for _, members in found for member in members]
        if recursively and any(len(members) > 1 for _, members in found):
            self.expand(True)


def members_of(view: NodeView) -> list[NodeView]:
    """Returns the inherited operators that a node consists of, in order; the node alone if it is one inherited operator."""
    graph = getattr(view.operator, "graph", None)
    if graph is not None:
        return [NodeView.of(graph, node) for node in graph.nodes]
    before, rest = _without_pads(view)
    core, behind = _without_clamp(rest)
    return [*before, core, *behind]


def _without_pads(view: NodeView) -> tuple[list[NodeView], NodeView]:
    """Returns a Pad, and the window without pads that follows it; no Pad if the node has no pads."""
    window, data = getattr(view.operator, "window", None), view.inputs[0] if view.inputs else None
    if window is None or data is None or not window.has_pads:
        return [], view
    pad = Pad((0, 0, *window.pads_begin), (0, 0, *window.pads_end))
    dims = tuple(size + begin + end for size, begin, end in zip(data.dims, pad.pads_begin, pad.pads_end))
    padded = data.with_(name=f"{view.node.name}_padded", dims=dims, data=None)
    zeros = (0,) * window.rank
    bare = replace(view.operator, window=replace(window, pads_begin=zeros, pads_end=zeros))
    node = view.node.with_(operator=bare, inputs=(padded.name, *view.node.inputs[1:]))
    before = NodeView(Node(f"{view.node.name}_pad", pad, view.node.inputs[:1], (padded.name,)), (data,), (padded,))
    return [before], replace(view, node=node, inputs=(padded, *view.inputs[1:]))


def _without_clamp(view: NodeView) -> tuple[NodeView, list[NodeView]]:
    """Returns the operator without its clamp, and a ReLU or Clip after it; no clamp if the operator has none."""
    operator = view.operator
    if isinstance(operator, Clip) or not getattr(operator, "clamps", False):
        return view, []
    low, high = operator.minimum, operator.maximum
    result = view.outputs[0]
    raw = result.with_(name=f"{view.node.name}_raw")
    clamp = ReLU() if (low, high) == (0, math.inf) else Clip(minimum=low, maximum=high)
    core = view.node.with_(operator=replace(operator, minimum=-math.inf, maximum=math.inf), outputs=(raw.name,))
    behind = Node(f"{view.node.name}_clamp", clamp, (raw.name,), (result.name,))
    return replace(view, node=core, outputs=(raw,)), [NodeView(behind, (raw,), (result,))]


def get_node_from_metaop(node: _NodeCalls, op_type: str) -> list[InheritedView]:
    """The nodes of this type among a node's members, at any depth, or the node itself; [] where there is none.

    A type with a number of axes may be named without it (Pad for Pad2D).
    """
    found: list[InheritedView] = []
    for member in members_of(node._seen()):
        seen = InheritedView.seen_as(member)
        if op_type in (seen.type(), member.node.type):
            found.append(seen)
        elif getattr(member.operator, "graph", None) is not None:
            found += get_node_from_metaop(seen, op_type)
    return found
