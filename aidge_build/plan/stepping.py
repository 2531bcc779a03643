# SPDX-License-Identifier: MIT
"""An inference in steps: which layers are longer than a step may be, and in what pieces they are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError
from aidge_build.contract.length import entry_of
from aidge_build.contract.library import Kernel, Library
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.cascade.cascade import BandStep, Cascade
from aidge_build.plan.cascade.cost import PER_MOVED_BYTE
from aidge_build.plan.cascade.kernels import Band, BandKernels, sizes_of
from aidge_build.plan.cascade.lines import Run, with_cascades
from aidge_build.plan.cascade.pieces import Cut, cut
from aidge_build.plan.cascade.question import Found
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.schedule.schedule import Reuse, make_schedule
from aidge_build.plan.schedule.stores import stores_of
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.recipes.split_outputs import GROUP, group_of

MOST_CUTS = 4  # of the graph, each finer than the one before
TOGETHER = 4  # channels that kernels compute at a time; groups of as many begin at whole words, too
SOFTWARE_FLOATS = 25  # times as many instructions as an FPU needs, for layers of floats; measured: 20 to 24
LEAST_SOFTWARE_FLOATS = 4  # of layers that do less with their floats than compute
STEP_INSTRUCTIONS = 120  # of N_step itself: the choice of the layer, of the band, and what goes on by one


class TooLong(AidgeError):
    """Layers cannot be computed in steps this short; `least` is a step that is long enough for all that were looked at."""

    def __init__(self, what: str, where: str, least: int):
        super().__init__(what, where=where, code="STEP", hint=f"--max-step {least} or more")
        self.least = least


@dataclass(frozen=True)
class Limit:
    """How long a step may be, and how long the libraries say that their kernels take: at most, or where `is_least`, as little as
    they may take where nobody measured a kernel, or measured it on cores with an FPU. What is linked says how long it is."""

    max_step: int
    libraries: Sequence[Library]
    has_fpu: bool = True
    is_least: bool = False

    def length(self, kernel: Kernel, seen: NodeView) -> int:
        """Instructions of a step that calls this kernel once."""
        lengths = next((library.lengths for library in self.libraries if library.name == kernel.library), ())
        entry = entry_of(lengths, kernel.name, seen)
        if self.is_least and not entry.kernel:
            return STEP_INSTRUCTIONS  # nobody measured it
        was_fast = seen.outputs[0].dtype.is_float  # others were measured on cores without an FPU, too
        is_soft = was_fast and bool(entry.kernel) and not entry.without and not self.has_fpu and not seen.operator.hands_on
        times = 1 if not is_soft else LEAST_SOFTWARE_FLOATS if self.is_least else SOFTWARE_FLOATS
        return STEP_INSTRUCTIONS + times * entry.of(seen)

    def of_band(self, kernels: BandKernels, layer: RowLayer, band: Band, sizes: tuple[int, int]) -> int:
        """The same of a band; `sizes` are the rows of the largest and of the smallest one."""
        kernel = kernels.kernel(layer)
        assert kernel is not None
        return self.length(kernel, kernels.view(layer, band, sizes))

    def of_step(self, kernels: BandKernels, layer: RowLayer, cascade: Cascade, step: BandStep) -> int:
        """The same of a step of a cascade, with the rows that it moves."""
        sizes = sizes_of(cascade.bands_of(step.node))
        moved = sum((one.rows.last - one.rows.first) * cascade.lines[one.rows.tensor].row_bytes for one in step.shifts)
        return self.of_band(kernels, layer, (step.first, step.last), sizes) + round(PER_MOVED_BYTE * moved)

    def keeps(self, kernels: BandKernels, cascade: Cascade, layers: Sequence[RowLayer]) -> bool:
        """Whether each step of the cascade is short enough."""
        known = {layer.name: layer for layer in layers}
        steps = {(step.node, step.last - step.first, bool(step.first), len(step.shifts)): step for step in cascade.steps}
        return all(self.of_step(kernels, known[step.node], cascade, step) <= self.max_step for step in steps.values())


def groups_wanted(assignment: Assignment, kernels: BandKernels, limit: Limit) -> dict[str, int]:
    """The layers that no rows make short enough, and how many channels of their outputs may be computed at a time: a multiple of
    what kernels compute together."""
    found = {}
    for node in assignment.view.nodes:
        group = group_of(assignment.view, node, TOGETHER)
        if assignment.choices[node.name].kernel is None or group is None:
            continue
        if _length(assignment, limit, node) <= limit.max_step or _cut(assignment, kernels, limit, node) is not None:
            continue
        channels = assignment.node_view(node).outputs[0].dims[group.axis]
        count = max(2, -(-_shortest(assignment, kernels, limit, node) // limit.max_step))
        together = TOGETHER if node.operator.multiply_accumulates(*_tensors(assignment, node)) else 1
        most = max(1, channels // count // together) * together
        if most < channels:
            found[node.name] = most
    return found


def _tensors(assignment: Assignment, node: Node) -> tuple[Sequence[Tensor | None], Sequence[Tensor]]:
    seen = assignment.node_view(node)
    return seen.inputs, seen.outputs


def wanted_of_layers(view: GraphView, wanted: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """What the groups that are too long, as adaptation names them, mean for the layers of the graph that they come from."""
    found: dict[str, int] = {}
    for node in view.nodes:
        own = [most for name, most in wanted.items() if name == node.name or name.startswith(f"{node.name}{GROUP}")]
        fewer = min(own, default=0)
        if fewer and fewer < before.get(node.name, fewer + 1):
            found[node.name] = fewer
    return found


def _shortest(assignment: Assignment, kernels: BandKernels, limit: Limit, node: Node) -> int:
    """The instructions of one row of a layer, or of all of it where it has no rows."""
    layer = kernels.layer(node)
    if layer is None:
        return _length(assignment, limit, node)
    middle = layer.height // 2
    band = next((found for found in ((middle, middle + 1), (0, layer.height)) if layer.band(*found) is not None), None)
    return _length(assignment, limit, node) if band is None else limit.of_band(kernels, layer, band, (band[1] - band[0],) * 2)


def in_pieces(
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    reuse: Reuse,
    io_outside: bool,
    best: Found,
    kernels: BandKernels,
    limit: Limit,
) -> Found:
    """The plan in which layers that are too long are cut by rows; TooLong names the longest of those that cannot be, where they
    are too long even at the least that they may take. Others are cut as finely as they can be."""
    inside = {name for run in best.runs for name in run.cascade.nodes}
    stores = {node.name for node in stores_of(assignment)}
    cuts: dict[str, Cut] = {}
    refused: list[TooLong] = []
    for node in best.schedule.steps:
        if node.name in inside or node.name in stores or _length(assignment, limit, node) <= limit.max_step:
            continue
        found = _cut(assignment, kernels, limit, node)
        least = replace(limit, is_least=True)
        if found is None and _length(assignment, least, node) > limit.max_step and not _cut(assignment, kernels, least, node):
            refused.append(_too_long(assignment, kernels, limit, node))
            continue
        found = found or _cut(assignment, kernels, replace(limit, max_step=_finest(assignment, kernels, limit, node)), node)
        if found is not None:
            cuts[node.name] = found
    refused += _too_long_stores(assignment, limit, best)
    if refused:
        raise max(refused, key=lambda error: error.least)
    if not cuts:
        return best
    touched = {name for node in best.schedule.steps if node.name in cuts for name in (*node.inputs, *node.outputs)}
    apart = {part.whole for name, part in best.schedule.parts.items() if name in touched and part.rows > 1}
    joined = [joining for joining in best.schedule.joined if joining.whole not in apart]  # bands leave no gaps between positions

    def asked(node: Node) -> Demands:
        wanted = demands(node)
        if node.name in inside:
            return replace(wanted, in_place=(), overlap=())
        if node.name in cuts:
            sharing = cuts[node.name].sharing
            return replace(wanted, in_place=sharing.in_place, overlap=sharing.overlap)
        return wanted

    known = best.schedule.order if len(joined) == len(best.schedule.joined) else None
    schedule = make_schedule(assignment, asked, reuse, io_outside=io_outside, joined=joined, known=known)
    places = {node.name: place for place, node in enumerate(schedule.steps)}
    runs = [*best.runs, *(Run(one.cascade, places[name], {name: one.demands}) for name, one in cuts.items())]
    runs = sorted((replace(run, first=places[run.cascade.nodes[0]]) for run in runs), key=lambda run: run.first)
    schedule = with_cascades(schedule, runs)
    return Found(schedule, plan(schedule.buffers, overlaps=schedule.overlaps), tuple(runs))


def _length(assignment: Assignment, limit: Limit, node: Node) -> int:
    kernel = assignment.choices[node.name].kernel
    assert kernel is not None
    return limit.length(kernel, assignment.node_view(node))


def _cut(assignment: Assignment, kernels: BandKernels, limit: Limit, node: Node) -> Cut | None:
    layer = kernels.layer(node)
    states = {name for state in assignment.view.states for name in (state.read, state.written)}
    if layer is None or states & {*node.inputs, *node.outputs}:
        return None
    return cut(kernels, layer, lambda one, band, sizes: limit.of_band(kernels, one, band, sizes) <= limit.max_step)


def _too_long(assignment: Assignment, kernels: BandKernels, limit: Limit, node: Node) -> TooLong:
    """Why, and the smallest step in which the layer can be computed."""
    whole, least = _length(assignment, limit, node), _finest(assignment, kernels, limit, node)
    how = "its smallest piece is one row" if least < whole else "it cannot be cut"
    what = f"it takes about {whole:,} instructions, {how}: no step of {limit.max_step:,} computes it"
    return TooLong(what, node.where(), least)


def _finest(assignment: Assignment, kernels: BandKernels, limit: Limit, node: Node) -> int:
    """The instructions of the smallest step in which a layer can be computed."""
    low, high = limit.max_step, _length(assignment, limit, node)
    while kernels.layer(node) is not None and high - low > max(1, low // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if _cut(assignment, kernels, replace(limit, max_step=middle), node) else (middle, high)
    return high


def _too_long_stores(assignment: Assignment, limit: Limit, best: Found) -> list[TooLong]:
    """The next values of states are copied in one step, so that an inference that is left has changed none of them."""
    stores = stores_of(assignment)
    length = sum(_length(assignment, limit, node) for node in stores)
    if sum(_length(assignment, replace(limit, is_least=True), node) for node in stores) <= limit.max_step:
        return []
    why = "in one step so that a state never changes in part"
    what = f"copying the next values of states takes about {length:,} instructions, {why}"
    return [TooLong(what, stores[0].where(), length)]
