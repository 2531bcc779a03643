# SPDX-License-Identifier: MIT
"""Inserts QuantizeLinear and DequantizeLinear between the layers of a float graph: the standard form of a quantized model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.view import Node
from aidge_build.prepare.quantization.layers import BIAS, WEIGHTS, Layer, Layers
from aidge_build.prepare.quantization.onnx_nodes import node_for_file
from aidge_build.prepare.quantization.scheme import Scheme
from aidge_build.prepare.quantization.weights import Stored, stored_operand
from aidge_build.sources.formats.onnx.importer import Imported
from aidge_build.sources.onnx_format import ModelNode, OnnxModel, ValueInfo

Quantizations = Mapping[tuple[str, DType], Quantization]  # of a tensor in a type
Constants = Mapping[str, Stored]  # weights and biases as integers, by the name of the float constant


@dataclass(frozen=True)
class Written:
    """A quantized model. `real` names, for a float tensor, the tensor that holds its real values after quantization; `stated` is
    the quantization of inputs and outputs that are integers."""

    model: OnnxModel
    real: Mapping[str, str]
    stated: Mapping[str, Quantization]


def with_quantizers(layers: Layers, found: Quantizations, constants: Constants, imported: Imported, scheme: Scheme) -> Written:
    """Returns the model file: layers between DequantizeLinear and QuantizeLinear, integer constants before DequantizeLinear."""
    return _File(layers, found, constants, imported, scheme).written()


class _File:
    def __init__(self, layers: Layers, found: Quantizations, constants: Constants, imported: Imported, scheme: Scheme):
        self._layers, self._view, self._found, self._stored_constants = layers, layers.view, found, constants
        self._imported, self._scheme = imported, scheme
        self._nodes: list[ModelNode] = []
        self._values: dict[str, numpy.ndarray] = {}
        self._taken = set(self._view.tensors) | set(imported.tensors) | {node.name for node in self._view.nodes}
        self._real: dict[str, str] = {}  # tensor -> the name of its real values, in the type in which it is stored
        self._made: dict[tuple[str, DType], str] = {}  # tensor in a type -> the name of its real values, quantized to the type

    def written(self) -> Written:
        model = self._model()
        border = [value for value in (*model.inputs, *model.outputs) if value.dtype is not self._view.tensor(value.name).dtype]
        stated = {value.name: self._found[value.name, value.dtype] for value in border}
        return Written(model, {**self._real, **{name: name for name in self._view.outputs}}, stated)

    def _model(self) -> OnnxModel:
        inputs = [self._input(name) for name in self._view.inputs]
        for layer in self._layers.layers:
            self._layer(layer)
        outputs = [self._border(name) for name in self._view.outputs]
        read = {name for node in self._nodes for name in node.inputs} | {value.name for value in outputs}
        values = {name: values for name, values in self._values.items() if name in read}
        model, states = self._imported.model, {state.written: state.read for state in self._view.states}
        nodes = tuple(self._nodes)
        return OnnxModel(model.ir_version, model.opsets, "model", nodes, values, tuple(inputs), tuple(outputs), states=states)

    def _border_type(self, name: str) -> DType:
        if self._scheme.io_type == "float32":
            return self._view.tensor(name).dtype
        return self._layers.stored.get(name, self._view.tensor(name).dtype)

    def _input(self, name: str) -> ValueInfo:
        dtype = self._layers.stored.get(name)
        if dtype is not None and self._scheme.io_type != "float32":
            self._made[name, dtype] = self._real[name] = self._dequantize(name, self._found[name, dtype], dtype, f"{name}_real")
        elif dtype is not None:
            self._real[name] = name
            self._real[name] = self._in_type(name, dtype)
        return self._border(name)

    def _border(self, name: str) -> ValueInfo:
        tensor = self._view.tensor(name)
        return ValueInfo(name, self._border_type(name), tensor.dims, names=tensor.names)

    def _layer(self, layer: Layer) -> None:
        for node in layer.nodes:
            self._node(layer, node)
        for name in layer.outputs:
            dtype = self._layers.stored.get(name)
            if dtype is None:
                self._real.setdefault(name, name)
                continue
            is_output = self._view.is_output(name)
            at_border = is_output and self._scheme.io_type != "float32"
            raw = self._real[name]
            stored = self._quantize(raw, self._found[name, dtype], dtype, name if at_border else self._free(f"{name}_quantized"))
            if at_border and not self._view.consumers(name):
                continue
            real = self._dequantize(
                stored, self._found[name, dtype], dtype, name if is_output and not at_border else f"{name}_dequantized"
            )
            self._real[name] = self._made[name, dtype] = real

    def _node(self, layer: Layer, node: Node) -> None:
        written, constants = node_for_file(node, self._imported)
        self._values |= constants
        renamed = {name: self._read(layer, node, place, name) for place, name in enumerate(node.inputs) if name}
        outputs = {}
        for name in node.outputs:
            raw = name
            if name in self._layers.stored and self._view.is_output(name) and name in layer.outputs:
                raw = self._free(f"{name}_float")
            outputs[name] = self._real[name] = raw
        self._nodes.append(
            ModelNode(
                len(self._nodes),
                written.op_type,
                written.domain,
                written.name,
                tuple(renamed.get(name, name) for name in written.inputs),
                tuple(outputs.get(name, name) for name in written.outputs),
                written.attributes,
            )
        )

    def _read(self, layer: Layer, node: Node, place: int, name: str) -> str:
        """Returns the name under which the node reads its input."""
        tensor = self._view.tensor(name)
        if tensor.data is None:
            inner = node is not layer.node
            if not inner and layer.dtype is not None and name in layer.read(self._view):
                return self._in_type(name, layer.dtype)
            return self._real.get(name, name)
        if layer.dtype is None or node is not layer.node or name not in layer.constants(self._view):
            self._values[name] = tensor.data
            return name
        if layer.kind == "linear":
            key = f"{node.name}:{'weights' if place == WEIGHTS else 'bias' if place == BIAS else place}"
            return self._constant(name, self._stored_constants[key])
        return self._constant(name, stored_operand(tensor.data, self._scheme, layer.dtype))

    def _in_type(self, name: str, dtype: DType) -> str:
        """Returns the name of a computed tensor's real values, quantized to this type, even if it is stored in another."""
        if (name, dtype) not in self._made:
            suffix = "" if self._layers.stored.get(name) in (None, dtype) else f"_{dtype.name}"
            quantization = self._found[name, dtype]
            stored = self._quantize(self._real.get(name, name), quantization, dtype, self._free(f"{name}_quantized{suffix}"))
            self._made[name, dtype] = self._dequantize(stored, quantization, dtype, f"{name}_dequantized{suffix}")
        return self._made[name, dtype]

    def _constant(self, name: str, stored: Stored) -> str:
        integers = self._free(f"{name}_quantized")
        self._values[integers] = stored.values
        return self._dequantize(integers, stored.quantization, DType(stored.values.dtype.name), f"{name}_dequantized")

    def _quantize(self, source: str, quantization: Quantization, dtype: DType, result: str) -> str:
        return self._linear("QuantizeLinear", source, quantization, dtype, result)

    def _dequantize(self, source: str, quantization: Quantization, dtype: DType, result: str) -> str:
        return self._linear(
            "DequantizeLinear", source, quantization, dtype, result if result in self._view.outputs else self._free(result)
        )

    def _linear(self, kind: str, source: str, quantization: Quantization, dtype: DType, result: str) -> str:
        scalar = quantization.per_tensor
        scales, points = numpy.array(quantization.scales, numpy.float32), numpy.array(quantization.zero_points, dtype.numpy)
        name = self._free(f"{result}_{kind}")
        parameters = [self._free(f"{result}_scale"), self._free(f"{result}_zero_point")]
        self._values[parameters[0]] = scales.reshape(()) if scalar else scales
        self._values[parameters[1]] = points.reshape(()) if scalar else points
        if dtype is DType.int32:
            del parameters[1]  # 0, the only one that is allowed
        attributes = {} if quantization.axis is None else {"axis": quantization.axis}
        self._nodes.append(ModelNode(len(self._nodes), kind, "", name, (source, *parameters), (result,), attributes))
        return result

    def _free(self, stem: str) -> str:
        """Returns a name that is not taken: the stem, or the stem and a number."""
        name, count = stem, 1
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._taken.add(name)
        return name
