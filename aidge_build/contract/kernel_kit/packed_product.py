# SPDX-License-Identifier: MIT
"""Products with packed weights (MatMulNBits): each block of a row becomes integers with one scale, and meets all columns.

Under the accuracy level 4 the integers are int8 levels. Otherwise they have one exponent and as many bits as the sums of a block
leave: 19 or more with weights of 4 bits, as exact as sums of floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

_LONGEST = 128  # elements of a block of floats; a longer block is divided
_MOST_BITS = 22
_LEVEL_BITS = 8


def _is_too_long(view: NodeView) -> str:
    operator = view.operator
    fits = not operator.multiplies_int8 or operator.block << _LEVEL_BITS + operator.bits <= 1 << 32
    return "" if fits else f"sums of {operator.block} elements"


def packed_spec(features: frozenset[str] = frozenset(), *further: Predicate) -> ImplSpec:
    """Returns the spec: float32 data and results, constants for all others."""
    data = IOSpec(DType.float32, ROW_MAJOR)
    inputs = (data, IOSpec(DType.uint8), IOSpec(DType.float32), IOSpec(), IOSpec())
    predicates = (CONSTANT_PARAMETERS, Predicate("32 bits hold the sum of a block", _is_too_long), *further)
    return ImplSpec(inputs, (data,), predicates, features)


@dataclass(frozen=True, eq=False)
class PackedProduct:
    """The constants of a layer, block by block."""

    rows: int
    depth: int
    columns: int
    bits: int
    block: int  # elements
    integer_bits: int  # of the data; 0: int8 levels
    weights: numpy.ndarray  # int64 [blocks, columns, block]
    zero_points: numpy.ndarray  # int64 [blocks, columns]
    scales: numpy.ndarray  # float32 [blocks, columns]
    bias: numpy.ndarray  # float32 [columns]

    @classmethod
    def of(cls, view: NodeView) -> PackedProduct:
        """Returns the constants of a node."""
        operator, (_, packed, *parameters) = view.operator, view.inputs
        scales, zero_points, bias = (*(None if one is None else one.data for one in parameters), *(None,) * (3 - len(parameters)))
        block = block_of(operator)
        parts = operator.block // block
        weights = operator.unpacked(packed.data, operator.blocks * operator.block).reshape(operator.columns, -1, block)
        blocks = [values.repeat(parts, axis=1).T for values in operator.parameters(scales, zero_points)]
        return cls(
            rows=view.outputs[0].elements // operator.columns,
            depth=operator.depth,
            columns=operator.columns,
            bits=operator.bits,
            block=block,
            integer_bits=integer_bits(operator),
            weights=weights.transpose(1, 0, 2).astype(numpy.int64),
            zero_points=blocks[1].astype(numpy.int64),
            scales=blocks[0].astype(numpy.float32),
            bias=numpy.zeros(operator.columns, numpy.float32) if bias is None else bias.astype(numpy.float32),
        )


def block_of(operator) -> int:
    """Returns the elements of a block as kernels see it: a divisor of the operator's."""
    return operator.block if operator.multiplies_int8 else math.gcd(operator.block, _LONGEST)


def integer_bits(operator) -> int:
    """Returns the bits of the integers of a block of floats; 0 for int8 levels."""
    if operator.multiplies_int8:
        return 0
    return min(_MOST_BITS, 31 - operator.bits - (block_of(operator) - 1).bit_length())
