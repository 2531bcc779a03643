# SPDX-License-Identifier: MIT
"""The order in which the bands of a cascade run (pull): each band of the last layer asks for the rows that it reads, the layers
that write these rows ask for their own, and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy

from aidge_build.plan.cascade.arrival import Arrival
from aidge_build.plan.cascade.bands import Rowed
from aidge_build.plan.cascade.row_table import Bands


def order_of(layers: Sequence[Rowed], bands: Mapping[str, Bands], kept: Mapping[str, Rowed]) -> list[int]:
    """Returns, for each step, the number of the layer that runs its next band. `kept` are the tensors that are kept as rows."""
    walk = _Pull(layers, bands)
    last = len(layers) - 1
    ends = [number for number in range(last) if layers[number].output.name not in kept]
    for _ in bands[layers[last].name]:
        walk.pull(last)
        for number in ends:
            while walk.is_ready(number):
                walk.pull(number)
    for number, layer in enumerate(layers):  # the last rows of a layer may be unread; arriving rows are then not even kept
        while not isinstance(layer, Arrival) and walk.done[number] < len(bands[layer.name]):
            walk.pull(number)
    return walk.order


class _Pull:
    """`wanted` holds, for each layer, the layers that write what it reads, with how many bands of them each band needs."""

    def __init__(self, layers: Sequence[Rowed], bands: Mapping[str, Bands]):
        self.counts = [len(bands[layer.name]) for layer in layers]
        self.done = [0] * len(layers)
        self.order: list[int] = []
        writers = {layer.output.name: number for number, layer in enumerate(layers) if not layer.in_parts}
        ends = [numpy.array([last for _, last in bands[layer.name]]) for layer in layers]
        self.wanted: list[list[tuple[int, list[int]]]] = []
        for layer in layers:
            read = layer.table(bands[layer.name]).of_tensors
            self.wanted.append(
                [(writers[name], _bands_until(ends[writers[name]], rows[:, 1])) for name, rows in read.items() if name in writers]
            )

    def pull(self, number: int) -> None:
        """Runs the next band of the layer, and before it every band that it needs."""
        place, done = self.done[number], self.done
        for writer, needed in self.wanted[number]:
            while done[writer] < needed[place]:
                self.pull(writer)
        done[number] = place + 1
        self.order.append(number)

    def is_ready(self, number: int) -> bool:
        """Whether every band has run that the next band of the layer needs."""
        place = self.done[number]
        return place < self.counts[number] and all(self.done[writer] >= needed[place] for writer, needed in self.wanted[number])


def _bands_until(ends: numpy.ndarray, wanted: numpy.ndarray) -> list[int]:
    """Returns how many bands give all rows below each entry of `wanted`; `ends` are the ends of the bands."""
    return (numpy.searchsorted(ends, wanted) + (wanted > 0)).tolist()
