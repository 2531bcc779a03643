# SPDX-License-Identifier: MIT
"""Operators that only give the elements of their input other dims or another order."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy

from aidge_build.operators.axes import counted_axes
from aidge_build.operators.bands import ROWS, band_of_rows, resized
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


class View(Operator):
    """Base: one input, the same elements."""

    views: ClassVar = True
    empties: ClassVar = True

    def backward(self, gradients, inputs, outputs):
        return (gradients[0].reshape(inputs[0].shape),)

    @classmethod
    def samples(cls):
        return tuple(Sample(one, (numbers(2, 1, 6),)) for one in cls.examples())

    def forward_quantized(self, values, inputs, outputs):
        """Returns the stored values unchanged if both sides have the same quantization."""
        if inputs[0].quantization == outputs[0].quantization:
            return (self.forward(values[0]),)
        return super().forward_quantized(values, inputs, outputs)


@operator("Reshape")
class Reshape(View):
    """The elements in row-major order under new `dims`. Source: ONNX operator Reshape, with a constant shape."""

    dims: tuple[int, ...] = ()

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("allowzero")
        wanted = source.constant_integers(1)
        return cls(resolved_dims(source.input(0).dims, wanted, bool(source.integer("allowzero", 0)))), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        require(
            math.prod(self.dims) == math.prod(data.dims),
            f"{list(data.dims)} has {math.prod(data.dims)} elements, {list(self.dims)} has {math.prod(self.dims)}",
        )
        return (TensorType(self.dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        if self.dims[: ROWS + 1] != inputs[0].dims[: ROWS + 1]:
            return None
        return band_of_rows(replace(self, dims=resized(self.dims, last - first)), inputs, outputs, (first, last))

    def forward(self, data):
        return data.reshape(self.dims)

    @classmethod
    def examples(cls):
        return cls((3, 4)), cls((2, 2, 3, 1))


def resolved_dims(dims: tuple[int, ...], wanted: tuple[int, ...], allow_zero: bool) -> tuple[int, ...]:
    """The shape operand of Reshape as numbers: 0 copies a dim (unless `allow_zero`), one -1 takes what is left."""
    require(all(size >= -1 for size in wanted), f"the shape {list(wanted)} holds a number below -1")
    require(wanted.count(-1) <= 1, f"the shape {list(wanted)} holds -1 more than once")
    if allow_zero:
        require(not (0 in wanted and -1 in wanted), f"the shape {list(wanted)} holds both 0 and -1 with allowzero")
        known = list(wanted)
    else:
        require(
            all(size != 0 or axis < len(dims) for axis, size in enumerate(wanted)),
            f"the shape {list(wanted)} copies a dim that {list(dims)} does not have",
        )
        known = [dims[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    if -1 in known:
        others, elements = math.prod(size for size in known if size != -1), math.prod(dims)
        require(others > 0 and elements % others == 0, f"{elements} elements do not divide into the shape {list(wanted)}")
        known[known.index(-1)] = elements // others
    return tuple(known)


@operator("Flatten")
class Flatten(View):
    """[product of the dims before `axis`, product of the others]. Source: ONNX operator Flatten."""

    axis: int = 1

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis")
        return cls(source.axis("axis", 1, source.input(0).rank, beyond=1))

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(self._dims(data.dims), data.dtype),)

    def forward(self, data):
        return data.reshape(self._dims(data.shape))

    def _dims(self, dims):
        return math.prod(dims[: self.axis]), math.prod(dims[self.axis :])

    @classmethod
    def examples(cls):
        return cls(), cls(0), cls(3)


def _axes(source) -> tuple[int, ...] | None:
    """The axes of Squeeze and Unsqueeze: an attribute before opset 13, an input since."""
    if source.opset < 13:
        source.expect_attributes("axes")
        return source.integers("axes", None)
    source.expect_attributes()
    return source.constant_integers(1) if source.optional_input(1) is not None else None


@operator("Squeeze")
class Squeeze(View):
    """Without the given axes, which must have length 1 (by default all such). Source: ONNX operator Squeeze."""

    axes: tuple[int, ...] = ()

    @classmethod
    def from_onnx(cls, source):
        axes, dims = _axes(source), source.input(0).dims
        if axes is None:
            axes = tuple(axis for axis, size in enumerate(dims) if size == 1)
        return cls(tuple(sorted(counted_axes(axes, len(dims))))), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        for axis in self.axes:
            require(data.dims[axis] == 1, f"axis {axis} of {list(data.dims)} has length {data.dims[axis]}, wants 1")
        return (TensorType(tuple(size for axis, size in enumerate(data.dims) if axis not in self.axes), data.dtype),)

    def band(self, inputs, outputs, first, last):
        apart = all(axis > ROWS for axis in self.axes)
        return band_of_rows(self, inputs, outputs, (first, last)) if apart else None

    def forward(self, data):
        return numpy.squeeze(data, self.axes)

    @classmethod
    def examples(cls):
        return (cls((1,)),)


@operator("Unsqueeze")
class Unsqueeze(View):
    """With new axes of length 1 at these places of the output. Source: ONNX operator Unsqueeze."""

    axes: tuple[int, ...] = ()

    @classmethod
    def from_onnx(cls, source):
        axes = _axes(source)
        require(axes is not None, "the axes are missing")
        return cls(tuple(sorted(counted_axes(axes, source.input(0).rank + len(axes))))), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        dims = list(data.dims)
        for axis in self.axes:
            dims.insert(axis, 1)
        return (TensorType(tuple(dims), data.dtype),)

    def band(self, inputs, outputs, first, last):
        apart = all(axis > ROWS for axis in self.axes)
        return band_of_rows(self, inputs, outputs, (first, last)) if apart else None

    def forward(self, data):
        return numpy.expand_dims(data, self.axes)

    @classmethod
    def examples(cls):
        return cls((0,)), cls((1, 4))


@operator("Transpose")
class Transpose(View):
    """Output axis k is input axis permutation[k]. Source: ONNX operator Transpose."""

    permutation: tuple[int, ...] = ()

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("perm")
        return cls(source.integers("perm", tuple(reversed(range(source.input(0).rank)))))

    def infer(self, inputs):
        (data,) = inputs
        axes = list(range(len(data.dims)))
        require(sorted(self.permutation) == axes, f"perm {self.permutation} is no permutation of the {len(axes)} axes")
        return (TensorType(tuple(data.dims[axis] for axis in self.permutation), data.dtype),)

    def band(self, inputs, outputs, first, last):
        apart = self.permutation[ROWS : ROWS + 1] == (ROWS,)
        return band_of_rows(self, inputs, outputs, (first, last)) if apart else None

    def forward(self, data):
        return numpy.transpose(data, self.permutation)

    def backward(self, gradients, inputs, outputs):
        return (numpy.transpose(gradients[0], numpy.argsort(self.permutation)),)

    @classmethod
    def examples(cls):
        return cls((2, 0, 1)), cls((0, 1, 2))


@operator("Identity")
class Identity(View):
    """y = x. Source: ONNX operator Identity."""

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        return band_of_rows(self, inputs, outputs, (first, last))

    def forward(self, data):
        return data


@operator("aidge::StopGrad")
class StopGrad(Identity):
    """y = x, and no gradient goes back: what it reads is not trained by what reads it. At inference it is an Identity."""

    straight_through: ClassVar = True  # its gradient is not the derivative

    @classmethod
    def samples(cls):
        return ()

    def backward(self, gradients, inputs, outputs):
        return (None,)
