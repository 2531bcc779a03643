# SPDX-License-Identifier: MIT
"""The memory of states, and the next values that are computed there at once instead of being copied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from aidge_build.contract.spec import Demands
from aidge_build.graph.format import same_bytes
from aidge_build.graph.view import GraphView, Node, State
from aidge_build.plan.schedule.sharing import permissions
from aidge_build.prepare.adaptation.assignment import Assignment

ALIGNMENT = 4  # bytes, of each state in N_state, as of any tensor: kernels may read whole words
READY_BYTES = 4  # of the word after the states that says that the initial values are there


@dataclass(frozen=True)
class StateMemory:
    """`offsets` are the offsets of the input and the output of each state, by name; both have the same offset. `size_bytes` is
    the size of all states, `needs_start` says that some begin with other bytes than zeros."""

    offsets: Mapping[str, int]
    size_bytes: int
    needs_start: bool

    def bytes_of(self, arena: str) -> int:
        """Returns the bytes of N_state. If some initial values are not zero and `arena` is static, they include the word that
        says whether the initial values are there; with `arena` caller a call makes the instance."""
        return self.size_bytes + (READY_BYTES if self.needs_start and arena == "static" else 0)

    @staticmethod
    def of(view: GraphView) -> StateMemory:
        """Returns the states one after the other, in the graph's order."""
        offsets, reached = dict[str, int](), 0
        for state in view.states:
            tensor = view.tensor(state.read)
            step = max(ALIGNMENT, tensor.dtype.size_bytes)
            reached = -(-reached // step) * step
            offsets[state.read] = offsets[state.written] = reached
            reached += max(1, tensor.size_bytes)
        return StateMemory(
            offsets, -(-reached // ALIGNMENT) * ALIGNMENT, any(state.initial.tobytes().strip(b"\0") for state in view.states)
        )


NO_STATE = StateMemory({}, 0, False)


def stores_of(assignment: Assignment) -> tuple[Node, ...]:
    """Returns the nodes that copy next values into the states, in the states' order."""
    view = assignment.view
    found = (view.producer(state.written) for state in view.states)
    return tuple(node for node in found if node is not None and assignment.choices[node.name].kernel is not None)


def without_stores(assignment: Assignment, demands: Callable[[Node], Demands], buffer_of: Mapping[str, str]) -> Assignment:
    """Returns the assignment without the copies of next values that may be computed in the state's bytes: such a copy becomes a
    name. Every node that reads the old value must have run before, in any order, or be the node itself if its kernel works in
    place."""
    names = []
    for state in assignment.view.states:
        store = assignment.view.producer(state.written)
        if store is not None and _is_computed_in_place(assignment, state, store, demands, buffer_of):
            names.append(store.name)
    return assignment.renaming(names, "computed in the state's bytes") if names else assignment


def _is_computed_in_place(
    assignment: Assignment, state: State, store: Node, demands: Callable[[Node], Demands], buffer_of: Mapping[str, str]
) -> bool:
    view = assignment.view
    (source,), (target,) = map(view.tensor, store.inputs), view.output_tensors(store)
    if source.is_constant:
        return False
    home, old = buffer_of[source.name], buffer_of[state.read]
    writer = view.producer(home)
    if writer is None or home in {buffer_of[name] for name in (*view.inputs, *view.outputs)}:
        return False
    if not same_bytes(target.dims, source.storage, target.storage):
        return False
    readers = [
        node
        for node in view.nodes
        if assignment.choices[node.name].kernel is not None and any(buffer_of.get(name) == old for name in node.inputs)
    ]
    before = _ancestors(view, writer)
    return all(
        reader.name in before or reader is writer and _overwrites(writer, old, home, demands, buffer_of) for reader in readers
    )


def _overwrites(node: Node, old: str, home: str, demands: Callable[[Node], Demands], buffer_of: Mapping[str, str]) -> bool:
    allowed = (one.buffer for one in permissions(node, buffer_of, demands(node)) if one.lead_bytes is None)
    return buffer_of[node.outputs[0]] == home and old in allowed


def _ancestors(view: GraphView, node: Node) -> Collection[str]:
    """Returns the names of all nodes that must have run before this one."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        for name in waiting.pop().inputs:
            producer = view.producer(name)
            if producer is not None and producer.name not in found:
                found.add(producer.name)
                waiting.append(producer)
    return found
