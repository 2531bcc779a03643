# SPDX-License-Identifier: MIT
"""Nodes that states need and that the file lacks: a cache that grows keeps its last rows; inputs that only count are computed.

A decoder's file reads a cache of P rows and writes one with the new rows at its end. The state keeps the last P rows. Each
inference then adds as many rows as any other, so which rows hold something, and the position of the new row, follow from the
number of inferences.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import Node
from aidge_build.operators.cache import TensorScatter
from aidge_build.operators.rearrange import Concat
from aidge_build.sources.formats.onnx.expansion import Host
from aidge_build.sources.onnx_format import ModelNode
from aidge_build.sources.onnx_format.types import number_of

_KINDS = (DType.int64, DType.int32, DType.bool, DType.float32)  # of inputs that count


class StateNodes:
    """Adds the nodes to an import. `pairs` maps outputs to the inputs of the next inference."""

    def __init__(self, host: Host, pairs: Mapping[str, str]):
        self._host = host
        self._pairs = pairs
        self.counters: dict[str, str] = {}  # the next number of inferences -> the number of inferences so far
        self._masks: list[str] = []

    def count(self, names: Iterable[str], inputs: Mapping[str, Tensor], fills_from_the_end: bool) -> None:
        """Computes inputs from the number n of inferences so far: one element is n, more are 1 for n + 1 of them and 0 elsewhere.

        `fills_from_the_end`: the last elements are 1 first, as in a window; otherwise the first ones.
        """
        for name in names:
            if name not in inputs:
                near = difflib.get_close_matches(name, list(inputs), 1)
                hint = f"did you mean --state {near[0]}?" if near else "--state OUTPUT=INPUT names the two ends of a state"
                raise _refused(name, "the model has no such input", hint)
            tensor = inputs[name]
            if tensor.dtype not in _KINDS or tensor.elements != (tensor.dims or (1,))[-1]:
                raise _refused(name, f"an input that counts is a row of integers, this is {tensor}", "pass it to each inference")
            self._compute(tensor, fills_from_the_end)

    def _compute(self, tensor: Tensor, fills_from_the_end: bool) -> None:
        size, value = tensor.elements, self._counter()
        if size > 1:
            places = self._constant("places", numpy.arange(size))
            if fills_from_the_end:
                value = self._node("Sub", self._constant("last", [size - 1]), value)
            value = self._node("GreaterOrEqual" if fills_from_the_end else "LessOrEqual", places, value)
            self._masks.append(tensor.name)
        if tensor.dtype is not self._host.tensors[value].dtype:
            value = self._node("Cast", value, to=number_of(tensor.dtype))
        self._node("Reshape", value, self._constant("dims", tensor.dims), output=tensor.name)

    def _counter(self) -> str:
        """Returns the input that holds the number of inferences so far."""
        if not self.counters:
            read, written = self._host.name("count"), self._host.name("count_next")
            self._host.tensors[read] = Tensor(read, (1,), DType.int64)
            self._node("Add", read, self._constant("one", [1]), output=written)
            self.counters[written] = read
        return next(iter(self.counters.values()))

    def kept_rows(self, producer: Callable[[str], Node | None]) -> dict[str, str]:
        """Returns the rows that stay, by each output that is longer than its input."""
        tensors, found, grown, lengths = self._host.tensors, dict[str, str](), set[int](), set[int]()
        for output, source in self._pairs.items():
            written, read = tensors.get(output), tensors.get(source)
            node = producer(output)
            lengths |= set(written.dims) if written is not None else set()
            if node is not None and isinstance(node.operator, TensorScatter):
                grown.add(tensors[node.inputs[1]].dims[node.operator.axis])
            if written is None or read is None or not _grows(node, read, written):
                continue
            axis = node.operator.axis % read.rank
            rows = read.dims[axis]
            grown.add(written.dims[axis] - rows)
            bounds = (
                self._constant(name, [value]) for name, value in (("first", -rows), ("end", written.dims[axis]), ("axis", axis))
            )
            found[output] = self._node("Slice", output, *bounds, output=self._host.name(f"{output}_kept"))
        if self.counters and not grown <= {1}:
            raise AidgeError(
                f"each inference adds {max(grown)} rows to a cache, a count adds one",
                where="--state",
                code="STATE",
                hint="give the axis of new rows the size 1 (--bind), or pass the inputs that count to each inference",
            )
        for name in self._masks:
            if tensors[name].elements not in lengths:
                raise _refused(name, f"no cache has {tensors[name].elements} rows", "pass the input to each inference")
        return found

    def _constant(self, name: str, values: Sequence[int] | numpy.ndarray) -> str:
        name = self._host.name(name)
        self._host.tensors[name] = constant(name, numpy.asarray(values, numpy.int64))
        return name

    def _node(self, op_type: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or self._host.name(op_type.lower())
        self._host.add(ModelNode(self._host.number(), op_type, "", output, inputs, (output,), attributes, 13), output)
        return output


def _grows(node: Node | None, read: Tensor, written: Tensor) -> bool:
    """Whether the node joins new rows to the end of the tensor that is read."""
    return (
        node is not None
        and isinstance(node.operator, Concat)
        and len(node.inputs) == 2
        and node.inputs[0] == read.name
        and written.dtype is read.dtype
    )


def _refused(name: str, what: str, hint: str) -> AidgeError:
    return AidgeError(what, where=f"--state {name}", code="STATE", hint=hint)
