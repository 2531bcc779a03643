# SPDX-License-Identifier: MIT
"""Weights that become 0 in blocks, which kernels leave out."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.sources.onnx_format import ModelNode, OnnxModel, read_model, write_model

BLOCK = 4  # input channels of one output


def pruned(model: bytes, share: float, name: str = "model.onnx") -> bytes:
    """Returns the quantized model (QDQ form) in which `share` of the blocks of each layer are 0: the blocks with the smallest sum
    of squares. A block has the weights of 4 neighbouring input channels for one output at one place of the kernel.

    A layer keeps its weights if its input channels per group are no multiple of 4. `QuantizedTraining` with `keeps_zeros` then
    trains what is left. AidgeError if `share` is not from 0 to below 1.
    """
    if not 0 <= share < 1:
        raise AidgeError(f"{share} of the blocks", code="TRAINING", hint="a share from 0 to below 1, such as 0.5")
    file = read_model(model, name, {})
    known = {**file.initializers}
    for weights, inputs in _weights(file):
        values = numpy.moveaxis(known[weights], inputs, -1)
        if values.shape[-1] % BLOCK == 0:
            known[weights] = numpy.moveaxis(_without_small_blocks(values, share), -1, inputs)
    return write_model(replace(file, initializers=known))


def _without_small_blocks(values: numpy.ndarray, share: float) -> numpy.ndarray:
    blocks = values.reshape(-1, BLOCK)
    sizes = (blocks.astype(float) ** 2).sum(axis=1)
    smallest = numpy.argsort(sizes, kind="stable")[: round(share * len(sizes))]
    found = blocks.copy()
    found[smallest] = 0
    return found.reshape(values.shape)


def _weights(file: OnnxModel) -> list[tuple[str, int]]:
    """Returns the names of quantized weights, each with its axis of input channels."""
    stored = {node.outputs[0]: node.inputs[0] for node in file.nodes if node.op_type == "DequantizeLinear"}
    found = {}
    for node in file.nodes:
        source = stored.get(node.inputs[1]) if len(node.inputs) > 1 else None
        axis = _axis_of_inputs(node)
        if axis is not None and source in file.initializers:
            found[source] = axis
    return sorted(found.items())


def _axis_of_inputs(node: ModelNode) -> int | None:
    """Returns the axis of a layer's weights that counts input channels."""
    if node.op_type == "Gemm":
        return 1 if node.attributes.get("transB", 0) else 0
    return {"Conv": 1, "MatMul": 0}.get(node.op_type)
