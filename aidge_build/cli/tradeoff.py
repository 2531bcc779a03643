# SPDX-License-Identifier: MIT
"""RAM against instructions: what `plan --tradeoff` prints and draws."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import write_files
from aidge_build.build.compile import build_program, curve_of
from aidge_build.build.request import CompileRequest
from aidge_build.cli.outcome import Outcome
from aidge_build.measure.report.plan_page import curve_drawing, curve_page
from aidge_build.plan.cascade.messages import all_layers_of, instructions_of

_BAR = 40  # columns of the largest peak


@dataclass(frozen=True)
class Point:
    """A plan: `more` is the estimated number of instructions in addition to a plan with whole layers."""

    peak_bytes: int
    more: int
    layers: str
    is_present: bool = False

    def text(self) -> str:
        """For people."""
        return f"{self.peak_bytes:,} B, {self.more:,} instructions more: {self.layers or 'whole tensors'}"

    def as_json(self) -> dict:
        """For programs."""
        return {
            "peak_bytes": self.peak_bytes,
            "instructions_more_estimated": self.more,
            "layers": self.layers,
            "present": self.is_present,
        }


def tradeoff(arguments: argparse.Namespace, request: CompileRequest) -> Outcome:
    """The curve with the plan that these options give."""
    found = curve_of(request)
    points = [
        Point(one.peak.peak_bytes, instructions_of(one.schedule.cascades), all_layers_of(one.schedule.cascades)) for one in found
    ]
    points = _with_present(points, request)
    lines = [
        f"{arguments.model}: peak with inputs and outputs, and instructions more than with whole layers (estimated)",
        *_lines(points),
    ]
    title = f"{Path(arguments.model).name}: bytes to the right, instructions more (estimated) upwards"
    curve = [(point.peak_bytes, point.more, point.is_present, point.text()) for point in points]
    drawings = {}
    if arguments.svg:
        drawings[arguments.svg] = curve_drawing(curve, title).encode()
    if arguments.html:
        drawings[arguments.html] = curve_page(curve, f"{Path(arguments.model).name}: RAM against instructions", lines).encode()
    write_files(drawings)
    return Outcome(lines, {"tradeoff": [point.as_json() for point in points]})


def _with_present(points: Sequence[Point], request: CompileRequest) -> list[Point]:
    """Returns the points with the present plan marked: one of them, or one more. Without a plan no point is marked."""
    try:
        program = build_program(request)
    except AidgeError:
        return list(points)
    peak, more = program.memory.peak.peak_bytes, instructions_of(program.schedule.cascades)
    if any((point.peak_bytes, point.more) == (peak, more) for point in points):
        return [replace(point, is_present=(point.peak_bytes, point.more) == (peak, more)) for point in points]
    present = Point(peak, more, all_layers_of(program.schedule.cascades), True)
    return sorted([*points, present], key=lambda point: (-point.peak_bytes, point.more))


def _lines(points: Sequence[Point]) -> list[str]:
    most = max((point.peak_bytes for point in points), default=0) or 1
    width = max(len(f"{point.more:,}") for point in points)
    return [
        f"{point.peak_bytes:>12,} B  {'#' * round(_BAR * point.peak_bytes / most):<{_BAR}}  +{point.more:>{width},}"
        f"{'  <- the present plan' if point.is_present else ''}  {point.layers}".rstrip()
        for point in points
    ]
