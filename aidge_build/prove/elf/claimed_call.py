# SPDX-License-Identifier: MIT
"""The arguments of a model's functions, as its claim says them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClaimedArgument:
    """An input or output of N_run: its name, its type and scale in words, its bytes, and its place.

    `symbol` is the array of the arena that holds it, "" if N_run gets a pointer to it. If the caller owns the arena, no array
    of the program has that name. `row_bytes` are the bytes of a row, 0 for an input or output that does not go by rows."""

    name: str
    type: str
    scale: str
    size_bytes: int
    symbol: str = ""
    offset_bytes: int = 0
    row_bytes: int = 0


@dataclass(frozen=True)
class ClaimedCall:
    """The inputs and outputs of N_run, in the order of its arguments. `first` is the caller's "arena" or "instance" that each
    function gets before them, "" if there is none. `run`, `begins` and `pushes` are N_run, N_begin and N_push_<input>, "" if the
    model has none."""

    inputs: tuple[ClaimedArgument, ...]
    outputs: tuple[ClaimedArgument, ...]
    first: str = ""
    run: str = ""
    begins: str = ""
    pushes: str = ""

    def arguments(self, function: str) -> int:
        """Returns the number of arguments of a function of the model."""
        if self.pushes and function == self.pushes:
            return bool(self.first) + 2  # rows, and how many
        if function not in (self.run, self.begins):
            return bool(self.first)
        pointers = [port for port in (*self.inputs, *self.outputs) if not port.symbol]
        return bool(self.first) + sum(function == self.run or not port.row_bytes for port in pointers)

    @property
    def goes_by_rows(self) -> bool:
        """Whether an input or output does."""
        return any(port.row_bytes for port in (*self.inputs, *self.outputs))

    def passes_inputs(self, function: str) -> bool:
        """Whether this function gets whole inputs."""
        return function == self.run or function == self.begins and not self.pushes
