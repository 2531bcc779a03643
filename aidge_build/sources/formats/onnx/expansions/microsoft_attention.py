# SPDX-License-Identifier: MIT
"""Attention as onnxruntime fuses it, written apart: projections, heads, scores, masks, softmax. Source: its operators."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.operators.base import require
from aidge_build.sources.formats.onnx.expansion import Draft, expands
from aidge_build.sources.formats.onnx.expansions.microsoft import like

_FILTER = -10000.0  # added where a mask is 0, unless the node says otherwise


@expands("com.microsoft::Attention")
def attention(draft: Draft) -> Sequence[str]:
    """One projection to query, key and value, then attention between them."""
    source = draft.source
    source.expect_attributes(
        "do_rotary", "mask_filter_value", "num_heads", "past_present_share_buffer", "qkv_hidden_sizes", "scale", "unidirectional"
    )
    require(not draft.input(4) and not source.is_read(1), "past keys and values are not supported")
    projected = draft.one("MatMul", draft.input(0), draft.input(1))
    if draft.input(2):
        projected = draft.one("Add", projected, draft.input(2))
    return (_attended(draft, projected, draft.input(3), draft.input(5)), "")


@expands("com.microsoft::QAttention")
def quantized_attention(draft: Draft) -> Sequence[str]:
    """Attention with a projection of integers and a real result."""
    source = draft.source
    source.expect_attributes(
        "do_rotary", "mask_filter_value", "num_heads", "past_present_share_buffer", "scale", "unidirectional"
    )
    require(not draft.input(8) and not source.is_read(1), "past keys and values are not supported")
    values = [
        _real(draft, draft.input(0), draft.input(3), draft.input(6)),
        _real(draft, draft.input(1), draft.input(4), draft.input(7)),
    ]
    projected = draft.one("Add", draft.one("MatMul", *values), draft.input(2))
    return (_attended(draft, projected, draft.input(5), ""), "")


@expands("com.microsoft::MultiHeadAttention")
def multi_head_attention(draft: Draft) -> Sequence[str]:
    """Attention between query, key and value that are projected already; new keys and values may follow those of a cache."""
    source = draft.source
    source.expect_attributes("mask_filter_value", "num_heads", "scale", "unidirectional")
    require(bool(draft.input(1)) and bool(draft.input(2)), "query, key and value in one tensor are not supported")
    require(not draft.input(8) and not draft.input(9), "a cache that is written at a position is not supported")
    require(bool(draft.input(6)) == bool(draft.input(7)), "it has one cache, wants two or none")
    require(not source.is_read(3), "the scores as an output are not supported")
    parts = [draft.input(index) for index in range(3)]
    require(all(draft.tensor(name).rank == 3 for name in parts), "query, key and value must have three axes")
    if draft.input(3):
        widths = [draft.tensor(name).dims[2] for name in parts]
        biases = draft.emit("Split", draft.input(3), draft.constant(widths, numpy.int64), outputs=3, axis=0)
        parts = [draft.one("Add", name, bias) for name, bias in zip(parts, biases)]
    query, key, value = (heads_apart(draft, name, source.integer("num_heads")) for name in parts)
    if draft.input(6):
        key, value = (draft.one("Concat", draft.input(old), new, axis=2) for old, new in ((6, key), (7, value)))
    return (_heads_attended(draft, (query, key, value), draft.input(4), draft.input(5)), key, value)


def _real(draft: Draft, values: str, scale: str, zero_point: str) -> str:
    """Returns the real values of stored integers; scales per column belong to the last axis."""
    per_column = draft.tensor(scale).elements > 1
    if not per_column:
        scale, zero_point = (_number(draft, name) if name else "" for name in (scale, zero_point))
    names = [values, scale, *([zero_point] if zero_point else ())]
    return draft.one("DequantizeLinear", *names, axis=draft.tensor(values).rank - 1 if per_column else 1)


def _number(draft: Draft, name: str) -> str:
    return name if draft.tensor(name).rank == 0 else draft.one("Reshape", name, draft.constant([], numpy.int64))


def _attended(draft: Draft, projected: str, mask: str, addend: str) -> str:
    """Returns the attention of query, key and value, which follow each other along the last axis."""
    require(
        draft.tensor(projected).rank == 3, f"the projection has the dims {list(draft.tensor(projected).dims)}, wants three axes"
    )
    width = draft.tensor(projected).dims[2]
    sizes = draft.source.integers("qkv_hidden_sizes", (width // 3,) * 3)
    require(len(sizes) == 3 and sum(sizes) == width, f"qkv_hidden_sizes {list(sizes)}, the projection has {width} columns")
    parts = draft.emit("Split", projected, draft.constant(sizes, numpy.int64), outputs=3, axis=2)
    require(not draft.source.integer("do_rotary", 0), "rotary embeddings in it are not supported")
    return _heads_attended(draft, [heads_apart(draft, name, draft.source.integer("num_heads")) for name in parts], mask, addend)


def _heads_attended(draft: Draft, parts: Sequence[str], mask: str, addend: str) -> str:
    """Returns the attention of query, key and value [batch, heads, length, width]."""
    source = draft.source
    query, key, value = parts
    scores = draft.one("MatMul", query, draft.one("Transpose", key, perm=(0, 1, 3, 2)))
    scale = source.real("scale", 0.0) or 1 / math.sqrt(draft.tensor(query).dims[3])
    scores = draft.one("Mul", scores, like(draft, scores, scale))
    rows, columns = draft.tensor(scores).dims[2:]
    low = source.real("mask_filter_value", _FILTER)
    if source.integer("unidirectional", 0):
        later = numpy.triu(numpy.ones((rows, columns), bool), columns - rows + 1)
        scores = draft.one("Add", scores, draft.constant(numpy.where(later, low, 0), draft.tensor(scores).dtype.numpy))
    if mask:
        scores = draft.one("Add", scores, _mask(draft, mask, scores, low))
    if addend:
        scores = draft.one("Add", scores, addend)
    found = draft.one("MatMul", draft.one("Softmax", scores, axis=-1), value)
    return heads_joined(draft, found)


def heads_joined(draft: Draft, name: str) -> str:
    """[batch, heads, length, width] as [batch, length, heads * width]."""
    batch, heads, length, width = draft.tensor(name).dims
    joined = draft.one("Transpose", name, perm=(0, 2, 1, 3))
    return draft.one("Reshape", joined, draft.constant([batch, length, heads * width], numpy.int64))


def heads_apart(draft: Draft, name: str, heads: int) -> str:
    """[batch, length, heads * width] as [batch, heads, length, width]."""
    batch, length, width = draft.tensor(name).dims
    require(heads > 0 and width % heads == 0, f"{width} columns for {heads} heads")
    apart = draft.one("Reshape", name, draft.constant([batch, length, heads, width // heads], numpy.int64))
    return draft.one("Transpose", apart, perm=(0, 2, 1, 3))


def _mask(draft: Draft, mask: str, scores: str, low: float) -> str:
    """Returns the sum that a mask of integers adds to the scores: per key, per query and key, or from counts of valid keys."""
    tensor = draft.tensor(mask)
    batch, _, rows, columns = draft.tensor(scores).dims
    if tensor.dims == (batch,):
        places = draft.constant(numpy.arange(columns).reshape(1, 1, 1, columns), tensor.dtype.numpy)
        counts = draft.one("Reshape", mask, draft.constant([batch, 1, 1, 1], numpy.int64))
        valid = draft.one("Less", places, counts)
    else:
        shapes = {(batch, columns): [batch, 1, 1, columns], (batch, rows, columns): [batch, 1, rows, columns]}
        require(tensor.dims in shapes, f"a mask with the dims {list(tensor.dims)} is not supported")
        shape = draft.constant(shapes[tensor.dims], numpy.int64)
        valid = draft.one("Cast", draft.one("Reshape", mask, shape), to=9)  # to bool
    return draft.one("Where", valid, like(draft, scores, 0.0), like(draft, scores, low))
