# SPDX-License-Identifier: MIT
"""Products with weights of a few bits that onnxruntime packs: integers with a scale and a zero point for each block."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.importers.expansion import Draft, expands
from aidge_build.onnx_format import Narrow, unpacked
from aidge_build.operators.base import require


@expands("com.microsoft::MatMulNBits")
def matmul_nbits(draft: Draft) -> Sequence[str]:
    """A times the transposed matrix of (q - zero point) * scale. Source: onnxruntime's operator MatMulNBits."""
    source = draft.source
    source.expect_attributes("K", "N", "accuracy_level", "bits", "block_size", "weight_prepacked")
    depth, count, bits, size = (source.integer(name, 4) for name in ("K", "N", "bits", "block_size"))
    require(bits in (2, 4, 8), f"weights of {bits} bits are not supported (2, 4 and 8 are)")
    require(not draft.input(4) and not source.integer("weight_prepacked", 0), "reordered weights are not supported")
    require(size > 0 and count > 0 and depth > 0, f"blocks of {size} in a matrix of {depth} by {count}")
    blocks, narrow = math.ceil(depth / size), Narrow(bits, DType.uint8)
    packed = draft.known(draft.input(1), "its weights")
    require(
        packed.size == count * blocks * (size * bits // 8), f"{packed.size} bytes of weights, wants {count} x {blocks} blocks"
    )
    levels = unpacked(packed.reshape(count, -1), narrow)[:, :depth]
    scales = _by_block(draft.known(draft.input(2), "its scales"), count, blocks)
    points = numpy.full((count, blocks), 1 << bits - 1, numpy.uint8)
    if draft.input(3):
        given = draft.known(draft.input(3), "its zero points")
        require(given.dtype == numpy.uint8, "zero points that are no integers are not supported")
        points = _by_block(unpacked(given.reshape(count, -1), narrow)[:, :blocks], count, blocks)
    if depth % size == 0:
        names = [draft.constant(numpy.ascontiguousarray(values.T)) for values in (levels, scales, points)]
        weights = draft.one("DequantizeLinear", *names, opset=21, axis=0, block_size=size)
    else:
        spread = [numpy.repeat(values, size, axis=1)[:, :depth] for values in (scales, points)]
        weights = draft.constant(((levels - spread[1].astype(numpy.float32)) * spread[0]).T, numpy.float32)
    result = draft.one("MatMul", draft.input(0), weights)
    return (draft.one("Add", result, draft.input(5)) if draft.input(5) else result,)


def _by_block(values: numpy.ndarray, count: int, blocks: int) -> numpy.ndarray:
    require(values.size == count * blocks, f"{values.size} values for {count} x {blocks} blocks")
    return values.reshape(count, blocks)
