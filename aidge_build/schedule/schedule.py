# SPDX-License-Identifier: MIT
"""The order of execution, and which buffers must keep their bytes from which step to which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from aidge_build.backend.assignment import Assignment
from aidge_build.backend.spec import Demands
from aidge_build.graph.view import GraphView, Node
from aidge_build.memory.buffer import Buffer, Overlap
from aidge_build.schedule.order import Order, best_order
from aidge_build.schedule.sharing import question_of
from aidge_build.schedule.takeover import Lives, take_over

ALIGNMENT = 4  # bytes, of 8- and 16-bit tensors: kernels may read whole words
Reuse = Literal["plain", "shared"]  # plain: buffers share nothing while they live; shared: what the kernels allow


@dataclass(frozen=True)
class Schedule:
    """`steps` are the nodes that run, in order. Views do not run: `buffer_of` maps each tensor to the buffer (named after
    the tensor that is written) that holds its bytes, from its first byte on; graph inputs and outputs have buffers of kind io.

    `in_place` names, per node that overwrites an input, that input. `overlaps` are what kernels allow beyond. `order` says
    how good the order is.
    """

    steps: tuple[Node, ...]
    buffers: tuple[Buffer, ...]
    buffer_of: Mapping[str, str]
    scratch_of: Mapping[str, str]  # node name -> buffer name
    order: Order
    overlaps: tuple[Overlap, ...] = ()
    in_place: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"  {index}: {node.name} ({node.type})" for index, node in enumerate(self.steps)]
        lines.append(f"  peak of the order {self.order.peak_bytes:,} B, of no order below {self.order.lower_bound_bytes:,} B "
                     f"({self.order.states} states)")
        return "\n".join(lines + [f"  {buffer}" for buffer in self.buffers] + [f"  {overlap}" for overlap in self.overlaps])


def make_schedule(assignment: Assignment, demands: Callable[[Node], Demands], reuse: Reuse = "plain",
                  *, io_outside: bool = True) -> Schedule:
    """The best order that is found, with half-open lifetimes: inputs live from step 0, outputs to the end.

    With `reuse` "shared" an output takes over the bytes of an input wherever the kernel allows it and is its last reader;
    with `io_outside` the firmware owns the graph's inputs and outputs, which then share nothing.
    """
    view = assignment.view
    given = tuple(node for node in view.nodes if assignment.choices[node.name].kernel is not None)
    wanted = {node.name: demands(node) for node in given}
    buffer_of = _buffer_of(assignment)
    fixed = {buffer_of[name] for name in (*view.inputs, *view.outputs)} if io_outside else set()
    sharing = wanted if reuse == "shared" else {name: Demands(each.scratch_bytes, each.scratch_alignment) for name, each in wanted.items()}
    order = best_order(question_of(view, given, buffer_of, sharing, fixed))
    steps = tuple(given[index] for index in order.order)
    lives = Lives(_sizes(view, buffer_of), _spans(view, steps, buffer_of), {buffer_of[name] for name in view.outputs})
    taken = take_over(steps, buffer_of, sharing, lives, fixed)
    io = {buffer_of[name] for name in (*view.inputs, *view.outputs)}
    buffers = [chain.buffer(_alignment(view, chain.members), "io" if io & set(chain.members) else "activation")
               for chain in taken.chains]
    scratch_of = {}
    for index, node in enumerate(steps):
        each = wanted[node.name]
        if each.scratch_bytes:
            scratch_of[node.name] = f"scratch of {node.name}"
            buffers.append(Buffer(scratch_of[node.name], each.scratch_bytes, each.scratch_alignment, index, index + 1, "scratch"))
    merged = {name: taken.chain_of[buffer] for name, buffer in buffer_of.items()}
    return Schedule(steps, tuple(buffers), merged, scratch_of, order, taken.overlaps, taken.in_place)


def _buffer_of(assignment: Assignment) -> dict[str, str]:
    """Tensor to the tensor whose bytes it names: itself, or the source of a view."""
    view = assignment.view
    buffer_of = {name: name for name, tensor in view.tensors.items() if not tensor.is_constant}
    for node in view.nodes:
        if assignment.choices[node.name].kernel is None:
            source, result = node.inputs[0], node.outputs[0]
            buffer_of[result] = buffer_of.get(source, source)
    for name in view.outputs:
        _name_after_output(buffer_of, name)
    return buffer_of


def _name_after_output(buffer_of: dict[str, str], output: str) -> None:
    """A graph output that is a view of a computed tensor: the whole buffer is the output's."""
    held = buffer_of[output]
    if held != output:
        for name, buffer in buffer_of.items():
            if buffer == held:
                buffer_of[name] = output


def _sizes(view: GraphView, buffer_of: Mapping[str, str]) -> dict[str, int]:
    # A tensor without elements has a place of its own, too: its pointer is valid.
    return {buffer: max(1, view.tensor(buffer).size_bytes) for buffer in dict.fromkeys(buffer_of.values())}


def _alignment(view: GraphView, members: tuple[str, ...]) -> int:
    return max(ALIGNMENT, *(view.tensor(name).dtype.size_bytes for name in members))


def _spans(view: GraphView, steps: tuple[Node, ...], buffer_of: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    end = max(1, len(steps))
    first = {buffer_of[name]: 0 for name in view.inputs}
    read = {buffer_of.get(name) for node in steps for name in node.inputs}
    last = {buffer: 1 if buffer in read else end for buffer in first}
    for index, node in enumerate(steps):
        for name in node.outputs:
            first.setdefault(buffer_of[name], index)
            last[buffer_of[name]] = max(last.get(buffer_of[name], 0), index + 1)
        for name in node.inputs:
            if name in buffer_of:
                last[buffer_of[name]] = max(last[buffer_of[name]], index + 1)
    for name in view.outputs:
        last[buffer_of[name]] = end
    return {name: (first[name], last[name]) for name in first}
