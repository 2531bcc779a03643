# SPDX-License-Identifier: MIT
"""Specs: what an implementation accepts, and what it asks of the planner. Structural values, stable across processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format, channels_last, row_major
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node

ANY = "any"
ROW_MAJOR = "row_major"
CHANNELS_LAST = "channels_last"
SAME = "any_1"  # any format, but the same for every input and output of the spec that says SAME


@dataclass(frozen=True)
class NodeView:
    """What a plug-in sees of a node: the node and its tensors (None for an optional input that is not given)."""

    node: Node
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]

    @classmethod
    def of(cls, view: GraphView, node: Node) -> "NodeView":
        return cls(node, view.input_tensors(node), view.output_tensors(node))

    @property
    def operator(self):
        return self.node.operator

    @property
    def multiply_accumulates(self) -> int:
        return self.operator.multiply_accumulates(self.inputs, self.outputs)


@dataclass(frozen=True)
class IOSpec:
    """One input or output: element type, storage order ("any", "any_1".., "row_major", "channels_last"), dims.

    `dims` has one (smallest, largest) pair per axis, -1 for an open end; empty means any dims.
    """

    dtype: DType = DType.any
    format: str = ANY
    dims: tuple[tuple[int, int], ...] = ()

    def format_for(self, rank: int) -> Format | None:
        """The storage order that this spec fixes for a tensor of this rank; None when it leaves it open."""
        if self.format == ROW_MAJOR:
            return row_major(rank)
        if self.format == CHANNELS_LAST:
            return channels_last(rank)
        return None

    def rejection(self, what: str, tensor: Tensor, bound: dict[DType, DType]) -> str:
        """Why the tensor does not fit (storage order aside: adaptation changes it); "" when it does."""
        if self.dtype is not DType.any and self.dtype.is_wildcard:
            if bound.setdefault(self.dtype, tensor.dtype) is not tensor.dtype:
                return f"{what} is {tensor.dtype.name}, wants {bound[self.dtype].name} as elsewhere"
        elif self.dtype not in (DType.any, tensor.dtype):
            return f"{what} is {tensor.dtype.name}, wants {self.dtype.name}"
        if self.dims and len(self.dims) != tensor.rank:
            return f"{what} has rank {tensor.rank}, wants {len(self.dims)}"
        for axis, (low, high) in enumerate(self.dims):
            if tensor.dims[axis] < low or (high >= 0 and tensor.dims[axis] > high):
                return f"{what} has {tensor.dims[axis]} on axis {axis}, wants {low}..{high if high >= 0 else ''}"
        return ""


@dataclass(frozen=True)
class Predicate:
    """A named condition on a node: equality and hash are by name, so that specs are the same in every process."""

    name: str
    rejection: Callable[[NodeView], str] = field(compare=False)  # "" when the node is accepted, else the reason


@dataclass(frozen=True)
class ImplSpec:
    """What one implementation accepts. The last input (output) spec also stands for all further inputs (outputs)."""

    inputs: tuple[IOSpec, ...] = (IOSpec(),)
    outputs: tuple[IOSpec, ...] = (IOSpec(),)
    predicates: tuple[Predicate, ...] = ()
    features: frozenset[str] = frozenset()  # of the CPU: dsp, fpu, mve
    rounding: str = "onnx"
    objective: str = "balanced"

    def input_spec(self, index: int) -> IOSpec:
        return self.inputs[min(index, len(self.inputs) - 1)]

    def output_spec(self, index: int) -> IOSpec:
        return self.outputs[min(index, len(self.outputs) - 1)]

    @property
    def specificity(self) -> int:
        """How many conditions the spec states: of two that accept, the more specific one is preferred."""
        sides = (*self.inputs, *self.outputs)
        return (sum(side.dtype is not DType.any for side in sides) + sum(side.format != ANY for side in sides)
                + sum(bool(side.dims) for side in sides) + len(self.predicates) + len(self.features))

    def rejection(self, view: NodeView, features: frozenset[str], rounding: str) -> str:
        """The reason why the node is not accepted; "" when it is."""
        lacking = sorted(self.features - features)
        if lacking:
            return f"the CPU has no {', '.join(lacking)}"
        if self.rounding not in (rounding, ANY):
            return f"rounds as '{self.rounding}', the build wants '{rounding}'"
        bound: dict[DType, DType] = {}
        for side, tensors, spec_of in (("input", view.inputs, self.input_spec), ("output", view.outputs, self.output_spec)):
            for index, tensor in enumerate(tensors):
                reason = spec_of(index).rejection(f"{side} {index}", tensor, bound) if tensor is not None else ""
                if reason:
                    return reason
        return next(filter(None, (predicate.rejection(view) for predicate in self.predicates)), "")


@dataclass(frozen=True)
class Demands:
    """What an implementation asks of the planner, for one node."""

    scratch_bytes: int = 0
    scratch_alignment: int = 4


def io_specs(*specs: IOSpec) -> tuple[IOSpec, ...]:
    return specs


def tensors_that_move(tensors: Sequence[Tensor | None]) -> list[int]:
    """The positions of the tensors that are computed at run time (not constant, not absent)."""
    return [index for index, tensor in enumerate(tensors) if tensor is not None and not tensor.is_constant]
