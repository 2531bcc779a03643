# SPDX-License-Identifier: MIT
"""One-operator QDQ models with awkward scales: about 100,000 int8 values per operator, the same from every numpy.

Scales are powers of two, round decimals, such as calibration finds (24 random bits), and a list whose members are twice each
other: with these a value that lies in the middle between two levels is common. `RandomState` is numpy's frozen stream.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy
from onnx import TensorProto, helper, numpy_helper

from aidge_build.contract.reference import cpu
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.view import GraphView
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx

EVERY = (256,)  # each int8 value once
ROUND = (0.05, 0.1, 0.025, 0.02, 0.2, 0.01, 1 / 3, 0.15, 0.3, 0.04, 0.004, 0.5, 0.25, 0.75, 1 / 255, 1 / 127, 0.0235294)
HALVING = (0.0125, 0.025, 0.05, 0.1, 0.2, 0.4)
KINDS = ("powers of two", "round decimals", "calibrated", "doubled")


@dataclass(frozen=True)
class Case:
    """The operator `kind` on inputs of these dims, with `models` different quantizations.

    `lowest`: no value of the first input is below 0; `nonzero`: no value of the second one is 0.
    """

    kind: str
    dims: tuple[tuple[int, ...], ...] = (EVERY,)
    models: int = 400
    attributes: Mapping[str, object] = field(default_factory=dict)
    constants: tuple[numpy.ndarray | None, ...] = ()  # inputs behind the quantized ones; None: not given
    opset: int = 17
    lowest: bool = False
    nonzero: bool = False

    def model(self, quantizations: tuple[Quantization, ...]) -> bytes:
        """The QDQ model with inputs x0, x1, ... and the output y."""
        *given, result = quantizations
        initializers, nodes = [], []

        def parameters(name: str, quantization: Quantization) -> list[str]:
            values = {f"{name}_scale": quantization.scale, f"{name}_zero_point": numpy.int8(quantization.zero_point)}
            initializers.extend(numpy_helper.from_array(numpy.array(value), key) for key, value in values.items())
            return list(values)

        for index, quantization in enumerate(given):
            nodes.append(
                helper.make_node("DequantizeLinear", [f"x{index}", *parameters(f"x{index}", quantization)], [f"r{index}"])
            )
        names = ["" if values is None else f"c{index}" for index, values in enumerate(self.constants)]
        initializers += [
            numpy_helper.from_array(values, name) for values, name in zip(self.constants, names, strict=True) if name
        ]
        nodes.append(helper.make_node(self.kind, [*(f"r{i}" for i in range(len(given))), *names], ["r"], **self.attributes))
        nodes.append(helper.make_node("QuantizeLinear", ["r", *parameters("y", result)], ["y"]))
        inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.INT8, dims) for i, dims in enumerate(self.dims)]
        output = helper.make_tensor_value_info("y", TensorProto.INT8, None)
        graph = helper.make_graph(nodes, "one_operator", inputs, [output], initializers)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", self.opset)]).SerializeToString()

    def quantizations(self, name: str) -> list[tuple[Quantization, ...]]:
        """Of the inputs, then of the output, for each model; the kinds of `KINDS` in turn."""
        random = numpy.random.RandomState(zlib.crc32(name.encode()))
        return [
            tuple(
                per_tensor(_scale(random, number % len(KINDS)), -128 if self.lowest and place == 0 else _zero_point(random))
                for place in range(len(self.dims) + 1)
            )
            for number in range(self.models)
        ]

    def values(self, name: str, quantizations: tuple[Quantization, ...]) -> list[numpy.ndarray]:
        """The stored values of the inputs."""
        if self.dims == (EVERY,):
            return [numpy.arange(-128, 128).astype(numpy.int8)]
        values = list(_random_values(zlib.crc32(name.encode()), self.dims))
        if self.nonzero:
            zero_point = quantizations[1].zero_point
            values[1] = numpy.where(values[1] == zero_point, -1 - zero_point, values[1]).astype(numpy.int8)
        return values

    @functools.cached_property
    def view(self) -> GraphView:
        """The graph after the recipes: one node on quantized tensors, or one that selects elements and a table."""
        return self._simplified(tuple(per_tensor(0.0625 * (1 + place), place - 128) for place in range(len(self.dims) + 1)))

    def _simplified(self, quantizations: tuple[Quantization, ...]) -> GraphView:
        graph, _ = import_onnx(self.model(quantizations), "one_operator.onnx", builtin_operators(), {}, {})
        return simplify(graph)

    def ours(self, name: str, quantizations: tuple[Quantization, ...]) -> numpy.ndarray:
        """What the operator means: its values in one row."""
        if len(self.view.nodes) > 1:  # a table holds its quantizations
            view = self._simplified(quantizations)
            return cpu.run(view, dict(zip(view.inputs, self.values(name, quantizations), strict=True)))[view.outputs[0]].reshape(
                -1
            )
        (node,) = self.view.nodes
        given = iter(quantizations)
        inputs, values = [], iter(self.values(name, quantizations))
        for tensor in self.view.input_tensors(node):
            inputs.append(tensor if tensor is None or tensor.is_constant else tensor.with_(quantization=next(given)))
        outputs = [tensor.with_(quantization=next(given)) for tensor in self.view.output_tensors(node)]
        stored = [tensor.data if tensor is None or tensor.is_constant else next(values) for tensor in inputs]
        return evaluate(node.operator, stored, inputs, outputs)[0].reshape(-1)


@functools.lru_cache(4)
def _random_values(seed: int, dims: tuple[tuple[int, ...], ...]) -> tuple[numpy.ndarray, ...]:
    random = numpy.random.RandomState(seed)
    return tuple(random.randint(-128, 128, one).astype(numpy.int8) for one in dims)


def _scale(random: numpy.random.RandomState, kind: int) -> float:
    if kind == 0:
        return 2.0 ** random.randint(-8, 1)
    if kind == 1:
        return ROUND[random.randint(len(ROUND))]
    if kind == 2:
        return float(random.randint(1 << 23, 1 << 24)) * 2.0 ** -random.randint(25, 33)
    return HALVING[random.randint(len(HALVING))]


def _zero_point(random: numpy.random.RandomState) -> int:
    return int(random.randint(-128, 128)) if random.randint(3) else (0, -128, 3)[random.randint(3)]


def _pair(kind: str, count: int = 2, **keywords) -> Case:
    return Case(kind, ((1600,),) * count, 64, **keywords)


def _numbers(*values: float) -> numpy.ndarray:
    return numpy.array(values, numpy.float32)


def _number(value: float) -> numpy.ndarray:
    return numpy.array(value, numpy.float32)


MAPS = (1, 400, 8, 8)
CASES: dict[str, Case] = {
    # Functions of one value
    **{
        kind: Case(kind)
        for kind in (
            "Abs", "Atan", "Ceil", "Celu", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "LeakyRelu", "Neg",
            "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Tanh", "ThresholdedRelu",
        )
    },  # fmt: skip
    "LeakyRelu, alpha 0.3": Case("LeakyRelu", attributes={"alpha": 0.3}),
    "Clip": Case("Clip", constants=(_number(-1.3), _number(2.15))),
    "Gelu": Case("Gelu", opset=20),
    "Gelu with tanh": Case("Gelu", attributes={"approximate": "tanh"}, opset=20),
    "Log": Case("Log", lowest=True),
    "Mish": Case("Mish", opset=18),
    "Sqrt": Case("Sqrt", lowest=True),
    # Operations on several tensors
    **{kind: _pair(kind) for kind in ("Add", "Max", "Min", "Mul", "PRelu", "Sub")},
    "Concat": _pair("Concat", attributes={"axis": 0}),
    "Div": _pair("Div", nonzero=True),
    "Mean of 3": _pair("Mean", 3),
    "Sum of 3": _pair("Sum", 3),
    # Windows and axes
    "AveragePool 2x2": Case("AveragePool", ((1, 100, 8, 8),), 64, {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "AveragePool 3x3 with pads": Case("AveragePool", ((1, 25, 8, 8),), 64, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    "AveragePool of the map": Case("AveragePool", (MAPS,), 256, {"kernel_shape": [8, 8]}),
    "CumSum": Case("CumSum", ((160, 10),), 64, constants=(numpy.array(1),)),
    "GlobalAveragePool 7x7": Case("GlobalAveragePool", ((1, 400, 7, 7),), 256),
    "GlobalAveragePool 8x8": Case("GlobalAveragePool", (MAPS,), 256),
    "GlobalMaxPool": Case("GlobalMaxPool", (MAPS,), 256),
    "MaxPool": Case("MaxPool", ((1, 100, 8, 8),), 64, {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "ReduceMax": Case("ReduceMax", (MAPS,), 256, {"axes": [2, 3]}),
    "ReduceMean": Case("ReduceMean", (MAPS,), 256, {"axes": [2, 3]}),
    "Resize cubic": Case("Resize", ((1, 6, 8, 8),), 64, {"mode": "cubic"}, (None, _numbers(1, 1, 2, 2))),
    "Resize linear": Case("Resize", ((1, 6, 8, 8),), 64, {"mode": "linear"}, (None, _numbers(1, 1, 2, 2))),
    "Resize nearest": Case("Resize", ((1, 6, 8, 8),), 64, {"mode": "nearest"}, (None, _numbers(1, 1, 2, 2))),
    "Softmax of 10": Case("Softmax", ((160, 10),), 64),
    "Softmax of 100": Case("Softmax", ((16, 100),), 64),
}  # fmt: skip
