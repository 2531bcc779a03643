# SPDX-License-Identifier: MIT
"""An inference in steps: which layers are longer than a step may be, and in what pieces they are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from aidge_build.adaptation.assignment import Assignment
from aidge_build.cascade.cascade import BandStep, Cascade
from aidge_build.cascade.cost import PER_MOVED_BYTE
from aidge_build.cascade.kernels import Band, BandKernels, sizes_of
from aidge_build.cascade.lines import Run, with_cascades
from aidge_build.cascade.pieces import Cut, cut
from aidge_build.cascade.question import Found
from aidge_build.cascade.row_layer import RowLayer
from aidge_build.contract.length import Length, entry_of
from aidge_build.contract.library import Kernel, Library
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.memory.planner import plan
from aidge_build.recipes.split_outputs import GROUP, group_of
from aidge_build.schedule.schedule import Reuse, make_schedule
from aidge_build.schedule.stores import stores_of

MOST_CUTS = 4  # of the graph, each finer than the one before
TOGETHER = 4  # channels that kernels compute at a time; groups of as many begin at whole words, too
SOFTWARE_FLOATS = 25  # times as many instructions as an FPU needs, for layers of floats; measured: 20 to 24
STEP_INSTRUCTIONS = 120  # of N_step itself: the choice of the layer, of the band, and what goes on by one


@dataclass(frozen=True)
class Limit:
    """How long a step may be, and how long the libraries say that their kernels take."""

    max_step: int
    libraries: Sequence[Library]
    has_fpu: bool = True

    def length(self, kernel: Kernel, seen: NodeView) -> int:
        """Instructions of a step that calls this kernel once."""
        entry = self._entry(kernel, seen)
        return STEP_INSTRUCTIONS + (SOFTWARE_FLOATS if self._computes_floats(entry, seen) else 1) * entry.of(seen)

    def is_measured(self, kernel: Kernel, seen: NodeView) -> bool:
        """Whether that was measured, and not with an FPU for a core without one. Another estimate may be many times too high: the
        program that is linked says then how long the step is."""
        entry = self._entry(kernel, seen)
        return bool(entry.kernel) and not self._computes_floats(entry, seen)

    def _entry(self, kernel: Kernel, seen: NodeView) -> Length:
        lengths = next((library.lengths for library in self.libraries if library.name == kernel.library), ())
        return entry_of(lengths, kernel.name, seen)

    def _computes_floats(self, entry: Length, seen: NodeView) -> bool:
        """Whether a kernel that was measured with an FPU computes floats without one."""
        if self.has_fpu or not entry.kernel or seen.operator.hands_on:
            return False
        return any(tensor is not None and tensor.dtype.is_float for tensor in (*seen.inputs, *seen.outputs))

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
    """The plan in which layers that are too long are cut by rows; AidgeError STEP names those that cannot be, where measured
    lengths say so. One whose length nobody measured stays whole."""
    inside = {name for run in best.runs for name in run.cascade.nodes}
    stores = {node.name for node in stores_of(assignment)}
    cuts: dict[str, Cut] = {}
    for node in best.schedule.steps:
        if node.name in inside or node.name in stores or _length(assignment, limit, node) <= limit.max_step:
            continue
        found = _cut(assignment, kernels, limit, node)
        if found is not None:
            cuts[node.name] = found
        elif _is_measured(assignment, limit, node):
            raise _too_long(assignment, kernels, limit, node)
    _require_short_stores(assignment, limit, best)
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


def _is_measured(assignment: Assignment, limit: Limit, node: Node) -> bool:
    kernel = assignment.choices[node.name].kernel
    assert kernel is not None
    return limit.is_measured(kernel, assignment.node_view(node))


def _cut(assignment: Assignment, kernels: BandKernels, limit: Limit, node: Node) -> Cut | None:
    layer = kernels.layer(node)
    states = {name for state in assignment.view.states for name in (state.read, state.written)}
    if layer is None or states & {*node.inputs, *node.outputs}:
        return None
    return cut(kernels, layer, lambda one, band, sizes: limit.of_band(kernels, one, band, sizes) <= limit.max_step)


def _too_long(assignment: Assignment, kernels: BandKernels, limit: Limit, node: Node) -> AidgeError:
    """Why, and the smallest step in which the layer can be computed."""
    whole = _length(assignment, limit, node)
    layer = kernels.layer(node)
    least, how = whole, "which cannot be cut"
    if layer is not None:
        low, high = limit.max_step, whole
        while high - low > max(1, low // 50):
            middle = (low + high) // 2
            low, high = (low, middle) if _cut(assignment, kernels, replace(limit, max_step=middle), node) else (middle, high)
        least = high
        how = "whose smallest piece is one row" if least < whole else how
    return AidgeError(
        f"it takes about {whole:,} instructions, {how}: no step of {limit.max_step:,} computes it",
        where=node.where(),
        code="STEP",
        hint=f"--max-step {least} is possible",
    )


def _require_short_stores(assignment: Assignment, limit: Limit, best: Found) -> None:
    """The next values of states are copied in one step, so that an inference that is left has changed none of them."""
    stores = stores_of(assignment)
    length = sum(_length(assignment, limit, node) for node in stores)
    if length > limit.max_step and all(_is_measured(assignment, limit, node) for node in stores):
        raise AidgeError(
            f"copying the next values of states takes about {length:,} instructions, in one step so that a state never changes "
            "in part",
            where=stores[0].where(),
            code="STEP",
            hint=f"--max-step {length} is possible",
        )
