# SPDX-License-Identifier: MIT
"""Operators of onnxruntime that operators of ONNX express: what its optimizers fuse, written apart again.

Source: onnxruntime's page of contributed operators, and its CPU kernels where that leaves something open.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.operators.base import require
from aidge_build.sources.formats.onnx.expansion import Draft, expands


@expands("com.microsoft::Gelu")
def gelu(draft: Draft) -> Sequence[str]:
    """With the error function."""
    draft.source.expect_attributes()
    return (draft.one("Gelu", draft.input(0), opset=20),)


@expands("com.microsoft::BiasGelu")
def bias_gelu(draft: Draft) -> Sequence[str]:
    """Gelu(x + bias)."""
    return (draft.one("Gelu", draft.one("Add", draft.input(0), draft.input(1)), opset=20),)


@expands("com.microsoft::FastGelu")
def fast_gelu(draft: Draft) -> Sequence[str]:
    """Gelu(x + bias) with tanh; the bias may be left out."""
    draft.source.expect_attributes()
    total = draft.one("Add", draft.input(0), draft.input(1)) if draft.input(1) else draft.input(0)
    return (draft.one("Gelu", total, opset=20, approximate="tanh"),)


@expands("com.microsoft::QuickGelu")
def quick_gelu(draft: Draft) -> Sequence[str]:
    """x * sigmoid(alpha * x)."""
    draft.source.expect_attributes("alpha")
    gain = like(draft, draft.input(0), draft.source.real("alpha", float(numpy.float32(1.702))))
    return (draft.one("Mul", draft.input(0), draft.one("Sigmoid", draft.one("Mul", draft.input(0), gain))),)


@expands("com.microsoft::LayerNormalization")
def layer_normalization(draft: Draft) -> Sequence[str]:
    """The LayerNormalization of ONNX, from before ONNX had it."""
    draft.source.expect_attributes("axis", "epsilon", "stash_type")
    axis, epsilon = draft.source.integer("axis", -1), draft.source.real("epsilon", float(numpy.float32(1e-5)))
    return draft.emit("LayerNormalization", *_given(draft, 3), outputs=3, opset=17, axis=axis, epsilon=epsilon)


@expands("SimplifiedLayerNormalization", "com.microsoft::SimplifiedLayerNormalization")
def simplified_layer_normalization(draft: Draft) -> Sequence[str]:
    """Without mean and bias: RMSNormalization."""
    source = draft.source
    source.expect_attributes("axis", "epsilon", "stash_type")
    require(not source.is_read(1), "its output 1 (the inverse of the deviation) is not supported")
    epsilon = source.real("epsilon", float(numpy.float32(1e-5)))
    return (_rms(draft, draft.input(0), draft.input(1), epsilon, source.integer("axis", -1)), "")


@expands("com.microsoft::SkipLayerNormalization", "com.microsoft::SkipSimplifiedLayerNormalization")
def skip_layer_normalization(draft: Draft) -> Sequence[str]:
    """The sum of two tensors and a bias, normalized; the sum is output 3."""
    source = draft.source
    source.expect_attributes("epsilon")
    simplified = source.op_type == "SkipSimplifiedLayerNormalization"
    require(not source.is_read(1) and not source.is_read(2), "mean and deviation as outputs are not supported")
    skip = _as_rank(draft, draft.input(1), draft.tensor(draft.input(0)).rank)
    total = draft.one("Add", draft.input(0), skip)
    bias = draft.input(3 if simplified else 4)
    total = draft.one("Add", total, bias) if bias else total
    epsilon = source.real("epsilon", float(numpy.float32(1e-12)))
    if simplified:
        return (_rms(draft, total, draft.input(2), epsilon, -1), "", "", total)
    names = [total, draft.input(2), *([draft.input(3)] if draft.input(3) else ())]
    return (draft.one("LayerNormalization", *names, opset=17, axis=-1, epsilon=epsilon), "", "", total)


@expands("com.microsoft::EmbedLayerNormalization")
def embed_layer_normalization(draft: Draft) -> Sequence[str]:
    """The sum of word, position and segment embeddings, normalized; that sum is output 2."""
    source = draft.source
    source.expect_attributes("epsilon", "mask_index_type")
    require(not source.is_read(1), "the mask as an output is not supported")
    words, segments, table, places, kinds, scale, bias = (draft.input(index) for index in range(7))
    require(draft.tensor(words).rank == 2, f"the words have the dims {list(draft.tensor(words).dims)}, wants two axes")
    length = draft.tensor(words).dims[1]
    positions = draft.input(8) or draft.constant(numpy.arange(length)[None], numpy.int64)
    total = draft.one("Add", draft.one("Gather", table, words, axis=0), draft.one("Gather", places, positions, axis=0))
    if segments:
        total = draft.one("Add", total, draft.one("Gather", kinds, segments, axis=0))
    epsilon = source.real("epsilon", float(numpy.float32(1e-12)))
    return (draft.one("LayerNormalization", total, scale, bias, opset=17, axis=-1, epsilon=epsilon), "", total)


@expands("com.microsoft::FusedMatMul", "com.microsoft::TransposeMatMul")
def fused_matmul(draft: Draft) -> Sequence[str]:
    """alpha * A' B'; A' and B' may have the last two axes swapped, and the first axis moved to before the last."""
    source = draft.source
    source.expect_attributes("alpha", "transA", "transB", "transBatchA", "transBatchB")
    names = []
    for place, letter in enumerate("AB"):
        rank = source.input(place).rank
        order = list(range(rank))
        if source.integer(f"transBatch{letter}", 0):
            order = [*order[1:-1], 0, order[-1]]
        if source.integer(f"trans{letter}", 0):
            order[-2:] = order[:-3:-1]
        name = draft.input(place)
        names.append(name if order == list(range(rank)) else draft.one("Transpose", name, perm=tuple(order)))
    product, alpha = draft.one("MatMul", *names), source.real("alpha", 1.0)
    return (product if alpha == 1 else draft.one("Mul", product, like(draft, product, alpha)),)


@expands("com.microsoft::FusedConv")
def fused_conv(draft: Draft) -> Sequence[str]:
    """Convolution, sum with a fourth input, activation."""
    source = draft.source
    kept = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    source.expect_attributes(*kept, "activation", "activation_params")
    words = {name: value for name, value in source.node.attributes.items() if name in kept}
    result = draft.one("Conv", *_given(draft, 3), **words)
    if draft.input(3):
        result = draft.one("Add", result, draft.input(3))
    return (_activated(draft, result, source.text("activation", ""), source.reals("activation_params", ())),)


@expands("com.microsoft::FusedGemm")
def fused_gemm(draft: Draft) -> Sequence[str]:
    """Matrix product, activation."""
    source = draft.source
    kept = ("alpha", "beta", "transA", "transB")
    numbers = ("activation_alpha", "activation_beta", "activation_gamma")
    source.expect_attributes(*kept, "activation", *numbers)
    words = {name: value for name, value in source.node.attributes.items() if name in kept}
    given = tuple(source.real(name) for name in numbers if source.has_attribute(name))
    return (_activated(draft, draft.one("Gemm", *_given(draft, 3), **words), source.text("activation", ""), given),)


def _activated(draft: Draft, name: str, kind: str, numbers: Sequence[float]) -> str:
    """The activation of a fused node, by its name in ONNX."""
    if not kind:
        return name
    if kind in ("Relu", "Sigmoid", "Tanh", "Softplus", "Softsign"):
        return draft.one(kind, name)
    if kind in ("LeakyRelu", "Elu", "ThresholdedRelu") and len(numbers) >= 1:
        return draft.one(kind, name, alpha=numbers[0])
    if kind == "HardSigmoid" and len(numbers) >= 2:
        return draft.one(kind, name, alpha=numbers[0], beta=numbers[1])
    if kind == "Clip" and len(numbers) >= 2:
        return draft.one(kind, name, *(like(draft, name, number) for number in numbers[:2]))
    require(False, f"the activation {kind!r} with {len(numbers)} numbers is not supported")
    return name


def _rms(draft: Draft, name: str, scale: str, epsilon: float, axis: int) -> str:
    return draft.one("RMSNormalization", name, scale, opset=23, axis=axis, epsilon=epsilon)


def _given(draft: Draft, most: int) -> list[str]:
    """Returns the first inputs, without absent inputs at the end."""
    names = [draft.input(index) for index in range(most)]
    while names and not names[-1]:
        names.pop()
    return names


def _as_rank(draft: Draft, name: str, rank: int) -> str:
    """The tensor with axes of one element in front until it has this rank."""
    missing = rank - draft.tensor(name).rank
    return name if missing <= 0 else draft.one("Unsqueeze", name, draft.constant(range(missing), numpy.int64))


def like(draft: Draft, name: str, value: float) -> str:
    """A number of a tensor's type."""
    return draft.constant(value, draft.tensor(name).dtype.numpy)
