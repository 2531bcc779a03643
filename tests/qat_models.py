# SPDX-License-Identifier: MIT
"""Networks as the exporters of quantization-aware training write them, node for node: Brevitas (QCDQ), PyTorch in eager mode
(prepare_qat), PyTorch 2 (PT2E), Keras (by way of tf2onnx). Weights are random; structure, types and places of quantizers are
those of the files that these tools wrote in November 2026, for Keras those that tf2onnx is known to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

F = numpy.float32
SIZE, IMAGE, MIDDLE, LAST, CLASSES = 16, 3, 16, 24, 6
UNSIGNED, SIGNED = numpy.uint8, numpy.int8


@dataclass
class Parts:
    """Nodes and constants of one network in a file of several; every name begins with that of the network."""

    name: str
    random: numpy.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    per_channel: bool = True

    def constant(self, values) -> str:
        name = f"{self.name}_c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def op(self, kind: str, *inputs: str, **attributes) -> str:
        name = f"{self.name}_{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def quantized(self, x: str, scale: float, point: int = 0, dtype: type = UNSIGNED) -> str:
        """QuantizeLinear and DequantizeLinear."""
        numbers = self.constant(F(scale)), self.constant(numpy.array(point, dtype))
        return self.op("DequantizeLinear", self.op("QuantizeLinear", x, *numbers), *numbers)

    def weights(self, way: str, *dims: int, axis: int = 0) -> str:
        """`way`: int8 that is clipped ("qcdq"), int8 ("stored"), or floats that are quantized ("real")."""
        real = self.random.normal(0, 1.5 / numpy.sqrt(numpy.prod(dims) / dims[axis]), dims)
        others = tuple(place for place in range(len(dims)) if place != axis)
        largest = numpy.abs(real).max(axis=others if self.per_channel else None)
        scale, points = F(largest / 127), numpy.zeros(numpy.shape(largest), SIGNED)
        along = numpy.expand_dims(scale, others) if self.per_channel else scale
        kept = {"axis": axis} if self.per_channel else {}
        stored = self.constant(real.astype(F) if way == "real" else numpy.rint(real / along).astype(SIGNED))
        numbers = self.constant(scale), self.constant(points)
        if way == "real":
            stored = self.op("QuantizeLinear", stored, *numbers, **kept)
        if way == "qcdq":
            stored = self.op("Clip", stored, self.constant(SIGNED(-127)), self.constant(SIGNED(127)))
        return self.op("DequantizeLinear", stored, *numbers, **kept)

    def bias(self, count: int) -> str:
        return self.constant(self.random.normal(0, 0.3, count).astype(F))

    def stored_bias(self, count: int) -> str:
        """int32 by a scale of its own."""
        values = self.random.integers(-900, 900, count).astype(numpy.int32)
        return self.op("DequantizeLinear", self.constant(values), self.constant(F(0.00037)), self.constant(numpy.int32(0)))


def brevitas(parts: Parts, x: str, stored: bool = False) -> str:
    bias = parts.stored_bias if stored else parts.bias
    x = parts.quantized(x, 0.031, 0, SIGNED)
    for number, (inputs, outputs, kernel, group) in enumerate(LAYERS):
        weights = parts.weights("qcdq", outputs, inputs // group, kernel, kernel)
        x = parts.op("Conv", x, weights, bias(outputs), pads=[kernel // 2] * 4, group=group, kernel_shape=[kernel] * 2)
        x = parts.quantized(parts.op("Relu", x), 0.021 - 0.003 * number)
    x = parts.op("Flatten", parts.op("MaxPool", x, kernel_shape=[4, 4], strides=[4, 4]))
    return parts.op("Gemm", x, parts.weights("qcdq", CLASSES, LAST * 16), bias(CLASSES), transB=1)


def brevitas_with_stored_bias(parts: Parts, x: str) -> str:
    return brevitas(parts, x, stored=True)


def brevitas_products(parts: Parts, x: str) -> str:
    x = parts.quantized(parts.op("Flatten", x), 0.031, 0, SIGNED)
    sizes = [IMAGE * SIZE * SIZE, 64, 32]
    for inputs, outputs in zip(sizes, sizes[1:]):
        x = parts.op("Gemm", x, parts.weights("qcdq", outputs, inputs), parts.bias(outputs), transB=1)
        x = parts.quantized(parts.op("Relu", x), 0.024)
    return parts.op("Gemm", x, parts.weights("qcdq", CLASSES, sizes[-1]), parts.bias(CLASSES), transB=1)


def eager(parts: Parts, x: str, dtype: type = UNSIGNED) -> str:
    """Weights are multiplied with what batch normalization will multiply with, and the result is divided by that."""
    point = 0 if dtype is UNSIGNED else -128
    x = parts.quantized(x, 0.025, 128 + point, dtype)
    for number, (inputs, outputs, kernel, group) in enumerate(LAYERS):
        factors = parts.random.uniform(0.4, 1.8, outputs).astype(F)
        zeros = parts.constant(numpy.zeros(outputs, F))
        x = parts.op("Conv", x, parts.weights("real", outputs, inputs // group, kernel, kernel), zeros, **_window(kernel, group))
        x = parts.op("Div", x, parts.constant(factors.reshape(1, -1, 1, 1)))
        normal = [parts.random.uniform(0.6, 1.4, outputs), *parts.random.normal(0, 0.2, (2, outputs))]
        numbers = [*normal, parts.random.uniform(0.5, 1.5, outputs)]
        x = parts.op("BatchNormalization", x, *(parts.constant(values.astype(F)) for values in numbers))
        x = parts.quantized(parts.op("Relu", x), 0.023 + 0.004 * number, point, dtype)
    x = parts.op("Flatten", parts.op("GlobalAveragePool", x))
    x = parts.op("Gemm", x, parts.weights("real", CLASSES, LAST), parts.bias(CLASSES), transB=1)
    return parts.quantized(x, 0.013, 128 + point, dtype)


def eager_signed(parts: Parts, x: str) -> str:
    return eager(parts, x, SIGNED)


def pt2e(parts: Parts, x: str, activation: str = "Relu", dtype: type = UNSIGNED) -> str:
    """The mean, and what a view hands on, are quantized twice; the last layer is not."""
    point = 0 if dtype is UNSIGNED else -128
    x = parts.quantized(x, 0.027, 121 + point, dtype)
    for number, (inputs, outputs, kernel, group) in enumerate(LAYERS):
        weights = parts.weights("stored", outputs, inputs // group, kernel, kernel)
        x = parts.op(activation, parts.op("Conv", x, weights, parts.bias(outputs), **_window(kernel, group)))
        x = parts.quantized(x, 0.019 + 0.002 * number, point + 18 * (activation == "HardSwish"), dtype)
    x = parts.quantized(parts.op("ReduceMean", x, parts.constant(numpy.array([2, 3])), keepdims=1), 0.0093, point, dtype)
    x = parts.quantized(parts.op("Reshape", x, parts.constant(numpy.array([1, LAST]))), 0.0093, point, dtype)
    return parts.op("Gemm", x, parts.weights("stored", CLASSES, LAST), parts.bias(CLASSES), transB=1)


def pt2e_hard_swish(parts: Parts, x: str) -> str:
    return pt2e(parts, x, "HardSwish", SIGNED)


def keras(parts: Parts, x: str) -> str:
    """Data are NHWC; the matrix of the last layer is [inputs, outputs]."""
    x = parts.op("Transpose", parts.quantized(x, 0.026, 3, SIGNED), perm=[0, 3, 1, 2])
    for number, (inputs, outputs, kernel, group) in enumerate(LAYERS):
        weights = parts.weights("real", outputs, inputs // group, kernel, kernel)
        x = parts.op("Conv", x, weights, parts.bias(outputs), **_window(kernel, group))
        x = parts.op("Clip", x, parts.constant(F(0)), parts.constant(F(6)))
        x = parts.quantized(x, (0.0173, 0.0235, 6 / 255)[number], -128, SIGNED)
    x = parts.op("Reshape", parts.op("GlobalAveragePool", x), parts.constant(numpy.array([1, LAST])))
    x = parts.quantized(x, 0.0111, -128, SIGNED)
    parts.per_channel = False
    x = parts.op("Add", parts.op("MatMul", x, parts.weights("real", LAST, CLASSES, axis=1)), parts.bias(CLASSES))
    return parts.quantized(x, 0.0153, 9, SIGNED)


def _window(kernel: int, group: int) -> dict:
    return {"pads": [kernel // 2] * 4, "group": group, "kernel_shape": [kernel] * 2, "strides": [1, 1], "dilations": [1, 1]}


# inputs, outputs, kernel, group
LAYERS = ((IMAGE, MIDDLE, 3, 1), (MIDDLE, MIDDLE, 3, MIDDLE), (MIDDLE, LAST, 1, 1))
# name: what writes it, whether weights have a scale for each channel
NETWORKS: Mapping[str, tuple[Callable[[Parts, str], str], bool]] = {
    "brevitas": (brevitas, True),
    "brevitastensor": (brevitas, False),
    "brevitasbias": (brevitas_with_stored_bias, True),
    "brevitasfc": (brevitas_products, True),
    "eager": (eager, True),
    "eagertensor": (eager, False),
    "eagersigned": (eager_signed, True),
    "pt2e": (pt2e, True),
    "pt2eswish": (pt2e_hard_swish, True),
    "keras": (keras, True),
}


def qat_model(*names: str) -> bytes:
    """These networks in one file: an input x_<name> and an output y_<name> for each."""
    nodes, constants, inputs, outputs = [], [], [], []
    for name in names:
        write, per_channel = NETWORKS[name]
        parts = Parts(name, numpy.random.default_rng(len(name)), per_channel=per_channel)
        dims = [1, SIZE, SIZE, IMAGE] if write is keras else [1, IMAGE, SIZE, SIZE]
        result = write(parts, f"x_{name}")
        parts.nodes.append(helper.make_node("Identity", [result], [f"y_{name}"], name=f"{name}_last"))
        nodes += parts.nodes
        constants += parts.constants
        inputs.append(helper.make_tensor_value_info(f"x_{name}", TensorProto.FLOAT, dims))
        outputs.append(helper.make_tensor_value_info(f"y_{name}", TensorProto.FLOAT, [1, CLASSES]))
    graph = helper.make_graph(nodes, "qat", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 8
    return model.SerializeToString()
