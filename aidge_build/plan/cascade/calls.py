# SPDX-License-Identifier: MIT
"""The calls of a layer's bands: one C function and the same constants, with other structs and numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Call, Literal, Struct
from aidge_build.contract.library import Kernel
from aidge_build.contract.spec import NodeView
from aidge_build.graph.view import Node
from aidge_build.plan.cascade.alike import alike
from aidge_build.plan.cascade.cascade import Cascade
from aidge_build.plan.cascade.kernels import Band, BandKernels, sizes_of
from aidge_build.plan.cascade.row_layer import RowLayer


@dataclass(frozen=True)
class LayerCalls:
    """`calls` are the calls for the kinds of bands of a layer; `number_of` says which call computes the rows `[first, last)`, and
    `largest` which call has the most rows. `rows_read` are the positions of the inputs that it reads by rows."""

    kernel: Kernel
    calls: tuple[Call, ...]
    number_of: dict[Band, int]
    largest: int
    rows_read: frozenset[int]


def calls_of(kernels: BandKernels, node: Node, cascade: Cascade, seen: NodeView) -> LayerCalls:
    """Returns the calls of the bands that the cascade has of this layer; `seen` has its C names and the options of the build.

    AidgeError (CASCADE) if the kernel does not use one function with the same constants for all bands.
    """
    layer = kernels.layer(node)
    assert layer is not None
    kernel = kernels.kernel(layer)
    assert kernel is not None
    bands = cascade.bands_of(node.name)
    sizes = sizes_of(bands)
    numbers: dict[int, int] = {}
    calls: list[Call] = []
    number_of: dict[Band, int] = {}
    for band in bands:
        number = number_of[band] = numbers.setdefault(layer.shape(*band), len(calls))
        if number == len(calls):
            calls.append(kernel.call(_view(kernels, layer, band, sizes, seen), None))
    if not all(alike(calls[0], call) for call in calls[1:]):
        raise AidgeError(
            f"kernel {kernel.name} computes the bands of a layer with different functions or constants",
            where=node.where(),
            code="CASCADE",
            hint="its demands() must say bands=False",
        )
    distinct: list[Call] = []  # some kernels ask for less than all that a band's shape says
    place_of = [_place(call, distinct) for call in calls]
    number_of = {band: place_of[number] for band, number in number_of.items()}
    read = next(step.reads for step in cascade.steps if step.node == node.name)
    largest = max(bands, key=lambda band: band[1] - band[0])
    return LayerCalls(
        kernel,
        tuple(distinct),
        number_of,
        number_of[largest],
        frozenset(position for position, given in enumerate(read) if given is not None),
    )


def _place(call: Call, distinct: list[Call]) -> int:
    """Returns the position in `distinct` of the call with the same numbers, after appending the call if there is none."""
    numbers = [[each for each in known.arguments if isinstance(each, Literal | Struct)] for known in (*distinct, call)]
    place = numbers.index(numbers[-1])
    if place == len(distinct):
        distinct.append(call)
    return place


def _view(kernels: BandKernels, layer: RowLayer, band: Band, sizes: tuple[int, int], seen: NodeView) -> NodeView:
    return replace(
        kernels.view(layer, band, sizes),
        symbol=seen.symbol,
        symbols=seen.symbols,
    )
