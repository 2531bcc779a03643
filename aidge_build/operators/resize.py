# SPDX-License-Identifier: MIT
"""Resizing with constant sizes: along each axis every output element is a weighted sum of a few input elements."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy

from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.requantize import centred, quantize, requantize
from aidge_build.operators.axes import counted_axes
from aidge_build.operators.bands import ROWS, band_of_rows, resized
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import operator
from aidge_build.operators.resampling import Shares, multiplier, shares_of, weighted_sums
from aidge_build.operators.sample import Sample, numbers

MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    *("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"),
    "tf_crop_and_resize",
)
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
LARGEST = 1 << 20  # of an output axis


@operator("Resize")
class Resize(Operator):
    """The data with other lengths of its axes. Source: ONNX operators Resize and Upsample, with constant scales, sizes and roi.

    `dims` are the output's, `scales` one number per axis; `begin` and `end` the part of each axis that is shown (crop only).
    """

    by_steps: ClassVar = True

    dims: tuple[int, ...] = ()
    scales: tuple[float, ...] = ()
    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    extrapolation: float = 0.0
    begin: tuple[float, ...] = ()
    end: tuple[float, ...] = ()

    @property
    def hands_on(self) -> bool:
        return self.selects

    @property
    def selects(self) -> bool:
        """Whether every element of the result is an element of the input."""
        return self.mode == "nearest" and self.coordinates != "tf_crop_and_resize"

    @classmethod
    def from_onnx(cls, source):
        data, mode = source.input(0), source.text("mode", "nearest")
        if source.opset < 11:
            source.expect_attributes("mode")
            return cls._by_scales(
                data, source.constant_input(1), range(data.rank), mode=mode, coordinates="asymmetric", nearest="floor"
            ), source.input_names[:1]
        source.expect_attributes(
            "antialias",
            "axes",
            "coordinate_transformation_mode",
            "cubic_coeff_a",
            "exclude_outside",
            "extrapolation_value",
            "keep_aspect_ratio_policy",
            "mode",
            "nearest_mode",
        )
        axes = counted_axes(source.integers("axes", tuple(range(data.rank))), data.rank)
        coordinates = source.text("coordinate_transformation_mode", "half_pixel")
        policy = source.text("keep_aspect_ratio_policy", "stretch")
        keywords = {
            "mode": mode,
            "coordinates": coordinates,
            "nearest": source.text("nearest_mode", "round_prefer_floor"),
            "cubic": source.real("cubic_coeff_a", -0.75),
            "antialias": bool(source.integer("antialias", 0)),
            "exclude_outside": bool(source.integer("exclude_outside", 0)),
            "extrapolation": source.real("extrapolation_value", 0.0),
        }
        require(policy in ("stretch", "not_larger", "not_smaller"), f"keep_aspect_ratio_policy {policy!r} is unknown")
        reads = source.input_names[:1]
        if coordinates == "tf_crop_and_resize":
            if source.input(1).is_constant:
                keywords |= _crop(source.input(1).data, axes, data.rank)
            else:
                cls, reads = CropAndResize, source.input_names[:2]
                keywords["roi_axes"] = axes
        scales = source.optional_constant(2)
        if scales is not None and scales.size:
            return cls._by_scales(data, scales, axes, **keywords), reads
        return cls._by_sizes(data, source.constant_integers(3), axes, policy, **keywords), reads

    @classmethod
    def _by_scales(cls, data, scales: numpy.ndarray, axes, **keywords) -> Resize:
        require(scales.ndim == 1 and len(scales) == len(axes), f"{scales.size} scales for {len(axes)} axes")
        require(bool(numpy.isfinite(scales).all() and (scales > 0).all()), f"the scales {scales.tolist()}: each must be positive")
        factors = [1.0] * data.rank
        for axis, scale in zip(axes, scales):
            factors[axis] = float(scale)
        return cls(tuple(int(size * scale) for size, scale in zip(data.dims, factors)), tuple(factors), **keywords)

    @classmethod
    def _by_sizes(cls, data, sizes: tuple[int, ...], axes, policy: str, **keywords) -> Resize:
        require(len(sizes) == len(axes), f"{len(sizes)} sizes for {len(axes)} axes")
        require(all(0 < size <= LARGEST for size in sizes), f"the sizes {list(sizes)}: each must be in 1..{LARGEST}")
        dims, factors = list(data.dims), [1.0] * data.rank
        for axis, size in zip(axes, sizes):
            dims[axis], factors[axis] = size, size / data.dims[axis]
        if policy != "stretch":
            scale = (min if policy == "not_larger" else max)(factors[axis] for axis in axes)
            for axis in axes:
                dims[axis], factors[axis] = int(scale * data.dims[axis] + 0.5), scale
        return cls(tuple(dims), tuple(factors), **keywords)

    def infer(self, inputs):
        data = inputs[0]
        for name, value, known in (
            ("mode", self.mode, MODES),
            ("coordinate_transformation_mode", self.coordinates, COORDINATES),
            ("nearest_mode", self.nearest, NEAREST),
        ):
            require(value in known, f"{name} {value!r} is not supported", f"supported are {', '.join(known)}")
        require(
            len(self.dims) == len(self.scales) == data.rank,
            f"{len(self.dims)} dims and {len(self.scales)} scales for data of rank {data.rank}",
        )
        require(not self.antialias or self.mode != "nearest", "antialias with mode nearest")
        require(all(0 < size <= LARGEST for size in self.dims), f"the result has the dims {list(self.dims)}")
        return (TensorType(self.dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        """Returns a band if a Resize of fewer rows by the same factor weights the same elements by the same numbers."""
        data, (result,) = inputs[0], outputs
        if data.rank <= ROWS:
            return None
        indices, weights = (values[first:last] for values in self.taps(ROWS, data.dims[ROWS]))
        read = indices[weights != 0]
        low, high = int(read.min()), int(read.max()) + 1
        fewer, part = replace(self, dims=resized(self.dims, last - first)), data.with_(dims=resized(data.dims, high - low))
        there, same = fewer.taps(ROWS, high - low)
        if low < 0 or not numpy.array_equal(weights, same) or (indices - low != there)[weights != 0].any():
            return None
        shares, fewer_shares = self.in_integers(data, result), fewer.in_integers(part, result)
        if [one.whole for one in shares or ()] != [one.whole for one in fewer_shares or ()]:
            return None
        return band_of_rows(fewer, inputs, outputs, (low, high))

    def changes(self, axis: int, size: int) -> bool:
        """Whether the axis of `size` elements is not just copied."""
        cropped = bool(self.begin) and (self.begin[axis], self.end[axis]) != (0.0, 1.0)
        return size != self.dims[axis] or not math.isclose(self.scales[axis], 1.0) or cropped

    def taps(self, axis: int, size: int) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Returns for each output index along an axis of `size` elements input indices and their weights, [output, taps].

        An index of -1 in the first column: the output is the extrapolation value.
        """
        if not self.changes(axis, size):
            return numpy.arange(size)[:, None], numpy.ones((size, 1))
        places = self._places(axis, size)
        whole = numpy.floor(places).astype(numpy.int64)
        # The neighbour on the left is preferred: an exact hit is ratio 1 from the element before.
        ratios = numpy.where(places == whole, 1.0, places - whole)
        weights = numpy.array([self._weights(float(ratio), self.scales[axis]) for ratio in ratios])
        count = weights.shape[1]
        if count % 2 == 0:
            first = whole - count // 2 + numpy.where(places == whole, 0, 1)
        else:
            first = whole - (count - 1) // 2 + numpy.where(places - whole <= 0.5, 0, 1)
        indices = first[:, None] + numpy.arange(count)
        if self.exclude_outside:
            weights = numpy.where((indices < 0) | (indices >= size), 0.0, weights)
            weights = weights / weights.sum(axis=1, keepdims=True)
        indices = numpy.clip(indices, 0, size - 1)
        if self.coordinates == "tf_crop_and_resize":
            indices[(places < 0) | (places > size - 1), 0] = -1
        return indices, weights

    def _places(self, axis: int, size: int) -> numpy.ndarray:
        """Returns the input coordinate of each output index."""
        scale, out = self.scales[axis], numpy.arange(self.dims[axis], dtype=numpy.float64)
        length = scale * size  # of the output, not rounded
        if self.coordinates == "align_corners":
            return out * 0 if length == 1 else out * (size - 1) / (length - 1)
        if self.coordinates == "asymmetric":
            return out / scale
        if self.coordinates == "tf_half_pixel_for_nn":
            return (out + 0.5) / scale
        if self.coordinates == "tf_crop_and_resize":
            begin, part = self.begin[axis], self.end[axis] - self.begin[axis]
            return begin * (size - 1) + (
                out * 0 + part * (size - 1) / 2 if length == 1 else out * part * (size - 1) / (length - 1)
            )
        if self.coordinates == "pytorch_half_pixel" and length == 1:
            return out * 0 - 0.5
        shift = size / 2 * (1 - self.dims[axis] / length) if self.coordinates == "half_pixel_symmetric" else 0.0
        return shift + (out + 0.5) / scale - 0.5

    def _weights(self, ratio: float, scale: float) -> list[float]:
        if self.mode == "nearest":
            right = (
                ratio == 1
                or {"round_prefer_floor": ratio > 0.5, "round_prefer_ceil": ratio >= 0.5, "floor": False, "ceil": True}[
                    self.nearest
                ]
            )
            return [0.0, 1.0] if right else [1.0, 0.0]
        reach, shape = (1, _triangle) if self.mode == "linear" else (2, self._cubic)
        narrow = min(scale, 1.0) if self.antialias else 1.0
        first = math.floor(-reach / narrow) + 1
        values = [shape(abs((place - ratio) * narrow)) for place in range(first, 2 - first)]
        total = sum(values)
        return [value / total for value in values] if self.antialias else values

    def _cubic(self, x: float) -> float:
        a = self.cubic
        if x <= 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0

    def forward(self, data):
        result, outside = self._weighted(data if data.dtype.kind == "f" else data.astype(numpy.float64))
        result = numpy.where(outside, self.extrapolation, result)
        if data.dtype.kind == "f":
            return result
        limits = numpy.iinfo(data.dtype)
        return numpy.clip(numpy.rint(result), limits.min, limits.max).astype(data.dtype)

    def _weighted(self, data: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Returns the sums in the type of the data, added tap by tap, the last axis first, and a mask of the sums that are
        outside."""
        result, one_weight = numpy.zeros(self.dims, data.dtype), numpy.ones((), data.dtype)
        places, weights = zip(*(self.taps(axis, size) for axis, size in enumerate(data.shape)))
        for chosen in itertools.product(*(range(one.shape[1]) for one in weights)):
            rows = [numpy.maximum(one[:, tap], 0) for one, tap in zip(places, chosen)]
            each = (one[:, tap].astype(data.dtype) for one, tap in zip(weights, chosen))
            result += data[numpy.ix_(*rows)] * functools.reduce(numpy.multiply.outer, each, one_weight)
        outside = numpy.zeros(self.dims, bool)
        for axis, one in enumerate(places):
            outside |= (one[:, 0] < 0).reshape([-1 if axis == other else 1 for other in range(data.ndim)])
        return result, outside

    @property
    def is_weighted(self) -> bool:
        """Whether elements of the result are more than elements of the data."""
        return self.mode != "nearest" or self.coordinates == "tf_crop_and_resize"

    def in_integers(self, data: Tensor, result: Tensor) -> tuple[Shares, ...] | None:
        """Returns the whole weights by which 8-bit values are added up; None if the result is defined in float32."""
        tensors = (data, result)
        if not self.is_weighted or any(t.quantization is None or not t.quantization.per_tensor for t in tensors):
            return None
        return shares_of(self, data.dims) if all(t.dtype.size_bytes == 1 for t in tensors) else None

    def forward_quantized(self, values, inputs, outputs):
        """Returns, if `in_integers` gives weights, the integer sum, rounded to float32, times one multiplier, rounded half to
        even."""
        (data,), (result,) = inputs, outputs
        shares = self.in_integers(data, result)
        if shares is None:
            return super().forward_quantized(values, inputs, outputs)
        sums, outside = weighted_sums(centred(values[0], data.quantization), shares)
        factor = multiplier(shares, data.quantization.scale, result.quantization.scale)
        levels = requantize(sums, factor, result.quantization.zero_point, *result.dtype.range)
        fill = quantize(numpy.array(self.extrapolation, numpy.float32), result.quantization, result.dtype)
        return (numpy.where(outside, fill, levels).astype(result.dtype.numpy),)

    def backward(self, gradients, inputs, outputs):
        (result,), data = gradients, inputs[0]
        for axis, size in enumerate(data.shape):
            indices, weights = self.taps(axis, size)
            matrix = numpy.zeros((len(indices), size))
            numpy.add.at(matrix, (numpy.arange(len(indices))[:, None], indices), weights)
            matrix[indices[:, 0] < 0] = 0  # the extrapolation value
            result = numpy.moveaxis(numpy.tensordot(result, matrix, (axis, 0)), -1, axis)
        return (result,)

    @classmethod
    def examples(cls):
        larger, smaller = ((1, 5, 7), (1.0, 5 / 3, 7 / 4)), ((1, 2, 3), (1.0, 2 / 3, 3 / 4))
        forms = itertools.product((larger, smaller), MODES, COORDINATES[:-1])
        return (
            *(cls(*size, mode, coordinates) for size, mode, coordinates in forms),
            cls(*smaller, "linear", antialias=True),
            cls(*smaller, "cubic", antialias=True, exclude_outside=True),
            cls(*larger, "linear", "tf_crop_and_resize", extrapolation=1.5, begin=(0.0, -0.2, 0.1), end=(1.0, 1.3, 0.9)),
        )

    @classmethod
    def samples(cls):
        return tuple(Sample(one, (numbers(1, 3, 4),)) for one in cls.examples())


@dataclass(frozen=True)
class CropAndResize(Resize):
    """Resize with tf_crop_and_resize and a roi that is computed at run time.

    Inputs: data, roi: the begins along `roi_axes`, then the ends.
    """

    roi_axes: tuple[int, ...] = ()

    band = Operator.band  # the rows that it reads are known only at run time
    backward = Operator.backward  # the roi has a gradient, too, which is not implemented
    forward_quantized = Operator.forward_quantized  # its weights are known only at run time

    def infer(self, inputs):
        _, roi = inputs
        require(roi.dims == (2 * len(self.roi_axes),), f"roi has the dims {list(roi.dims)}, wants [{2 * len(self.roi_axes)}]")
        require(
            not self.antialias and not self.exclude_outside,
            "antialias and exclude_outside are not supported with a roi of run time",
        )
        return super().infer(inputs)

    def forward(self, data, roi):
        fixed = {field.name: getattr(self, field.name) for field in fields(Resize)}
        return Resize(**fixed | _crop(roi, self.roi_axes, data.ndim)).forward(data)

    @classmethod
    def samples(cls):
        one = cls((1, 5, 7), (1.0, 5 / 3, 7 / 4), "linear", "tf_crop_and_resize", extrapolation=1.5, roi_axes=(1, 2))
        return (Sample(one, (numbers(1, 3, 4), numpy.array([-0.2, 0.1, 1.3, 0.9]))),)


@operator("Upsample")
class Upsample(Resize):
    """Resize as it was before opset 10: places are output index / scale, nearest is the element before."""

    @property
    def type(self) -> str:
        return "Resize"

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("mode", "scales")
        data = source.input(0)
        scales = numpy.array(source.reals("scales")) if source.opset < 9 else source.constant_input(1)
        return cls._by_scales(
            data, scales, range(data.rank), mode=source.text("mode", "nearest"), coordinates="asymmetric", nearest="floor"
        ), source.input_names[:1]


def _triangle(x: float) -> float:
    return max(0.0, 1 - x)


def _crop(roi: numpy.ndarray, axes: tuple[int, ...], rank: int) -> dict[str, tuple[float, ...]]:
    require(roi.size == 2 * len(axes), f"roi has {roi.size} numbers for {len(axes)} axes")
    begin, end = [0.0] * rank, [1.0] * rank
    for place, axis in enumerate(axes):
        begin[axis], end[axis] = float(roi[place]), float(roi[len(axes) + place])
    return {"begin": tuple(begin), "end": tuple(end)}
