# SPDX-License-Identifier: MIT
"""A network for each library whose layers use every kernel of it, as the compiler prints it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

import every_layer
import helium_harness
from every_layer import EveryLayer

from aidge_build.build.compile import bands_of, demands_of, make_program
from aidge_build.build.request import CompileRequest
from aidge_build.contract.call import Call
from aidge_build.contract.library import Kernel
from aidge_build.contract.mem_info import MemInfo
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.graph.view import GraphView
from aidge_build.plan.options import Options
from aidge_build.plan.planning import plan_memory
from aidge_build.plan.program import Program
from aidge_build.prepare.adaptation.assignment import Assignment, Choice
from aidge_build.prepare.adaptation.match import Target


@dataclass(frozen=True)
class Network:
    """How many layers use which kernels of a library."""

    library: str
    layers: int
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class _Fixed(Kernel):
    """A kernel whose node is what a test made: a band of a layer, for one core or another, for size or for speed."""

    seen: NodeView | None = field(default=None, compare=False)

    def demands(self, view: NodeView) -> Demands:
        return super().demands(self._seen)

    def call(self, view: NodeView, mem_info: Sequence[MemInfo] | None) -> Call:
        given = {"symbol": view.symbol, "symbols": view.symbols, "in_mem_info": view.in_mem_info}
        return super().call(replace(self._seen, **given), mem_info)

    @property
    def _seen(self) -> NodeView:
        assert self.seen is not None
        return self.seen


def network(library: str) -> Program:
    """The layers of `every_layer` side by side, each with inputs and outputs of its own in the arena."""
    layers = [_renamed(number, layer) for number, layer in enumerate(every_layer.layers(library))]
    libraries = tuple(helium_harness.library(name) for name in dict.fromkeys((library, "ref", "kit")))
    request = CompileRequest(f"every_{library}", b"", "", libraries, {}, Target(), "any", options=Options(io="arena"))
    assignment = _assigned(layers, request.name)
    demands = cache(partial(demands_of, assignment))
    return make_program(request, *plan_memory(assignment, demands, request.options, None, bands_of(request)), ())


def used() -> list[Network]:
    """What the networks use of each library."""
    made = {library: every_layer.layers(library) for library in every_layer.LIBRARIES}
    return [Network(library, len(layers), tuple(sorted({one.kernel.name for one in layers}))) for library, layers in made.items()]


def missing(network: Network) -> set[str]:
    """The kernels of the library that none of its layers uses."""
    return {kernel.name for kernel in helium_harness.library(network.library).kernels} - set(network.kernels)


def _renamed(number: int, layer: EveryLayer) -> EveryLayer:
    """The layer with names of node and tensors that no other one has."""
    view = layer.view
    inputs = tuple(None if one is None else one.with_(name=f"x{number}_{place}") for place, one in enumerate(view.inputs))
    outputs = tuple(one.with_(name=f"y{number}_{place}") for place, one in enumerate(view.outputs))
    names = tuple("" if one is None else one.name for one in inputs), tuple(one.name for one in outputs)
    node = view.node.with_(name=f"{layer.kernel.name}_{number}", inputs=names[0], outputs=names[1])
    return EveryLayer(layer.kernel, replace(view, node=node, inputs=inputs, outputs=outputs))


def _assigned(layers: Sequence[EveryLayer], name: str) -> Assignment:
    views = [layer.view for layer in layers]
    read = [one for view in views for one in view.inputs if one is not None]
    written = [one for view in views for one in view.outputs]
    graph = GraphView(
        name,
        tuple(view.node for view in views),
        {one.name: one for one in (*read, *written)},
        tuple(one.name for one in read if not one.is_constant),
        tuple(one.name for one in written),
    )
    return Assignment(graph, {layer.view.node.name: _choice(layer) for layer in layers})


def _choice(layer: EveryLayer) -> Choice:
    kernel, view = layer.kernel, layer.view
    own = {name: getattr(kernel, name) for name in ("library", "name", "type", "spec", "node_class", "pattern", "assembly")}
    formats = tuple((place, one.format) for place, one in enumerate(view.inputs) if one is not None and one.format is not None)
    return Choice(_Fixed(**own, seen=view), "", (), formats, tuple(one.format for one in view.outputs))
