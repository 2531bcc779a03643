# SPDX-License-Identifier: MIT
"""Outputs that are computed in place: chains of buffers that reuse the bytes of the one before."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from aidge_build.contract.spec import Demands
from aidge_build.graph.view import Node
from aidge_build.plan.memory.buffer import Buffer, BufferKind, Overlap, Window
from aidge_build.plan.schedule.sharing import permissions


@dataclass(frozen=True)
class Lives:
    """The bytes and the half-open lifetime of each buffer; the buffers in `kept` must survive the last step."""

    sizes: Mapping[str, int]
    spans: Mapping[str, tuple[int, int]]
    kept: Collection[str]

    def ends_with(self, buffer: str, step: int) -> bool:
        """Whether nothing needs the buffer after this step."""
        return self.spans[buffer][1] == step + 1 and buffer not in self.kept


@dataclass(frozen=True)
class Chain:
    """Buffers at one place, one after the other; a buffer and the next one are both live in one step."""

    members: tuple[str, ...]
    sizes: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]

    def buffer(self, alignment: int, kind: BufferKind) -> Buffer:
        """Returns the chain as one buffer, named after its first member; with windows if the sizes differ."""
        size, first, last = max(self.sizes), self.spans[0][0], self.spans[-1][1]
        windows = self._windows() if len(set(self.sizes)) > 1 else ()
        return Buffer(self.members[0], size, alignment, first, last, kind, windows)

    def _windows(self) -> tuple[Window, ...]:
        steps = sorted({edge for span in self.spans for edge in span})
        found: list[Window] = []
        for first, last in zip(steps, steps[1:], strict=False):
            high = max(size for size, span in zip(self.sizes, self.spans, strict=True) if span[0] <= first < span[1])
            if found and found[-1].high_bytes == high:
                first = found.pop().first
            found.append(Window(first, last, 0, high))
        return tuple(found)


@dataclass(frozen=True)
class Taken:
    """`chains` hold every buffer once, `chain_of` names the chain of each after its first member."""

    chains: tuple[Chain, ...]
    chain_of: Mapping[str, str]
    in_place: Mapping[str, str]
    overlaps: tuple[Overlap, ...]


def in_place_chains(
    steps: Sequence[Node], buffer_of: Mapping[str, str], demands: Mapping[str, Demands], lives: Lives, fixed: Collection[str]
) -> Taken:
    """Returns the chains in which each output reuses the buffer of the largest input that its kernel may overwrite and that no
    later step reads."""
    members: dict[str, list[str]] = {buffer: [buffer] for buffer in lives.spans}
    chain_of = {buffer: buffer for buffer in lives.spans}
    in_place, alone = dict[str, str](), frozenset(fixed)
    loose: list[tuple[str, str, int]] = []
    for index, node in enumerate(steps):
        target = buffer_of[node.outputs[0]]
        dying = [
            (entry.buffer, entry.lead_bytes)
            for entry in permissions(node, buffer_of, demands[node.name])
            if lives.ends_with(entry.buffer, index) and alone.isdisjoint((entry.buffer, target))
        ]
        direct = [buffer for buffer, lead_bytes in dying if lead_bytes is None]
        if not direct:
            loose += [(target, buffer, lead_bytes) for buffer, lead_bytes in dying if lead_bytes is not None]
        else:
            source = max(direct, key=lambda buffer: lives.sizes[buffer])
            members[chain_of[source]] += members.pop(target)
            chain_of[target] = chain_of[source]
            in_place[node.name] = source
    chains = tuple(
        Chain(tuple(names), tuple(map(lives.sizes.__getitem__, names)), tuple(map(lives.spans.__getitem__, names)))
        for names in members.values()
    )
    overlaps = tuple(Overlap(chain_of[lower], chain_of[upper], lead) for lower, upper, lead in loose)
    return Taken(chains, chain_of, in_place, overlaps)
