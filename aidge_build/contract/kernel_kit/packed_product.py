# SPDX-License-Identifier: MIT
"""Products with packed weights (MatMulNBits): each block of a row becomes integers with one scale, and meets all columns.

Under the accuracy level 4 the integers are int8 levels. Otherwise they have one exponent and as many bits as the sums of a block
leave: 19 or more with weights of 4 bits, as exact as sums of floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Argument, Constant, Input, Output, Scratch
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

_LONGEST = 128  # elements of a block of floats; a longer block is divided
_MOST_BITS = 22
_LEVEL_BITS = 8
_CONSTANTS = 4  # weights, scales, zero points and bias


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
    has_zero_points: bool  # other ones than half of the range
    has_bias: bool
    has_any_weights: bool  # all constants may be replaced: only shapes decide about the code

    @classmethod
    def of(cls, view: NodeView) -> PackedProduct:
        """Returns the constants of a node."""
        operator = view.operator
        constants = [None if tensor is None else tensor.data for tensor in view.inputs[1:]]
        packed, scales, zero_points, bias = constants + [None] * (_CONSTANTS - len(constants))
        has_zero_points, has_bias = zero_points is not None, bias is not None
        block = block_of(operator)
        parts = operator.block // block
        weights = operator.unpacked(packed, operator.blocks * operator.block).reshape(operator.columns, -1, block)
        blocks = [values.repeat(parts, axis=1).T for values in operator.parameters(scales, zero_points)]
        if not view.any_weights:
            has_zero_points, has_bias = bool((blocks[1] != 1 << operator.bits - 1).any()), has_bias and bool(bias.any())
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
            has_zero_points=has_zero_points,
            has_bias=has_bias,
            has_any_weights=view.any_weights,
        )


def block_of(operator) -> int:
    """Returns the elements of a block as kernels see it: a divisor of the operator's."""
    return operator.block if operator.multiplies_int8 else math.gcd(operator.block, _LONGEST)


def integer_bits(operator) -> int:
    """Returns the bits of the integers of a block of floats; 0 for int8 levels."""
    if operator.multiplies_int8:
        return 0
    return min(_MOST_BITS, 31 - operator.bits - (block_of(operator) - 1).bit_length())


@dataclass(frozen=True)
class Driver:
    """The C around two functions in assembly of a library: `quantize` makes integers of a block of a row, `multiply` adds their
    products with all columns to floats and returns the next block of the stream. A block takes `block_bytes` of scratch, and sums
    of whole groups of `group` columns take more if the columns are not whole groups."""

    quantize: str
    multiply: str
    element: str  # the C type of the integers
    stream: str  # the C type of the stream
    group: int
    block_bytes: int
    last_argument: str = ""  # of `quantize`, after a comma

    def padded(self, columns: int) -> int:
        """Returns the columns of whole groups."""
        return -(-columns // self.group) * self.group

    def scratch_bytes(self, columns: int) -> int:
        """Returns the bytes of scratch."""
        return self.block_bytes + (4 * self.padded(columns) if columns % self.group else 0)

    def arguments(self, product: PackedProduct, stream: numpy.ndarray) -> tuple[Argument, ...]:
        """Returns the arguments of the function that computes a layer."""
        padded = numpy.pad(product.bias, (0, self.padded(product.columns) - product.columns))
        bias = (Constant("bias", padded),) if product.has_bias else ()
        return Input(0), Output(0), Constant("stream", stream), *bias, Scratch()

    def text(self, product: PackedProduct) -> tuple[str, str]:
        """Returns the name and the text of the function that computes a layer."""
        columns, padded, depth, block = product.columns, self.padded(product.columns), product.depth, product.block
        bias = "_bias" * product.has_bias
        name = f"{self.multiply}_{product.rows}x{depth}x{columns}{bias}"
        has_part, is_padded = depth % block > 0, padded > columns
        count = f"{depth} - place < {block} ? {depth} - place : {block}" if has_part else str(block)
        lines = [
            f"aidge_kit_row_block block = {{0.0f, 0, {padded // self.group}}};",
            f"{self.element} *const x = ({self.element} *)scratch;",
            f"float *const sums = (float *)scratch + {self.block_bytes // 4};" if is_padded else "float *sums = output;",
            "int32_t row, place;",
            f"for (row = 0; row < {product.rows}; row++) {{",
            f"    const {self.stream} *next = stream;",
            f"    (void){'memcpy(sums, bias' if product.has_bias else 'memset(sums, 0'}, {padded}u * sizeof *sums);",
            f"    for (place = 0; place < {depth}; place += {block}) {{",
            *([f"        (void)memset(x, 0, {self.block_bytes}u);"] if has_part else []),
            f"        {self.quantize}(input + place, x, &block, {count}{self.last_argument});",
            f"        next = {self.multiply}(next, x, sums, &block);",
            "    }",
            *([f"    (void)memcpy(output + {columns} * row, sums, {columns}u * sizeof *sums);"] if is_padded else []),
            f"    input += {depth};",
            *([] if is_padded else [f"    sums += {columns};"]),
            "}",
        ]
        given = " const float *bias," * product.has_bias
        parameters = f"const float *input, float *output, const {self.stream} *stream,{given} void *scratch"
        body = "".join(f"    {line}\n" for line in lines)
        comment = f"/* {product.rows} x {depth} floats times {columns} packed columns. */"
        return name, f"{comment}\nstatic void {name}(\n    {parameters})\n{{\n{body}}}"
