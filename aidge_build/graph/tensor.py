# SPDX-License-Identifier: MIT
"""A tensor of the graph: its type, its layout, and its data when it is constant."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy

from aidge_build.graph.dtype import DType, element_type
from aidge_build.graph.format import UNDECIDED, Format, Layout, channels_last, layout, row_major
from aidge_build.graph.quantization import Quantization


@dataclass(frozen=True)
class KeptChannels:
    """The channels (axis 1) that are left: their positions in the model's tensor, which has `count` channels."""

    channels: tuple[int, ...]
    count: int


@dataclass(frozen=True, eq=False)
class Tensor:
    """`dims` and `data` are in the operator's logical (ONNX) order; `format` says how the bytes are stored."""

    name: str
    dims: tuple[int, ...]
    dtype: DType
    data: numpy.ndarray | None = None
    quantization: Quantization | None = None
    format: Format | None = None  # None until adaptation: row-major
    kept: KeptChannels | None = None  # None: all channels
    names: tuple[str, ...] = ()  # of an input or output: the words that its integers count, or the names of its columns

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.dims)

    @property
    def is_constant(self) -> bool:
        """Whether its data is known while generating."""
        return self.data is not None

    @property
    def removed_channels(self) -> int:
        """The number of channels of the model's tensor that were removed."""
        return self.kept.count - len(self.kept.channels) if self.kept else 0

    @property
    def storage(self) -> Format:
        """The storage order; row-major before adaptation."""
        return self.format or row_major(self.rank)

    @property
    def orders(self) -> tuple[Format, ...]:
        """The storage order, or the orders that it may get if none is chosen yet."""
        if self.format is not None and self.format is not UNDECIDED:
            return (self.format,)
        return tuple(dict.fromkeys((channels_last(self.rank), row_major(self.rank))))

    @cached_property
    def layout(self) -> Layout:
        """The strides and bytes of the stored elements."""
        return layout(self.dims, self.storage, self.dtype)

    @cached_property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(self.dims)

    @cached_property
    def size_bytes(self) -> int:
        """The bytes of all elements."""
        return self.elements * self.dtype.size_bytes

    @cached_property
    def undecided(self) -> Tensor:
        """The tensor before its storage order is chosen; a constant itself. Cached, as its writer and its readers use it."""
        return self if self.is_constant else self.in_format(UNDECIDED)

    def with_(self, **changes) -> Tensor:
        """Returns a copy with these fields changed."""
        return replace(self, **changes)

    def in_format(self, form: Format | None) -> Tensor:
        """Returns the tensor stored in another order. Written out: every tensor gets one or two, and `replace` takes twice the
        time."""
        return Tensor(self.name, self.dims, self.dtype, self.data, self.quantization, form, self.kept, self.names)

    def to_stored(self, values: numpy.ndarray) -> numpy.ndarray:
        """Returns logical values as an array with row-major bytes equal to the stored bytes."""
        return numpy.asarray(numpy.transpose(values, self.storage.order), order="C")

    def from_stored(self, values: numpy.ndarray) -> numpy.ndarray:
        """Returns stored elements (any shape) in logical order."""
        inverse = numpy.argsort(self.storage.order) if self.rank else ()
        return numpy.transpose(values.reshape(self.layout.stored_dims), inverse)

    def __str__(self) -> str:
        text = f"{self.dtype.name}{list(self.dims)}"
        if self.format is not None:
            text += f" {self.format}"
        if self.quantization is not None and self.quantization.per_tensor:
            text += f" scale {self.quantization.scale} zero point {self.quantization.zero_point}"
        elif self.quantization is not None:
            text += f" {len(self.quantization.scales)} scales on axis {self.quantization.axis}"
        return text + (" constant" if self.is_constant else "")


def constant(name: str, values: numpy.ndarray, quantization: Quantization | None = None) -> Tensor:
    """Returns a constant tensor with these values."""
    return Tensor(name, tuple(int(n) for n in values.shape), element_type(values.dtype), values, quantization)
