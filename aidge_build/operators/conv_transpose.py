# SPDX-License-Identifier: MIT
"""Transposed convolution over any number of spatial axes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy

from aidge_build.operators.bands import band_of_rows
from aidge_build.operators.base import Activated, TensorType, require
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers
from aidge_build.operators.window import LARGEST


@operator("ConvTranspose")
class ConvTranspose(Activated):
    """Y[n, m, ...] = clamp(B[m] + sum over c, k with place * stride + k * dilation - pad = ... of X[n, c, place] * W[c, m, k]).

    Inputs: X [N, C, spatial...], W [C, M / groups, kernel...], optional B [M]; output [N, M, `spatial`...].
    Source: ONNX operator ConvTranspose.
    """

    kernel: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    pads_begin: tuple[int, ...] = ()
    spatial: tuple[int, ...] = ()
    groups: int = 1
    single_product: bool = False  # of the convolutions that recipes make of it: see LinearQuantized

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes(
            "auto_pad", "dilations", "group", "kernel_shape", "output_padding", "output_shape", "pads", "strides"
        )
        data, weights = source.input(0), source.input(1)
        require(data.rank == weights.rank and data.rank >= 3, f"the input has rank {data.rank}, the weights {weights.rank}")
        rank, kernel = data.rank - 2, weights.dims[2:]
        require(source.integers("kernel_shape", kernel) == kernel, "kernel_shape differs from the weights'")
        ones, zeros = (1,) * rank, (0,) * rank
        strides, dilations = source.integers("strides", ones), source.integers("dilations", ones)
        extra, pads = source.integers("output_padding", zeros), source.integers("pads", zeros * 2)
        shape, auto = source.integers("output_shape", None), source.text("auto_pad", "NOTSET")
        for name, values, low, count in (
            ("strides", strides, 1, rank),
            ("dilations", dilations, 1, rank),
            ("output_padding", extra, 0, rank),
            ("pads", pads, 0, 2 * rank),
            ("output_shape", shape or ones, 1, rank),
        ):
            require(len(values) == count and all(low <= n < LARGEST for n in values), f"{name} {values} does not fit {rank} axes")
        require(auto in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"), f"auto_pad {auto!r} is unknown")
        full = [
            stride * (size - 1) + more + (taps - 1) * dilation + 1
            for stride, size, more, taps, dilation in zip(strides, data.dims[2:], extra, kernel, dilations)
        ]
        if shape is None and auto.startswith("SAME"):
            shape = tuple(size * stride for size, stride in zip(data.dims[2:], strides))
        if shape is None:
            begin = pads[:rank]
            shape = tuple(size - first - last for size, first, last in zip(full, begin, pads[rank:]))
        else:
            totals = [max(0, size - wanted) for size, wanted in zip(full, shape)]
            begin = tuple(total // 2 if auto == "SAME_UPPER" else total - total // 2 for total in totals)
        return cls(
            kernel=kernel,
            strides=strides,
            dilations=dilations,
            pads_begin=tuple(begin),
            spatial=tuple(shape),
            groups=source.integer("group", 1),
        )

    @property
    def type(self) -> str:
        return f"ConvTranspose{len(self.kernel)}D"

    def infer(self, inputs):
        data, weights, *bias = inputs
        require(
            self.groups > 0 and data.dims[1] % self.groups == 0,
            f"{data.dims[1]} channels do not divide into {self.groups} groups",
        )
        require(data.dims[1] == weights.dims[0], f"the input has {data.dims[1]} channels, the weights want {weights.dims[0]}")
        require(all(size > 0 for size in self.spatial), f"the pads cut more than there is: {list(self.spatial)}")
        outputs = weights.dims[1] * self.groups
        if bias and bias[0] is not None:
            require(bias[0].dims == (outputs,), f"the bias has dims {bias[0].dims}, wants ({outputs},)")
        return (TensorType((data.dims[0], outputs, *self.spatial), data.dtype),)

    def band(self, inputs, outputs, first, last):
        """Returns a band if the rows come from whole rows of the input: their windows do not overlap, and begin and end with
        these rows."""
        size, stride, shift = inputs[0].dims[2], self.strides[0], self.pads_begin[0]
        low, high = (0 if first == 0 else first + shift), (size * stride if last == self.spatial[0] else last + shift)
        apart = (self.kernel[0] - 1) * self.dilations[0] < stride and low % stride == high % stride == 0
        if not apart or not low < high <= size * stride:
            return None
        changes = {"spatial": (last - first, *self.spatial[1:]), "pads_begin": (first + shift - low, *self.pads_begin[1:])}
        return band_of_rows(replace(self, **changes), inputs, outputs, (low // stride, high // stride))

    def forward(self, data, weights, bias=None):
        inner, outer = weights.shape[0] // self.groups, weights.shape[1]
        full = [
            stride * (size - 1) + (taps - 1) * dilation + 1
            for stride, size, taps, dilation in zip(self.strides, data.shape[2:], self.kernel, self.dilations)
        ]
        room = [max(size, begin + wanted) for size, begin, wanted in zip(full, self.pads_begin, self.spatial)]
        result = numpy.zeros((data.shape[0], outer * self.groups, *room), data.dtype)
        for group, taps in itertools.product(range(self.groups), itertools.product(*map(range, self.kernel))):
            part = numpy.tensordot(
                data[:, group * inner : (group + 1) * inner],
                weights[(slice(group * inner, (group + 1) * inner), slice(None), *taps)],
                ((1,), (0,)),
            )
            places = tuple(
                slice(tap * dilation, tap * dilation + stride * (size - 1) + 1, stride)
                for tap, dilation, stride, size in zip(taps, self.dilations, self.strides, data.shape[2:])
            )
            result[(slice(None), slice(group * outer, (group + 1) * outer), *places)] += numpy.moveaxis(part, -1, 1)
        cut = tuple(slice(begin, begin + size) for begin, size in zip(self.pads_begin, self.spatial))
        result = result[(slice(None), slice(None), *cut)]
        return self.clamp(result if bias is None else result + bias.reshape(1, -1, *(1,) * len(self.spatial)))

    def backward(self, gradients, inputs, outputs):
        data, weights, *bias = inputs
        gradient = self.unclamp(gradients[0], outputs[0])
        inner, outer = weights.shape[0] // self.groups, weights.shape[1]
        full = [
            stride * (size - 1) + (taps - 1) * dilation + 1
            for stride, size, taps, dilation in zip(self.strides, data.shape[2:], self.kernel, self.dilations)
        ]
        room = [max(size, begin + wanted) for size, begin, wanted in zip(full, self.pads_begin, self.spatial)]
        whole = numpy.zeros((data.shape[0], outer * self.groups, *room))
        shown = (slice(begin, begin + size) for begin, size in zip(self.pads_begin, self.spatial))
        whole[(slice(None), slice(None), *shown)] = gradient
        by_data, by_weights, every = numpy.zeros(data.shape), numpy.zeros(weights.shape), (0, *range(2, data.ndim))
        for group, taps in itertools.product(range(self.groups), itertools.product(*map(range, self.kernel))):
            inputs_of = slice(group * inner, (group + 1) * inner)
            tap = (inputs_of, slice(None), *taps)
            places = tuple(
                slice(tap * dilation, tap * dilation + stride * (size - 1) + 1, stride)
                for tap, dilation, stride, size in zip(taps, self.dilations, self.strides, data.shape[2:])
            )
            part = whole[(slice(None), slice(group * outer, (group + 1) * outer), *places)]
            by_data[:, inputs_of] += numpy.moveaxis(numpy.tensordot(part, weights[tap], ((1,), (1,))), -1, 1)
            by_weights[tap] = numpy.tensordot(data[:, inputs_of], part, (every, every))
        return (by_data, by_weights, *(None if value is None else gradient.sum(every) for value in bias))

    @classmethod
    def samples(cls):
        plain = cls(kernel=(3, 2), strides=(1, 1), dilations=(1, 1), pads_begin=(0, 0), spatial=(6, 4))
        wide = cls(kernel=(3, 2), strides=(2, 3), dilations=(1, 2), pads_begin=(1, 0), spatial=(8, 9), groups=2, minimum=-1.37)
        return (
            Sample(plain, (numbers(2, 2, 4, 3), numbers(2, 3, 3, 2, seed=1))),
            Sample(wide, (numbers(1, 4, 4, 3), numbers(4, 2, 3, 2, seed=1), numbers(4, seed=2))),
        )

    def multiply_accumulates(self, inputs, outputs):
        return inputs[0].elements * weights_per_element(inputs[1])


def weights_per_element(weights) -> int:
    """Returns the number of products that one element of the input takes part in."""
    return weights.elements // weights.dims[0]
