# SPDX-License-Identifier: MIT
"""Matrix products: MatMul, Gemm, and FC (the form that they take after the recipes)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.base import Activated, Operator, TensorType, require
from aidge_build.operators.broadcasting import broadcast_dims
from aidge_build.operators.linear import LinearQuantized
from aidge_build.operators.register import operator


@operator("MatMul")
class MatMul(Operator):
    """The product of matrices in the last two axes, as numpy.matmul; the other axes broadcast. Source: ONNX operator MatMul."""

    def infer(self, inputs):
        first, second = inputs
        require(first.rank > 0 and second.rank > 0, f"the inputs have the dims {list(first.dims)} and {list(second.dims)}")
        rows, columns = first.dims[-2:-1], second.dims[-1:] if second.rank > 1 else ()
        inner = second.dims[-2] if second.rank > 1 else second.dims[0]
        require(first.dims[-1] == inner,
                f"the inner dims differ: {list(first.dims)} has {first.dims[-1]}, {list(second.dims)} has {inner}")
        return (TensorType((*broadcast_dims(first.dims[:-2], second.dims[:-2]), *rows, *columns), first.dtype),)

    def forward(self, first, second):
        return first @ second

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
        return cls(source.real("alpha", 1.0), source.real("beta", 1.0), bool(source.integer("transA", 0)),
                   bool(source.integer("transB", 0)))

    def infer(self, inputs):
        first, second, *third = inputs
        require(first.rank == second.rank == 2, f"the inputs have ranks {first.rank} and {second.rank}, wants 2")
        rows, inner = first.dims[::-1] if self.transpose_a else first.dims
        other_inner, columns = second.dims[::-1] if self.transpose_b else second.dims
        require(inner == other_inner, f"the inner dims differ: {inner} and {other_inner}")
        if third and third[0] is not None:
            require(broadcast_dims((rows, columns), third[0].dims) == (rows, columns),
                    f"C has the dims {list(third[0].dims)}, which do not broadcast to {[rows, columns]}")
        return (TensorType((rows, columns), first.dtype),)

    def forward(self, first, second, third=None):
        product = (first.T if self.transpose_a else first) @ (second.T if self.transpose_b else second)
        if first.dtype.kind == "f":
            return self.alpha * product + (0 if third is None else self.beta * third)
        require(self.alpha == self.beta == 1, "alpha and beta must be 1 for integers")
        return product if third is None else product + third

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * inputs[0].dims[0 if self.transpose_a else 1]


@dataclass(frozen=True)
class FC(LinearQuantized, Activated):
    """Y[n, m] = clamp(B[m] + sum over k of X[n, k] * W[m, k]): a fully connected layer.

    Inputs: X [N, K], W [M, K], optional B [M]; output [N, M]. Recipes make it from Gemm, and from MatMul and Add.
    """

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

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * inputs[1].dims[1]
