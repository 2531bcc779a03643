# SPDX-License-Identifier: MIT
"""The prediction for a whole model: the sum over its layers, and an error that follows from the errors of the layers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod, sqrt

from aidge_build.contract.length import length_of
from aidge_build.contract.library import Library
from aidge_build.contract.spec import NodeView
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.packed_constants import expansion_instructions
from aidge_build.plan.prediction.described import Described
from aidge_build.plan.prediction.networks import Work
from aidge_build.plan.prediction.quantities import family_of
from aidge_build.plan.prediction.table import CallCost, costs_for, estimate
from aidge_build.plan.program import Layer, Program
from aidge_build.prepare.adaptation.match import Target

MOST_UNKNOWN = 0.1  # of the instructions may belong to layers that nobody measured
OF_N_RUN = 10  # instructions around the calls of layers


@dataclass(frozen=True)
class LayerPrediction:
    """One layer of an inference: instructions (None: not known) and their relative error; `reason` says why it is large, or why
    nothing is known."""

    name: str
    library: str
    kernel: str
    instructions: float | None
    error: float
    reason: str = ""
    work: Work = Work("", 0.0)


@dataclass(frozen=True)
class Prediction:
    """Instructions of one inference (None: not known) and by how much predictions may be off, relative to what is measured."""

    instructions: int | None
    error: float
    layers: tuple[LayerPrediction, ...]

    @property
    def unknown(self) -> tuple[LayerPrediction, ...]:
        """The layers without a prediction."""
        return tuple(layer for layer in self.layers if layer.instructions is None)

    @property
    def works(self) -> tuple[Work, ...]:
        """The calls of known layers, and all other instructions as one."""
        known = tuple(layer.work for layer in self.layers if layer.instructions is not None)
        return (*known, Work("", (self.instructions or 0) - sum(work.instructions for work in known)))

    def __str__(self) -> str:
        if self.instructions is not None:
            return f"{self.instructions:,} instructions ± {self.error:.1%}"
        names = ", ".join(dict.fromkeys(f"{layer.library} {layer.kernel}" for layer in self.unknown))
        return f"not known: there are no measurements of {names or 'such layers'}"


def predict(program: Program, libraries: Sequence[Library], target: Target) -> Prediction:
    """Returns the instructions of one inference on a core with the target's features, without compiler and emulator.

    The error of the whole adds up inside of a kernel's layers, which err together, and by squares between kernels. If layers that
    nobody measured are only a small part, half of the most instructions that they take is added to the sum, and the same to the
    error.
    """
    costs = {library.name: costs_for(library, target.features, target.objective) for library in libraries}
    lengths = {library.name: library.lengths for library in libraries}
    layers, spread, most_unknown = [], defaultdict[str, float](float), 0.0
    for layer in program.layers:
        found = _layer(program, layer, target, costs.get(layer.kernel.library, {}))
        layers.append(found)
        if found.instructions is None:
            seen = replace(NodeView.of(program.view, layer.node), features=target.features)
            most_unknown += length_of(lengths.get(layer.kernel.library, ()), layer.kernel.name, seen)
        else:
            spread[f"{found.library} {layer.kernel.name}"] += found.instructions * found.error
    known = sum(layer.instructions or 0.0 for layer in layers) + OF_N_RUN
    whole = known + most_unknown / 2
    error = (sqrt(sum(one * one for one in spread.values())) + most_unknown / 2) / whole if layers else 0.0
    is_known = most_unknown <= MOST_UNKNOWN * known
    return Prediction(round(whole) if is_known else None, error, tuple(layers))


def described_calls(program: Program, layer: Layer, target: Target) -> Iterator[Described]:
    """Yields each call of the layer in an inference: one, or one for each band."""
    seen = replace(NodeView.of(program.view, layer.node), features=target.features)
    if layer.bands is None:
        yield Described.of(seen, layer.kernel, layer.call)
        return
    cascade = next(each for each in program.schedule.cascades if layer.node.name in each.nodes)
    rows, bands = RowLayer.of(seen), cascade.bands_of(layer.node.name)
    sizes = [last - first for first, last in bands]
    for first, last in bands:
        view = rows.view(first, last, (max(sizes), min(sizes))) if rows else seen
        yield Described.of(view, layer.kernel, layer.bands.calls[layer.bands.number_of[first, last]])


def work_of(calls: Sequence[Described], instructions: float) -> Work:
    """Returns the work of a layer's calls, all of one function."""
    first = calls[0]
    terms = first.macs // max(1, sum(map(prod, first.outputs)))
    return Work(family_of(first), instructions, len(calls), sum(sum(each.constants.values()) for each in calls), terms)


def _layer(program: Program, layer: Layer, target: Target, costs: Mapping[str, Sequence[CallCost]]) -> LayerPrediction:
    result = LayerPrediction(layer.node.name, layer.kernel.library, layer.kernel.name, 0.0, 0.0)
    count = spread = 0.0
    calls = list(described_calls(program, layer, target))
    for described in calls:
        found = estimate(costs, described)
        if found is None:
            return replace(result, instructions=None, error=1.0, reason=f"there are no measurements of {family_of(described)}")
        count, spread = count + found.instructions, spread + found.instructions * found.error
        result = replace(result, reason=found.reason or result.reason)
    count += expansion_instructions(layer, target.features)
    return replace(result, instructions=count, error=spread / count if count else 0.0, work=work_of(calls, count))
