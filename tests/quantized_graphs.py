# SPDX-License-Identifier: MIT
"""int8 networks built node by node as graphs on quantized tensors, without an ONNX file; every random decision comes from the
seed."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node, graph_view
from aidge_build.operators.base import Operator
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.window import Window

DEAD_BIAS = 1 << 24  # far above every sum of these networks


class QuantizedGraph:
    """Tensors have the names x, t1, t2, ...; `dead` channels of a layer get a bias that saturates them, or weights of 0."""

    def __init__(self, dims: tuple[int, ...], seed: int = 0, zero_point: int = -3):
        self.random = numpy.random.default_rng(seed)
        self.tensors = {"x": Tensor("x", dims, DType.int8, quantization=per_tensor(0.05, zero_point))}
        self.nodes: list[Node] = []

    def dims(self, name: str) -> tuple[int, ...]:
        return self.tensors[name].dims

    def add(self, operator: Operator, *inputs: str, scale: float = 0.1, zero_point: int | None = None) -> str:
        """The output's name; `zero_point` None: the quantization of the first input."""
        (kind,) = operator.infer([self.tensors[name] for name in inputs])
        name = f"t{len(self.nodes) + 1}"
        quantization = self.tensors[inputs[0]].quantization if zero_point is None else per_tensor(scale, zero_point)
        self.tensors[name] = Tensor(name, kind.dims, DType.int8, quantization=quantization)
        self.nodes.append(Node(f"{operator.type}_{name}", operator, inputs, (name,)))
        return name

    def constant(self, values: numpy.ndarray, quantization: Quantization | None = None) -> str:
        name = f"c{len(self.tensors)}"
        self.tensors[name] = constant(name, values, quantization)
        return name

    def linear(
        self,
        operator: Conv | FC,
        data: str,
        weights: numpy.ndarray,
        bias: numpy.ndarray,
        *,
        scale: float = 0.3,
        zero_point: int = 4,
        per_channel: bool = False,
        with_bias: bool = True,
    ) -> str:
        """A convolution or fully connected layer."""
        count = len(weights) if per_channel else 1
        scales = tuple(float(scale) for scale in self.random.uniform(0.004, 0.009, count).astype(numpy.float32))
        axis = 0 if per_channel else None
        names = [data, self.constant(weights.astype(numpy.int8), Quantization(scales, (0,) * count, axis))]
        if with_bias:
            units = tuple(scale * float(self.tensors[data].quantization.scale) for scale in scales)
            names.append(self.constant(bias.astype(numpy.int32), Quantization(units, (0,) * count, axis)))
        return self.add(operator, *names, scale=scale, zero_point=zero_point)

    def convolution(
        self,
        data: str,
        outputs: int,
        kernel: int = 1,
        pad: int = 0,
        stride: int = 1,
        *,
        depthwise: bool = False,
        dead: numpy.ndarray | None = None,
        low: float = -numpy.inf,
        **keywords,
    ) -> str:
        """Random weights; `dead` holds per channel 0 (alive), 1 (always high), -1 (always low), 2 (weights 0)."""
        channels = self.dims(data)[1]
        groups = channels if depthwise else 1
        window = Window((kernel,) * 2, (stride,) * 2, (1, 1), (pad,) * 2, (pad,) * 2)
        weights, bias = self._values((outputs, channels // groups, kernel, kernel), dead)
        return self.linear(Conv(minimum=low, window=window, groups=groups, depthwise=depthwise), data, weights, bias, **keywords)

    def fully_connected(self, data: str, outputs: int, dead: numpy.ndarray | None = None, **keywords) -> str:
        weights, bias = self._values((outputs, self.dims(data)[1]), dead)
        return self.linear(FC(), data, weights, bias, **keywords)

    def _values(self, shape: tuple[int, ...], dead: numpy.ndarray | None) -> tuple[numpy.ndarray, numpy.ndarray]:
        weights, bias = self.random.integers(-128, 128, shape), self.random.integers(-4000, 4000, shape[0])
        kinds = numpy.zeros(shape[0], int) if dead is None else numpy.asarray(dead)
        bias = numpy.where(kinds == 1, DEAD_BIAS, numpy.where(kinds == -1, -DEAD_BIAS, bias))
        return numpy.where((kinds == 2).reshape(-1, *(1,) * (len(shape) - 1)), 0, weights), bias

    def view(self, *outputs: str) -> GraphView:
        return graph_view("quantized", self.nodes, self.tensors, ["x"], outputs)
