# SPDX-License-Identifier: MIT
"""Operators that copy elements to other places."""

from __future__ import annotations

import math

import numpy

from aidge_build.operators.arithmetic.requantize import dequantize
from aidge_build.operators.axes import counted_axis
from aidge_build.operators.base import require
from aidge_build.operators.pad import LARGEST, Pad
from aidge_build.operators.rearrange import Concat, Expand, Gather, Slice, Split, Tile
from aidge_build.operators.view import Reshape
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.operators.lookup import one_integer
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads


def _pads(source: TfliteNode) -> tuple[tuple[int, ...], tuple[int, ...]]:
    pads, rank = source.constant(1), source.input(0).rank
    require(pads.shape == (rank, 2) and pads.dtype.kind in "iu", f"its pads have the dims {list(pads.shape)}")
    numbers = pads.astype(numpy.int64)
    require(bool(((numbers >= 0) & (numbers < LARGEST)).all()), f"its pads: each must be in 0..{LARGEST - 1}")
    return source.ordered(numbers[:, 0].tolist()), source.ordered(numbers[:, 1].tolist())


@reads("PAD", wants=Wants.SAME)
def pad(source: TfliteNode) -> None:
    """Zeros around the data; around quantized data the zero point."""
    source.move(Pad(*_pads(source)), [source.read(0)])


@reads("PADV2", wants=Wants.SAME)
def pad_with(source: TfliteNode) -> None:
    """The same with a value of its own."""
    given, number = source.input(2), source.constant(2).reshape(-1)
    require(number.size == 1, f"its value has the dims {list(given.dims)}, wants one")
    if given.quantization is not None:
        number = dequantize(number, given.quantization)
    source.move(Pad(*_pads(source), value=number[0].item()), [source.read(0)])


@reads("MIRROR_PAD", wants=Wants.SAME, kind=77, mode=Field(0, "int8"))
def mirror_pad(source: TfliteNode) -> None:
    """Mirrored at the border's middle; REFLECT leaves the border itself out."""
    require(source.options["mode"] == 0, "its mode SYMMETRIC is not supported (REFLECT is)")
    source.move(Pad(*_pads(source), mode="reflect"), [source.read(0)])


@reads("CONCATENATION", wants=Wants.SAME, kind=10, axis=Field(0, "int32"), fused_activation_function=Field(1, "int8"))
def concatenation(source: TfliteNode) -> None:
    """One after another along an axis."""
    require(source.options["fused_activation_function"] == 0, "a fused activation is not supported")
    names = [source.read(index) for index in range(source.input_count)]
    source.write(Concat(axis=source.axis(source.options["axis"], source.output().rank)), names)


@reads("PACK", wants=Wants.FILE, kind=59, values_count=Field(0, "int32"), axis=Field(1, "int32"))
def pack(source: TfliteNode) -> None:
    """One after another along a new axis."""
    value, rank = source.input(0), source.output().rank
    axis = counted_axis(source.options["axis"], rank)
    dims = (*value.dims[:axis], 1, *value.dims[axis:])
    names = [source.step(Reshape(dims), [source.read(index)], source.input(index)) for index in range(source.input_count)]
    source.write(Concat(axis=axis), names)


@reads("UNPACK", wants=Wants.FILE, kind=64, num=Field(0, "int32"), axis=Field(1, "int32"))
def unpack(source: TfliteNode) -> None:
    """The elements of an axis, one for each output."""
    value, data = source.input(0), source.read(0)
    axis = counted_axis(source.options["axis"], value.rank)
    require(value.dims[axis] == source.output_count, f"{source.output_count} outputs for {value.dims[axis]} elements")
    counts = tuple(1 if one == axis else size for one, size in enumerate(value.dims))
    for index in range(source.output_count):
        starts = tuple(index if one == axis else 0 for one in range(value.rank))
        piece = source.step(Slice(starts, counts, (1,) * value.rank), [data], value)
        source.move(Reshape(value.dims[:axis] + value.dims[axis + 1 :]), [piece], only=index)


@reads("SPLIT", wants=Wants.FILE, kind=35, num_splits=Field(0, "int32"))
def split(source: TfliteNode) -> None:
    """Equal pieces; the axis is input 0, the data input 1."""
    value, pieces = source.input(1), source.output_count
    axis = counted_axis(one_integer(source, 0), value.rank)
    require(value.dims[axis] % max(pieces, 1) == 0, f"{value.dims[axis]} elements do not divide into {pieces} pieces")
    source.move(Split(axis, (value.dims[axis] // max(pieces, 1),) * pieces), [source.read(1)])


@reads("SPLIT_V", wants=Wants.FILE, kind=79, num_splits=Field(0, "int32"))
def split_v(source: TfliteNode) -> None:
    """Pieces of the sizes in input 1, one size may be -1; the axis is input 2."""
    value, sizes = source.input(0), list(source.integers(1))
    axis = counted_axis(one_integer(source, 2), value.rank)
    require(len(sizes) == source.output_count, f"{len(sizes)} sizes for {source.output_count} outputs")
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = value.dims[axis] - sum(size for size in sizes if size != -1)
    source.move(Split(axis, tuple(sizes)), [source.read(0)])


@reads("SLICE", wants=Wants.SAME)
def slice_(source: TfliteNode) -> None:
    """`size` elements from `begin` on; -1 means all that follow."""
    value, begin, size = source.input(0), source.integers(1), source.integers(2)
    require(len(begin) == len(size) == value.rank, f"{len(begin)} starts and {len(size)} sizes for {value.rank} axes")
    counts = tuple(dim - first if count == -1 else count for dim, first, count in zip(value.dims, begin, size))
    inside = all(first >= 0 and count >= 0 and first + count <= dim for dim, first, count in zip(value.dims, begin, counts))
    require(inside, f"it takes {list(counts)} elements from {list(begin)} on, of {list(value.dims)}")
    ones = (1,) * value.rank
    source.move(Slice(source.ordered(begin), source.ordered(counts), ones), [source.read(0)])


_MASKS = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")


@reads("STRIDED_SLICE", wants=Wants.FILE, kind=32, **{name: Field(number, "int32") for number, name in enumerate(_MASKS)})
def strided_slice(source: TfliteNode) -> None:
    """As Python slices; bits of the masks leave out bounds, and add or drop axes."""
    value, options = source.input(0), source.options
    require(options["ellipsis"] == 0 and options["new_axis"] == 0, "masks of an ellipsis or of new axes are not supported")
    begin, end, steps = (source.integers(index) for index in (1, 2, 3))
    require(len(begin) == len(end) == len(steps) <= value.rank, f"{len(begin)} bounds for {value.rank} axes")
    ranges, dims = [range(size) for size in value.dims], []
    for axis, (first, last, step) in enumerate(zip(begin, end, steps)):
        size = value.dims[axis]
        require(step != 0, "a stride is 0")
        if options["shrink_axis"] >> axis & 1:
            at = first + size if first < 0 else first
            require(0 <= at < size, f"element {first} of an axis of {size}")
            ranges[axis] = range(at, at + 1)
        else:
            bounds = (None if options["begin"] >> axis & 1 else first), (None if options["end"] >> axis & 1 else last)
            ranges[axis] = range(*slice(*bounds, step).indices(size))
    dims = [len(one) for axis, one in enumerate(ranges) if not (axis < len(begin) and options["shrink_axis"] >> axis & 1)]
    operator = Slice(tuple(r.start for r in ranges), tuple(map(len, ranges)), tuple(r.step for r in ranges))
    if len(dims) == value.rank:
        source.move(operator, [source.read(0)])
    else:
        source.move(Reshape(tuple(dims)), [source.step(operator, [source.read(0)], value)])


@reads("GATHER", wants=Wants.FILE, kind=23, axis=Field(0, "int32"), batch_dims=Field(1, "int32"))
def gather(source: TfliteNode) -> None:
    """The slices along an axis that the indices name."""
    require(source.options["batch_dims"] == 0, "batch_dims is not supported")
    axis = counted_axis(source.options["axis"], source.input(0).rank)
    source.move(Gather(axis=axis), [source.read(0), source.read(1)])


@reads("TILE", wants=Wants.SAME)
def tile(source: TfliteNode) -> None:
    """The data repeated along each axis."""
    counts = source.integers(1)
    require(len(counts) == source.input(0).rank, f"{len(counts)} repeats for {source.input(0).rank} axes")
    source.move(Tile(source.ordered(counts)), [source.read(0)])


@reads("BROADCAST_TO", wants=Wants.SAME)
def broadcast_to(source: TfliteNode) -> None:
    """The data broadcast to these dims."""
    dims = source.integers(1)
    require(all(size > 0 for size in dims), f"its dims are {list(dims)}")
    source.move(Expand(source.ordered(dims)), [source.read_wide(0, len(dims))])


@reads("REVERSE_V2", wants=Wants.SAME)
def reverse(source: TfliteNode) -> None:
    """The elements along some axes in reverse."""
    value = source.input(0)
    axes = {counted_axis(axis, value.rank) for axis in source.integers(1)}
    starts = tuple(size - 1 if axis in axes else 0 for axis, size in enumerate(value.dims))
    steps = tuple(-1 if axis in axes else 1 for axis in range(value.rank))
    source.move(Slice(source.ordered(starts), source.ordered(value.dims), source.ordered(steps)), [source.read(0)])


@reads("SHAPE", wants=Wants.ANY, kind=55, out_type=Field(0, "int8"))
def shape(source: TfliteNode) -> None:
    """The dims of the input: known here."""
    made = source.output()
    source.write_constant(numpy.array(source.input(0).dims, made.dtype.numpy))


@reads("RANK", wants=Wants.ANY)
def rank(source: TfliteNode) -> None:
    """The number of axes: known here."""
    source.write_constant(numpy.array(source.input(0).rank, source.output().dtype.numpy))


@reads("ZEROS_LIKE", wants=Wants.ANY)
def zeros_like(source: TfliteNode) -> None:
    """Zeros in the dims of the input."""
    source.write_constant(numpy.zeros(source.input(0).dims, source.output().dtype.numpy))


@reads("FILL", wants=Wants.ANY)
def fill(source: TfliteNode) -> None:
    """Input 1 as often as the dims in input 0 say."""
    dims, number = source.integers(0), source.constant(1).reshape(-1)
    require(number.size == 1 and all(size >= 0 for size in dims), f"its dims are {list(dims)}")
    require(math.prod(dims) <= 1 << 20, f"its dims {list(dims)} are too many elements to evaluate")
    source.write_constant(numpy.full(dims, number[0]))
