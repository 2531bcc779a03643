# SPDX-License-Identifier: MIT
"""float32 normalization of rows in integers, for cores on which a float operation is a function of a hundred instructions."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, ROOM
from aidge_build.contract.kernel_kit.float_layers import NormalizedRows
from aidge_build.contract.kernel_kit.float_steps import PORTABLE
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..shared.without_fpu import NO_FPU
from .normalize_fixed_steps import FixedRows

_FLOAT = IOSpec(DType.float32, ROW_MAJOR)
LENGTHS = (8, 1 << 12)  # of rows: the statistics take floats; sums have room
LEAST_EPSILON = 1e-12
BITS = 30  # of a number without its sign
MANTISSA = 30  # bits below the leading one
EXPONENTS = (-60, 60)  # of parameters


def _length(view: NodeView) -> int:
    return math.prod(view.inputs[0].dims[view.operator.axis :])


def _row_length(view: NodeView) -> str:
    length, (least, most) = _length(view), LENGTHS
    return "" if least <= length <= most else f"rows of {length} values, wants {least} to {most}"


def _epsilon(view: NodeView) -> str:
    epsilon = view.operator.epsilon
    return "" if epsilon >= LEAST_EPSILON else f"epsilon is {epsilon}, wants at least {LEAST_EPSILON}"


def _statistics(view: NodeView) -> str:
    return "" if len(view.outputs) == 1 else "the statistics are outputs, too"


def _exponent(values: numpy.ndarray | None) -> int:
    """2^ it is above every size; 0 where there are none but 0."""
    largest = 0.0 if values is None else float(abs(values).max(initial=0.0))
    return math.frexp(largest)[1]


def _parameters(view: NodeView) -> str:
    values = [tensor.data for tensor in view.inputs[1:] if tensor is not None]
    if not all(numpy.isfinite(each).all() for each in values):
        return "a parameter is not finite"
    least, most = EXPONENTS
    return "" if all(least <= _exponent(each) <= most for each in values) else "a parameter is very large or very small"


@kernel(
    ("LayerNormalization", "RMSNormalization"),
    ImplSpec(
        _FLOAT,
        predicates=(
            NO_FPU,
            CONSTANT_PARAMETERS,
            ROOM,
            Predicate("no statistics", _statistics),
            Predicate(f"rows of {LENGTHS[0]} to {LENGTHS[1]} values", _row_length),
            Predicate("an epsilon that counts", _epsilon),
            Predicate("parameters of usual size", _parameters),
        ),
    ),
)
class NormalizeFixed(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * _length(view))

    def call(self) -> Call:
        scale, bias = self.inputs[1].data, None
        if len(self.inputs) > 2 and self.inputs[2] is not None and self.inputs[2].data.any():
            bias = self.inputs[2].data
        length = _length(self.view)
        largest_bits = (length - 1).bit_length() // 2 + 2  # a normalized value is at most sqrt(length)
        value_bits, scale_bits = BITS - largest_bits, BITS - _exponent(scale)
        product_bits = value_bits + scale_bits - 32
        result_bits = product_bits if bias is None else min(product_bits, BITS - 1 - _exponent(bias))
        length_bits = (length - 1).bit_length() + MANTISSA
        epsilon, epsilon_exponent = math.frexp(float(numpy.float32(self.operator.epsilon)))
        shape = {
            "rows": self.inputs[0].elements // length,
            "length": length,
            "square_shift": max(0, (length.bit_length() - 2) // 2),
            "value_bits": value_bits,
            "product_shift": min(31, product_bits - result_bits),
            "result_bits": result_bits,
            "inverse_length": (1 << length_bits) // length,
            "length_bits": length_bits,
            "epsilon": int(math.ldexp(epsilon, MANTISSA + 1)),
            "epsilon_exponent": epsilon_exponent - MANTISSA - 1,
        }
        fixed_scale, fixed_bias = _fixed(scale, scale_bits), None if bias is None else _fixed(bias, result_bits)
        with_mean = self.node.type == "LayerNormalization"
        plain = NormalizedRows(PORTABLE, self.operator.axis, self.operator.epsilon, with_mean)
        return Call(
            "aidge_ref_normalize_fixed_float32",
            ("float32/normalize_fixed_float32.h",),
            (
                Input(0),
                Constant("scale", scale),
                Literal(0) if bias is None else Constant("bias", bias),
                Output(0),
                Constant("fixed_scale", fixed_scale),
                Literal(0) if fixed_bias is None else Constant("fixed_bias", fixed_bias),
                Constant("epsilon", numpy.array([self.operator.epsilon], numpy.float32)),
                Literal(int(with_mean)),
                Scratch(),
                Struct("aidge_ref_fixed_normalize", shape),
            ),
            note=f"in integers, {result_bits} bits after the point",
            steps=FixedRows(shape, fixed_scale, fixed_bias, plain, "narrow" in self.view.features),
        )


def _fixed(values: numpy.ndarray, bits: int) -> numpy.ndarray:
    """In units of 2^-bits."""
    return numpy.rint(numpy.ldexp(values.astype(numpy.float64).ravel(), bits)).astype(numpy.int64).astype(numpy.int32)
