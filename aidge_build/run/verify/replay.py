# SPDX-License-Identifier: MIT
"""Inferences of a dump once more: each begins with the state that was recorded with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.plan.program import Program
from aidge_build.run.verify.compare import compare
from aidge_build.run.verify.dump import Kept
from aidge_build.run.verify.layers import meanings
from aidge_build.run.verify.steps import run_as_kernels
from aidge_build.run.verify.vectors import Vectors


@dataclass(frozen=True)
class Replay:
    """`vectors` are the inputs [inference, dims...], `recorded` the outputs of the firmware, `views` the graph with the state
    that each inference began with, `states` the bytes of these states (empty if the model has none)."""

    kept: tuple[Kept, ...]
    vectors: Vectors
    recorded: Vectors
    views: tuple[GraphView, ...]
    states: tuple[bytes, ...]

    def outputs(self, program: Program) -> Vectors:
        """Returns the outputs that the numpy backend computes (`run_as_kernels`)."""
        one_by_one = [run_as_kernels(program, self._one(self.vectors, index), view=view) for index, view in enumerate(self.views)]
        return _stacked(one_by_one)

    def meanings(self, trace: Vectors) -> Vectors:
        """Returns the outputs that every layer should have computed from the inputs that it had in `trace`."""
        found = [meanings(view, self._one(self.vectors, index), self._one(trace, index)) for index, view in enumerate(self.views)]
        return _stacked(found)

    def departures(self, outputs: Vectors) -> list[dict]:
        """Returns the inferences with recorded outputs that differ from the replay, which has the same inputs and state."""
        found = []
        for index, one in enumerate(self.kept):
            for name in outputs if one.ended else ():
                difference = compare(name, self.recorded[name][index : index + 1], outputs[name][index : index + 1])
                if not difference.within:
                    found.append({"inference": one.number, **difference.as_json()})
        return found

    @staticmethod
    def _one(vectors: Vectors, index: int) -> Vectors:
        return {name: values[index : index + 1] for name, values in vectors.items()}


def replay_of(program: Program, kept: tuple[Kept, ...], where: str) -> Replay:
    """The recorded inferences as vectors; AidgeError (DUMP) for bytes that no tensor has."""
    view = program.view
    inputs = [view.tensor(name) for name in view.given]
    outputs = [view.tensor(name) for name in view.handed_out]
    try:
        vectors = {tensor.name: _values(tensor, [one.inputs[number] for one in kept]) for number, tensor in enumerate(inputs)}
        recorded = {tensor.name: _values(tensor, [one.outputs[number] for one in kept]) for number, tensor in enumerate(outputs)}
    except ValueError as error:
        raise AidgeError(
            f"the record does not fit the model ({error})", where=where, hint="is it the model of the firmware?", code="DUMP"
        ) from error
    views = tuple(_began_with(program, one.state) for one in kept)
    return Replay(kept, vectors, recorded, views, tuple(one.state for one in kept) if program.memory.states.size_bytes else ())


def _values(tensor: Tensor, stored: Sequence[bytes]) -> numpy.ndarray:
    return numpy.stack([_value(tensor, data) for data in stored])


def _value(tensor: Tensor, data: bytes) -> numpy.ndarray:
    return tensor.from_stored(numpy.frombuffer(data, tensor.dtype.numpy))


def _began_with(program: Program, data: bytes) -> GraphView:
    """Returns the graph with initial states from these bytes of N_state."""
    view, offsets = program.view, program.memory.states.offsets
    states = []
    for state in view.states:
        tensor, start = view.tensor(state.read), offsets[state.read]
        states.append(replace(state, initial=_value(tensor, data[start : start + tensor.size_bytes])))
    return replace(view, states=tuple(states))


def _stacked(found: Sequence[Vectors]) -> Vectors:
    return {name: numpy.concatenate([one[name] for one in found]) for name in found[0]}
