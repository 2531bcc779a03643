# SPDX-License-Identifier: MIT
"""`@expands("If", ...)` registers the nodes that replace a node; they are written when everything about its inputs is known.

A new one is one function in a file of `expansions/`. It takes a `Draft` and hands back the names of the node's outputs.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.base import require
from aidge_build.sources.formats.onnx.frame import Frame
from aidge_build.sources.formats.onnx.node import NotConstant, OnnxNode
from aidge_build.sources.onnx_format import ModelNode, SubGraph

_FOLDER = "aidge_build.sources.formats.onnx.expansions"
_Written = TypeVar("_Written")
Value = tuple[str, ...] | None  # of what is no tensor: a sequence of tensors, or an optional value that is not there


class Host(Protocol):
    """The import in progress, as a draft uses it."""

    tensors: dict[str, Tensor]
    values: dict[str, Value]
    shared: dict[tuple[object, ...], Any]  # what expansions wrote for several nodes, by what they call it

    def add(self, node: ModelNode, origin: str) -> None:
        """Imports one more node; its names are names of the whole graph."""

    def run(
        self, frame: Frame, graph: SubGraph, arguments: Sequence[str], prefix: str, shared: dict[str, str], origin: str
    ) -> tuple[str, ...]:
        """Imports a sub-graph with these tensors as its inputs; returns the names of its outputs. `shared` are its constants."""

    def name(self, wanted: str) -> str:
        """A name that no tensor has."""

    def number(self) -> int:
        """The next number of a node."""

    def inputs_behind(self, name: str) -> tuple[Tensor, ...]:
        """The graph inputs from which a tensor is computed."""


class Draft:
    """A node that other nodes replace. `source` reads its attributes and inputs."""

    def __init__(self, host: Host, frame: Frame, source: OnnxNode, origin: str):
        self._host = host
        self._frame = frame
        self.source = source
        self._origin = origin
        self._label = source.name or f"{source.op_type}_{source.index}"
        self._constants: dict[int, dict[str, str]] = {}  # of sub-graphs that are used more than once

    def input(self, index: int) -> str:
        """The name of an input; "" where it is not given."""
        return self.source.input_names[index] if index < len(self.source.input_names) else ""

    def tensor(self, name: str) -> Tensor:
        """Returns the tensor of this name; AidgeError (OPERATOR) if there is none."""
        if name not in self._host.tensors:
            raise AidgeError(f"'{name}' is no tensor", code="OPERATOR")
        return self._host.tensors[name]

    def is_tensor(self, name: str) -> bool:
        """Whether a tensor has this name."""
        return name in self._host.tensors

    def value(self, name: str) -> Value:
        """The members of a sequence; None for an optional value that is not there."""
        return self._host.values[name]

    def items(self, name: str) -> tuple[str, ...]:
        """Returns the members of a name that must be a sequence."""
        found = self._host.values.get(name)
        if found is None:
            raise AidgeError(f"'{name}' is no sequence", code="OPERATOR")
        return found

    def keep(self, value: Value) -> str:
        """A name for a sequence, or for an optional value that is not there."""
        name = self._host.name(f"{self._label}_value")
        self._host.values[name] = value
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """A constant with these values."""
        array = numpy.asarray(values, dtype)
        name = self._host.name(f"{self._label}_constant")
        self._host.tensors[name] = constant(name, array)
        return name

    def known(self, name: str, what: str) -> numpy.ndarray:
        """The values of a tensor that decides which nodes there are; refused where they depend on data."""
        tensor = self.tensor(name)
        if tensor.data is None:
            raise self._depends_on_data(tensor, what)
        return tensor.data

    def number(self, name: str, what: str) -> float:
        """The one finite number of such a tensor."""
        values = self.known(name, what)
        require(values.size == 1, f"{what} has {values.size} elements, wants one")
        require(bool(values.dtype.kind in "biuf" and numpy.isfinite(values).all()), f"{what} is no finite number")
        return values.reshape(()).item()

    def integer(self, name: str, what: str, default: int | None = None) -> int:
        """The one whole number of such a tensor; `default` where there is one and no tensor is given."""
        if not name and default is not None:
            return default
        value = self.number(name, what)
        require(int(value) == value, f"{what} is no whole number")
        return int(value)

    def integers(self, name: str, what: str) -> list[int]:
        """The numbers of such a tensor of rank 1."""
        values = self.known(name, what)
        require(values.ndim == 1 and values.dtype.kind in "iu", f"{what} must be a list of integers")
        return values.tolist()

    def _depends_on_data(self, tensor: Tensor, what: str) -> AidgeError:
        behind = self._host.inputs_behind(tensor.name)
        shown = ", ".join(f"'{one.name}'" for one in behind[:3])
        error = NotConstant(
            f"{what} depends on data: '{tensor.name}' is computed at run time from the input {shown}", tensor.name
        )
        error.hint = "export the model without control flow that depends on data"
        return error

    def emit(
        self, op_type: str, *inputs: str, outputs: int = 1, opset: int = 13, domain: str = "", **attributes: Any
    ) -> tuple[str, ...]:
        """Writes a node of this opset; returns the names of its outputs."""
        names = tuple(self._host.name(f"{self._label}_{op_type}_{index}") for index in range(outputs))
        number = self._host.number()
        node = ModelNode(number, op_type, domain, f"{self._label}_{op_type}_{number}", inputs, names, attributes, opset)
        self._host.add(node, self._origin)
        return names

    def once(self, key: tuple[object, ...], write: Callable[[], _Written]) -> _Written:
        """Returns what `write` writes; the same again for another node with the same key."""
        if key not in self._host.shared:
            self._host.shared[key] = write()
        return self._host.shared[key]

    def one(self, op_type: str, *inputs: str, **words: Any) -> str:
        """Writes a node of one output; returns the output's name."""
        return self.emit(op_type, *inputs, **words)[0]

    def outside(self, name: str) -> str:
        """Returns the name, in the whole graph, of a tensor of the graph around the node."""
        return self._frame.outside(name)

    def is_constant_around(self, name: str) -> bool:
        """Whether the graph around the node has a constant of this name."""
        try:
            return self.tensor(self.outside(name)).is_constant
        except AidgeError:
            return False

    def run(self, graph: SubGraph, arguments: Sequence[str], label: str) -> tuple[str, ...]:
        """Writes the nodes of a sub-graph with these tensors as its inputs; returns the names of its outputs."""
        shared = self._constants.setdefault(id(graph), {})
        return self._host.run(self._frame, graph, arguments, f"{self._label}/{label}", shared, self._origin)

    def graph(self, name: str) -> SubGraph:
        """The sub-graph that an attribute holds."""
        graph = self.source.node.attributes.get(name)
        if not isinstance(graph, SubGraph):
            raise AidgeError(f"the attribute '{name}' must be a graph", code="OPERATOR")
        return graph


Expanding = Callable[[Draft], Sequence[str]]


def expands(*names: str) -> Callable[[Expanding], Expanding]:
    """Registers the decorated function for operators of these ONNX names."""

    def mark(expanding: Expanding) -> Expanding:
        expanding.expands = names  # type: ignore[attr-defined]
        return expanding

    return mark


@cache
def expansions() -> Mapping[str, Expanding]:
    """Every function of the folder `expansions` by the operator's name; two for one name are refused."""
    found: dict[str, Expanding] = {}
    folder = importlib.import_module(_FOLDER)
    for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda info: info.name):
        for value in vars(importlib.import_module(f"{_FOLDER}.{module.name}")).values():
            for name in getattr(value, "expands", ()):
                if found.setdefault(name, value) is not value:
                    raise AidgeError(f"two expansions read the operator {name}", code="REGISTRY")
    return MappingProxyType(found)
