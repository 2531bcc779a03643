# SPDX-License-Identifier: MIT
"""The bands of each layer of a cascade. A band of each layer ends with the last row that the first band of the next layer reads:
bands then read rows of complete bands, and no row is computed too early.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aidge_build.plan.cascade.arrival import Arrival
from aidge_build.plan.cascade.departure import Departure
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.cascade.row_table import Bands

Rowed = RowLayer | Arrival | Departure


def tensors_kept_by_rows(layers: Sequence[Rowed], whole: frozenset[str]) -> dict[str, Rowed]:
    """Returns tensor -> the layer that writes it, for the tensors that are kept as rows only."""
    read = {tensor.name for layer in layers for tensor in layer.inputs if tensor is not None}
    return {
        layer.output.name: layer
        for layer in layers
        if not layer.in_parts and layer.output.name in read and layer.output.name not in whole
    }


def wants_whole(layers: Sequence[Rowed]) -> bool:
    """Whether a layer needs all rows of a tensor that another one of the layers makes: the tensor is complete only at the end."""
    made = {layer.output.name for layer in layers}
    return any(
        tensor is not None and tensor.name in made and tensor.name not in (layer.reads(0, layer.height) or {})
        for layer in layers
        for tensor in layer.inputs
    )


def readers_of(layers: Sequence[Rowed]) -> dict[str, list[Rowed]]:
    """Returns the layers that read each tensor, each once."""
    found: dict[str, list[Rowed]] = {}
    for layer in layers:
        for name in dict.fromkeys(tensor.name for tensor in layer.inputs if tensor is not None):
            found.setdefault(name, []).append(layer)
    return found


def bands_of(
    layers: Sequence[Rowed], readers: Mapping[str, Sequence[Rowed]], rows: Mapping[str, int], ahead: frozenset[str]
) -> dict[str, Bands] | None:
    """Returns the bands of each layer; None if a layer cannot be cut there."""
    found: dict[str, Bands] = {}
    for layer in reversed(layers):
        if isinstance(layer, Arrival):
            size = min(_step(layer, readers[layer.output.name], found), layer.height)
        else:
            called = layer.writer if isinstance(layer, Departure) else layer
            size = called.most_rows(rows[called.name])
        needed = 0
        for reader in readers.get(layer.output.name, ()) if not layer.in_parts else ():
            first = reader.reads(*found[reader.name][0])
            assert first is not None
            needed = max(needed, first[layer.output.name][1])
        needed += layer.name in ahead
        for start in dict.fromkeys((needed % size or size, size)):
            bands = layer.cut(min(start, layer.height), size)
            if bands is not None:
                found[layer.name] = bands
                break
        else:
            return None
    return found


def _step(arrival: Arrival, readers: Sequence[Rowed], bands: Mapping[str, Bands]) -> int:
    """Returns the rows that arrive at a time: as many as the reader with the smallest step needs for its next band."""
    name, steps = arrival.output.name, [arrival.height]
    for reader in readers:
        read = [reader.reads(*band) for band in bands[reader.name][:2]]
        ends = [rows[name][1] for rows in read if rows is not None]
        steps.append(ends[-1] - ends[0] if len(ends) > 1 else ends[0])
    return max(1, min(steps))
