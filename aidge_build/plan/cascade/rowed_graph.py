# SPDX-License-Identifier: MIT
"""The part of a graph that can be computed by rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.cascade.arrival import Arrival
from aidge_build.plan.cascade.departure import Departure
from aidge_build.plan.cascade.kernels import BandKernels
from aidge_build.plan.cascade.row_layer import RowLayer, has_rows


@dataclass(frozen=True)
class Graph:
    """The layers that can be computed by rows. `whole` are tensors that are kept with all their rows, `states` are tensors that
    no cascade touches; `arriving` is the buffer of the input that comes row by row, `departing` is the buffer of the output that
    leaves row by row ("": none)."""

    kernels: BandKernels
    whole: frozenset[str]
    buffer_of: Mapping[str, str]
    states: frozenset[str]
    arriving: str = ""
    departing: str = ""

    @staticmethod
    def of(view: GraphView, buffer_of: Mapping[str, str], kernels: BandKernels, arriving: str = "", departing: str = "") -> Graph:
        """Returns the value for an adapted graph."""
        names: dict[str, list[str]] = {}
        for tensor, buffer in buffer_of.items():
            names.setdefault(buffer, []).append(tensor)
        by_rows = {arriving, departing}
        twice = [tensor for buffer, found in names.items() if len(found) > 1 and buffer not in by_rows for tensor in found]
        states = frozenset(name for state in view.states for name in (state.read, state.written))
        kept = {*view.inputs, *view.outputs, *twice} - {tensor for buffer in by_rows for tensor in names.get(buffer, ())}
        return Graph(kernels, frozenset(kept), buffer_of, states, arriving, departing)

    @property
    def by_rows(self) -> bool:
        """Whether the firmware brings or takes rows: then some layers must be in cascades."""
        return bool(self.arriving or self.departing)

    def arrival(self, nodes: Sequence[Node], first: int, readers: Mapping[str, set[str]]) -> Arrival | None:
        """Returns the input as a layer; None unless these are the first layers, the only ones that read the input, and read it
        under one name."""
        read = sorted({name for name in readers if self.arriving and self.buffer_of.get(name) == self.arriving})
        inside = {node.name for node in nodes}
        if first or len(read) != 1 or any(readers[name] - inside for name in read):
            return None
        [tensor] = [self.kernels.assignment.view.tensor(name) for name in read]
        return Arrival(tensor) if has_rows(tensor) else None

    def departure(self, steps: Sequence[Node], first: int, last: int, readers: Mapping[str, set[str]]) -> Departure | None:
        """Returns the output as a layer; None unless the steps `[first, last)` write it and are the only ones that touch it."""
        inside = steps[first:last]
        written = [node for node in inside if self.buffer_of.get(node.outputs[0]) == self.departing]
        if not self.departing or len(written) != 1:
            return None
        layer = self.kernels.layer(written[0])
        if layer is None or layer.in_parts or not has_rows(layer.output):
            return None
        named = {name for name in readers if self.buffer_of.get(name) == self.departing}
        around = {reader for name in named for reader in readers[name]} - {node.name for node in inside}
        return None if around or named - {layer.output.name} else Departure(layer)

    def allows(self, layers: Sequence[RowLayer]) -> bool:
        """Whether the layers touch no state, and read no tensor that they write under another name."""
        read = [tensor.name for layer in layers for tensor in layer.seen.inputs if tensor is not None and not tensor.is_constant]
        made = [layer.output.name for layer in layers]
        homes = {self.buffer_of[name]: name for name in made}
        renamed = any(homes.get(self.buffer_of[name], name) != name for name in read)
        return not renamed and not self.states & {self.buffer_of[name] for name in (*read, *made)}
