# SPDX-License-Identifier: MIT
"""Writes the new row of a cache over the oldest one, where nobody sees the order of the rows: no row moves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node, State
from aidge_build.operators.binary import Add, GreaterOrEqual, LessOrEqual, Sub
from aidge_build.operators.cache import TensorScatter
from aidge_build.prepare.recipes.row_orders import without_order
from aidge_build.prepare.recipes.slide_states import Join, window_of


@dataclass(frozen=True)
class _Window:
    state: State
    join: Join
    cut: Node


def ring_caches(view: GraphView) -> GraphView:
    """Returns the graph in which TensorScatter replaces the Concat and the Slice of each window, and n mod T is the new row, if

    1. a state counts the inferences n; 2. each window of T rows gets one row an inference; 3. masks of the valid rows are
    computed from n (the last n + 1 of T rows, which become the first n + 1); 4. no output depends on the order of the rows
    (`row_orders`). Sums over the rows are then added up in another order.
    """
    count = next((state.read for state in view.states if _counts(view, state)), None)
    windows, rows = _windows(view)
    if count is None or not windows:
        return view
    masks = [node for node in view.nodes if _is_mask(view, node, count, rows)]
    ordered = {name: window.join.axis for window in windows for name in (window.join.node.output, window.state.written)}
    if not without_order(view, ordered | {mask.output: 0 for mask in masks}):
        return view
    rewrite = Rewrite(view)
    rewrite.states = tuple(_turned(view, rewrite, state, windows, count) for state in view.states)
    for mask in masks:
        rewrite.replace_node(mask, mask.with_(operator=LessOrEqual(), inputs=(mask.input, count)))
    return rewrite.finish()


def _windows(view: GraphView) -> tuple[list[_Window], int]:
    """Returns the windows and their number of rows; none if their numbers differ."""
    found = [window for state in view.states if (window := _window(view, state)) is not None]
    rows = {view.tensor(window.join.node.output).dims[window.join.axis] for window in found}
    return (found, rows.pop()) if len(rows) == 1 else ([], 0)


def _counts(view: GraphView, state: State) -> bool:
    """Whether the state is the number of inferences so far."""
    node, tensor = view.producer(state.written), view.tensor(state.read)
    if node is None or not isinstance(node.operator, Add) or tensor.elements != 1 or state.initial.any():
        return False
    other = view.tensor(node.other_input(state.read)) if state.read in node.inputs else None
    return tensor.dims == (1,) and other is not None and other.is_constant and bool((other.data == 1).all())


def _window(view: GraphView, state: State) -> _Window | None:
    found = window_of(view, state)
    if found is None:
        return None
    cut, join = found
    fits = join.axis > 0 and view.tensor(join.node.output).dims[0] == 1 and view.tensor(join.frames).dims[join.axis] == 1
    return _Window(state, join, cut.node) if fits and not join.first else None


def _is_mask(view: GraphView, node: Node, count: str, rows: int) -> bool:
    """Whether the node compares 0 to T - 1 with T - 1 - n."""
    first = view.producer(node.inputs[1]) if isinstance(node.operator, GreaterOrEqual) else None
    if first is None or not isinstance(first.operator, Sub) or first.inputs[1] != count:
        return False
    places, last = view.tensor(node.input), view.tensor(first.input)
    if places.data is None or last.data is None or places.dims != (rows,):
        return False
    return numpy.array_equal(places.data, numpy.arange(rows)) and bool((last.data == rows - 1).all())


def _turned(view: GraphView, rewrite: Rewrite, state: State, windows: list[_Window], count: str) -> State:
    window = next((one for one in windows if one.state is state), None)
    if window is None:
        return state
    join, axis = window.join.node, window.join.axis
    tensor, row = view.tensor(join.output), view.tensor(window.join.frames)
    for name in (state.read, state.written):
        rewrite.put_tensor(tensor.with_(name=name, format=None))
    operator, inputs = TensorScatter(axis, "circular"), (state.read, row.name, count)
    rewrite.replace_node(join, Node(join.name, operator, inputs, (state.written,), (*join.origin, *window.cut.origin)))
    rewrite.remove_node(window.cut)
    rewrite.redirect(tensor.name, state.written)
    return replace(state, initial=numpy.concatenate((numpy.zeros(row.dims, state.initial.dtype), state.initial), axis))
