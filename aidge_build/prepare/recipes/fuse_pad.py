# SPDX-License-Identifier: MIT
"""Fuses a Pad with zeros into the window of the convolution or average pool after it."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.graph.pattern import find
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.conv import Conv
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=False)
def fuse_pad(view: GraphView) -> GraphView:
    """1. Pad of spatial axes only, mode constant, value 0, read by one Conv: its pads are added to the window's pads. 2. The same
    before an AvgPooling without pads of its own, which then counts the pads (count_include_pad).
    """
    rewrite = Rewrite(view)
    for found in find(view, "Pad-0>(Conv|AvgPooling)"):
        pad, reader = found.nodes
        if not _fits(view, pad, reader):
            continue
        begin, end = pad.operator.pads_begin[2:], pad.operator.pads_end[2:]
        window = reader.operator.window
        window = replace(window, pads_begin=_sum(window.pads_begin, begin), pads_end=_sum(window.pads_end, end))
        changes = {"window": window} if isinstance(reader.operator, Conv) else {"window": window, "count_include_pad": True}
        rewrite.replace_node(
            reader,
            reader.with_(
                operator=replace(reader.operator, **changes), inputs=(pad.input, *reader.inputs[1:]), origin=found.origin
            ),
        )
    return rewrite.finish()


def _fits(view: GraphView, pad: Node, reader: Node) -> bool:
    operator, rank = pad.operator, view.tensor(pad.input).rank
    spatial_only = (
        rank >= 3
        and not any((*operator.pads_begin[:2], *operator.pads_end[:2]))
        and min(*operator.pads_begin, *operator.pads_end) >= 0
    )
    if not spatial_only or operator.mode != "constant" or operator.value != 0 or pad.output in reader.inputs[1:]:
        return False
    return isinstance(reader.operator, Conv) or not reader.operator.window.has_pads and not reader.operator.window.ceil_mode


def _sum(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(first, second, strict=True))
