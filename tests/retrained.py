# SPDX-License-Identifier: MIT
"""A quantized network as another training would have left it: other weights, biases and scales, the same inputs and outputs."""

from __future__ import annotations

import numpy
import onnx
from onnx import numpy_helper

VIEWS = ("Transpose", "Reshape", "Flatten", "Unsqueeze", "Squeeze")
ENDS = (*VIEWS, "QuantizeLinear", "DequantizeLinear")
FIXED = (1 / 256, 1 / 128)  # scales that operators such as Softmax give their outputs


def retrained(file: bytes, seed: int) -> bytes:
    """The same graph with int8 weights in another order and with noise, their scales and those between layers between 0.7 and 1.4
    of what they were, biases (whose scales are the products again) between 0.8 and 1.2."""
    found = onnx.load_model_from_string(file)
    graph, random = found.graph, numpy.random.default_rng(seed)
    known = {tensor.name: numpy_helper.to_array(tensor).copy() for tensor in graph.initializer}
    made_by = {name: node for node in graph.node for name in node.output}
    given, handed_out = {port.name for port in graph.input}, {port.name for port in graph.output}
    factors: dict[float, float] = {}
    new: dict[str, numpy.ndarray] = {}
    kept = _scales_of_ends(graph, given, handed_out)
    stays = {float(known[name].reshape(-1)[0]) for name in kept if name in known and known[name].size == 1}
    for node in graph.node:
        if node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
            continue
        values, scale = node.input[:2]
        if values in known and known[values].dtype != numpy.int32:
            old = known[values]
            mixed = random.permuted(old.reshape(len(old), -1), axis=1).reshape(old.shape).astype(int)
            new[values] = numpy.clip(mixed + random.integers(-9, 10, old.shape), -127, 127).astype(old.dtype)
            new[scale] = (known[scale] * random.uniform(0.7, 1.4, known[scale].shape)).astype(numpy.float32)
        elif values not in known and (old := float(known[scale].reshape(-1)[0])) not in (*stays, *FIXED):
            new[scale] = known[scale] * numpy.float32(factors.setdefault(old, random.uniform(0.7, 1.4)))

    def scale_of(name: str) -> numpy.ndarray:
        node = made_by[name]
        while node.op_type in VIEWS:
            node = made_by[node.input[0]]
        return new.get(node.input[1], known[node.input[1]])

    for node in graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in known and known[node.input[0]].dtype == numpy.int32:
            layer = next(user for user in graph.node if node.output[0] in user.input)
            if layer.op_type == "Add":
                layer = made_by[next(name for name in layer.input if name != node.output[0])]
            product = (scale_of(layer.input[0]) * scale_of(layer.input[1])).astype(numpy.float32)
            new[node.input[1]] = numpy.broadcast_to(product.reshape(-1), known[node.input[1]].size).reshape(
                known[node.input[1]].shape
            )
            old = known[node.input[0]]
            new[node.input[0]] = (old * random.uniform(0.8, 1.2, old.shape)).astype(numpy.int32)
    for tensor in graph.initializer:
        if tensor.name in new:
            tensor.CopyFrom(numpy_helper.from_array(numpy.ascontiguousarray(new[tensor.name]), tensor.name))
    return found.SerializeToString()


def _scales_of_ends(graph, given: set[str], handed_out: set[str]) -> set[str]:
    """The scales of the inputs and outputs, which firmware knows."""
    near, kept = set(given), set()
    for node in graph.node:
        if node.input and node.input[0] in near and node.op_type in ENDS:
            near.update(node.output)
            kept.update(node.input[1:2] if node.op_type.endswith("Linear") else ())
    near = set(handed_out)
    for node in reversed(graph.node):
        if any(name in near for name in node.output) and node.op_type in ENDS:
            near.update(node.input[:1])
            kept.update(node.input[1:2] if node.op_type.endswith("Linear") else ())
    return kept
