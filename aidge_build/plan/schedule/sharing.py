# SPDX-License-Identifier: MIT
"""The bytes that kernels allow outputs to share with inputs, and the question of the best order of a graph with this sharing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from aidge_build.contract.spec import Demands
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.schedule.question import Operation, OrderQuestion


def question_of(
    view: GraphView,
    steps: Sequence[Node],
    buffer_of: Mapping[str, str],
    demands: Mapping[str, Demands],
    fixed: Collection[str],
    atoms_of: Callable[[str], tuple[str, ...]],
    kept: Sequence[str],
    elsewhere: Collection[str] = (),
) -> OrderQuestion:
    """Returns the question in terms of buffers; buffers in `fixed` share no bytes, and `atoms_of` names the parts of each buffer.
    The tensors `kept` are needed after the last step; buffers in `elsewhere` count as 0 bytes."""
    atoms = {buffer: atoms_of(buffer) for buffer in dict.fromkeys(buffer_of.values())}
    numbers = {atom: number for number, atom in enumerate(dict.fromkeys(atom for found in atoms.values() for atom in found))}
    sizes = tuple(0 if buffer in elsewhere else view.tensor(buffer).size_bytes for buffer in numbers)
    operations, alone = [], frozenset(fixed)

    def numbered(names: Sequence[str]) -> tuple[int, ...]:
        """Returns the numbers of the parts of these tensors, each once; constants have none."""
        buffers = [buffer_of[name] for name in names if name in buffer_of]
        return tuple(dict.fromkeys([numbers[atom] for buffer in buffers for atom in atoms[buffer]]))

    for node in steps:
        outputs = numbered(node.outputs)
        shared = [
            (numbers[entry.buffer], entry.shared_bytes(sizes[numbers[entry.buffer]], sizes[outputs[0]]))
            for entry in permissions(node, buffer_of, demands[node.name])
            if entry.buffer not in alone and buffer_of[node.outputs[0]] not in alone
        ]
        operations.append(Operation(numbered(node.inputs), outputs, demands[node.name].scratch_bytes, tuple(shared)))
    return OrderQuestion(sizes, tuple(operations), numbered(view.inputs), numbered(kept))


class Permission:
    """Output 0 of a node may overwrite this buffer: from its first byte on (`lead_bytes` None), or by beginning earlier."""

    def __init__(self, buffer: str, lead_bytes: int | None):
        self.buffer, self.lead_bytes = buffer, lead_bytes

    def shared_bytes(self, input_bytes: int, output_bytes: int) -> int:
        """Returns how many bytes input and output share at the smallest distance that is allowed."""
        if self.lead_bytes is None:
            return min(input_bytes, output_bytes)
        return input_bytes + output_bytes - max(min(self.lead_bytes, output_bytes) + input_bytes, output_bytes)


def permissions(node: Node, buffer_of: Mapping[str, str], demands: Demands) -> tuple[Permission, ...]:
    """Returns the permissions of the kernel, in its order, in-place first. A buffer that is read through two inputs needs both
    allowed."""
    positions: dict[str, list[int]] = {}
    for index, name in enumerate(node.inputs):
        if name in buffer_of:
            positions.setdefault(buffer_of[name], []).append(index)
    leads = dict(demands.overlap)
    found = [
        Permission(buffer, None) for buffer, places in positions.items() if all(place in demands.in_place for place in places)
    ]
    taken = {entry.buffer for entry in found}
    for buffer, places in positions.items():
        if buffer not in taken and all(place in leads for place in places):
            found.append(Permission(buffer, max(leads[place] for place in places)))
    return tuple(found)
