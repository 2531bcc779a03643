# SPDX-License-Identifier: MIT
"""The storage orders of states: nobody but the model reads their bytes, so they are stored as layers want them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from aidge_build.graph.format import channels_last
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, State
from aidge_build.operators.cache import TensorScatter
from aidge_build.operators.slide import Slide
from aidge_build.prepare.adaptation.choose import choose
from aidge_build.prepare.adaptation.formats import Option


def with_state_orders(view: GraphView, options: Mapping[str, Sequence[Option]]) -> GraphView:
    """Returns the graph with each state stored channels last if this copies fewer bytes, or as few and a window moves on in fewer
    pieces; both ends of a state have one order."""
    states = [state for state in view.states if view.tensor(state.read).rank > 2]
    fewest = choose(view, options)[1] if states else 0
    for state in states:
        trial = _stored_channels_last(view, state)
        pieces, fewer = _pieces(view, state), _pieces(trial, state)
        if not fewest and fewer >= pieces:
            continue
        copied_bytes = choose(trial, options)[1]
        if (copied_bytes, fewer) < (fewest, pieces):
            view, fewest = trial, copied_bytes
    return view


def _stored_channels_last(view: GraphView, state: State) -> GraphView:
    rewrite = Rewrite(view)
    for name in (state.read, state.written):
        tensor = view.tensor(name)
        rewrite.put_tensor(tensor.with_(format=channels_last(tensor.rank)))
    return rewrite.finish()


def _pieces(view: GraphView, state: State) -> int:
    """Returns how many runs of bytes a Slide moves or a TensorScatter writes; 0 if none reads the state."""
    reader, tensor = view.only_consumer(state.read), view.tensor(state.read)
    if reader is None or not isinstance(reader.operator, (Slide, TensorScatter)):
        return 0
    return math.prod(tensor.layout.stored_dims[: tensor.storage.position(reader.operator.axis % tensor.rank)])
