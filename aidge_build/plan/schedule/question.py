# SPDX-License-Identifier: MIT
"""The question of the best order: operations on numbered tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Operation:
    """The tensors that an operation reads and writes, by number. `shared` are pairs (input, bytes): output 0 may share so many
    bytes with the input, if the operation is the last reader of the input."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    scratch_bytes: int = 0
    shared: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class OrderQuestion:
    """Operations in a legal order. `inputs` are live from the start, `outputs` and unread inputs to the end; `sizes` are bytes
    per tensor."""

    sizes: tuple[int, ...]
    operations: tuple[Operation, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @cached_property
    def readers(self) -> tuple[int, ...]:
        """For each tensor the set of operations that read it, as bits."""
        found = [0] * len(self.sizes)
        for index, operation in enumerate(self.operations):
            for tensor in operation.inputs:
                found[tensor] |= 1 << index
        return tuple(found)

    @cached_property
    def producers(self) -> dict[int, int]:
        """The operation that writes a tensor; graph inputs have none."""
        return {tensor: index for index, operation in enumerate(self.operations) for tensor in operation.outputs}

    @cached_property
    def before(self) -> tuple[int, ...]:
        """For each operation the set of operations that must have run, as bits."""
        return tuple(
            sum({1 << self.producers[tensor] for tensor in operation.inputs if tensor in self.producers})
            for operation in self.operations
        )

    @cached_property
    def start_bytes(self) -> int:
        """The bytes that are live before anything has run."""
        return sum(self.sizes[tensor] for tensor in set(self.inputs))
