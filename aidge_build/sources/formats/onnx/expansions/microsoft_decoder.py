# SPDX-License-Identifier: MIT
"""Attention over a cache, and rotary embeddings, as onnxruntime's builders of decoders write them. Source: its operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.operators.base import require
from aidge_build.sources.formats.onnx.expansion import Draft, expands
from aidge_build.sources.formats.onnx.expansions.microsoft import like
from aidge_build.sources.formats.onnx.expansions.microsoft_attention import heads_apart, heads_joined

_TO_INT64 = 7
_QUERY, _KEY, _VALUE, _PAST_KEY, _PAST_VALUE, _LAST_ROWS, _COS, _SIN, _POSITIONS, _BIAS, _SINK = (
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    10,
    11,
)


@expands("com.microsoft::RotaryEmbedding")
def rotary_embedding(draft: Draft) -> Sequence[str]:
    """Pairs of elements, turned by the angle of their position."""
    source = draft.source
    source.expect_attributes("interleaved", "is_packed_batching", "num_heads", "rotary_embedding_dim", "scale")
    require(source.real("scale", 1.0) == 1, "a scale is not supported")
    require(not source.integer("is_packed_batching", 0), "packed batches are not supported")
    name, (half,) = draft.input(0), draft.tensor(draft.input(2)).dims[1:]
    rank = draft.tensor(name).rank
    require(rank in (3, 4), f"the input has {rank} axes, wants three or four")
    if rank == 3:
        width = draft.tensor(name).dims[2]
        heads = source.integer("num_heads", 0) or width // (2 * half)
        name = heads_apart(draft, name, heads)
    batch, heads, length, width = draft.tensor(name).dims
    require(source.integer("rotary_embedding_dim", 0) in (0, 2 * half), "rotary_embedding_dim differs from the tables")
    places = draft.input(1)
    if draft.tensor(places).dims != (batch, length):
        require(draft.tensor(places).elements == 1, f"positions of {list(draft.tensor(places).dims)} are not supported")
        places = _counted_from(draft, draft.one("Reshape", places, _integers(draft, 1, 1)), length)
    result = _turned(draft, name, _angles(draft, places, 2, 3, bool(source.integer("interleaved", 0))))
    return (heads_joined(draft, result) if rank == 3 else result,)


@dataclass(frozen=True)
class _Heads:
    """The numbers of a node: `first` is the row [batch] that the first new row gets in the cache."""

    query: int
    kept: int
    first: str
    length: int


@expands("com.microsoft::GroupQueryAttention")
def group_query_attention(draft: Draft) -> Sequence[str]:
    """New rows are written into the caches of keys and values; each head of keys serves several of queries, up to its own row."""
    source = draft.source
    source.expect_attributes(
        "do_rotary", "k_quant_type", "kv_cache_bit_width", "kv_num_heads", "local_window_size", "num_heads", "qk_output",
        "rotary_interleaved", "scale", "smooth_softmax", "softcap", "v_quant_type",
    )  # fmt: skip
    _refuse_variants(draft)
    query, key, value = _projections(draft)
    length = draft.tensor(query).dims[2]
    heads = _Heads(source.integer("num_heads"), source.integer("kv_num_heads"), _first_row(draft, length), length)
    if source.integer("do_rotary", 0):
        places = draft.input(_POSITIONS) or _counted_from(
            draft, draft.one("Reshape", heads.first, _integers(draft, -1, 1)), length
        )
        angles = _angles(draft, places, _COS, _SIN, bool(source.integer("rotary_interleaved", 0)))
        query, key = (_turned(draft, name, angles) for name in (query, key))
    if draft.input(_PAST_KEY):
        key, value = (
            draft.one("TensorScatter", draft.input(place), rows, heads.first, opset=24)
            for place, rows in ((_PAST_KEY, key), (_PAST_VALUE, value))
        )
    return (_attended(draft, heads, query, key, value), key, value)


def _refuse_variants(draft: Draft) -> None:
    source = draft.source
    require(not draft.input(_SINK) and not source.integer("smooth_softmax", 0), "a sink of attention is not supported")
    quantized = {source.text(name, "NONE") for name in ("k_quant_type", "v_quant_type")} != {"NONE"}
    require(not quantized and not source.integer("kv_cache_bit_width", 0), "a quantized cache is not supported")
    require(not source.integer("qk_output", 0) and not source.is_read(3), "the scores as an output are not supported")
    require(bool(draft.input(_PAST_KEY)) == bool(draft.input(_PAST_VALUE)), "it has one cache, wants two or none")


def _projections(draft: Draft) -> Sequence[str]:
    """Returns query, key and value as [batch, heads, length, width]."""
    source = draft.source
    heads, kept = source.integer("num_heads"), source.integer("kv_num_heads")
    require(heads > 0 and kept > 0 and heads % kept == 0, f"{heads} heads of queries for {kept} of keys")
    parts = [draft.input(place) for place in (_QUERY, _KEY, _VALUE)]
    require(draft.tensor(parts[0]).rank == 3, "the query must have three axes")
    if not parts[1]:
        columns = draft.tensor(parts[0]).dims[2]
        require(columns % (heads + 2 * kept) == 0, f"{columns} columns for {heads} + 2 * {kept} heads")
        width = columns // (heads + 2 * kept)
        sizes = _integers(draft, heads * width, kept * width, kept * width)
        parts = list(draft.emit("Split", parts[0], sizes, outputs=3, axis=2))
    return [heads_apart(draft, name, count) for name, count in zip(parts, (heads, kept, kept))]


def _first_row(draft: Draft, length: int) -> str:
    """Returns the row [batch] of the cache at which the new rows begin."""
    batch = draft.tensor(draft.input(_QUERY)).dims[0]
    if not draft.input(_PAST_KEY):
        return draft.constant([0] * batch, numpy.int64)
    last = draft.input(_LAST_ROWS)

    def write() -> str:
        row = draft.one("Cast", draft.one("Reshape", last, _integers(draft, batch)), to=_TO_INT64)
        return row if length == 1 else draft.one("Sub", row, draft.constant(length - 1, numpy.int64))

    return draft.once(("first row", last, batch, length), write)


def _attended(draft: Draft, heads: _Heads, query: str, key: str, value: str) -> str:
    source = draft.source
    batch, _, length, width = draft.tensor(query).dims
    rows = draft.tensor(key).dims[2]
    scale = source.real("scale", 0.0) or 1 / math.sqrt(width)
    query = draft.one("Mul", query, like(draft, query, scale))
    query = draft.one("Reshape", query, _integers(draft, batch, heads.kept, -1, width))
    scores = draft.one("MatMul", query, draft.one("Transpose", key, perm=(0, 1, 3, 2)))
    scores = draft.one("Reshape", scores, _integers(draft, batch, heads.query, length, rows))
    limit = source.real("softcap", 0.0)
    if limit:
        small = draft.one("Div", scores, like(draft, scores, limit))
        scores = draft.one("Mul", draft.one("Tanh", small), like(draft, scores, limit))
    dtype = draft.tensor(scores).dtype
    mask = ("rows seen", heads.first, length, rows, source.integer("local_window_size", -1), dtype)
    scores = draft.one("Add", scores, draft.once(mask, lambda: _rows_seen(draft, heads, rows, scores)))
    if draft.input(_BIAS):
        columns = draft.tensor(draft.input(_BIAS)).dims[-1]
        require(columns == rows, f"the attention bias has {columns} columns, the cache has {rows} rows")
        scores = draft.one("Add", scores, draft.input(_BIAS))
    weights = draft.one("Reshape", draft.one("Softmax", scores, axis=-1), _integers(draft, batch, heads.kept, -1, rows))
    found = draft.one("Reshape", draft.one("MatMul", weights, value), _integers(draft, batch, heads.query, length, width))
    return heads_joined(draft, found)


def _rows_seen(draft: Draft, heads: _Heads, rows: int, scores: str) -> str:
    """Returns what is added to scores: 0 for the rows up to the query's own, the lowest number for the others."""
    limit = draft.one("Reshape", heads.first, _integers(draft, -1, 1, 1, 1))
    if heads.length > 1:
        limit = draft.one("Add", limit, draft.constant(numpy.arange(heads.length).reshape(1, 1, -1, 1), numpy.int64))
    places = draft.constant(numpy.arange(rows), numpy.int64)
    seen = draft.one("LessOrEqual", places, limit, opset=16)
    window = draft.source.integer("local_window_size", -1)
    if window > 0:
        behind = draft.one("Sub", limit, draft.constant(window, numpy.int64))
        seen = draft.one("And", seen, draft.one("Greater", places, behind))
    lowest = float(numpy.finfo(draft.tensor(scores).dtype.numpy).min)
    return draft.one("Where", seen, like(draft, scores, 0.0), like(draft, scores, lowest), opset=16)


@dataclass(frozen=True)
class _Angles:
    """For both elements of each pair: the cosine, and the sine with the sign of the other element's part."""

    cos: str
    sin: str
    pairs: int
    axis: int  # of the two elements of a pair: a last axis of two, or the two halves of axis 3


def _angles(draft: Draft, places: str, cos: int, sin: int, interleaved: bool) -> _Angles:
    """Returns the angles of positions [batch, length], from the tables [position, pair] of two inputs."""
    tables = draft.input(cos), draft.input(sin)

    def write() -> _Angles:
        axes = _integers(draft, *((1, 4) if interleaved else (1,)))
        cosines, sines = (draft.one("Unsqueeze", draft.one("Gather", table, places, axis=0), axes) for table in tables)
        axis = 4 if interleaved else 3
        both = draft.one("Concat", cosines, cosines, axis=axis)
        signed = draft.one("Concat", draft.one("Neg", sines), sines, axis=axis)
        return _Angles(both, signed, draft.tensor(tables[0]).dims[1], axis)

    return draft.once(("angles", places, *tables, interleaved), write)


def _positions(draft: Draft, first: str, length: int) -> str:
    """Returns the positions [batch, length] from the rows [batch] on."""
    return draft.once(
        ("positions", first, length), lambda: _counted_from(draft, draft.one("Reshape", first, _integers(draft, -1, 1)), length)
    )


def _counted_from(draft: Draft, first: str, length: int) -> str:
    """Returns the positions [batch, length] from first positions [batch, 1] on."""
    return first if length == 1 else draft.one("Add", first, draft.constant(numpy.arange(length), numpy.int64))


def _turned(draft: Draft, name: str, angles: _Angles) -> str:
    """Returns (a, b) as (a cos - b sin, b cos + a sin), for pairs of neighbours or of elements of two halves."""
    *outer, width = draft.tensor(name).dims
    turned = 2 * angles.pairs
    require(turned <= width, f"{angles.pairs} pairs are turned in heads of {width} elements")
    rest: list[str] = []
    if turned < width:
        name, *rest = draft.emit("Split", name, _integers(draft, turned, width - turned), outputs=2, axis=3)
    are_neighbours = angles.axis == 4
    if are_neighbours:
        name = draft.one("Reshape", name, _integers(draft, *outer, angles.pairs, 2))
    size = 1 if are_neighbours else angles.pairs
    first, second = draft.emit("Split", name, _integers(draft, size, size), outputs=2, axis=angles.axis)
    swapped = draft.one("Concat", second, first, axis=angles.axis)
    result = draft.one("Add", draft.one("Mul", name, angles.cos), draft.one("Mul", swapped, angles.sin))
    result = draft.one("Reshape", result, _integers(draft, *outer, turned)) if are_neighbours else result
    return draft.one("Concat", result, *rest, axis=3) if rest else result


def _integers(draft: Draft, *values: int) -> str:
    return draft.constant(values, numpy.int64)
