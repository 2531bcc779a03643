# SPDX-License-Identifier: MIT
"""Nodes on values that a model stores as integers, and how it stores them."""

from __future__ import annotations

from typing import Any

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.prepare.frontend.part import Host, Part
from aidge_build.sources.onnx_format import ValueInfo

Stored = tuple[float, int, DType]  # scale, zero point and type


def quantization_of(host: Host, value: ValueInfo, side: str) -> Stored | None:
    """Returns the scale, zero point and type in which an input is stored or first quantized, or an output is stored; None if no
    node states one scale."""
    is_read = side == "input"
    wanted = "QuantizeLinear" if value.dtype.is_float is is_read else "DequantizeLinear"
    place = "inputs" if is_read else "outputs"
    node = next((one for one in host.model.nodes if one.op_type == wanted and getattr(one, place)[0] == value.name), None)
    constants = host.model.initializers
    if node is None or not all(name in constants and constants[name].size == 1 for name in node.inputs[1:] if name):
        return None
    scale = float(constants[node.inputs[1]].reshape(()))
    if len(node.inputs) < 3 or not node.inputs[2]:
        return scale, 0, DType.uint8 if value.dtype.is_float else value.dtype
    point = constants[node.inputs[2]]
    return scale, int(point.reshape(())), DType(point.dtype.name)


class Reals:
    """Writes nodes on float32 values, or on stored values between DequantizeLinear and QuantizeLinear, as quantized models do."""

    def __init__(self, part: Part, stored: Stored | None):
        self._part, self._stored = part, stored

    def __call__(self, op_type: str, *inputs: str, lists: tuple[str, ...] = (), **attributes: Any) -> str:
        """Adds a node on such values and returns its output; `lists` of integers are its last inputs."""
        if self._stored is None:
            return self._part.one(op_type, *inputs, *lists, **attributes)
        found = self._part.one(op_type, *map(self.real, inputs), *lists, **attributes)
        return self._part.one("QuantizeLinear", found, *self._parameters(self._stored))

    def real(self, value: str) -> str:
        """Returns the real values of a value."""
        return value if self._stored is None else self._part.one("DequantizeLinear", value, *self._parameters(self._stored))

    def _parameters(self, stored: Stored) -> tuple[str, str]:
        scale, point, dtype = stored
        return self._part.constant(scale, numpy.float32), self._part.constant(point, dtype.numpy)
