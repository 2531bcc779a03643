# SPDX-License-Identifier: MIT
"""Reading and writing at places that are computed at run time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.kinds import Moved
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers

REDUCTIONS = {"none": None, "add": numpy.add, "mul": numpy.multiply, "max": numpy.maximum, "min": numpy.minimum}


def _counted(indices: numpy.ndarray, size) -> numpy.ndarray:
    """Returns indices counted from the front; an index out of range is refused."""
    require(bool(((-size <= indices) & (indices < size)).all()), f"an index is out of range for {size}")
    return numpy.where(indices < 0, indices + size, indices)


@operator("GatherElements")
class GatherElements(Moved):
    """y[i, j, ...] = x at the same place, but at the index along `axis`. Source: ONNX operator GatherElements."""

    axis: int = 0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis")
        return cls(source.axis("axis", 0, source.input(0).rank))

    def infer(self, inputs):
        data, indices = inputs
        require(data.rank == indices.rank, f"the ranks {data.rank} and {indices.rank} differ")
        require(
            all(few <= many for axis, (few, many) in enumerate(zip(indices.dims, data.dims)) if axis != self.axis),
            f"the indices {list(indices.dims)} reach beyond {list(data.dims)}",
        )
        return (TensorType(indices.dims, data.dtype),)

    def forward(self, data, indices):
        places = list(numpy.indices(indices.shape))
        places[self.axis] = _counted(indices, data.shape[self.axis])
        return data[tuple(places)]

    @classmethod
    def samples(cls):
        return (Sample(cls(1), (numbers(2, 3), numpy.array([[2, 0], [-1, -1]]))),)


@operator("GatherND")
class GatherND(Moved):
    """Slices of the data that tuples of indices name, after `batch_axes` common axes. Source: ONNX operator GatherND."""

    batch_axes: int = 0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("batch_dims")
        return cls(source.integer("batch_dims", 0))

    def infer(self, inputs):
        data, indices = inputs
        batch = self.batch_axes
        require(
            0 <= batch < min(data.rank, indices.rank) and data.dims[:batch] == indices.dims[:batch],
            f"batch_dims {batch} does not fit {list(data.dims)} and {list(indices.dims)}",
        )
        depth = indices.dims[-1]
        require(0 < depth <= data.rank - batch, f"the tuples have {depth} indices, the data {data.rank - batch} axes")
        return (TensorType((*indices.dims[:-1], *data.dims[batch + depth :]), data.dtype),)

    def forward(self, data, indices):
        batch, depth = self.batch_axes, indices.shape[-1]
        places = tuple(_counted(indices[..., k], data.shape[batch + k]) for k in range(depth))
        common = numpy.indices(indices.shape[:batch], sparse=True) if batch else ()
        shape = indices.shape[:-1]
        common = tuple(axis.reshape(*axis.shape, *(1,) * (len(shape) - batch)) for axis in common)
        return data[(*common, *places)]

    @classmethod
    def samples(cls):
        return (
            Sample(cls(), (numbers(2, 3), numpy.array([[1], [0], [1]]))),
            Sample(cls(1), (numbers(2, 3), numpy.array([[2], [0]]))),
        )


@dataclass(frozen=True)
class Scatter(Operator):
    """Base: a copy of the data in which updates replace elements, or are combined with them by `reduction`."""

    reduction: str = "none"

    def infer(self, inputs):
        data, indices, updates = inputs
        require(self.reduction in REDUCTIONS, f"reduction {self.reduction!r} is unknown")
        require(data.dtype is updates.dtype, f"the data is {data.dtype.name}, the updates {updates.dtype.name}")
        return (TensorType(data.dims, data.dtype),)

    def places(self, data: numpy.ndarray, indices: numpy.ndarray) -> tuple[numpy.ndarray, ...]:
        """Returns the places of the updates, as numpy indices."""
        raise NotImplementedError

    def forward(self, data, indices, updates):
        places, result = self.places(data, indices), data.copy()
        function = REDUCTIONS[self.reduction]
        if function is None:
            result[places] = updates
        else:
            function.at(result, places, updates)
        return result

    def backward(self, gradients, inputs, outputs):
        (gradient,), (data, indices, updates) = gradients, inputs
        require(self.reduction in ("none", "add"), f"{self.type} with the reduction {self.reduction} has no backward")
        places, kept = self.places(data, indices), gradient.copy()
        by_updates = gradient[places]
        if self.reduction == "none":
            kept[places] = 0
            last = numpy.zeros(data.shape, numpy.int64)  # of several updates of one place only the last counts
            numbers_of = numpy.arange(1, updates.size + 1).reshape(updates.shape)
            last[places] = numbers_of
            by_updates = by_updates * (last[places] == numbers_of)
        return kept, None, by_updates

    @classmethod
    def examples(cls):
        return cls("none"), cls("add")


@operator("ScatterElements", "Scatter")
class ScatterElements(Scatter):
    """The update at [i, j, ...] goes to the same place of the data, but at the index along `axis`.

    Source: ONNX operators ScatterElements and Scatter.
    """

    axis: int = 0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis", "reduction")
        return cls(source.text("reduction", "none"), source.axis("axis", 0, source.input(0).rank))

    def infer(self, inputs):
        data, indices, updates = inputs
        require(
            indices.dims == updates.dims and data.rank == indices.rank,
            f"the indices {list(indices.dims)} and updates {list(updates.dims)} do not fit {list(data.dims)}",
        )
        require(
            all(few <= many for axis, (few, many) in enumerate(zip(indices.dims, data.dims)) if axis != self.axis),
            f"the indices {list(indices.dims)} reach beyond {list(data.dims)}",
        )
        return super().infer(inputs)

    def places(self, data, indices):
        places = list(numpy.indices(indices.shape))
        places[self.axis] = _counted(indices, data.shape[self.axis])
        return tuple(places)

    @classmethod
    def samples(cls):
        indices = numpy.array([[2, 0], [0, -1], [2, 3]])
        return tuple(Sample(one, (numbers(4, 3), indices, numbers(3, 2, seed=1))) for one in cls.examples())


@operator("ScatterND")
class ScatterND(Scatter):
    """Each slice of the updates goes to the place that a tuple of indices names. Source: ONNX operator ScatterND."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("reduction")
        return cls(source.text("reduction", "none"))

    def infer(self, inputs):
        data, indices, updates = inputs
        require(
            indices.rank > 0 and 0 < indices.dims[-1] <= data.rank,
            f"the indices {list(indices.dims)} do not fit {list(data.dims)}",
        )
        wanted = (*indices.dims[:-1], *data.dims[indices.dims[-1] :])
        require(updates.dims == wanted, f"the updates have the dims {list(updates.dims)}, want {list(wanted)}")
        return super().infer(inputs)

    def places(self, data, indices):
        return tuple(_counted(indices[..., k], data.shape[k]) for k in range(indices.shape[-1]))

    @classmethod
    def samples(cls):
        indices = numpy.array([[1], [-1], [1]])
        return tuple(Sample(one, (numbers(4, 3), indices, numbers(3, 3, seed=1))) for one in cls.examples())
