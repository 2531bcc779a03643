# SPDX-License-Identifier: MIT
"""From layers to the steps of a cascade: the order of the bands, and the places of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from aidge_build.plan.cascade.arrival import Arrival
from aidge_build.plan.cascade.bands import Rowed, bands_of, readers_of, tensors_kept_by_rows, wants_whole
from aidge_build.plan.cascade.cascade import Cascade, LateSteps
from aidge_build.plan.cascade.departure import Departure
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.cascade.walk import Walk, steps_of

MOST_STEPS = 20_000


def walked(
    layers: Sequence[Rowed], whole: frozenset[str], rows: Mapping[str, int], ahead: frozenset[str] = frozenset()
) -> Walk | None:
    """Returns the walk through these layers in bands of so many `rows` each, or as few more as a layer needs; None if there is
    none. Layers in `ahead` begin with one row more than the layers that read them need first. Tensors in `whole` are kept as a
    whole: other layers read them. An `Arrival` is the first of the layers: its bands are the rows that the layers that read it
    ask for next. A `Departure` is the last of the layers: it has the bands of the layer that writes the rows."""
    if wants_whole(layers):
        return None
    kept = tensors_kept_by_rows(layers, whole)
    readers = readers_of(layers)
    bands = bands_of(layers, {name: readers[name] for name in kept}, rows, ahead)
    if bands is None or sum(map(len, bands.values())) > MOST_STEPS:
        return None
    return Walk(layers, kept, bands)


def cascade_of(walk: Walk, ahead: frozenset[str] = frozenset()) -> Cascade:
    """Returns the cascade of this walk."""
    called = [layer for layer in walk.layers if isinstance(layer, RowLayer)]
    arriving = [layer.output.name for layer in walk.layers if isinstance(layer, Arrival) and walk.times(layer)]
    departing = [layer.writer.output.name for layer in walk.layers if isinstance(layer, Departure)]
    return Cascade(
        tuple(layer.name for layer in called),
        {layer.name: max(last - first for first, last in walk.bands[layer.name]) for layer in called},
        walk.lines,
        LateSteps(partial(steps_of, walk.layers, walk.kept, walk.bands)),
        frozenset(layer.name for layer in called if layer.in_parts),
        walk.stocks,
        ahead=ahead,
        work=walk.work,
        arriving="".join(arriving),
        departing="".join(departing),
    )
