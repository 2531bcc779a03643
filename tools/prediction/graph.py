# SPDX-License-Identifier: MIT
"""Grows ONNX graphs of int8 (QDQ) or float32 layers with random weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from onnx import ModelProto, TensorProto, helper, numpy_helper, shape_inference

LARGEST_SPREAD = 60  # of random int8 weights
RELU, RELU6, NONE = "relu", "relu6", ""


@dataclass(frozen=True)
class Value:
    """A tensor of the graph under construction: its name, dims and scale."""

    name: str
    dims: tuple[int, ...]
    scale: float


class Graph:
    """Adds layers one by one; every random number comes from the seed. `quantized`: each tensor gets a QuantizeLinear and a
    DequantizeLinear."""

    def __init__(self, seed: int, quantized: bool, shares_scales: bool = False, is_narrow: bool = False):
        self.random = numpy.random.default_rng(seed)
        self.quantized = quantized
        self.shares_scales = shares_scales  # all channels of weights have one
        self.is_narrow = is_narrow  # weights have 4 bits, or one
        self._nodes: list = []
        self._constants: list = []
        self._inputs: list = []
        self._outputs: list = []

    def pick(self, *choices):
        """One of the choices."""
        return choices[int(self.random.integers(len(choices)))]

    def constant(self, values) -> str:
        """A constant's name."""
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def node(self, kind: str, inputs: Sequence[str], **attributes) -> str:
        """A node's output."""
        name = f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], f"{kind}_{len(self._nodes)}", **attributes))
        return name

    def input(self, *dims: int) -> Value:
        """An input of the graph."""
        name = f"x{len(self._inputs)}"
        self._inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
        return self.stored(name, dims, 0.02, -3)

    def output(self, value: Value) -> None:
        """Hands the value out."""
        name = f"y{len(self._outputs)}"
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, value.dims))

    def stored(self, name: str, dims: Sequence[int], scale: float, zero_point: int = 0) -> Value:
        """The tensor with this quantization, where the graph is quantized."""
        if self.quantized:
            numbers = [self.constant(numpy.float32(scale)), self.constant(numpy.int8(zero_point))]
            name = self.node("DequantizeLinear", [self.node("QuantizeLinear", [name, *numbers]), *numbers])
        return Value(name, tuple(dims), scale)

    def activated(self, name: str, dims: Sequence[int], activation: str) -> Value:
        """What an activation makes of a layer's sums."""
        if activation == RELU:
            return self.stored(self.node("Relu", [name]), dims, float(self.random.uniform(0.008, 0.03)), -128)
        if activation == RELU6:
            ends = [self.constant(numpy.float32(end)) for end in (0, 6)]
            return self.stored(self.node("Clip", [name, *ends]), dims, 6 / 255, -128)
        return self.stored(name, dims, float(self.random.uniform(0.01, 0.05)), int(self.random.integers(-40, 40)))

    def weights(self, dims: Sequence[int], axis: int, fan_in: int, scale: float) -> list[str]:
        """Weights and bias whose sums spread like the inputs; one scale for each index of the axis, or for all."""
        count = dims[axis]
        if not self.quantized:
            values = self.random.normal(size=dims) / numpy.sqrt(fan_in)
            return [self.constant(values.astype(numpy.float32)), self.constant(numpy.float32(self.random.normal(0, 0.2, count)))]
        spread, values = self._narrow(dims) if self.is_narrow else self._wide(dims)
        scales = (self.random.uniform(0.6, 1.4, count) / (spread * numpy.sqrt(fan_in))).astype(numpy.float32)
        if self.shares_scales:
            scales[:] = scales[0]
        zeros = self.constant(numpy.zeros(count, numpy.int8))
        weights = self.node("DequantizeLinear", [self.constant(values), self.constant(scales), zeros], axis=axis)
        steps = (scales * numpy.float32(scale)).astype(numpy.float32)
        biases = numpy.rint(self.random.normal(0, 0.5, count) / steps).astype(numpy.int32)
        bias = [self.constant(biases), self.constant(steps), self.constant(numpy.zeros(count, numpy.int32))]
        return [weights, self.node("DequantizeLinear", bias, axis=0)]

    def _wide(self, dims: Sequence[int]) -> tuple[float, numpy.ndarray]:
        """The spread of weights, and the weights as int8."""
        spread = self.random.uniform(LARGEST_SPREAD / 4, LARGEST_SPREAD)
        draw = self.pick(self.random.normal, self.random.laplace)
        return spread, numpy.clip(numpy.rint(draw(0, spread, dims)), -127, 127).astype(numpy.int8)

    def _narrow(self, dims: Sequence[int]) -> tuple[float, numpy.ndarray]:
        """The same of few bits; of 4 bits with and without the lowest number."""
        if self.pick(True, False, False):
            return 1.0, self.random.choice(numpy.array([-1, 1], numpy.int8), dims)
        lowest = self.pick(-8, -7)
        return 2.5, numpy.clip(numpy.rint(self.random.normal(0, 2.5, dims)), lowest, 7).astype(numpy.int8)

    def convolution(
        self,
        source: Value,
        channels: int,
        kernel: Sequence[int],
        stride: Sequence[int] | int = 1,
        groups: int = 1,
        dilation: int = 1,
        activation: str = RELU,
        same: bool = True,
    ) -> Value:
        """A convolution over as many axes as the kernel has; `same`: with pads around."""
        strides = [stride] * len(kernel) if isinstance(stride, int) else list(stride)
        dims = (channels, source.dims[1] // groups, *kernel)
        pads = [dilation * (size - 1) // 2 if same else 0 for size in kernel]
        name = self.node(
            "Conv",
            [source.name, *self.weights(dims, 0, int(numpy.prod(dims[1:])), source.scale)],
            kernel_shape=list(kernel),
            strides=strides,
            pads=pads * 2,
            group=groups,
            dilations=[dilation] * len(kernel),
        )
        sizes = [
            (size + 2 * pad - dilation * (extent - 1) - 1) // step + 1
            for size, pad, extent, step in zip(source.dims[2:], pads, kernel, strides)
        ]
        return self.activated(name, (source.dims[0], channels, *sizes), activation)

    def transposed(self, source: Value, channels: int) -> Value:
        """A transposed convolution that doubles an image."""
        batch, before, height, width = source.dims
        both = self.weights((before, channels, 2, 2), 1, before, source.scale)
        name = self.node("ConvTranspose", [source.name, *both], kernel_shape=[2, 2], strides=[2, 2])
        return self.stored(name, (batch, channels, 2 * height, 2 * width), 0.02, -3)

    def dense(self, source: Value, outputs: int, activation: str = NONE) -> Value:
        """A fully connected layer; over the last axis where there are more than two."""
        inputs = source.dims[-1]
        if len(source.dims) == 2:
            both = self.weights((outputs, inputs), 0, inputs, source.scale)
            name = self.node("Gemm", [source.name, *both], transB=1)
        else:
            weights, bias = self.weights((inputs, outputs), 1, inputs, source.scale)
            name = self.node("Add", [self.node("MatMul", [source.name, weights]), bias])
        return self.activated(name, (*source.dims[:-1], outputs), activation)

    def product(self, first: Value, second: Value) -> Value:
        """A product of two matrices, neither of which is constant."""
        dims = (*first.dims[:-1], second.dims[-1])
        return self.stored(self.node("MatMul", [first.name, second.name]), dims, 0.03, 2)

    def both(self, kind: str, first: Value, second: Value, activation: str = NONE) -> Value:
        """A sum or product, element by element."""
        dims = numpy.broadcast_shapes(first.dims, second.dims)
        return self.activated(self.node(kind, [first.name, second.name]), dims, activation)

    def curve(self, kind: str, source: Value) -> Value:
        """A function of each element."""
        scale, zero_point = {"Sigmoid": (1 / 256, -128), "HardSigmoid": (1 / 256, -128), "Tanh": (1 / 128, 0)}.get(
            kind, (0.03, -90)
        )
        return self.stored(self.node(kind, [source.name]), source.dims, scale, zero_point)

    def pool(self, kind: str, source: Value, kernel: Sequence[int], stride: int, pad: int = 0) -> Value:
        """MaxPool or AveragePool."""
        count = len(kernel)
        name = self.node(kind, [source.name], kernel_shape=list(kernel), strides=[stride] * count, pads=[pad] * 2 * count)
        sizes = [(size + 2 * pad - extent) // stride + 1 for size, extent in zip(source.dims[2:], kernel)]
        return self.stored(name, (*source.dims[:2], *sizes), source.scale, -100)

    def mean(self, source: Value, keep: bool) -> Value:
        """The mean of each channel."""
        whole = {"kernel_shape": list(source.dims[2:])}
        name = self.pick(
            lambda: self.node("GlobalAveragePool", [source.name]), lambda: self.node("AveragePool", [source.name], **whole)
        )()
        if not keep:
            name = self.node("Flatten", [name])
        dims = (*source.dims[:2], *([1] * (len(source.dims) - 2) * keep))
        return self.stored(name, dims, source.scale * self.pick(1.0, float(self.random.uniform(0.3, 1.2))), -60)

    def flat(self, source: Value) -> Value:
        """All of an element of the batch in a row."""
        name = self.node("Flatten", [source.name])
        return Value(name, (source.dims[0], int(numpy.prod(source.dims[1:]))), source.scale)

    def softmax(self, source: Value) -> Value:
        """Over the last axis."""
        return self.stored(self.node("Softmax", [source.name], axis=-1), source.dims, 1 / 256, -128)

    def concatenation(self, first: Value, second: Value) -> Value:
        """By channels."""
        dims = (first.dims[0], first.dims[1] + second.dims[1], *first.dims[2:])
        return self.stored(self.node("Concat", [first.name, second.name], axis=1), dims, 0.02, -64)

    def doubled(self, source: Value, mode: str) -> Value:
        """An image twice as large."""
        batch, channels, height, width = source.dims
        sizes = self.constant(numpy.array([1, 1, 2, 2], numpy.float32))
        words = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"} if mode == "nearest" else {}
        name = self.node("Resize", [source.name, "", sizes], mode=mode, **words)
        return self.stored(name, (batch, channels, 2 * height, 2 * width), source.scale, -128)

    def normalized(self, source: Value) -> Value:
        """LayerNormalization over the last axis."""
        numbers = [numpy.float32(self.random.normal(middle, 0.1, source.dims[-1])) for middle in (1, 0)]
        name = self.node("LayerNormalization", [source.name, *map(self.constant, numbers)], axis=-1)
        return self.stored(name, source.dims, 0.03)

    def turned(self, source: Value, dims: Sequence[int], order: Sequence[int]) -> Value:
        """Reshape and Transpose."""
        name = self.node("Reshape", [source.name, self.constant(numpy.array(dims, numpy.int64))])
        name = self.node("Transpose", [name], perm=list(order))
        return Value(name, tuple(dims[axis] for axis in order), source.scale)

    def reshaped(self, source: Value, *dims: int) -> Value:
        """Other dims of the same elements."""
        name = self.node("Reshape", [source.name, self.constant(numpy.array(dims, numpy.int64))])
        return Value(name, dims, source.scale)

    def model(self) -> ModelProto:
        """The graph as a model."""
        graph = helper.make_graph(self._nodes, "layers", self._inputs, self._outputs, self._constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = 8
        return shape_inference.infer_shapes(made)
