# SPDX-License-Identifier: MIT
"""The usual ranges of a graph's inputs, from --monitor-samples, and notices about what has no counters."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.base.npz import arrays_of
from aidge_build.build.request import CompileRequest
from aidge_build.graph.view import GraphView
from aidge_build.plan.monitoring import is_counted, kind_of
from aidge_build.plan.options import Options
from aidge_build.plan.seen_range import SeenRange, seen_range, stored_elements
from aidge_build.prepare.input_samples import fed, input_samples


def seen_ranges(request: CompileRequest, view: GraphView) -> dict[str, SeenRange]:
    """Returns the range of each input that the monitor counts; {} without samples."""
    if request.options.monitor == "off" or not request.monitor_samples:
        return {}
    samples = input_samples(arrays_of(request.monitor_samples, "--monitor-samples"), view)
    found = {}
    for name in view.given:
        tensor = view.tensor(name)
        if is_counted(tensor):
            found[name] = seen_range(stored_elements(tensor, fed(samples, name, tensor, None)), name)
    return found


def not_counted(view: GraphView, options: Options) -> Iterator[str]:
    """Yields a notice for each input and output that the monitor counts in part, or not at all."""
    if options.monitor == "off":
        return
    for name in view.given:
        tensor = view.tensor(name)
        if not is_counted(tensor):
            yield f"--monitor: input '{name}' is not counted: {tensor.elements:,} elements of {tensor.dtype.name}"
        elif not options.monitor_ranges:
            counted = "is not counted" if tensor.dtype.is_float else "has counters of saturation only"
            yield f"--monitor: input '{name}' {counted}: add --monitor-samples F.npz, which say what is usual"
    for name in view.handed_out:
        tensor = view.tensor(name)
        if kind_of(tensor) is None:
            yield f"--monitor: output '{name}' is not counted: {tensor.elements:,} elements of {tensor.dtype.name} are no classes"
