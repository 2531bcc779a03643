# SPDX-License-Identifier: MIT
"""The order of a tensor's elements in memory: the only module that multiplies dims into bytes and strides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType

_LAYOUTS_KEPT = 1 << 14  # entries of each cache: many tensors of a graph are alike, and each is read a dozen times


@dataclass(frozen=True)
class Format:
    """A storage order: `order[k]` is the logical axis that is stored at position k, slowest first."""

    order: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The number of axes that it orders."""
        return len(self.order)

    def position(self, axis: int) -> int:
        """Returns the position of the logical `axis` in the storage order."""
        return self.order.index(axis)

    def __str__(self) -> str:
        return _NAMES.get(self.order) or "order" + "".join(f"_{axis}" for axis in self.order)


class _Undecided(Format):
    """The format of a tensor before its storage order is chosen. Reading it is refused: the tensor may get another order than
    expected."""

    def __init__(self) -> None:
        pass

    @property
    def order(self) -> tuple[int, ...]:  # type: ignore[override]
        """Raises AidgeError (code SPEC): the order is not chosen yet."""
        raise AidgeError(
            "it reads a storage order, and kernels are chosen before orders are",
            hint="read Tensor.orders, the orders that the tensor may get, or name an order in the spec (docs/export-api.md)",
            code="SPEC",
        )

    def __eq__(self, other: object) -> bool:
        return self.order == other  # refused; tensors that share this object are equal without a look at it

    def __hash__(self) -> int:
        return 0

    def __str__(self) -> str:
        return "undecided"


UNDECIDED = _Undecided()


@lru_cache(maxsize=_LAYOUTS_KEPT)
def row_major(rank: int) -> Format:
    """Returns the order of the logical axes themselves (NCHW for an ONNX image)."""
    return Format(tuple(range(rank)))


def channels_last(rank: int) -> Format:
    """Returns the order batch, spatial axes, channels (NHWC for an ONNX image); row-major below rank 3."""
    return row_major(rank) if rank < 3 else Format((0, *range(2, rank), 1))


NAMED_ORDERS = {
    "nc": (0, 1),
    "ncw": (0, 1, 2),
    "nwc": (0, 2, 1),
    "nchw": (0, 1, 2, 3),
    "nhwc": (0, 2, 3, 1),
    "ncdhw": (0, 1, 2, 3, 4),
    "ndhwc": (0, 2, 3, 4, 1),
    "chw": (0, 1, 2),
    "hwc": (1, 2, 0),
    "chwn": (1, 2, 3, 0),
}
_NAMES = {order: name for name, order in reversed(NAMED_ORDERS.items())}  # the first name of each


@dataclass(frozen=True)
class Layout:
    """The bytes of a tensor: dims in storage order, the stride in elements of each *logical* axis, the size."""

    stored_dims: tuple[int, ...]
    strides: tuple[int, ...]
    elements: int
    size_bytes: int


@lru_cache(maxsize=_LAYOUTS_KEPT)
def layout(dims: tuple[int, ...], form: Format, dtype: DType) -> Layout:
    """Returns the layout of a tensor with logical `dims` stored in `form`."""
    strides = [0] * len(dims)
    step = 1
    for axis in reversed(form.order):
        strides[axis] = step
        step *= dims[axis]
    elements = math.prod(dims)
    return Layout(tuple(dims[axis] for axis in form.order), tuple(strides), elements, elements * dtype.size_bytes)


def same_bytes(dims: tuple[int, ...], first: Format, second: Format) -> bool:
    """Whether both formats store a tensor of these dims as the same bytes (axes of length 1 do not matter)."""
    return first is second or [axis for axis in first.order if dims[axis] != 1] == [
        axis for axis in second.order if dims[axis] != 1
    ]
