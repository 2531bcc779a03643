# SPDX-License-Identifier: MIT
"""Writes a trained network as ONNX: float32, or int8 after post-training quantization.

Quantization as the common tools do it: weights symmetric int8 with one scale per output channel, biases int32 with scale
(input scale * weight scale), activations asymmetric int8 with one scale per tensor, from the smallest and largest value seen in
calibration. The int8 file keeps the float operators between DequantizeLinear and QuantizeLinear ("QDQ").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
from network import KERNEL, Network
from onnx import TensorProto, helper, numpy_helper

OPSET = 13
IR_VERSION = 7


@dataclass(frozen=True)
class Quantization:
    """real = scale * (int8 - zero_point)."""

    scale: np.float32
    zero_point: int


# A pixel p of 0..16 is the real value p / 16 and the int8 8 p - 64, all three exactly.
INPUT = Quantization(np.float32(1 / 128), -64)


@dataclass(frozen=True)
class Layer:
    """A convolution or fully connected layer in ONNX order: weights [outputs][...], bias [outputs], both float32."""

    name: str
    weights: np.ndarray
    bias: np.ndarray


def onnx_layers(network: Network) -> tuple[Layer, ...]:
    """Return the three convolutions and the classifier in the order of ONNX, channels before rows and columns."""
    layers = []
    for number, convolution in enumerate(network.convolutions, start=1):
        kernel = convolution.grid_weights().reshape(KERNEL, KERNEL, convolution.inputs, convolution.outputs)
        layers.append(Layer(f"conv{number}", _float32(kernel.transpose(3, 2, 0, 1)), _float32(convolution.grid_bias())))
    matrix = network.classifier.grid_weights().reshape(2, 2, -1, 10).transpose(3, 2, 0, 1).reshape(10, -1)
    layers.append(Layer("classifier", _float32(matrix), _float32(network.classifier.grid_bias())))
    return tuple(layers)


def calibrate(network: Network, images: np.ndarray) -> tuple[Quantization, ...]:
    """Return the quantization of the output of each layer of `onnx_layers`, from the range of its values on `images`."""
    ranges: dict[int, tuple[float, float]] = {}

    def see(layer: object, output: np.ndarray) -> None:
        ranges[id(layer)] = (min(0.0, float(output.min())), max(0.0, float(output.max())))

    network.forward(images, see)
    return tuple(_quantization(*ranges[id(layer)]) for layer in (*network.convolutions, network.classifier))


def _quantization(smallest: float, largest: float) -> Quantization:
    scale = np.float32((largest - smallest) / 255)
    return Quantization(scale, int(np.clip(-128 - np.rint(smallest / float(scale)), -128, 127)))


def float_model(layers: tuple[Layer, ...]) -> onnx.ModelProto:
    """Return the float32 model: image float32 [1][1][8][8] with values 0 to 1, scores float32 [1][10]."""
    graph = _Graph()
    scores = _operators(graph, "image", layers, graph.float_constants, lambda value, layer: value)
    return graph.model("digits_float", TensorProto.FLOAT, scores)


def qdq_model(layers: tuple[Layer, ...], activations: tuple[Quantization, ...]) -> onnx.ModelProto:
    """Return the int8 model: image int8 [1][1][8][8] as in INPUT, scores int8 [1][10]."""
    graph = _Graph()
    current = INPUT
    outputs = dict(zip((layer.name for layer in layers), activations, strict=True))

    def constants(layer: Layer) -> tuple[str, str]:
        return graph.quantized_constants(layer, current)

    def requantize(value: str, layer: Layer | None) -> str:
        """Quantize and dequantize: to a layer's own range, or after a pool or Flatten to the range that it was given."""
        nonlocal current
        current = outputs[layer.name] if layer else current
        return graph.dequantize(graph.quantize(value, current), current)

    scores = _operators(graph, graph.dequantize("image", INPUT), layers, constants, requantize)
    last_dequantize = graph.nodes.pop()
    assert last_dequantize.output[0] == scores
    return graph.model("digits", TensorProto.INT8, last_dequantize.input[0])


def _operators(
    graph: _Graph,
    value: str,
    layers: tuple[Layer, ...],
    constants: Callable[[Layer], tuple[str, str]],
    finish: Callable[[str, Layer | None], str],
) -> str:
    """Add the network's operators and return the scores' name; `finish` is called with each operator's result."""
    first, second, third, classifier = layers

    def convolution(value: str, layer: Layer) -> str:
        shape = {"kernel_shape": [KERNEL, KERNEL], "pads": [1, 1, 1, 1]}
        sums = graph.operator("Conv", layer.name, [value, *constants(layer)], **shape)
        return finish(graph.operator("Relu", f"{layer.name}_relu", [sums]), layer)

    def pool(value: str, name: str) -> str:
        return finish(graph.operator("MaxPool", name, [value], kernel_shape=[2, 2], strides=[2, 2]), None)

    value = pool(convolution(convolution(value, first), second), "pool1")
    value = pool(convolution(value, third), "pool2")
    value = finish(graph.operator("Flatten", "flatten", [value]), None)
    return finish(graph.operator("Gemm", classifier.name, [value, *constants(classifier)], transB=1), classifier)


class _Graph:
    """Nodes and constants of an ONNX graph, in the order in which they were added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, values: np.ndarray) -> str:
        self.constants[name] = numpy_helper.from_array(np.array(values, order="C"), name)
        return name

    def operator(self, op_type: str, name: str, inputs: list[str], **attributes: object) -> str:
        self.nodes.append(helper.make_node(op_type, inputs, [name], name=name, **attributes))
        return name

    def quantize(self, value: str, quantization: Quantization) -> str:
        return self.operator("QuantizeLinear", f"{value}_quantized", [value, *self._parameters(value, quantization)])

    def dequantize(self, value: str, quantization: Quantization) -> str:
        name = value.removesuffix("_quantized")
        return self.operator("DequantizeLinear", f"{name}_dequantized", [value, *self._parameters(name, quantization)])

    def _parameters(self, name: str, quantization: Quantization) -> list[str]:
        scale = self.constant(f"{name}_scale", np.array(quantization.scale, np.float32))
        return [scale, self.constant(f"{name}_zero_point", np.array(quantization.zero_point, np.int8))]

    def float_constants(self, layer: Layer) -> tuple[str, str]:
        return self.constant(f"{layer.name}_weights", layer.weights), self.constant(f"{layer.name}_bias", layer.bias)

    def quantized_constants(self, layer: Layer, of_input: Quantization) -> tuple[str, str]:
        """Add int8 weights and int32 bias with their DequantizeLinear, and return the names of its results."""
        largest = np.abs(layer.weights).reshape(len(layer.weights), -1).max(axis=1)
        scales = (largest / np.float32(127)).astype(np.float32)
        per_channel = scales.reshape(-1, *[1] * (layer.weights.ndim - 1))
        weights = np.clip(np.rint(layer.weights / per_channel), -127, 127).astype(np.int8)
        bias_scales = of_input.scale * scales
        bias = np.rint(layer.bias / bias_scales).astype(np.int32)
        return (
            self._dequantized_constant(f"{layer.name}_weights", weights, scales),
            self._dequantized_constant(f"{layer.name}_bias", bias, bias_scales),
        )

    def _dequantized_constant(self, name: str, values: np.ndarray, scales: np.ndarray) -> str:
        zero_points = self.constant(f"{name}_zero_point", np.zeros(len(scales), values.dtype))
        inputs = [self.constant(name, values), self.constant(f"{name}_scale", scales), zero_points]
        return self.operator("DequantizeLinear", f"{name}_dequantized", inputs, axis=0)

    def model(self, name: str, element_type: int, scores: str) -> onnx.ModelProto:
        """Return the checked model from `image` to the scores, which are given the name `scores`."""
        self.nodes[-1].output[0] = "scores"
        assert self.nodes[-1].name == scores
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info("image", element_type, [1, 1, 8, 8])],
            [helper.make_tensor_value_info("scores", element_type, [1, 10])],
            list(self.constants.values()),
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="aidge_build digits example")
        onnx.checker.check_model(model, full_check=True)
        return model


def _float32(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32)
