# SPDX-License-Identifier: MIT
"""Cascades in the words of messages and reports."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.cascade.cascade import Cascade
from aidge_build.cascade.search import Found, cost_of
from aidge_build.shortening import shortened

_LONGEST_NAME = 40


def layers_of(cascade: Cascade) -> str:
    """Its layers."""
    first, last = (shortened(name, _LONGEST_NAME) for name in (cascade.nodes[0], cascade.nodes[-1]))
    return f"'{first}' to '{last}' ({len(cascade.nodes)} layers)"


def all_layers_of(cascades: Sequence[Cascade]) -> str:
    """The layers of all of them."""
    return ", ".join(map(layers_of, cascades))


def instructions_of(cascades: Sequence[Cascade]) -> int:
    """How many instructions they take beyond those of whole layers, estimated."""
    return round(sum(map(cost_of, cascades)))


def fitted(cascades: Sequence[Cascade], whole_bytes: int, found_bytes: int, board: str) -> str:
    """The notice of a build that computes layers by rows because tensors as a whole have no room."""
    return (
        f"board {board} has no room for an arena of {whole_bytes:,} B: {all_layers_of(cascades)} are computed some rows at a "
        f"time, in {found_bytes:,} B, for about {instructions_of(cascades):,} instructions more (estimated)"
    )


def smallest(found: Found, arena_bytes: int) -> str:
    """What was tried where nothing fits: the smallest plan, and the layer that stands in its way."""
    in_the_way = found.schedule.steps[found.peak.bound_step].where()
    if not found.runs:
        return f"layers some rows at a time, which saves nothing at {in_the_way}"
    layers = all_layers_of(found.schedule.cascades)
    return f"{layers} some rows at a time, which needs {arena_bytes:,} B, most of it at {in_the_way}"
