# SPDX-License-Identifier: MIT
"""An inference in steps: which layers are longer than a step may be, and in what pieces they are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError
from aidge_build.contract.length import entry_of
from aidge_build.contract.library import Kernel, Library
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.cascade.cascade import BandStep, Cascade
from aidge_build.plan.cascade.cost import PER_MOVED_BYTE
from aidge_build.plan.cascade.kernels import Band, BandKernels, sizes_of
from aidge_build.plan.cascade.lifetimes import Run, with_cascades
from aidge_build.plan.cascade.pieces import Cut, cut
from aidge_build.plan.cascade.question import Found
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.schedule.joint import Joining
from aidge_build.plan.schedule.schedule import Reuse, Schedule, make_schedule
from aidge_build.plan.schedule.stores import stores_of
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.fuse_meta import may_come_apart
from aidge_build.prepare.adaptation.match import title
from aidge_build.prepare.adaptation.meta_operator import MetaOperator
from aidge_build.prepare.recipes.split_outputs import GROUP, group_of

MOST_CUTS = 4  # of the graph, each finer than the one before
TOGETHER = 4  # channels that kernels compute at a time; groups of as many begin at whole words, too
SOFTWARE_FLOATS = 25  # times as many instructions as an FPU needs, for layers of floats; measured: 20 to 24
LEAST_SOFTWARE_FLOATS = 4  # of layers that do less with their floats than compute
STEP_INSTRUCTIONS = 120  # of N_step itself: the choice of the layer and of the band, and its counters


class TooLong(AidgeError):
    """Layers cannot be computed in steps this short; `least` is a step that is long enough for every layer that was examined."""

    def __init__(self, what: str, where: str, least: int):
        super().__init__(what, where=where, code="STEP", hint=f"--max-step {least} or more")
        self.least = least


@dataclass(frozen=True)
class Limit:
    """The most instructions of a step, and the lengths of kernels as the libraries state them. Lengths are maxima; with
    `is_least` they are minima for a kernel that nobody measured, or that was measured on cores with an FPU. Only the linked ELF
    tells the real length. `monitor` are the instructions with which the last step counts the answers."""

    max_step: int
    libraries: Sequence[Library]
    has_fpu: bool = True
    is_least: bool = False
    monitor: int = 0

    def length(self, kernel: Kernel, seen: NodeView) -> int:
        """Returns the instructions of a step that calls this kernel once."""
        lengths = next((library.lengths for library in self.libraries if library.name == kernel.library), ())
        entry = entry_of(lengths, kernel.name, seen)
        if self.is_least and not entry.kernel:
            return STEP_INSTRUCTIONS  # nobody measured it
        was_fast = seen.outputs[0].dtype.is_float  # others were measured on cores without an FPU, too
        is_soft = was_fast and bool(entry.kernel) and not entry.without and not self.has_fpu and not seen.operator.hands_on
        times = 1 if not is_soft else LEAST_SOFTWARE_FLOATS if self.is_least else SOFTWARE_FLOATS
        return STEP_INSTRUCTIONS + times * entry.of(seen)

    def of_band(self, kernels: BandKernels, layer: RowLayer, band: Band, sizes: tuple[int, int]) -> int:
        """Returns the instructions of a step that computes this band; `sizes` are the rows of the largest and of the smallest
        band."""
        kernel = kernels.kernel(layer)
        assert kernel is not None
        return self.length(kernel, kernels.view(layer, band, sizes))

    def of_step(self, kernels: BandKernels, layer: RowLayer, cascade: Cascade, step: BandStep) -> int:
        """Returns the instructions of a step of a cascade, with the rows that it moves."""
        sizes = sizes_of(cascade.bands_of(step.node))
        moved = sum((one.rows.last - one.rows.first) * cascade.lines[one.rows.tensor].row_bytes for one in step.shifts)
        return self.of_band(kernels, layer, (step.first, step.last), sizes) + round(PER_MOVED_BYTE * moved)

    def keeps(self, kernels: BandKernels, cascade: Cascade, layers: Sequence[RowLayer]) -> bool:
        """Whether each step of the cascade is short enough."""
        known = {layer.name: layer for layer in layers}
        steps = {(step.node, step.last - step.first, bool(step.first), len(step.shifts)): step for step in cascade.steps}
        return all(self.of_step(kernels, known[step.node], cascade, step) <= self.max_step for step in steps.values())


def groups_wanted(assignment: Assignment, kernels: BandKernels, limit: Limit) -> dict[str, int]:
    """Returns the layers that stay too long when cut by rows, and how many channels of their outputs may be computed at a time: a
    multiple of the channels that kernels compute together."""
    found, layers = {}, _Layers(assignment, kernels, limit)
    for node in assignment.view.nodes:
        group = group_of(assignment.view, node, TOGETHER)
        if assignment.choices[node.name].kernel is None or group is None or not layers.is_impossible(node):
            continue
        seen = assignment.node_view(node)
        channels = seen.outputs[0].dims[group.axis]
        count = max(2, -(-layers.shortest(node) // limit.max_step))
        together = TOGETHER if node.operator.multiply_accumulates(seen.inputs, seen.outputs) else 1
        most = max(1, channels // count // together) * together
        if most < channels:
            found[node.name] = most
    return found


def too_long_together(assignment: Assignment, kernels: BandKernels, limit: Limit) -> frozenset[tuple[str, str]]:
    """Returns (node, title of the kernel) of layers that one kernel computes together, that stay too long when cut by rows, and
    that have kernels of their own."""
    layers, found = _Layers(assignment, kernels, limit), set()
    for node in assignment.view.nodes:
        kernel = assignment.choices[node.name].kernel
        if isinstance(node.operator, MetaOperator) and kernel is not None and layers.is_impossible(node):
            found |= {(node.name, title(kernel))} if may_come_apart(node, kernels.libraries, kernels.target) else set()
    return frozenset(found)


def wanted_of_layers(view: GraphView, wanted: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """Returns, for layers of the graph, the most channels at a time that their parts in `wanted` ask for, if `before` allowed
    more. Adaptation names the parts after the layer."""
    found: dict[str, int] = {}
    for node in view.nodes:
        own = [most for name, most in wanted.items() if name == node.name or name.startswith(f"{node.name}{GROUP}")]
        fewer = min(own, default=0)
        if fewer and fewer < before.get(node.name, fewer + 1):
            found[node.name] = fewer
    return found


def in_pieces(
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    reuse: Reuse,
    io_outside: bool,
    best: Found,
    kernels: BandKernels,
    limit: Limit,
) -> Found:
    """Returns the plan with the layers that are too long cut by rows. A layer without short enough pieces is cut as finely as
    possible, unless it is too long even at the fewest instructions that it may take: TooLong names the longest such layer."""
    layers = _Layers(assignment, kernels, limit)
    others = {name for run in best.runs for name in run.cascade.nodes} | {node.name for node in stores_of(assignment)}
    cuts: dict[str, Cut] = {}
    refused: list[TooLong] = []
    for node in best.schedule.steps:
        if node.name in others or not layers.is_too_long(node):
            continue
        found = layers.cut(node)
        if found is None and layers.at_least.is_impossible(node):
            refused.append(layers.refusal(node))
        elif (found := found or layers.finest_cut(node)) is not None:
            cuts[node.name] = found
    refused += _too_long_end(layers)
    if refused:
        raise max(refused, key=lambda error: error.least)
    return _with_cuts(assignment, demands, reuse, io_outside, best, cuts) if cuts else best


def _with_cuts(
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    reuse: Reuse,
    io_outside: bool,
    best: Found,
    cuts: Mapping[str, Cut],
) -> Found:
    """Returns the plan with these layers in pieces: their outputs share with inputs what bands allow."""
    joined = _without_gaps(best.schedule, cuts)
    sharing = {name: Demands() for run in best.runs for name in run.cascade.nodes}
    sharing |= {name: one.sharing for name, one in cuts.items()}

    def asked(node: Node) -> Demands:
        wanted = demands(node)
        own = sharing.get(node.name, wanted)
        return replace(wanted, in_place=own.in_place, overlap=own.overlap)

    known = best.schedule.order if len(joined) == len(best.schedule.joined) else None
    schedule = make_schedule(assignment, asked, reuse, io_outside=io_outside, joined=joined, known=known)
    places = {node.name: place for place, node in enumerate(schedule.steps)}
    runs = [*best.runs, *(Run(one.cascade, places[name], {name: one.demands}) for name, one in cuts.items())]
    runs = sorted((replace(run, first=places[run.cascade.nodes[0]]) for run in runs), key=lambda run: run.first)
    schedule = with_cascades(schedule, runs)
    return Found(schedule, plan(schedule.buffers, overlaps=schedule.overlaps), tuple(runs))


def _without_gaps(schedule: Schedule, cuts: Mapping[str, Cut]) -> list[Joining]:
    """Returns the joinings, except joinings that make a layer in pieces leave gaps between positions: bands cannot leave gaps."""
    touched = {name for node in schedule.steps if node.name in cuts for name in (*node.inputs, *node.outputs)}
    apart = {part.whole for name, part in schedule.parts.items() if name in touched and part.rows > 1}
    return [joining for joining in schedule.joined if joining.whole not in apart]


@dataclass(frozen=True)
class _Layers:
    """How long the layers of an assignment are in one step, and in what pieces they are short enough."""

    assignment: Assignment
    kernels: BandKernels
    limit: Limit

    def length(self, node: Node) -> int:
        """Returns the instructions of the whole layer."""
        kernel = self.assignment.choices[node.name].kernel
        assert kernel is not None
        return self.limit.length(kernel, self.assignment.node_view(node))

    def is_too_long(self, node: Node) -> bool:
        """Whether no step computes the whole layer."""
        return self.length(node) > self.limit.max_step

    def is_impossible(self, node: Node) -> bool:
        """Whether no step computes a piece of it, either."""
        return self.is_too_long(node) and self.cut(node) is None

    def shortest(self, node: Node) -> int:
        """Returns the instructions of one row of a layer, or of the whole layer if it has no rows."""
        layer = self.kernels.layer(node)
        if layer is None:
            return self.length(node)
        middle = layer.height // 2
        band = next((found for found in ((middle, middle + 1), (0, layer.height)) if layer.band(*found) is not None), None)
        return self.length(node) if band is None else self.limit.of_band(self.kernels, layer, band, (band[1] - band[0],) * 2)

    def cut(self, node: Node) -> Cut | None:
        """Returns the layer in pieces that are short enough; None if there are none."""
        layer, view = self.kernels.layer(node), self.assignment.view
        states = {name for state in view.states for name in (state.read, state.written)}
        if layer is None or states & {*node.inputs, *node.outputs}:
            return None
        limit = self.limit
        return cut(self.kernels, layer, lambda one, band, sizes: limit.of_band(self.kernels, one, band, sizes) <= limit.max_step)

    def finest(self, node: Node) -> int:
        """Returns the instructions of the smallest step in which a layer can be computed."""
        low, high = self.limit.max_step, self.length(node)
        while self.kernels.layer(node) is not None and high - low > max(1, low // 50):
            middle = (low + high) // 2
            low, high = (low, middle) if self._within(middle).cut(node) else (middle, high)
        return high

    def finest_cut(self, node: Node) -> Cut | None:
        """Returns the layer in its smallest pieces, which may be too long."""
        return self._within(self.finest(node)).cut(node)

    @property
    def at_least(self) -> _Layers:
        """The layers with the fewest instructions that kernels may take."""
        return replace(self, limit=replace(self.limit, is_least=True))

    def refusal(self, node: Node) -> TooLong:
        """Returns the error with the reason and the smallest step in which the layer can be computed."""
        whole, least = self.length(node), self.finest(node)
        how = "its smallest piece is one row" if least < whole else "it cannot be cut"
        what = f"it takes about {whole:,} instructions, {how}: no step of {self.limit.max_step:,} computes it"
        return TooLong(what, node.where(), least)

    def _within(self, max_step: int) -> _Layers:
        return replace(self, limit=replace(self.limit, max_step=max_step))


def _too_long_end(layers: _Layers) -> list[TooLong]:
    """Returns an error if the last step is too long: it copies the next values of states and counts the answers, so that an
    abandoned inference changes nothing."""
    stores, monitor = stores_of(layers.assignment), layers.limit.monitor
    if sum(map(layers.at_least.length, stores)) + monitor <= layers.limit.max_step:
        return []
    why = "in one step so that an inference that is left changes nothing"
    done = "copying the next values of states" if stores else "counting answers"
    length = sum(map(layers.length, stores)) + monitor
    what = f"{done}{' and counting answers' if stores and monitor else ''} takes about {length:,} instructions, {why}"
    return [TooLong(what, stores[0].where() if stores else "--monitor", length)]
