# SPDX-License-Identifier: MIT
"""Operators that look values up: in a list of keys, or at places. Words are numbers here (`onnx_format.without_text`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.kinds import Moved
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


def first_places(keys: Sequence[int | float], values: numpy.ndarray) -> numpy.ndarray:
    """Returns for each value the index of the first equal key, -1 if there is none; NaN equals NaN."""
    found = numpy.full(values.shape, -1, numpy.int64)
    for place in range(len(keys) - 1, -1, -1):
        found[(values == keys[place]) | ((values != values) & (keys[place] != keys[place]))] = place
    return found


@operator("ai.onnx.ml::LabelEncoder")
class LabelEncoder(Operator):
    """values[i] for an element that is keys[i], the default for any other; of equal keys the first one counts.

    Source: ONNX operators LabelEncoder and CategoryMapper of ai.onnx.ml, with numbers instead of words.
    """

    keys: tuple[int | float, ...] = ()
    values: tuple[int | float, ...] = ()
    default: int | float = -1
    dtype: DType = DType.int64

    @classmethod
    def from_onnx(cls, source):
        keys, values, default = source.mapping()
        require(keys.dtype.kind in "if" and values.dtype.kind in "if", f"it maps {keys.dtype} to {values.dtype}")
        require(len(keys) > 0, "it has no keys")
        given = source.input(0).dtype
        wanted = DType(keys.dtype.name)
        require(given is wanted, f"the keys are {wanted.name}, the input is {given.name}")
        return cls(tuple(keys.tolist()), tuple(values.tolist()), default.tolist()[0], DType(values.dtype.name))

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, self.dtype),)

    def forward(self, data):
        values = numpy.array([*self.values, self.default], self.dtype.numpy)
        return values[first_places(self.keys, data)]

    def takes_over(self, inputs, outputs):
        return (0,) if inputs[0].dtype.size_bytes == outputs[0].dtype.size_bytes else ()

    @classmethod
    def samples(cls):
        return (
            Sample(cls((0, 1, 2), (5, -3, 7)), (numpy.array([[2, 0], [9, -1]]),)),
            Sample(cls((4, -8), (0, 1), 2), (numpy.array([-8, 4, 5]),)),
        )


@operator("ai.onnx.ml::OneHotEncoder")
class OneHotEncoder(Operator):
    """A row of zeros for each element, with 1 at its place among the categories; zeros for an element that is none of them.

    Source: ONNX operator OneHotEncoder of ai.onnx.ml. With zeros = 0 it stops at an element that is no category: firmware
    cannot stop, so such an element must not come.
    """

    categories: tuple[int, ...] = ()

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("cats_int64s", "zeros")
        categories = source.integers("cats_int64s")
        require(len(categories) > 0, "it has no category")
        require(len(set(categories)) == len(categories), "a category is listed twice")
        return cls(categories)

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType((*data.dims, len(self.categories)), DType.float32),)

    def forward(self, data):
        places = first_places(self.categories, data.astype(numpy.int64))
        return (places[..., None] == numpy.arange(len(self.categories))).astype(numpy.float64)

    @classmethod
    def samples(cls):
        return (Sample(cls((3, -1, 7)), (numpy.array([[7, 3], [8, -1]]),)),)


@operator("ai.onnx.ml::ArrayFeatureExtractor")
class ArrayFeatureExtractor(Moved):
    """The elements of the last axis that the indices name, in one row. Source: ONNX operator ArrayFeatureExtractor."""

    moves: ClassVar = True
    axis: ClassVar[int] = -1

    def infer(self, inputs):
        data, places = inputs
        require(data.rank > 0, "the input has no axis")
        if places.is_constant and places.data.size:
            low, high = int(places.data.min()), int(places.data.max())
            require(0 <= low and high < data.dims[-1], f"the places {low} to {high} are out of range 0 to {data.dims[-1] - 1}")
        dims = data.dims[:-1] if data.rank > 1 else (1,)
        return (TensorType((*dims, int(numpy.prod(places.dims))), data.dtype),)

    def forward(self, data, places):
        require(bool(((places >= 0) & (places < data.shape[-1])).all()), f"a place is beyond the axis of {data.shape[-1]}")
        return numpy.take(numpy.atleast_2d(data), places.reshape(-1), -1)

    @classmethod
    def samples(cls):
        return (
            Sample(cls(), (numbers(2, 4), numpy.array([3, 0, 3]))),
            Sample(cls(), (numbers(5), numpy.array([[1], [4]]))),
        )
