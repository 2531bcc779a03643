# SPDX-License-Identifier: MIT
"""The states of a graph: the inputs that get their next value from an output."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.view import GraphView, State


def with_states(view: GraphView, pairs: Mapping[str, str], initial: Mapping[str, numpy.ndarray]) -> GraphView:
    """The graph with the states that `pairs` name, output by output with its input.

    `initial` holds the first values that the file gives, by input; the others begin as zeros (a quantized tensor at its zero
    point is not known here: the stored value is 0). AidgeError (STATE) for a name that the graph lacks, for a name that is given
    twice, and for a pair with different dims or types.
    """
    taken: set[str] = {name for state in view.states for name in (state.read, state.written)}
    states = list(view.states)
    for output, source in pairs.items():
        _require_known(output, view.outputs, "output")
        _require_known(source, view.inputs, "input")
        for name in (output, source):
            if name in taken:
                raise AidgeError(f"'{name}' belongs to two states", where=f"--state {output}={source}", code="STATE")
            taken.add(name)
        written, read = view.tensor(output), view.tensor(source)
        if (written.dims, written.dtype) != (read.dims, read.dtype):
            raise AidgeError(
                f"output '{output}' is {written}, input '{source}' is {read}: a state keeps its dims and its type",
                where=f"--state {output}={source}",
                code="STATE",
            )
        first = initial.get(source, numpy.zeros(read.dims, read.dtype.numpy))
        states.append(State(source, output, first))
    if view.outputs and len(states) == len(view.outputs):
        raise AidgeError(
            "every output is a state: an inference would return nothing",
            where=f"--state {states[-1].written}={states[-1].read}",
            code="STATE",
            hint="export the model with what it computes as an output, too",
        )
    return replace(view, states=tuple(states))


def _require_known(name: str, known: Sequence[str], side: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        raise AidgeError(
            f"the model has no {side} '{name}'",
            where="--state",
            tried=list(known),
            code="STATE",
            hint=f"did you mean {near[0]}?" if near else "--state OUTPUT=INPUT: the output becomes the next inference's input",
        )


def require_same_quantization(view: GraphView) -> None:
    """Refuses a state (STATE) if its bytes would mean other numbers when they are read than when they were written."""
    for state in view.states:
        written, read = view.tensor(state.written).quantization, view.tensor(state.read).quantization
        if written is not None and read is not None and written != read:
            raise AidgeError(
                f"output '{state.written}' is written as {view.tensor(state.written)}, input '{state.read}' is read as "
                f"{view.tensor(state.read)}",
                code="STATE",
                hint="quantize both with one scale, or keep the state in float32 (--quantize with --io-type float32)",
            )
