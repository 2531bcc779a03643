# SPDX-License-Identifier: MIT
"""Makes the window of a streaming model its state: the frames of before need not be joined, cut and stored for each frame."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node, State
from aidge_build.operators.rearrange import Concat, Slice
from aidge_build.operators.slide import Slide


def slide_states(view: GraphView) -> GraphView:
    """Returns the graph in which Slide replaces a Concat of old frames (a state) and new frames, if a Slice of its last frames is
    the next state. The new state is the whole window: it is longer by the new frames, and layers read the window there.

    The outputs of the caller keep their values; dims of states change.
    """
    rewrite = Rewrite(view)
    rewrite.states = tuple(_slid(view, rewrite, state) for state in view.states)
    return rewrite.finish()


def _slid(view: GraphView, rewrite: Rewrite, state: State) -> State:
    cut, join = view.producer(state.written), view.only_consumer(state.read)
    if cut is None or join is None or not isinstance(join.operator, Concat) or view.consumers(state.written):
        return state
    if cut.input != join.output or not _joins_to(view, state.read, join) or not _keeps_the_last(view, cut, join):
        return state
    window, frames = view.tensor(join.output), join.inputs[1]
    if view.is_output(window.name) or any(view.tensor(name).quantization != window.quantization for name in join.inputs):
        return state  # Slide copies bytes
    axis = join.operator.axis % window.rank
    first = numpy.zeros(view.tensor(frames).dims, state.initial.dtype)  # is left out before anything reads it
    for name in (state.read, state.written):
        rewrite.put_tensor(window.with_(name=name, format=None))
    rewrite.replace_node(join, Node(join.name, Slide(axis), (state.read, frames), (state.written,), (*join.origin, *cut.origin)))
    rewrite.remove_node(cut)
    rewrite.redirect(window.name, state.written)
    return replace(state, initial=numpy.concatenate((first, state.initial), axis))


def _joins_to(view: GraphView, old: str, join: Node) -> bool:
    """Whether the node joins one other tensor to the end of the old frames, at most half as long: the state grows by it."""
    if len(join.inputs) != 2 or join.input != old or join.inputs[1] == old:
        return False
    return 2 * view.tensor(join.inputs[1]).elements <= view.tensor(old).elements


def _keeps_the_last(view: GraphView, cut: Node, join: Node) -> bool:
    """Whether the node cuts as many first elements of the joint tensor off as were joined to its end."""
    if not isinstance(cut.operator, Slice):
        return False
    axis, whole = join.operator.axis % view.tensor(join.output).rank, view.tensor(join.output).dims
    starts = [0] * len(whole)
    starts[axis] = view.tensor(join.inputs[1]).dims[axis]
    counts = tuple(size - start for size, start in zip(whole, starts))
    return (cut.operator.starts, cut.operator.counts, set(cut.operator.steps)) == (tuple(starts), counts, {1})
