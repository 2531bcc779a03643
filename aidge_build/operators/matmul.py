# SPDX-License-Identifier: MIT
"""Matrix products: MatMul, Gemm, and FC (the form that they take after the recipes)."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.requantize import centred, multipliers, requantize
from aidge_build.operators.base import Activated, Group, Operator, TensorType, require
from aidge_build.operators.broadcasting import broadcast_dims, summed_to
from aidge_build.operators.linear import LinearQuantized
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers

INT32_TERMS = (1 << 15) - 1  # terms of at most 255 * 256 that int32 can add up
_BYTES = (DType.int8, DType.uint8)


@operator("MatMul")
class MatMul(Operator):
    """The product of matrices in the last two axes, as numpy.matmul; the other axes broadcast. Source: ONNX operator MatMul.

    Between 8-bit tensors of one scale each it adds up integers, as operators that are linear in data and weights do. The second
    matrix may be int8 although the first is float32: rows of a cache (recipe `byte_caches`).
    """

    def infer(self, inputs):
        first, second = inputs
        require(first.rank > 0 and second.rank > 0, f"the inputs have the dims {list(first.dims)} and {list(second.dims)}")
        rows, columns = first.dims[-2:-1], second.dims[-1:] if second.rank > 1 else ()
        inner = second.dims[-2] if second.rank > 1 else second.dims[0]
        require(
            first.dims[-1] == inner,
            f"the inner dims differ: {list(first.dims)} has {first.dims[-1]}, {list(second.dims)} has {inner}",
        )
        return (TensorType((*broadcast_dims(first.dims[:-2], second.dims[:-2]), *rows, *columns), first.dtype),)

    def forward(self, first, second):
        return first @ second

    @staticmethod
    def not_in_integers(inputs, output) -> str:
        """Returns why integers are not added up for these tensors; "" if they are: 8 bits, one scale each, sums within int32."""
        for tensor in (*inputs, output):
            if tensor.dtype not in _BYTES or tensor.quantization is None or not tensor.quantization.per_tensor:
                return f"{tensor.name} is not of 8 bits with one scale"
        terms = inputs[0].dims[-1]
        return "" if terms <= INT32_TERMS else f"sums of {terms} products could leave int32"

    def forward_quantized(self, values, inputs, outputs):
        (output,) = outputs
        if self.not_in_integers(inputs, output):
            return super().forward_quantized(values, inputs, outputs)
        # float64 holds integers below 2^53 exactly, and multiplies matrices faster than int64 does
        first, second = (centred(value, tensor.quantization).astype(numpy.float64) for value, tensor in zip(values, inputs))
        scales = [tensor.quantization.scale for tensor in (*inputs, output)]
        levels = requantize(first @ second, multipliers(*scales), output.quantization.zero_point, *output.dtype.range)
        return (levels.astype(output.dtype.numpy),)

    def backward(self, gradients, inputs, outputs):
        first, second = inputs
        rows, columns = first.ndim == 1, second.ndim == 1  # vectors: a row, a column
        left, right = (first[None] if rows else first), (second[:, None] if columns else second)
        gradient = numpy.expand_dims(gradients[0], (*(-2,) * rows, *(-1,) * columns))
        by_left, by_right = gradient @ numpy.swapaxes(right, -1, -2), numpy.swapaxes(left, -1, -2) @ gradient
        return summed_to(by_left, left.shape).reshape(first.shape), summed_to(by_right, right.shape).reshape(second.shape)

    @classmethod
    def samples(cls):
        pairs = ((3, 4), (4, 2)), ((2, 3, 4), (4, 2)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,))
        return tuple(Sample(cls(), (numbers(*first), numbers(*second, seed=1))) for first, second in pairs)

    def group(self, inputs, outputs, channels):
        first, second, rank = inputs[0].rank, inputs[1].rank, outputs[0].rank
        if second > 1 and (inputs[1].is_constant or first < 2):
            return Group(self, rank - 1, (None, second - 1))
        return Group(self, rank - 2, (first - 2, None)) if first > 1 and second > 1 else None

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * inputs[0].dims[-1]


@operator("Gemm")
class Gemm(Operator):
    """Y = alpha * A' B' + beta * C, with A' = A or its transpose, B' likewise. Source: ONNX operator Gemm."""

    alpha: float = 1.0
    beta: float = 1.0
    transpose_a: bool = False
    transpose_b: bool = False

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("alpha", "beta", "transA", "transB")
        return cls(
            source.real("alpha", 1.0),
            source.real("beta", 1.0),
            bool(source.integer("transA", 0)),
            bool(source.integer("transB", 0)),
        )

    def infer(self, inputs):
        first, second, *third = inputs
        require(first.rank == second.rank == 2, f"the inputs have ranks {first.rank} and {second.rank}, wants 2")
        rows, inner = first.dims[::-1] if self.transpose_a else first.dims
        other_inner, columns = second.dims[::-1] if self.transpose_b else second.dims
        require(inner == other_inner, f"the inner dims differ: {inner} and {other_inner}")
        if third and third[0] is not None:
            require(
                broadcast_dims((rows, columns), third[0].dims) == (rows, columns),
                f"C has the dims {list(third[0].dims)}, which do not broadcast to {[rows, columns]}",
            )
        return (TensorType((rows, columns), first.dtype),)

    def forward(self, first, second, third=None):
        product = (first.T if self.transpose_a else first) @ (second.T if self.transpose_b else second)
        if first.dtype.kind == "f":
            return self.alpha * product + (0 if third is None else self.beta * third)
        require(self.alpha == self.beta == 1, "alpha and beta must be 1 for integers")
        return product if third is None else product + third

    def backward(self, gradients, inputs, outputs):
        (gradient,), (first, second, *third) = gradients, inputs
        left, right = (first.T if self.transpose_a else first), (second.T if self.transpose_b else second)
        by_left, by_right = self.alpha * gradient @ right.T, self.alpha * left.T @ gradient
        return (
            by_left.T if self.transpose_a else by_left,
            by_right.T if self.transpose_b else by_right,
            *(None if value is None else summed_to(self.beta * gradient, value.shape) for value in third),
        )

    @classmethod
    def examples(cls):
        transposes = ((False, False), (False, True), (True, False), (True, True))
        return tuple(cls(alpha, beta, *both) for alpha, beta in ((1.0, 1.0), (0.7, 1.3)) for both in transposes)

    @classmethod
    def samples(cls):
        found = []
        for one in cls.examples():
            first = numbers(*((4, 3) if one.transpose_a else (3, 4)))
            second = numbers(*((2, 4) if one.transpose_b else (4, 2)), seed=1)
            found += [Sample(one, (first, second, *third)) for third in ((), (numbers(2, seed=2),), (numbers(3, 1, seed=2),))]
        return tuple(found)

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * inputs[0].dims[0 if self.transpose_a else 1]


class FC(LinearQuantized, Activated):
    """Y[n, m] = clamp(B[m] + sum over k of X[n, k] * W[m, k]): a fully connected layer.

    Inputs: X [N, K], W [M, K], optional B [M]; output [N, M]. Recipes make it from Gemm, and from MatMul and Add.
    """

    @staticmethod
    def requantized_by(contract, halfwords, *scales):
        return contract.of_product(*scales)

    def infer(self, inputs):
        data, weights, *bias = inputs
        require(data.rank == weights.rank == 2, f"the inputs have ranks {data.rank} and {weights.rank}, wants 2")
        require(data.dims[1] == weights.dims[1], f"the input has {data.dims[1]} features, the weights want {weights.dims[1]}")
        if bias and bias[0] is not None:
            require(bias[0].dims == (weights.dims[0],), f"the bias has dims {bias[0].dims}, wants ({weights.dims[0]},)")
        return (TensorType((data.dims[0], weights.dims[0]), data.dtype),)

    def forward(self, data, weights, bias=None):
        return self.clamp(self.accumulate(data, weights, bias))

    def accumulate(self, data, weights, bias=None):
        product = data @ weights.T
        return product if bias is None else product + bias

    def backward(self, gradients, inputs, outputs):
        data, weights, *bias = inputs
        gradient = self.unclamp(gradients[0], outputs[0])
        return (gradient @ weights, gradient.T @ data, *(None if value is None else gradient.sum(0) for value in bias))

    @classmethod
    def samples(cls):
        return (
            Sample(cls(), (numbers(3, 4), numbers(2, 4, seed=1))),
            Sample(cls(minimum=-0.5, maximum=2.5), (numbers(3, 4), numbers(2, 4, seed=1), numbers(2, seed=2))),
        )

    def group(self, inputs, outputs, channels):
        return Group(self, 1, (None, *(0,) * (len(inputs) - 1))) if len(inputs) <= 3 else None

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * inputs[1].dims[1]
