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
    """What QuantizeLinear reads, between the real numbers of the lowest and the highest level: none lies beyond then."""
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
    """The product with what `writer` dequantizes as MatMulNBits, which leaves it packed; None where it has no such form."""
    is_gemm, block = node.op_type == "Gemm", draft.source.integer("block_size")
    plain = node.attributes.get("alpha", 1.0) == 1 == node.attributes.get("beta", 1.0) and not node.attributes.get("transA", 0)
    values = [draft.known(name, "a weight") for name in filter(None, writer.inputs)]
    if values[0].ndim != 2 or not plain or draft.source.axis("axis", 1, 2) != int(is_gemm) or values[1].dtype != numpy.float32:
        return None
    levels, scales, *zeros = values if is_gemm else [one.T for one in values]
    points = zeros[0].astype(int) if zeros else numpy.zeros(scales.shape, int)
    columns, depth = levels.shape
    bias = node.inputs[2] if len(node.inputs) > 2 else ""
    fits = block % 8 == 0 and depth % block == 0 and bool(node.attributes.get("transB", 0)) == is_gemm
    if not fits or bias and draft.tensor(bias).dims != (columns,):
        return None
    bits = (limits[1] - limits[0]).bit_length()
    packed = (packed_columns(one.astype(int) - limits[0], bits) for one in (levels, points))
    constants = [draft.constant(one) for one in (next(packed), numpy.ascontiguousarray(scales).reshape(-1), next(packed))]
    words = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    inputs = (node.inputs[0], *constants, "", *([bias] if bias else ()))
    return replace(node, op_type="MatMulNBits", domain=MICROSOFT, inputs=inputs, attributes=words, opset=1)


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
