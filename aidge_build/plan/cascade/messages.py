# SPDX-License-Identifier: MIT
"""Cascades in the words of messages and reports."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.base.naming import counted
from aidge_build.base.shortening import shortened
from aidge_build.plan.cascade.cascade import Cascade
from aidge_build.plan.cascade.question import Found

_LONGEST_NAME = 40


def layers_of(cascade: Cascade) -> str:
    """Returns the layers of a cascade, in words."""
    first, last = (shortened(name, _LONGEST_NAME) for name in (cascade.nodes[0], cascade.nodes[-1]))
    return f"'{first}' to '{last}' ({counted(len(cascade.nodes), 'layer')})"


def all_layers_of(cascades: Sequence[Cascade]) -> str:
    """Returns the layers of all cascades, in words."""
    return ", ".join(map(layers_of, cascades))


def instructions_of(cascades: Sequence[Cascade]) -> int:
    """Returns the estimated instructions in addition to whole layers."""
    return round(sum(cascade.beyond for cascade in cascades))


def fitted(cascades: Sequence[Cascade], whole_bytes: int, found_bytes: int, board: str) -> str:
    """Returns the notice of a build that computes layers by rows because tensors as a whole have no room."""
    return (
        f"board {board} has no room for an arena of {whole_bytes:,} B: {all_layers_of(cascades)} are computed some rows at a "
        f"time, in {found_bytes:,} B, for about {instructions_of(cascades):,} instructions more (estimated)"
    )


def smallest(found: Found, arena_bytes: int) -> str:
    """Returns what was tried when nothing fits: the smallest plan, and the layer that needs the most."""
    in_the_way = found.schedule.steps[found.peak.bound_step].where()
    if not found.runs:
        return f"layers some rows at a time, which saves nothing at {in_the_way}"
    layers = all_layers_of(found.schedule.cascades)
    return f"{layers} some rows at a time, which needs {arena_bytes:,} B, most of it at {in_the_way}"


def saved(cascades: Sequence[Cascade], peak_bytes: int, whole_peak_bytes: int) -> list[str]:
    """Returns a line for each cascade, and a line that says what they save, without a proof that no other cascades save more.
    Layers that are only cut into steps save nothing."""
    cascades = [cascade for cascade in cascades if not cascade.is_cut]
    if not cascades:
        return []
    total = (
        f"rows instead of whole tensors: {peak_bytes:,} B instead of {whole_peak_bytes:,} B, for about "
        f"{instructions_of(cascades):,} instructions more (estimated); that no other cascades need less is not proven"
    )
    return [*(_summary(number, cascade) for number, cascade in enumerate(cascades, 1)), total]


def _summary(number: int, cascade: Cascade) -> str:
    return (
        f"cascade {number}: {layers_of(cascade)}, {counted(len(cascade.steps), 'step')}; "
        f"keeps {sum(line.size_bytes for line in cascade.lines.values()):,} B of rows, moves {cascade.shifted_bytes:,} B"
    )


def role_of(node: str, tensor: str, kernel: str, cascades: Sequence[Cascade]) -> str | None:
    """Returns the part of a layer in a cascade, in words: rows of a band, kernel, rows of its output that are kept; None outside
    cascades."""
    for number, cascade in enumerate(cascades, 1):
        if node in cascade.nodes:
            bands, rows = cascade.bands_of(node), cascade.rows_of[node]
            height = counted(bands[-1][1], "row")
            if cascade.is_cut:
                return f"in {counted(len(bands), 'step')} of at most {rows} of {height}"
            line = cascade.lines.get(tensor)
            kept = f", {line.rows} of {counted(line.height, 'row')} of the output are kept" if line else ""
            return f"cascade {number}: {rows} of {height} at a time, in {counted(len(bands), 'band')}, by {kernel}{kept}"
    return None
