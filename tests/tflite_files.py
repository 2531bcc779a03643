# SPDX-License-Identifier: MIT
"""Small .tflite files, written table by table with the package flatbuffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy

from aidge_build.sources.formats.tflite.file.names import OPERATORS, TYPES

CODES = {name: number for number, name in OPERATORS.items()}
TYPE_NUMBERS = {name: number for number, name in TYPES.items()}
_TYPE_OF = {"float32": "FLOAT32", "float16": "FLOAT16", "bool": "BOOL"}


def type_name(dtype) -> str:
    """The schema's name of a numpy type."""
    name = numpy.dtype(dtype).name
    return _TYPE_OF.get(name, name.upper())


@dataclass
class Graph:
    """A subgraph under construction; methods return indices of tensors."""

    tensors: list[dict] = field(default_factory=list)
    nodes: list[dict] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def tensor(
        self,
        dims: Sequence[int],
        dtype="float32",
        *,
        scale: float | Sequence[float] = (),
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        name: str | None = None,
        data: numpy.ndarray | bytes | None = None,
        **more: Any,
    ) -> int:
        """`dtype` is numpy's, or the schema's name of a type that numpy lacks (INT4)."""
        scales = list(numpy.atleast_1d(numpy.float32(scale)))
        kind = dtype if isinstance(dtype, str) and dtype in TYPE_NUMBERS else type_name(dtype)
        points = list(numpy.broadcast_to(zero_point, len(scales)))
        self.tensors.append(
            {
                "name": f"t{len(self.tensors)}" if name is None else name,
                "dims": list(dims),
                "type": kind,
                "data": data,
                "scales": scales,
                "zero_points": points,
                "axis": axis,
                **more,
            }
        )
        return len(self.tensors) - 1

    def constant(self, values, dtype=None, **more) -> int:
        """A tensor with these elements."""
        values = numpy.asarray(values, dtype)
        return self.tensor(values.shape, values.dtype, data=values, **more)

    def input(self, dims, dtype="float32", **more) -> int:
        """A graph input."""
        self.inputs.append(self.tensor(dims, dtype, **more))
        return self.inputs[-1]

    def output(self, dims, dtype="float32", **more) -> int:
        """A graph output."""
        self.outputs.append(self.tensor(dims, dtype, **more))
        return self.outputs[-1]

    def node(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options_kind: int = 0,
        *options,
        intermediates: Sequence[int] = (),
    ) -> None:
        """`options` are (number of the field, type, value); a type in brackets is a vector, text a string."""
        given = {"kind": kind, "inputs": inputs, "outputs": outputs, "options_kind": options_kind, "options": options}
        self.nodes.append({**given, "intermediates": intermediates})


def write(graphs: Graph | Sequence[Graph], signatures: Sequence[Mapping[str, Any]] = (), version: int = 3) -> bytes:
    """The bytes of a file; a signature is {key, subgraph, inputs: {name: tensor}, outputs: {name: tensor}}."""
    graphs = [graphs] if isinstance(graphs, Graph) else list(graphs)
    return _Writer(graphs, signatures).written(version)


class _Writer:
    def __init__(self, graphs: Sequence[Graph], signatures: Sequence[Mapping[str, Any]]):
        self.graphs, self.signatures = graphs, signatures
        self.builder = flatbuffers.Builder(1024)
        self.buffers: list[int] = []
        self.codes: dict[str, int] = {}

    def written(self, version: int) -> bytes:
        self._buffer(b"")
        graphs = [self._graph(graph) for graph in self.graphs]
        model = self._table(
            (0, "uint32", version),
            (1, "offset", self._offsets([self._code(name) for name in self.codes])),
            (2, "offset", self._offsets(graphs)),
            (3, "offset", self.builder.CreateString("made by a test")),
            (4, "offset", self._offsets(self.buffers)),
            *([(7, "offset", self._offsets([self._signature(one) for one in self.signatures]))] if self.signatures else []),
        )
        self.builder.Finish(model, b"TFL3")
        return bytes(self.builder.Output())

    def _graph(self, graph: Graph) -> int:
        tensors, nodes = [self._tensor(one) for one in graph.tensors], [self._node(one) for one in graph.nodes]
        return self._table(
            (0, "offset", self._offsets(tensors)),
            (1, "[int32]", graph.inputs),
            (2, "[int32]", graph.outputs),
            (3, "offset", self._offsets(nodes)),
        )

    def _tensor(self, tensor: Mapping[str, Any]) -> int:
        data = tensor["data"]
        buffer = 0
        if data is not None:
            buffer = len(self.buffers)
            self._buffer(data if isinstance(data, bytes) else numpy.ascontiguousarray(data).tobytes())
        fields = [
            (0, "[int32]", tensor["dims"]),
            (1, "int8", TYPE_NUMBERS[tensor["type"]]),
            (2, "uint32", buffer),
            (3, "offset", self.builder.CreateString(tensor["name"])),
        ]
        if tensor["scales"]:
            fields.append((4, "offset", self._quantization(tensor)))
        if tensor.get("is_variable"):
            fields.append((5, "bool", True))
        if "signature" in tensor:
            fields.append((7, "[int32]", tensor["signature"]))
        return self._table(*fields)

    def _quantization(self, tensor: Mapping[str, Any]) -> int:
        return self._table(
            (2, "[float32]", tensor["scales"]), (3, "[int64]", tensor["zero_points"]), (6, "int32", tensor["axis"])
        )

    def _node(self, node: Mapping[str, Any]) -> int:
        code = self.codes.setdefault(node["kind"], len(self.codes))
        fields = [(0, "uint32", code), (1, "[int32]", node["inputs"]), (2, "[int32]", node["outputs"])]
        if node["options_kind"]:
            fields += [(3, "uint8", node["options_kind"]), (4, "offset", self._table(*node["options"]))]
        if node.get("intermediates"):
            fields.append((8, "[int32]", node["intermediates"]))
        return self._table(*fields)

    def _code(self, name: str) -> int:
        custom = name.removeprefix("CUSTOM ") if name.startswith("CUSTOM ") else None
        number = CODES["CUSTOM" if custom is not None else name]
        fields = [(0, "int8", min(number, 127)), (2, "int32", 1), (3, "int32", number)]
        return self._table(*fields, *([] if custom is None else [(1, "offset", self.builder.CreateString(custom))]))

    def _signature(self, signature: Mapping[str, Any]) -> int:
        sides = [
            self._offsets(
                [
                    self._table((0, "offset", self.builder.CreateString(name)), (1, "uint32", tensor))
                    for name, tensor in signature[side].items()
                ]
            )
            for side in ("inputs", "outputs")
        ]
        key = self.builder.CreateString(signature["key"])
        return self._table(
            (0, "offset", sides[0]), (1, "offset", sides[1]), (2, "offset", key), (4, "uint32", signature["subgraph"])
        )

    def _buffer(self, data: bytes) -> None:
        vector = self.builder.CreateByteVector(data) if data else None
        self.buffers.append(self._table(*([] if vector is None else [(0, "offset", vector)])))

    def _offsets(self, offsets: Sequence[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return self.builder.EndVector()

    def _table(self, *fields: tuple[int, str, Any]) -> int:
        made = [(number, kind, self._vector(kind, value)) for number, kind, value in fields]
        self.builder.StartObject(max((number for number, _, _ in made), default=0) + 1)
        for number, kind, value in made:
            if kind in ("offset", "text") or kind.startswith("["):
                self.builder.PrependUOffsetTRelativeSlot(number, value, 0)
            else:
                getattr(self.builder, f"Prepend{kind.capitalize()}Slot")(number, value, None)
        return self.builder.EndObject()

    def _vector(self, kind: str, value: Any) -> Any:
        if kind == "text":
            return self.builder.CreateString(value)
        if not kind.startswith("["):
            return value
        return self.builder.CreateNumpyVector(numpy.asarray(list(value), kind[1:-1]))


def fully_connected(exchanged: bool = False) -> bytes:
    """A file with one int8 layer from 8 values to 2; with its last two weights `exchanged` no sum or range changes."""
    graph, weights = Graph(), numpy.arange(16, dtype=numpy.int8).reshape(2, 8)
    if exchanged:
        weights[1, 6:] = weights[1, :5:-1].copy()
    names = [graph.input((1, 8), "int8", scale=0.5), graph.constant(weights, scale=0.1)]
    names.append(graph.constant(numpy.array([3, -4], numpy.int32), scale=numpy.float32(0.5) * numpy.float32(0.1)))
    graph.node("FULLY_CONNECTED", names, [graph.output((1, 2), "int8", scale=0.7)], 8, (0, "int8", 0))
    return write(graph)
