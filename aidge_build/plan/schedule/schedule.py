# SPDX-License-Identifier: MIT
"""The order of execution, and which buffers must keep their bytes from which step to which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from aidge_build.contract.spec import Demands
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.cascade.cascade import Cascade
from aidge_build.plan.memory.buffer import Buffer, BufferKind, Overlap
from aidge_build.plan.schedule.copies import ConstantCopy
from aidge_build.plan.schedule.in_place import Lives, Taken, in_place_chains
from aidge_build.plan.schedule.joint import Joined, Joining, Part
from aidge_build.plan.schedule.order import PROBE_STATES, Order, best_order
from aidge_build.plan.schedule.question import OrderQuestion
from aidge_build.plan.schedule.sharing import question_of
from aidge_build.plan.schedule.stores import StateMemory, stores_of
from aidge_build.prepare.adaptation.assignment import Assignment

ALIGNMENT = 4  # bytes, of 8- and 16-bit tensors: kernels may read whole words
Reuse = Literal["plain", "shared"]  # plain: buffers share nothing while they live; shared: what the kernels allow


@dataclass(frozen=True)
class Schedule:
    """`steps` are the nodes that run, in order. Views do not run: `buffer_of` maps each tensor to the buffer (named after the
    tensor that is written) that holds its bytes, from its first byte on; graph inputs and outputs have buffers of kind io. States
    have no buffers: they are in `stores.StateMemory`, and the copies of their next values run last.

    `in_place` has, for each node that overwrites an input, the name of the input. `overlaps` are further overlaps that kernels
    allow. `order` says how good the order is. `joined` are concatenations and splits that do not run; `parts` says which bytes of
    its buffer such a tensor has.
    """

    steps: tuple[Node, ...]
    buffers: tuple[Buffer, ...]
    buffer_of: Mapping[str, str]
    scratch_of: Mapping[str, str]  # node name -> buffer name
    order: Order
    overlaps: tuple[Overlap, ...] = ()
    in_place: Mapping[str, str] = field(default_factory=dict)
    joined: tuple[Joining, ...] = ()
    parts: Mapping[str, Part] = field(default_factory=dict)  # by tensor
    cascades: tuple[Cascade, ...] = ()
    copies: tuple[ConstantCopy, ...] = ()  # of constants, each with a buffer

    @property
    def arriving(self) -> str:
        """The buffer of the input that comes row by row; "" if none does."""
        return next((self.buffer_of[cascade.arriving] for cascade in self.cascades if cascade.arriving), "")

    @property
    def departing(self) -> str:
        """The buffer of the output that leaves row by row; "" if none does."""
        return next((self.buffer_of[cascade.departing] for cascade in self.cascades if cascade.departing), "")

    @property
    def by_rows(self) -> frozenset[str]:
        """The buffers of the input and the output that the firmware brings and takes row by row."""
        return frozenset({self.arriving, self.departing} - {""})

    def __str__(self) -> str:
        lines = [f"  {index}: {node.name} ({node.type})" for index, node in enumerate(self.steps)]
        lines.append(
            f"  peak of the order {self.order.peak_bytes:,} B, of no order below {self.order.lower_bound_bytes:,} B "
            f"({self.order.states} states)"
        )
        values = (*self.buffers, *self.overlaps, *self.cascades)
        return "\n".join([*lines, *(f"  {value}" for value in values)])


def make_schedule(
    assignment: Assignment,
    demands: Callable[[Node], Demands],
    reuse: Reuse,
    *,
    io_outside: bool,
    joined: Sequence[Joining] = (),
    known: Order | None = None,
    like: Schedule | None = None,
) -> Schedule:
    """Returns the schedule with the best order that is found, with half-open lifetimes: inputs live from step 0, outputs to the
    end.

    With `reuse` "shared" an output reuses the bytes of an input if the kernel allows it and is the last reader of the input; with
    `io_outside` the firmware owns the graph's inputs and outputs, which then share nothing. Nodes in `joined` do not run. `known`
    gives the order. With `like`, a schedule of these nodes and others, its order is used if it is as good, and little effort is
    spent on another one.
    """
    view, parts, stores = assignment.view, Joined.of(joined), stores_of(assignment)
    given = _running(assignment, joined, stores)
    wanted = {node.name: demands(node) for node in (*given, *stores)}
    sharing = wanted if reuse == "shared" else {name: _apart(each) for name, each in wanted.items()}
    alone, states = buffers_of(assignment), StateMemory.of(view).offsets.keys()
    fixed = {*parts.wholes, *(states if not io_outside else [alone[name] for name in (*view.inputs, *view.outputs)])}
    question = question_of(view, given, alone, sharing, {*fixed, *parts.places}, parts.atoms_of, _kept(view, stores), states)
    order = known or (best_order(question) if like is None else _as_good(question, given, like))
    steps = (*(given[index] for index in order.order), *stores)
    spans = _spans(view, steps, alone, parts)
    buffer_of = {name: parts.home(buffer) for name, buffer in alone.items()}
    lives = Lives(_sizes(view, buffer_of), parts.spans(spans), {buffer_of[name] for name in view.outputs})
    taken = in_place_chains(steps, buffer_of, sharing, lives, fixed)
    scratch = _scratch(steps, wanted)
    return Schedule(
        steps,
        (*_activations(view, taken, buffer_of, parts, spans), *scratch.values()),
        {name: taken.chain_of[buffer] for name, buffer in buffer_of.items()},
        {name: buffer.name for name, buffer in scratch.items()},
        order,
        taken.overlaps,
        taken.in_place,
        tuple(joined),
        {name: parts.places[buffer] for name, buffer in alone.items() if buffer in parts.places},
    )


def _running(assignment: Assignment, joined: Sequence[Joining], stores: Sequence[Node]) -> list[Node]:
    """Returns the nodes to be ordered: all nodes that run, except the stores, which run last in any order."""
    left_out = {*(joining.node for joining in joined), *(store.name for store in stores)}
    running = (node for node in assignment.view.nodes if assignment.choices[node.name].kernel is not None)
    return [node for node in running if node.name not in left_out]


def _apart(demands: Demands) -> Demands:
    """Returns the demands without the sharing that the kernel allows."""
    return Demands(demands.scratch_bytes, demands.scratch_alignment)


def _kept(view: GraphView, stores: Sequence[Node]) -> tuple[str, ...]:
    """Returns the tensors that are needed after the last step; for a state that is copied, the source of the copy."""
    copied = {written: source for store in stores for (source,), (written,) in [(store.inputs, store.outputs)]}
    return tuple(copied.get(name, name) for name in view.outputs)


def _activations(
    view: GraphView, taken: Taken, buffer_of: Mapping[str, str], parts: Joined, spans: Mapping[str, tuple[int, int]]
) -> Iterator[Buffer]:
    """Yields a buffer for each chain outside of the states; a whole occupies only the bytes of its live parts."""
    io, states = {buffer_of[name] for name in (*view.inputs, *view.outputs)}, StateMemory.of(view).offsets.keys()
    for chain in taken.chains:
        if states.isdisjoint(chain.members):
            kind: BufferKind = "activation" if io.isdisjoint(chain.members) else "io"
            buffer = chain.buffer(_alignment(view, chain.members), kind)
            yield replace(buffer, windows=parts.windows(buffer.name, spans)) if buffer.name in parts.wholes else buffer


def _scratch(steps: Sequence[Node], wanted: Mapping[str, Demands]) -> dict[str, Buffer]:
    """Returns the scratch of each layer that asks for some, live only in the step of the layer."""
    return {
        node.name: Buffer(f"scratch of {node.name}", each.scratch_bytes, each.scratch_alignment, step, step + 1, "scratch")
        for step, node in enumerate(steps)
        if (each := wanted[node.name]).scratch_bytes
    }


def _as_good(question: OrderQuestion, nodes: Sequence[Node], like: Schedule) -> Order:
    """Returns the order in which `like` runs the nodes, or the result of a short search if the order takes more bytes than in
    `like`."""
    place = {node.name: index for index, node in enumerate(nodes)}
    given = [place[node.name] for node in like.steps if node.name in place]
    return best_order(question, PROBE_STATES, given, like.order.peak_bytes)


def buffers_of(assignment: Assignment) -> dict[str, str]:
    """Returns tensor -> the tensor that owns its bytes: itself, or the source of a view."""
    view = assignment.view
    buffer_of = {name: name for name, tensor in view.tensors.items() if not tensor.is_constant}
    for node in view.nodes:
        if assignment.choices[node.name].kernel is None:
            source, result = node.inputs[0], node.outputs[0]
            buffer_of[result] = buffer_of.get(source, source)
    # An output may be a view of a computed tensor: the whole buffer is the output's.
    outputs = {buffer_of[name]: name for name in view.outputs}
    return {name: outputs.get(buffer, buffer) for name, buffer in buffer_of.items()}


def _sizes(view: GraphView, buffer_of: Mapping[str, str]) -> dict[str, int]:
    # A tensor without elements has a place of its own, too: its pointer is valid.
    return {buffer: max(1, view.tensor(buffer).size_bytes) for buffer in dict.fromkeys(buffer_of.values())}


def _alignment(view: GraphView, members: tuple[str, ...]) -> int:
    return max(ALIGNMENT, *(view.tensor(name).dtype.size_bytes for name in members))


def _spans(view: GraphView, steps: Sequence[Node], alone: Mapping[str, str], parts: Joined) -> dict[str, tuple[int, int]]:
    """Returns the lifetime of each atom that the steps write: outputs, and inputs that nobody reads, live to the end."""
    atoms_of = {name: parts.atoms_of(buffer) for name, buffer in alone.items()}
    first = {atom: 0 for name in view.inputs for atom in atoms_of[name]}
    last: dict[str, int] = {}
    for index, node in enumerate(steps):
        for name in node.outputs:
            first |= {atom: index for atom in atoms_of[name] if atom not in first}
        last |= {atom: index + 1 for name in (*node.inputs, *node.outputs) if name in atoms_of for atom in atoms_of[name]}
    end = max(1, len(steps))
    last |= {atom: end for name in view.outputs for atom in atoms_of[name]}
    last = dict.fromkeys(first, end) | last
    return {atom: (begin, last[atom]) for atom, begin in first.items()}
