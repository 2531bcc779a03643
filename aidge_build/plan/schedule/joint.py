# SPDX-License-Identifier: MIT
"""Concatenations and splits that cost no copy: members are written, and pieces are read, inside the joint tensor.

A member is in one piece if no axis of more than one element is stored before the joined axis. If the joined axis is stored last,
each position of the joint tensor holds a position of every member, and the kernel that writes a member must be able to leave gaps
between positions (`Demands.output_stride`). A layer that reads a part finds it in one piece. The planned peak decides which
candidates are taken (`planning`): a joint tensor needs its bytes from its first member on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from aidge_build.boards.cores import ALIGNED_ONLY
from aidge_build.contract.spec import Demands
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node
from aidge_build.operators.rearrange import Concat, Split
from aidge_build.plan.memory.buffer import Window
from aidge_build.prepare.adaptation.assignment import Assignment

PIECE_ALIGNMENT = 4  # bytes: kernels may read whole words


@dataclass(frozen=True)
class Part:
    """The bytes of a tensor inside the buffer `whole`: from `offset_bytes` on, in `rows` rows that begin `stride_bytes` apart."""

    whole: str
    offset_bytes: int
    size_bytes: int
    rows: int
    stride_bytes: int

    @property
    def reach(self) -> tuple[int, int]:
        """(first byte, one past the last byte) within the whole."""
        return self.offset_bytes, self.offset_bytes + self.stride_bytes * (self.rows - 1) + self.size_bytes // self.rows


@dataclass(frozen=True)
class Joining:
    """A node that does not run: the buffers that become parts of another one. `merges`: the whole is written part by part
    (Concat)."""

    node: str
    parts: Mapping[str, Part]
    merges: bool

    @property
    def whole(self) -> str:
        """The buffer that holds the parts."""
        return next(iter(self.parts.values())).whole


def candidates(assignment: Assignment, demands: Callable[[Node], Demands], buffer_of: Mapping[str, str]) -> tuple[Joining, ...]:
    """Returns every node that may be left out, the nodes that copy most first."""
    view = assignment.view
    kept = {buffer_of[name] for name in (*view.inputs, *view.outputs)}
    found = []
    for node in view.nodes:
        if assignment.choices[node.name].kernel is None or not isinstance(node.operator, Concat | Split):
            continue
        joining = _joining(assignment, node, demands, buffer_of)
        if joining is not None and not {joining.whole, *joining.parts} & kept:
            found.append((sum(part.size_bytes for part in joining.parts.values()), joining))
    return tuple(joining for _, joining in sorted(found, key=lambda entry: -entry[0]))


def _joining(
    assignment: Assignment, node: Node, demands: Callable[[Node], Demands], buffer_of: Mapping[str, str]
) -> Joining | None:
    """Returns the node as one that does not run; None if a part would have other bytes, or an address that its kernels cannot
    use."""
    view, merges = assignment.view, isinstance(node.operator, Concat)
    names, (whole,) = (node.inputs, node.outputs) if merges else (node.outputs, node.inputs)
    tensors, joint = list(map(view.tensor, names)), view.tensor(whole)
    if not _is_joinable(joint, tensors) or len({buffer_of[name] for name in names}) < len(names):
        return None
    rows = _rows(joint, node.operator.axis)
    if rows is None or rows > 1 and not (merges and all(_written_with_gaps(assignment, name, node, demands) for name in names)):
        return None
    stride_bytes = joint.size_bytes // rows if rows > 1 else 0
    firsts = list(accumulate((tensor.size_bytes // rows for tensor in tensors), initial=0))[:-1]
    in_words = rows == 1 or ALIGNED_ONLY in assignment.features  # else whoever writes with gaps writes words anywhere
    if not _are_aligned([*firsts, stride_bytes], joint, in_words):
        return None
    parts = {
        buffer_of[tensor.name]: Part(buffer_of[whole], first, tensor.size_bytes, rows, stride_bytes)
        for tensor, first in zip(tensors, firsts)
    }
    return Joining(node.name, parts, merges)


def _is_joinable(joint: Tensor, parts: Sequence[Tensor]) -> bool:
    """Whether the elements of all tensors mean the same, and none is a constant."""
    kinds = {(each.is_constant, each.dtype, each.quantization, each.storage) for each in (joint, *parts)}
    return len(kinds) == 1 and not joint.is_constant


def _are_aligned(firsts: Sequence[int], joint: Tensor, in_words: bool) -> bool:
    """Whether kernels may use addresses with these distances from the joint tensor's."""
    element = joint.dtype.size_bytes
    alignment = max(PIECE_ALIGNMENT, element) if in_words else element
    return not any(first % alignment for first in firsts)


def _rows(joint: Tensor, axis: int) -> int | None:
    """Returns how many rows hold a piece of each part: 1, or all positions if the axis is stored last; None in between."""
    position = joint.storage.position(axis % joint.rank)
    rows = math.prod(joint.layout.stored_dims[:position])
    return rows if rows == 1 or position == joint.rank - 1 else None


def _written_with_gaps(assignment: Assignment, name: str, joining: Node, demands: Callable[[Node], Demands]) -> bool:
    """Whether the kernel that writes the tensor can leave gaps between rows, and nobody but the joining node reads it."""
    view = assignment.view
    producer = view.producer(name)
    if producer is None or assignment.choices[producer.name].kernel is None or producer.outputs != (name,):
        return False
    return view.consumers(name) == (joining,) and demands(producer).output_stride


@dataclass(frozen=True)
class Joined:
    """Buffers after joining. `places` leads from every part to its outermost whole; `atoms` are what operations write, by
    whole."""

    places: Mapping[str, Part]
    atoms: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(taken: Sequence[Joining]) -> Joined:
        """Returns the buffers after joining, parts of parts included. A whole that is a part itself must be in one piece;
        `compatible` ensures this."""
        parts = {name: part for joining in taken for name, part in joining.parts.items()}
        members = {joining.whole: tuple(joining.parts) for joining in taken if joining.merges}
        sources = {name: part.whole for joining in taken if not joining.merges for name, part in joining.parts.items()}

        def outermost(part: Part) -> Part:
            while part.whole in parts:
                outer = parts[part.whole]
                part = Part(outer.whole, outer.offset_bytes + part.offset_bytes, part.size_bytes, part.rows, part.stride_bytes)
            return part

        def written(name: str) -> tuple[str, ...]:
            if name in members:
                return tuple(atom for member in members[name] for atom in written(member))
            return written(sources[name]) if name in sources else (name,)

        names = dict.fromkeys((*parts, *(part.whole for part in parts.values())))
        return Joined({name: outermost(part) for name, part in parts.items()}, {name: written(name) for name in names})

    def atoms_of(self, buffer: str) -> tuple[str, ...]:
        """Returns the buffers that operations write and that make up this one."""
        return self.atoms.get(buffer, (buffer,))

    def home(self, buffer: str) -> str:
        """Returns the outermost buffer that holds these bytes."""
        return self.places[buffer].whole if buffer in self.places else buffer

    @property
    def wholes(self) -> set[str]:
        """The buffers that hold parts."""
        return {part.whole for part in self.places.values()}

    def spans(self, spans: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
        """Returns the lifetimes of outermost buffers, from the lifetimes of atoms: a whole lives from its first atom to its
        last."""
        found = {name: span for name, span in spans.items() if name not in self.places}
        for whole in sorted(self.wholes):
            firsts, lasts = zip(*(spans[atom] for atom in self.atoms_of(whole)))
            found[whole] = min(firsts), max(lasts)
        return found

    def windows(self, whole: str, spans: Mapping[str, tuple[int, int]]) -> tuple[Window, ...]:
        """Returns which bytes of a whole are live when: from the lowest to the highest byte of the live atoms."""
        reach = {atom: self.places[atom].reach for atom in self.atoms_of(whole) if atom in self.places}
        steps = sorted({edge for atom in reach for edge in spans[atom]})
        found: list[Window] = []
        for first, last in zip(steps, steps[1:], strict=False):
            live = [reach[atom] for atom in reach if spans[atom][0] <= first < spans[atom][1]]
            low, high = min(start for start, _ in live), max(end for _, end in live)
            if found and (found[-1].low_bytes, found[-1].high_bytes) == (low, high):
                first = found.pop().first
            found.append(Window(first, last, low, high))
        return tuple(found)


def compatible(taken: Sequence[Joining], more: Joining) -> bool:
    """Whether another joining fits the joinings that are taken: each buffer is part of one whole, and rows are not inside other
    rows."""
    parts = {name: part for joining in taken for name, part in joining.parts.items()}
    if more.parts.keys() & parts.keys():
        return False
    around = [part for name, part in parts.items() if name == more.whole or part.whole in more.parts]
    return not around or all(part.rows == 1 for part in (*around, *more.parts.values()))
