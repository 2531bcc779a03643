# SPDX-License-Identifier: MIT
"""Trains a quantized model: its QuantizeLinear and DequantizeLinear round forward, and pass gradients backward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.arithmetic.requantize import dequantize, quantize
from aidge_build.prepare.net import Graph, Value
from aidge_build.sources.onnx_format import ModelNode, OnnxModel, read_model, write_model

_LINEAR = ("Conv", "ConvTranspose", "Gemm", "MatMul")
LARGEST_LEVEL = 127
_LEVELS = (1, 3, 7)  # of 2, 3 and 4 bits
_NO_LIMIT = 256
_MANY = 16  # numbers, which all fit few bits only if they are to
_BYTES = (DType.int8, DType.uint8)


@dataclass(frozen=True, eq=False)
class _Stored:
    """A constant in integers; its real values are trained."""

    values: numpy.ndarray
    quantization: Quantization

    @property
    def dtype(self) -> DType:
        return DType(self.values.dtype.name)

    @property
    def levels(self) -> int:
        """The largest integer of weights with as few bits as the stored ones take; LARGEST_LEVEL for a few numbers. Symmetric
        weights of 8 bits get no -128: kernels store two weights in a halfword only without it."""
        if self.dtype is not DType.int8 or any(self.quantization.zero_points):
            return _NO_LIMIT
        most = int(numpy.abs(self.values.astype(int)).max(initial=0))
        possible = (*_LEVELS, LARGEST_LEVEL) if self.values.size >= _MANY else (LARGEST_LEVEL,)
        return next((levels for levels in possible if most <= levels), _NO_LIMIT)

    def real(self) -> numpy.ndarray:
        return dequantize(self.values, self.quantization).astype(numpy.float32)

    def of(self, real: numpy.ndarray, levels: int) -> numpy.ndarray:
        """Returns real values as integers: as in QuantizeLinear, within the levels; for int32 the nearest ones."""
        if self.dtype is DType.int32:
            return quantize(real.astype(numpy.float64), self.quantization, self.dtype)
        found = quantize(real.astype(numpy.float32), self.quantization, self.dtype)
        return numpy.clip(found, -levels, levels) if levels < _NO_LIMIT else found


class QuantizedTraining:
    """Turns a quantized model (QDQ form) into a graph for training, `graph`, and back into a file with the same scales. The graph
    reads and writes float32, whatever the file's types, and `batch` samples at a time: the first axis of every input and output.
    Its parameters are the weights and biases after a DequantizeLinear, in float, and the float constants of the file before a
    QuantizeLinear or a linear layer; weights go through the file's own quantization in every pass. Weights from -7 to 7,
    -3 to 3 or -1 to 1 stay there; `levels` limits the others. `keeps_zeros`: weights that are 0 stay 0, as after `pruned`.

    AidgeError for a model that is not quantized, or has dims that are not numbers.
    """

    def __init__(
        self, model: bytes, batch: int, levels: int = LARGEST_LEVEL, name: str = "model.onnx", keeps_zeros: bool = False
    ):
        self._file = read_model(model, name, {})
        self.graph = Graph("training", self._file.opsets[""])
        self._levels, self._keeps_zeros = levels, keeps_zeros
        self._values: dict[str, Value] = {}
        self._stored: dict[str, _Stored] = _stored_constants(self._file)
        if not self._stored and not any(node.op_type == "QuantizeLinear" for node in self._file.nodes):
            raise AidgeError(f"{name} is not quantized", code="TRAINING", hint="quantize it first: aidge-build quantize")
        for one in self._file.inputs:
            if not one.dims or not all(isinstance(size, int) for size in one.dims):
                raise AidgeError(f"the dims of the input '{one.name}' of {name} are not numbers", code="TRAINING")
            self._add_input(one.name, (batch, *(int(size) for size in one.dims[1:] if isinstance(size, int))), one.dtype)
        for node in self._file.nodes:
            self._add(node)
        self.outputs = {one.name: self._output(one.name) for one in self._file.outputs}

    def model(self, parameters: Mapping[str, numpy.ndarray]) -> bytes:
        """Returns the file with the trained parameters in integers, and the same scales and zero points."""
        known = {**self._file.initializers}
        for name, values in parameters.items():
            if name not in known:
                raise AidgeError(f"the model has no parameter '{name}'", code="TRAINING")
            stored = self._stored.get(name)
            known[name] = values.astype(known[name].dtype) if stored is None else self._as_integers(values, stored)
        return write_model(replace(self._file, initializers=known))

    def _as_integers(self, real: numpy.ndarray, stored: _Stored) -> numpy.ndarray:
        found = stored.of(real, self._levels_of(stored))
        return numpy.where(stored.values == 0, stored.values, found) if self._keeps(stored) else found

    def _keeps(self, stored: _Stored) -> bool:
        """Whether zeros of this constant stay."""
        return self._keeps_zeros and stored.dtype in _BYTES

    def _add_input(self, name: str, dims: tuple[int, ...], dtype: DType) -> None:
        reader = next((node for node in self._file.nodes if name in node.inputs and node.op_type == "DequantizeLinear"), None)
        if reader is None or dtype not in _BYTES:
            self._values[name] = self.graph.input(name, dims, dtype)
            return
        value = self.graph.input(name, dims)
        (self._values[name],) = self.graph.node(
            "QuantizeLinear", [value, *map(self._value, reader.inputs[1:])], reader.attributes
        )

    def _add(self, node: ModelNode) -> None:
        source = node.inputs[0] if node.op_type == "DequantizeLinear" else ""
        if source in self._stored:
            if source not in self.graph.parameters():
                self.graph.parameter(source, self._stored[source].real())
            real = self.graph.value(source)
            if self._stored[source].dtype is DType.int32:
                self._values[node.outputs[0]] = real
                return
            weights, parameters = self._limited(real, self._stored[source]), map(self._value, node.inputs[1:])
            (self._values[source],) = self.graph.node("QuantizeLinear", [weights, *parameters], node.attributes)
        trained = node.inputs[1:] if node.op_type in _LINEAR else node.inputs[:1] if node.op_type == "QuantizeLinear" else ()
        inputs = [self._value(name, name in trained) if name else None for name in node.inputs]
        found = self.graph.node(node.full_type, inputs, node.attributes, len(node.outputs), node.name)
        self._values.update(zip(node.outputs, found, strict=True))

    def _levels_of(self, stored: _Stored) -> int:
        return min(self._levels, stored.levels) if self._levels < LARGEST_LEVEL else stored.levels

    def _limited(self, weights: Value, stored: _Stored) -> Value:
        """Limits the weights to the levels, and zeros to 0."""
        if self._keeps(stored):
            (weights,) = self.graph.node("Mul", [weights, self.graph.constant((stored.values != 0).astype(numpy.float32))], {})
        levels = self._levels_of(stored)
        if levels >= _NO_LIMIT:
            return weights
        largest = levels * stored.quantization.along(stored.quantization.scales, stored.values.ndim, numpy.float32)
        (below,) = self.graph.node("Min", [weights, self.graph.constant(largest)], {})
        return self.graph.node("Max", [below, self.graph.constant(-largest)], {})[0]

    def _value(self, name: str, trained: bool = False) -> Value:
        if name not in self._values:
            make = self.graph.parameter if trained else lambda key, values: self.graph.constant(values, key)
            self._values[name] = make(name, self._file.initializers[name])
        return self._values[name]

    def _output(self, name: str) -> Value:
        writer = next(node for node in self._file.nodes if name in node.outputs)
        if writer.op_type != "QuantizeLinear":
            return self._values[name]
        parameters = map(self._value, writer.inputs[1:])
        return self.graph.node("DequantizeLinear", [self._values[name], *parameters], writer.attributes)[0]


def coarser(model: bytes, levels: int, name: str = "model.onnx") -> bytes:
    """Returns the quantized model with weights from -levels to levels, such as 7 for 4 bits: larger scales, stored in int8 as
    before.

    Biases keep their values in the new units.
    """
    if not 1 <= levels <= LARGEST_LEVEL:
        raise AidgeError(f"{levels} levels on each side of zero", code="TRAINING", hint=f"from 1 to {LARGEST_LEVEL}")
    file = read_model(model, name, {})
    known, stored, factor = {**file.initializers}, _stored_constants(file), numpy.float32(LARGEST_LEVEL / levels)
    for node in file.nodes:
        source = node.inputs[0] if node.op_type == "DequantizeLinear" else ""
        if source not in stored or stored[source].dtype not in (*_BYTES, DType.int32):
            continue
        one, scale = stored[source], node.inputs[1]
        known[scale] = (file.initializers[scale] * factor).astype(numpy.float32)
        wider = replace(one.quantization, scales=tuple(map(float, known[scale].reshape(-1))))
        values = quantize(dequantize(one.values, one.quantization), wider, one.dtype)
        known[source] = values if one.dtype is DType.int32 else numpy.clip(values, -levels, levels)
    return write_model(replace(file, initializers=known))


def _stored_constants(file: OnnxModel) -> dict[str, _Stored]:
    """Returns the integer constants that a DequantizeLinear reads, by name."""
    found = {}
    for node in file.nodes:
        if node.op_type != "DequantizeLinear" or node.inputs[0] not in file.initializers:
            continue
        values, scales = file.initializers[node.inputs[0]], file.initializers[node.inputs[1]].reshape(-1)
        given = len(node.inputs) > 2 and node.inputs[2]
        points = file.initializers[node.inputs[2]].reshape(-1) if given else numpy.zeros(len(scales), int)
        stated = node.attributes.get("axis", 1)
        axis = stated % max(values.ndim, 1) if len(scales) > 1 and isinstance(stated, int) else None
        found[node.inputs[0]] = _Stored(values, Quantization(tuple(map(float, scales)), tuple(map(int, points)), axis))
    return found
