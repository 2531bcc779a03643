# SPDX-License-Identifier: MIT
"""Models with QONNX's quantizers, and inputs that hit every level and the middle between two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy
import onnx
from onnx import helper, numpy_helper

FILE = Path(__file__).with_name("qonnx.npz")
FLOAT = onnx.TensorProto.FLOAT
DOMAIN = "qonnx.custom_op.general"
COUNT = 64
ROUNDINGS = ("ROUND", "CEIL", "FLOOR", "UP", "DOWN", "HALF_UP", "HALF_DOWN")


def inputs(scale: float, seed: int = 0) -> numpy.ndarray:
    """[1, 4, 16]: levels, the middle between them, values around, and some far outside."""
    random = numpy.random.default_rng(seed)
    steps = numpy.concatenate(
        [numpy.arange(-12, 12) / 2, random.normal(size=30) * 6, [-300, 300, -127, 127, -128, 128, 0, -0.0, 255, 256]]
    )
    return (steps * scale).astype(numpy.float32).reshape(1, 4, 16)


def quantizer(kind: str, constants: dict[str, object], **attributes) -> onnx.ModelProto:
    """A model of one quantizer on x."""
    node = helper.make_node(kind, ["x", *constants], ["y"], domain=DOMAIN, **attributes)
    tensors = [numpy_helper.from_array(numpy.asarray(value, numpy.float32), name) for name, value in constants.items()]
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", FLOAT, (1, 4, 16))],
        [helper.make_tensor_value_info("y", FLOAT, (1, 4, 16))],
        tensors,
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)])


def quantizers() -> Iterator[tuple[str, onnx.ModelProto, numpy.ndarray]]:
    """Name, model and input of every case."""
    for bits in (1, 2, 3, 4, 5, 7, 8, 12, 16):
        for signed, narrow in ((1, 0), (1, 1), (0, 0), (0, 1)):
            if bits > 1 or not narrow:
                yield _quant(f"quant {bits} signed {signed} narrow {narrow}", 0.37, 0, bits, signed=signed, narrow=narrow)
    for rounding in ROUNDINGS:
        yield _quant(f"quant rounding {rounding}", 0.25, 0, 4, signed=1, narrow=0, rounding_mode=rounding)
    for zero in (1, 4):
        yield _quant(f"quant zero point {zero}", 0.25, zero, 4, signed=0, narrow=0)
    scales = numpy.array([0.1, 0.2, 0.37, 0.5], numpy.float32).reshape(1, 4, 1)
    yield _quant("quant scale per channel", scales, 0, 4, signed=1, narrow=1)
    yield _quant("quant scale along two axes", scales * numpy.linspace(1, 2, 16, dtype=numpy.float32), 0, 6, signed=1, narrow=0)
    yield "bipolar", quantizer("BipolarQuant", {"s": 0.3}), inputs(0.3)
    yield "bipolar per channel", quantizer("BipolarQuant", {"s": scales}), inputs(0.3)
    for rounding in ("FLOOR", "ROUND", "CEIL"):
        first = {"s": 0.125, "z": 0, "i": 8, "o": 5}
        yield f"trunc 1 {rounding}", quantizer("Trunc", first, rounding_mode=rounding), inputs(0.125)
        second = {"s": 0.125, "z": 0, "i": 8, "t": 1.0, "o": 4}
        yield f"trunc 2 {rounding}", quantizer("Trunc", second, rounding_mode=rounding, signed=1, narrow=0), inputs(0.125)


def _quant(name: str, scale, zero: float, bits: int, **attributes) -> tuple[str, onnx.ModelProto, numpy.ndarray]:
    attributes.setdefault("rounding_mode", "ROUND")
    return name, quantizer("Quant", {"s": scale, "z": zero, "b": bits}, **attributes), inputs(float(numpy.max(scale)))


def network() -> tuple[onnx.ModelProto, numpy.ndarray]:
    """Two convolutions and a linear layer with weights of 4, 3 and 1 bits and activations of 8, 4 and 3 bits."""
    random = numpy.random.default_rng(5)
    constants: dict[str, numpy.ndarray] = {}

    def held(name: str, values) -> str:
        constants[name] = numpy.asarray(values, numpy.float32)
        return name

    def quant(name: str, made: str, scale, bits: int, signed: int, narrow: int):
        words = {"signed": signed, "narrow": narrow, "rounding_mode": "ROUND"}
        names = [name, held(f"{made}_s", scale), held(f"{made}_z", 0), held(f"{made}_b", bits)]
        return helper.make_node("Quant", names, [made], domain=DOMAIN, **words)

    nodes = [quant("x", "x0", 0.05, 8, 1, 0)]
    nodes.append(quant(held("w1", random.normal(size=(8, 3, 3, 3))), "w1q", random.uniform(0.1, 0.4, (8, 1, 1, 1)), 4, 1, 1))
    nodes.append(helper.make_node("Conv", ["x0", "w1q", held("b1", random.normal(size=8))], ["c1"], kernel_shape=[3, 3]))
    nodes.append(helper.make_node("Relu", ["c1"], ["r1"]))
    nodes.append(quant("r1", "a1", 0.5, 4, 0, 0))
    nodes.append(quant(held("w2", random.normal(size=(8, 1, 3, 3))), "w2q", 0.5, 3, 1, 1))
    nodes.append(helper.make_node("Conv", ["a1", "w2q"], ["c2"], kernel_shape=[3, 3], group=8))
    nodes.append(helper.make_node("Relu", ["c2"], ["r2"]))
    nodes.append(quant("r2", "a2", 0.75, 3, 0, 0))
    nodes.append(helper.make_node("Flatten", ["a2"], ["f"]))
    nodes.append(
        helper.make_node("BipolarQuant", [held("w3", random.normal(size=(128, 5))), held("w3_s", 0.25)], ["w3q"], domain=DOMAIN)
    )
    nodes.append(helper.make_node("MatMul", ["f", "w3q"], ["m"]))
    nodes.append(quant("m", "y", 0.5, 8, 1, 0))
    tensors = [numpy_helper.from_array(values.astype(numpy.float32), name) for name, values in constants.items()]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, (1, 3, 8, 8))],
        [helper.make_tensor_value_info("y", FLOAT, (1, 5))],
        tensors,
    )
    made = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)])
    return made, random.normal(size=(COUNT, 1, 3, 8, 8)).astype(numpy.float32) * 2
