# SPDX-License-Identifier: MIT
"""Operators that join, cut, repeat or pad tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy

from aidge_build.operators.axes import counted_axes
from aidge_build.operators.bands import ROWS, band_of_rows, resized, same_rows
from aidge_build.operators.base import TensorType, require
from aidge_build.operators.broadcasting import broadcast_dims
from aidge_build.operators.kinds import Moved
from aidge_build.operators.register import operator
from aidge_build.operators.row_gradient import RowGradient
from aidge_build.operators.sample import Sample, numbers

LARGEST_RANGE = (1 << 63) - 1


@operator("Concat")
class Concat(Moved):
    """The inputs one after another along `axis`. Source: ONNX operator Concat."""

    joins: ClassVar = True

    axis: int = 0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis")
        require(all(source.input_names), "an input is not given")
        axis = source.axis("axis", 1, source.input(0).rank)
        names = source.input_names
        given = tuple(name for name in names if not _is_nothing(source.tensors[name], axis))
        return cls(axis), given or names

    def infer(self, inputs):
        first = inputs[0]
        require(self.axis < first.rank, f"{list(first.dims)} has no axis {self.axis}")
        for tensor in inputs[1:]:
            same = tensor.rank == first.rank and all(
                one == other for axis, (one, other) in enumerate(zip(tensor.dims, first.dims)) if axis != self.axis
            )
            require(same, f"{list(first.dims)} and {list(tensor.dims)} differ outside axis {self.axis}")
        dims = list(first.dims)
        dims[self.axis] = sum(tensor.dims[self.axis] for tensor in inputs)
        return (TensorType(tuple(dims), first.dtype),)

    def band(self, inputs, outputs, first, last):
        apart = self.axis not in (0, ROWS)
        return band_of_rows(self, inputs, outputs, (first, last), len(inputs)) if apart else None

    def forward(self, *inputs):
        return numpy.concatenate(inputs, self.axis)

    @classmethod
    def samples(cls):
        return (
            Sample(cls(1), (numbers(2, 3), numbers(2, 1, seed=1), numbers(2, 2, seed=2))),
            Sample(cls(0), (numbers(3), numbers(4, seed=1))),
        )


def _is_nothing(tensor, axis: int) -> bool:
    """Whether a tensor adds nothing along the axis."""
    return tensor.rank > axis and tensor.dims[axis] == 0


@operator("Split")
class Split(Moved):
    """Pieces of these sizes along `axis`. Source: ONNX operator Split, with constant sizes."""

    empties: ClassVar = True
    moves: ClassVar = True

    axis: int = 0
    sizes: tuple[int, ...] = ()

    @classmethod
    def from_onnx(cls, source):
        data, pieces = source.input(0), len(source.output_names)
        source.expect_attributes("axis", *(("split",) if source.opset < 13 else ("num_outputs",)))
        axis = source.axis("axis", 0, data.rank)
        if source.opset < 13:
            sizes = source.integers("split", None)
        else:
            sizes = source.constant_integers(1) if source.optional_input(1) is not None else None
        require(source.integer("num_outputs", pieces) == pieces, f"num_outputs differs from the {pieces} outputs of the node")
        if sizes is None:
            piece = -(-data.dims[axis] // pieces)
            sizes = (piece,) * (pieces - 1) + (data.dims[axis] - piece * (pieces - 1),)
        require(len(sizes) == pieces, f"{len(sizes)} sizes for {pieces} outputs")
        return cls(axis, tuple(sizes)), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        require(
            all(size >= 0 for size in self.sizes) and sum(self.sizes) == data.dims[self.axis],
            f"the sizes {list(self.sizes)} do not add up to the {data.dims[self.axis]} of axis {self.axis}",
        )
        return tuple(TensorType((*data.dims[: self.axis], size, *data.dims[self.axis + 1 :]), data.dtype) for size in self.sizes)

    def band(self, inputs, outputs, first, last):
        return None if self.axis == ROWS else band_of_rows(self, inputs, outputs, (first, last))

    def forward(self, data):
        return tuple(numpy.split(data, numpy.cumsum(self.sizes)[:-1], self.axis))

    @classmethod
    def samples(cls):
        return Sample(cls(1, (1, 3)), (numbers(2, 4),)), Sample(cls(0, (2, 1, 2)), (numbers(5),))


@operator("Slice")
class Slice(Moved):
    """Elements start, start + step, ... (count of them) of each axis. Source: ONNX operator Slice, with constant bounds."""

    empties: ClassVar = True
    moves: ClassVar = True

    starts: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()

    @classmethod
    def from_onnx(cls, source):
        dims = source.input(0).dims
        if source.opset < 10:
            source.expect_attributes("axes", "ends", "starts")
            starts, ends, axes, steps = source.integers("starts"), source.integers("ends"), source.integers("axes", None), None
        else:
            source.expect_attributes()
            starts, ends = source.constant_integers(1), source.constant_integers(2)
            axes, steps = (source.constant_integers(i) if source.optional_input(i) is not None else None for i in (3, 4))
        axes = counted_axes(tuple(range(len(starts))) if axes is None else axes, len(dims))
        steps = (1,) * len(starts) if steps is None else steps
        require(len(starts) == len(ends) == len(axes) == len(steps), "starts, ends, axes and steps differ in length")
        require(all(step != 0 for step in steps), f"the steps {list(steps)} hold 0")
        cuts = [slice(0, size, 1).indices(size) for size in dims]
        for axis, start, end, step in zip(axes, starts, ends, steps):
            cuts[axis] = _clamped(start, end, step, dims[axis])
        ranges = [range(*cut) for cut in cuts]
        return cls(tuple(r.start for r in ranges), tuple(map(len, ranges)), tuple(r.step for r in ranges)), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        lengths = {len(self.starts), len(self.counts), len(self.steps)}
        require(lengths == {data.rank}, f"it cuts {len(self.starts)} axes of {data.rank}")
        for axis, (start, count, step, size) in enumerate(zip(self.starts, self.counts, self.steps, data.dims)):
            ends = (start, start + (count - 1) * step)
            inside = step != 0 and (count == 0 or 0 <= min(ends) <= max(ends) < size)
            require(inside, f"axis {axis} of {size} elements is cut beyond its ends, or by steps of 0")
        return (TensorType(self.counts, data.dtype),)

    def band(self, inputs, outputs, first, last):
        start, step = self.starts[ROWS : ROWS + 1], self.steps[ROWS : ROWS + 1]
        if not start or step[0] < 0:
            return None
        rows = (start[0] + first * step[0], start[0] + (last - 1) * step[0] + 1)
        fewer = replace(self, starts=resized(self.starts, 0), counts=resized(self.counts, last - first))
        return band_of_rows(fewer, inputs, outputs, rows)

    def forward(self, data):
        cuts = []
        for start, count, step in zip(self.starts, self.counts, self.steps):
            end = start + count * step
            cuts.append(slice(start, end if end >= 0 else None, step) if count else slice(0, 0))
        return data[tuple(cuts)]

    @classmethod
    def samples(cls):
        return (Sample(cls((1, 3), (1, 2), (1, -2)), (numbers(2, 5),)), Sample(cls((0,), (3,), (2,)), (numbers(6),)))


def _clamped(start: int, end: int, step: int, size: int) -> tuple[int, int, int]:
    """Returns ONNX bounds of one axis as a Python range; -1 as a bound after clamping means "before the first element"."""
    step = max(-LARGEST_RANGE, min(LARGEST_RANGE, step))
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    low, high = (0, size) if step > 0 else (-1, size - 1)
    return (min(max(start, 0), high), min(max(end, low), size if step > 0 else size - 1), step)


@operator("Gather")
class Gather(Moved):
    """The slices of the data along `axis` that the indices name. Source: ONNX operator Gather."""

    moves: ClassVar = True

    axis: int = 0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis")
        return cls(source.axis("axis", 0, source.input(0).rank))

    def infer(self, inputs):
        data, indices = inputs
        size = data.dims[self.axis]
        if indices.is_constant and indices.data.size:
            low, high = int(indices.data.min()), int(indices.data.max())
            require(
                -size <= low and high < size,
                f"the indices {low} to {high} are out of range for axis {self.axis} of length {size}",
            )
        return (TensorType((*data.dims[: self.axis], *indices.dims, *data.dims[self.axis + 1 :]), data.dtype),)

    def band(self, inputs, outputs, first, last):
        apart = self.axis > ROWS or self.axis < ROWS and inputs[1].rank == 1
        return band_of_rows(self, inputs, outputs, (first, last)) if apart else None

    def forward(self, data, indices):
        size = data.shape[self.axis]
        require(
            bool(((-size <= indices) & (indices < size)).all()), f"an index is out of range for axis {self.axis} of length {size}"
        )
        return numpy.take(data, indices, self.axis)

    def backward(self, gradients, inputs, outputs):
        if self.axis:
            return super().backward(gradients, inputs, outputs)
        return RowGradient.of_reads(inputs[0].shape, inputs[1], gradients[0]), None

    @classmethod
    def samples(cls):
        return (
            Sample(cls(1), (numbers(2, 4), numpy.array([[3, 0, 3], [-1, 2, 0]]))),
            Sample(cls(0), (numbers(4, 2), numpy.array([[3, 0, 3], [-1, 2, 0]]))),
            Sample(cls(0), (numbers(4, 2), numpy.array(1))),
        )


@operator("Expand")
class Expand(Moved):
    """The data broadcast to (at least) these dims. Source: ONNX operator Expand, with a constant shape."""

    moves: ClassVar = True

    dims: tuple[int, ...] = ()

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes()
        wanted = source.constant_integers(1)
        require(all(size >= 0 for size in wanted), f"the shape {list(wanted)} holds a negative number")
        return cls(broadcast_dims(source.input(0).dims, wanted)), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(self.dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        return same_rows(replace(self, dims=resized(self.dims, last - first)), inputs, outputs, first, last)

    def forward(self, data):
        return numpy.broadcast_to(data, self.dims)

    @classmethod
    def samples(cls):
        return Sample(cls((2, 3, 4)), (numbers(3, 1),)), Sample(cls((2, 3)), (numbers(2, 3),))


@operator("Tile")
class Tile(Moved):
    """The data repeated along each axis. Source: ONNX operator Tile, with constant repeats."""

    moves: ClassVar = True

    repeats: tuple[int, ...] = ()

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes()
        return cls(source.constant_integers(1)), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        require(
            len(self.repeats) == data.rank and all(count >= 0 for count in self.repeats),
            f"the repeats {list(self.repeats)} do not fit {list(data.dims)}",
        )
        return (TensorType(tuple(size * count for size, count in zip(data.dims, self.repeats)), data.dtype),)

    def band(self, inputs, outputs, first, last):
        apart = self.repeats[ROWS : ROWS + 1] == (1,)
        return band_of_rows(self, inputs, outputs, (first, last)) if apart else None

    def forward(self, data):
        return numpy.tile(data, self.repeats)

    @classmethod
    def samples(cls):
        return Sample(cls((2, 1)), (numbers(2, 3),)), Sample(cls((3,)), (numbers(2),))
