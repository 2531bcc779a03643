# SPDX-License-Identifier: MIT
"""Reductions over axes, and the places of the largest and smallest elements."""

from __future__ import annotations

import math

from aidge_build.operators.axes import counted_axes, counted_axis
from aidge_build.operators.base import Operator, require
from aidge_build.operators.cast import Cast
from aidge_build.operators.pool import GlobalAveragePooling
from aidge_build.operators.reduce import Reduce, ReduceMax, ReduceMean, ReduceMin, ReduceProd, ReduceSum
from aidge_build.operators.search import ArgMax, ArgMin
from aidge_build.operators.view import Reshape
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants, channels_first, file_order
from aidge_build.sources.formats.tflite.registry import reads

_REDUCTIONS: dict[str, type[Reduce]] = {
    "MEAN": ReduceMean,
    "REDUCE_ALL": ReduceMin,
    "REDUCE_ANY": ReduceMax,
    "REDUCE_MAX": ReduceMax,
    "REDUCE_MIN": ReduceMin,
    "REDUCE_PROD": ReduceProd,
    "SUM": ReduceSum,
}


@reads(*_REDUCTIONS, wants=Wants.SAME, kind=27, keep_dims=Field(0, "bool"))
def reduction(source: TfliteNode) -> None:
    """The axes become one element; the mean of whole maps is a pool, but where the contract rounds a pool in another way."""
    value, made = source.input(0), source.output()
    axes = source.constant(1).reshape(-1)
    require(axes.dtype.kind in "iu", "its axes are no integers")
    reduced = counted_axes(tuple(dict.fromkeys(int(axis) % max(value.rank, 1) for axis in axes)), value.rank)
    kept = tuple(1 if axis in reduced else size for axis, size in enumerate(value.dims))
    operator: Operator = _REDUCTIONS[source.operator.type](axes=source.axes(reduced, value.rank), keep=True)
    whole_map = sorted(reduced) == [1, 2] and value.order == channels_first(4)
    if isinstance(operator, ReduceMean) and whole_map and not source.on_stored:
        operator = GlobalAveragePooling()
    data = source.as_output(source.read(0)) if isinstance(operator, ReduceMax | ReduceMin) else source.read(0)
    if source.options["keep_dims"]:
        source.write(operator, [data])
        return
    whole = source.step(operator, [data], made)
    whole = source.in_order(whole, source.order(value.rank), file_order(value.rank))
    dims = tuple(size for axis, size in enumerate(value.dims) if axis not in reduced)
    require(math.prod(dims) == math.prod(kept), "its axes are named twice")
    source.write(Reshape(dims), [whole], file_order(len(dims)))


_OUTPUT_TYPE = Field(0, "int8")


@reads("ARG_MAX", wants=Wants.ANY, kind=40, output_type=_OUTPUT_TYPE)
def arg_max(source: TfliteNode) -> None:
    """The first of the largest elements."""
    _place(source, ArgMax)


@reads("ARG_MIN", wants=Wants.ANY, kind=57, output_type=_OUTPUT_TYPE)
def arg_min(source: TfliteNode) -> None:
    """The first of the smallest elements."""
    _place(source, ArgMin)


def _place(source: TfliteNode, operator: type[ArgMax]) -> None:
    value, made = source.input(0), source.output()
    numbers = source.constant(1).reshape(-1)
    require(numbers.size == 1 and numbers.dtype.kind in "iu", "its axis must be one integer")
    axis = counted_axis(int(numbers[0]), value.rank)
    kept = tuple(1 if one == axis else size for one, size in enumerate(value.dims))
    found = source.step(operator(axis=value.order.index(axis), keep=True), [source.read(0, value.order)])
    found = source.in_order(found, value.order, file_order(value.rank))
    found = source.step(Reshape(made.dims if math.prod(made.dims) == math.prod(kept) else kept), [found])
    source.write(Cast(to=made.dtype), [found], file_order(made.rank))
