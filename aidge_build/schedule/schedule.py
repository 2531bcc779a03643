# SPDX-License-Identifier: MIT
"""The order of execution, and which buffers must keep their bytes from which step to which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aidge_build.backend.assignment import Assignment
from aidge_build.backend.spec import Demands
from aidge_build.graph.view import Node
from aidge_build.memory.buffer import Buffer

ALIGNMENT = 4  # bytes, of 8- and 16-bit tensors: kernels may read whole words


@dataclass(frozen=True)
class Schedule:
    """`steps` are the nodes that run, in order. Views do not run: `buffer_of` maps each tensor to the buffer (named after
    the tensor that is written) that holds its bytes; graph inputs and outputs have buffers of kind io."""

    steps: tuple[Node, ...]
    buffers: tuple[Buffer, ...]
    buffer_of: Mapping[str, str]
    scratch_of: Mapping[str, str]  # node name -> buffer name

    def __str__(self) -> str:
        lines = [f"  {index}: {node.name} ({node.type})" for index, node in enumerate(self.steps)]
        return "\n".join(lines + [f"  {buffer}" for buffer in self.buffers])


def make_schedule(assignment: Assignment, demands: Callable[[Node], Demands]) -> Schedule:
    """The order of the graph, with half-open lifetimes: inputs live from step 0, outputs to the end."""
    view = assignment.view
    steps = tuple(node for node in view.nodes if assignment.choices[node.name].kernel is not None)
    buffer_of = {name: name for name, tensor in view.tensors.items() if not tensor.is_constant}
    for node in view.nodes:
        if assignment.choices[node.name].kernel is None:
            source, result = node.inputs[0], node.outputs[0]
            buffer_of[result] = buffer_of.get(source, source)
    for name in view.outputs:
        _name_after_output(buffer_of, name)
    spans = _spans(assignment, steps, buffer_of)
    buffers = [
        Buffer(name, view.tensor(name).size_bytes, max(ALIGNMENT, view.tensor(name).dtype.size_bytes), first, last,
               "io" if name in (*view.inputs, *view.outputs) else "activation")
        for name, (first, last) in spans.items()
    ]
    scratch_of = {}
    for index, node in enumerate(steps):
        wanted = demands(node)
        if wanted.scratch_bytes:
            scratch_of[node.name] = f"scratch of {node.name}"
            buffers.append(Buffer(scratch_of[node.name], wanted.scratch_bytes, wanted.scratch_alignment, index, index + 1, "scratch"))
    return Schedule(steps, tuple(buffers), buffer_of, scratch_of)


def _name_after_output(buffer_of: dict[str, str], output: str) -> None:
    """A graph output that is a view of a computed tensor: the whole buffer is the output's."""
    held = buffer_of[output]
    if held != output:
        for name, buffer in buffer_of.items():
            if buffer == held:
                buffer_of[name] = output


def _spans(assignment: Assignment, steps: tuple[Node, ...], buffer_of: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    view, end = assignment.view, max(1, len(steps))
    first = {buffer_of[name]: 0 for name in view.inputs}
    last: dict[str, int] = dict.fromkeys(first, 1)
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
