# SPDX-License-Identifier: MIT
"""Nodes to add to a model's file, with names that the file does not have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.sources.onnx_format import ModelNode, OnnxModel, ValueInfo, in_opset, ir_version_of, joined, names_in, read_model

OPSET, OPSET_INT16 = 17, 21  # the oldest that have STFT, and QuantizeLinear for int16


class Host:
    """A model's file to which nodes are added."""

    def __init__(self, data: bytes, name: str, external: Mapping[str, bytes], dtype: DType = DType.int8):
        self.data = in_opset(data, OPSET_INT16 if dtype is DType.int16 else OPSET, name, external)
        self.model = read_model(self.data, name, external)
        self.names = names_in(self.data)
        self.opset = self.model.opsets[""]

    def the(self, side: str, wanted: str) -> ValueInfo:
        """Returns the input or output named `wanted`, or the only one; AidgeError if there are several or none."""
        initial = set(self.model.initializers)
        values = [value for value in getattr(self.model, f"{side}s") if side == "output" or value.name not in initial]
        found = [value for value in values if value.name == wanted] if wanted else values
        if len(found) != 1:
            what = f"the model has no {side} '{wanted}'" if wanted else f"the model has {len(values)} {side}s"
            raise AidgeError(what, code="FRONTEND", tried=[value.name for value in values], hint=f"name one of them as {side}=")
        return found[0]


def sizes_of(value: ValueInfo) -> tuple[int, ...]:
    """Returns the dims of an input or output; an open first dim is 1. AidgeError if another dim is open."""
    dims = [1 if place == 0 and not isinstance(size, int) else size for place, size in enumerate(value.dims or ())]
    if value.dims is None or not all(isinstance(size, int) for size in dims):
        raise AidgeError(
            f"'{value.name}' has dims that are no numbers: {value.dims}", code="FRONTEND", hint="export it with static shapes"
        )
    return tuple(size for size in dims if isinstance(size, int))


class Part:
    """Nodes under construction; every name begins with a prefix that the model does not use."""

    def __init__(self, label: str, taken: Collection[str] = (), opset: int = OPSET):
        number = 1
        self.prefix = label
        while any(name.startswith(self.prefix) for name in taken):
            number += 1
            self.prefix = f"{label}_{number}"
        self._label, self._opset = label, opset
        self._nodes: list[ModelNode] = []
        self._constants: dict[str, numpy.ndarray] = {}
        self._inputs: list[ValueInfo] = []
        self._outputs: list[ValueInfo] = []
        self._states: dict[str, str] = {}

    def input(self, name: str, dims: tuple[int, ...], dtype: DType) -> str:
        """Adds an input and returns its name, which has the prefix."""
        self._inputs.append(ValueInfo(f"{self.prefix}_{name}", dtype, dims))
        return self._inputs[-1].name

    def output(self, value: str, name: str, dims: tuple[int, ...], dtype: DType) -> str:
        """Makes a value an output and returns its name, which has the prefix."""
        self._outputs.append(ValueInfo(f"{self.prefix}_{name}", dtype, dims))
        self._nodes.append(self._node("Identity", (value,), (self._outputs[-1].name,), "", {}))
        return self._outputs[-1].name

    def state(self, value: str, source: str, dims: tuple[int, ...], dtype: DType) -> None:
        """Makes the value the input `source` of the next inference."""
        self._states[self.output(value, f"{source.removeprefix(self.prefix + '_')}_next", dims, dtype)] = source

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Adds a constant and returns its name."""
        name = f"{self.prefix}_constant_{len(self._constants)}"
        self._constants[name] = numpy.asarray(values, dtype)
        return name

    def integers(self, *values: int) -> str:
        """Adds a list of int64, such as axes, ends or dims, and returns its name."""
        return self.constant(values, numpy.int64)

    def one(self, op_type: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Adds a node with one output and returns the output's name."""
        return self.several(1, op_type, *inputs, domain=domain, **attributes)[0]

    def several(self, count: int, op_type: str, *inputs: str, domain: str = "", **attributes: Any) -> tuple[str, ...]:
        """Adds a node with several outputs and returns their names."""
        number = len(self._nodes)
        names = tuple(f"{self.prefix}_{number}_{op_type}_{index}" for index in range(count))
        self._nodes.append(self._node(op_type, inputs, names, domain, attributes))
        return names

    def _node(self, op_type: str, inputs: tuple[str, ...], outputs: tuple[str, ...], domain: str, attributes: dict) -> ModelNode:
        number = len(self._nodes)
        return ModelNode(number, op_type, domain, f"{self.prefix}_{op_type}_{number}", inputs, outputs, attributes)

    def model(self) -> OnnxModel:
        """Returns the part as a model."""
        opsets = {"": self._opset} | {node.domain: 1 for node in self._nodes if node.domain}
        inputs, outputs = tuple(self._inputs), tuple(self._outputs)
        nodes, version = tuple(self._nodes), ir_version_of(self._opset)
        return OnnxModel(version, opsets, self._label, nodes, self._constants, inputs, outputs, states=self._states)

    def before(self, host: Host, links: Mapping[str, str]) -> bytes:
        """Returns the model's file with this part before it: `links` maps outputs of the part to inputs of the model."""
        return joined(host.data, self.model(), links, {})

    def after(self, host: Host, links: Mapping[str, str], kept: Collection[str] = ()) -> bytes:
        """Returns the model's file with this part after it: `links` maps outputs of the model to inputs of the part."""
        return joined(host.data, self.model(), {}, links, kept)
