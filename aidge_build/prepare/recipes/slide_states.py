# SPDX-License-Identifier: MIT
"""Makes the window of a streaming model its state: the frames of before need not be joined, cut and stored for each frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node, State
from aidge_build.operators.rearrange import Concat, Slice, Split
from aidge_build.operators.slide import Slide


def slide_states(view: GraphView) -> GraphView:
    """Returns the graph in which Slide replaces a Concat of old frames (a state) and new frames, before or after them:

    1. If the next state is what Slice or Split leaves of the joint tensor, without its oldest frames, the new state is the whole
       window: it is longer by the new frames, and layers read the window there.
    2. If the oldest frames are cut off first, the joint tensor itself is the next state.

    The outputs of the caller keep their values; dims of states change.
    """
    rewrite = Rewrite(view)
    rewrite.states = tuple(_slid(view, rewrite, state) for state in view.states)
    return rewrite.finish()


@dataclass(frozen=True)
class Cut:
    """Elements of a tensor that a node cuts out along one axis, `count` from `start` on."""

    node: Node
    source: str
    axis: int
    start: int
    count: int


@dataclass(frozen=True)
class Join:
    """A node that joins old frames and new ones, which come last or first."""

    node: Node
    old: str
    frames: str
    axis: int
    first: bool

    def keeps(self, cut: Cut, length: int, fresh: int) -> bool:
        """Whether the cut leaves out as many of the oldest of `length` frames as there are `fresh` ones."""
        return (cut.axis, cut.start, cut.count) == (self.axis, 0 if self.first else fresh, length - fresh)


def _slid(view: GraphView, rewrite: Rewrite, state: State) -> State:
    found = window_of(view, state)
    if found is not None:
        return _grown(view, rewrite, state, *found)
    node = view.producer(state.written)
    for name in node.inputs if node is not None else ():
        cut, join = _cut_of(view, name), _join_of(view, node, name)
        if cut is not None and join is not None and cut.source == state.read:
            _moved_on(view, rewrite, state, cut, join)
            break
    return state


def window_of(view: GraphView, state: State) -> tuple[Cut, Join] | None:
    """Returns how the next value of a state is cut off a window, and how the window is joined from the state and at most half as
    many new frames; None if the state is no window."""
    cut, join = _cut_of(view, state.written), _join_of(view, view.only_consumer(state.read), state.read)
    if cut is None or join is None or cut.source != join.node.output or view.consumers(state.written):
        return None
    window, frames = view.tensor(join.node.output), view.tensor(join.frames)
    is_right = join.keeps(cut, window.dims[join.axis], frames.dims[join.axis]) and _has_one_scale(view, join.node)
    is_small = 2 * frames.elements <= view.tensor(state.read).elements
    return (cut, join) if is_right and is_small and not view.is_output(window.name) else None


def _grown(view: GraphView, rewrite: Rewrite, state: State, cut: Cut, join: Join) -> State:
    """Makes the joint tensor the state."""
    window, frames = view.tensor(join.node.output), view.tensor(join.frames)
    for name in (state.read, state.written):
        rewrite.put_tensor(window.with_(name=name, format=None))
    origin = (*join.node.origin, *cut.node.origin)
    rewrite.replace_node(join.node, _slide(join, state, origin))
    rewrite.remove_node(cut.node)
    rewrite.redirect(window.name, state.written)
    left_out = numpy.zeros(frames.dims, state.initial.dtype)  # the oldest frames: nothing reads them
    parts = (state.initial, left_out) if join.first else (left_out, state.initial)
    return replace(state, initial=numpy.concatenate(parts, join.axis))


def _moved_on(view: GraphView, rewrite: Rewrite, state: State, cut: Cut, join: Join) -> None:
    """Lets Slide compute the next state if this is right."""
    fresh = view.tensor(join.frames).dims[join.axis]
    if join.keeps(cut, view.tensor(state.read).dims[join.axis], fresh) and _has_one_scale(view, join.node):
        rewrite.replace_node(join.node, _slide(join, state, (*cut.node.origin, *join.node.origin)))


def _slide(join: Join, state: State, origin: tuple[str, ...]) -> Node:
    return Node(join.node.name, Slide(join.axis, join.first), (state.read, join.frames), (state.written,), origin)


def _has_one_scale(view: GraphView, node: Node) -> bool:
    """Whether all tensors of the node have one quantization: Slide copies bytes."""
    return len({view.tensor(name).quantization for name in (*node.inputs, node.output)}) == 1


def _join_of(view: GraphView, node: Node | None, old: str) -> Join | None:
    """Returns how the node joins one other tensor to the old frames; None if it does not."""
    if node is None or not isinstance(node.operator, Concat) or len(node.inputs) != 2 or node.inputs.count(old) != 1:
        return None
    first = node.inputs[1] == old
    return Join(node, old, node.inputs[0 if first else 1], node.operator.axis % view.tensor(old).rank, first)


def _cut_of(view: GraphView, name: str) -> Cut | None:
    """Returns what of another tensor this one is, if Slice or Split makes it and nothing reads the other pieces."""
    node = view.producer(name)
    if node is None or any(view.consumers(other) or view.is_output(other) for other in node.outputs if other != name):
        return None
    operator, dims = node.operator, view.tensor(node.input).dims
    if isinstance(operator, Split):
        place = node.outputs.index(name)
        return Cut(node, node.input, operator.axis % len(dims), sum(operator.sizes[:place]), operator.sizes[place])
    if not isinstance(operator, Slice) or set(operator.steps) != {1}:
        return None
    axes = [axis for axis, size in enumerate(dims) if operator.counts[axis] != size]
    return Cut(node, node.input, axes[0], operator.starts[axes[0]], operator.counts[axes[0]]) if len(axes) == 1 else None
