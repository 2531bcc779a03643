# SPDX-License-Identifier: MIT
"""The content of a file, as frozen values without protobuf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Union

import numpy

from aidge_build.graph.dtype import DType

ML = "ai.onnx.ml"  # the domain of classic machine learning
AttributeValue = Union[
    int, float, str, numpy.ndarray, tuple[int, ...], tuple[float, ...], tuple[str, ...], "SubGraph", "AttributeReference"
]


@dataclass(frozen=True)
class AttributeReference:
    """In a function's body: the attribute of this name of the node that calls the function."""

    name: str


@dataclass(frozen=True, eq=False)
class ModelNode:
    """One node of the file; `index` is its place there, names are as written ("" where there is none).

    `opset` is the version of its domain in which it is written; None: that which the graph around it states. `overload` tells
    functions of one name apart.
    """

    index: int
    op_type: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, AttributeValue]
    opset: int | None = None
    overload: str = ""

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The tensors that it needs: its inputs, and what its sub-graphs read of the graphs around them."""
        captured = (name for graph in graphs_of(self) for name in graph.captured)
        return tuple(dict.fromkeys((*filter(None, self.inputs), *captured)))

    @property
    def full_type(self) -> str:
        """`Conv` for the default domain, `com.microsoft::QGemm` for any other."""
        return f"{self.domain}::{self.op_type}" if self.domain else self.op_type

    def where(self) -> str:
        """Returns the node's name in messages."""
        first_output = next((name for name in self.outputs if name), "")
        name = f"'{self.name}'" if self.name else f"{self.index} with output '{first_output}'"
        return f"node {name} ({self.full_type})" if not self.name else f"node {name} ({self.full_type}, number {self.index})"


@dataclass(frozen=True, eq=False)
class SubGraph:
    """A graph that is an attribute of a node: a branch of If, the body of Loop or Scan."""

    nodes: tuple[ModelNode, ...]
    initializers: Mapping[str, numpy.ndarray]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @cached_property
    def captured(self) -> tuple[str, ...]:
        """The names that it reads of the graphs around it."""
        own = {*self.inputs, *self.initializers, *(name for node in self.nodes for name in node.outputs)}
        wanted = (*(name for node in self.nodes for name in node.reads), *self.outputs)
        return tuple(dict.fromkeys(name for name in wanted if name and name not in own))

    @cached_property
    def node_count(self) -> int:
        """The number of its nodes and of the nodes of the graphs in them."""
        return sum(1 + sum(graph.node_count for graph in graphs_of(node)) for node in self.nodes)


def graphs_of(node: ModelNode) -> Iterator[SubGraph]:
    """The sub-graphs of a node, by the name of their attribute."""
    return (value for _, value in sorted(node.attributes.items()) if isinstance(value, SubGraph))


@dataclass(frozen=True, eq=False)
class Function:
    """An operator that is defined by nodes; `defaults` are values of attributes that a call need not give."""

    full_type: str
    overload: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]
    defaults: Mapping[str, AttributeValue]
    nodes: tuple[ModelNode, ...]
    opsets: Mapping[str, int]


@dataclass(frozen=True)
class ValueInfo:
    """A declared input or output; a dim is a number, a symbolic name, or None; `dims` is None for an unknown rank, and `dtype` is
    `DType.any` for an output without a declared type.

    `holds` is "numbers"; while a file is read also "text", "map" or "maps" (a sequence of maps), until `without_text` made
    numbers of them. `names` are then the words that the integers count, or the keys of the columns.
    """

    name: str
    dtype: DType
    dims: tuple[int | str | None, ...] | None
    holds: str = "numbers"
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A model file: `opsets` by domain ("" is the default domain), `functions` by type and overload.

    `narrow` are the ranges of initialisers that the file stores in 2 or 4 bits an element. `states` maps outputs to inputs of the
    next inference, as the file states them.
    """

    ir_version: int
    opsets: Mapping[str, int]
    name: str
    nodes: tuple[ModelNode, ...]
    initializers: Mapping[str, numpy.ndarray]
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    functions: Mapping[tuple[str, str], Function] = field(default_factory=dict)
    narrow: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
