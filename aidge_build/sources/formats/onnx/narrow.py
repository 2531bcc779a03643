# SPDX-License-Identifier: MIT
"""Constants of 2 and 4 bits, which are read as bytes: who may read them so that this changes nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.operators.matmul_nbits import packed_columns
from aidge_build.sources.formats.onnx.expansion import Draft
from aidge_build.sources.onnx_format import ModelNode

Range = tuple[int, int]
_MOVING = ("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")  # their results are as narrow
_ZERO_POINT = 2
MICROSOFT = "com.microsoft"


def saturates_narrowly(node: ModelNode, narrow: Collection[str]) -> bool:
    """Whether the node quantizes to a narrow type, which its zero point names."""
    return node.op_type == "QuantizeLinear" and len(node.inputs) > _ZERO_POINT and node.inputs[_ZERO_POINT] in narrow


def clamped(draft: Draft, limits: Range) -> str:
    """Returns the input of QuantizeLinear, clamped to the real values of the lowest and the highest quantized value."""
    scale, zero = (draft.known(draft.input(place), what) for place, what in ((1, "its scale"), (_ZERO_POINT, "its zero point")))
    bounds = [(limit - zero.astype(numpy.int64)) * scale.astype(numpy.float64) for limit in limits]
    data = draft.tensor(draft.input(0))
    if scale.size == 1:
        return draft.one("Clip", data.name, *(draft.constant(bound.reshape(()), numpy.float32) for bound in bounds))
    axis = draft.source.axis("axis", 1, data.rank)
    shape = [-1 if place == axis else 1 for place in range(data.rank)]
    low, high = (draft.constant(bound.reshape(shape), numpy.float32) for bound in bounds)
    return draft.one("Min", draft.one("Max", data.name, low), high)


def is_blocked(node: ModelNode, narrow: Collection[str]) -> bool:
    """Whether the node dequantizes elements of less than a byte block by block."""
    whole = node.op_type == "DequantizeLinear" and len(node.inputs) > 1 and len(node.outputs) == 1
    return whole and node.inputs[0] in narrow and bool(node.attributes.get("block_size", 0))


def packed_product(node: ModelNode, writer: ModelNode, draft: Draft, limits: Range) -> ModelNode | None:
    """Returns the product with the weights that `writer` dequantizes as MatMulNBits, which leaves them packed; None if that
    cannot express it."""
    is_gemm, block = node.op_type == "Gemm", draft.source.integer("block_size")
    values = [draft.known(name, "a weight") for name in filter(None, writer.inputs)]
    if (
        values[0].ndim != 2
        or not _is_plain(node)
        or draft.source.axis("axis", 1, 2) != is_gemm
        or values[1].dtype != numpy.float32
    ):
        return None
    levels, scales, *zeros = values if is_gemm else [one.T for one in values]
    points = zeros[0].astype(int) if zeros else numpy.zeros(scales.shape, int)
    columns, depth = levels.shape
    bias = node.inputs[2:3] if any(node.inputs[2:3]) else ()
    if block % 8 or depth % block or any(draft.tensor(name).dims != (columns,) for name in bias):
        return None
    bits = (limits[1] - limits[0]).bit_length()
    packed, zero_points = (packed_columns(one.astype(int) - limits[0], bits) for one in (levels, points))
    constants = map(draft.constant, (packed, numpy.ascontiguousarray(scales).reshape(-1), zero_points))
    words = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    inputs = (node.inputs[0], *constants, "", *bias)
    return replace(node, op_type="MatMulNBits", domain=MICROSOFT, inputs=inputs, attributes=words, opset=1)


def _is_plain(node: ModelNode) -> bool:
    """Whether the node is a plain product of its inputs, with the weights as MatMul has them, or transposed as Gemm may."""
    attributes, is_gemm = node.attributes, node.op_type == "Gemm"
    is_product = attributes.get("alpha", 1.0) == 1 == attributes.get("beta", 1.0) and not attributes.get("transA", 0)
    return is_product and bool(attributes.get("transB", 0)) == is_gemm


def stays_narrow(node: ModelNode, narrow: Collection[str]) -> bool:
    """Whether the results of a node are as narrow as what it reads; a reader that would see bytes is refused."""
    read = [place for place, name in enumerate(node.inputs) if name in narrow]
    if not read or node.op_type == "DequantizeLinear" or (node.op_type == "Cast" and read == [0]):
        return False
    if saturates_narrowly(node, narrow) and read == [_ZERO_POINT] or node.op_type in _MOVING and read == [0] and not node.domain:
        return True
    raise AidgeError(
        f"its input {read[0]} ('{node.inputs[read[0]]}') has elements of less than a byte, which only QuantizeLinear, "
        "DequantizeLinear, Cast and what moves elements may read",
        code="TYPE",
    )
