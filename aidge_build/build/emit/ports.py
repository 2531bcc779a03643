# SPDX-License-Identifier: MIT
"""The model's inputs and outputs as the firmware sees them: parameter names, macros, pointers' alignment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import gcd

from aidge_build.build.emit.digest import digest_of, facts_of
from aidge_build.contract.node import WORD_BYTES
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class Port:
    """A graph input or output: `parameter` is its name in the signature of N_run, `macro` the stem of its macros.

    `line` is the size of a data cache line in bytes if the tensor has lines of its own, else 0; `word` is the alignment in bytes
    for the words that kernels read if unaligned words are faults, else 1."""

    tensor: Tensor
    is_input: bool
    parameter: str
    macro: str
    line: int = 0
    word: int = 1

    @property
    def declaration(self) -> str:
        """The parameter with its type."""
        return f"{'const ' if self.is_input else ''}{self.tensor.dtype.c_type} *{self.parameter}"

    @property
    def alignment(self) -> int:
        """The alignment in bytes that N_run needs: of the element type, of words, or of a line of the data cache."""
        return max(self.tensor.dtype.size_bytes, self.line, self.word)

    @property
    def line_bytes(self) -> int:
        """The bytes of its lines of the data cache, where it has lines of its own."""
        return -(-self.tensor.size_bytes // self.line) * self.line if self.line else 0


def ports_of(program: Program) -> tuple[Port, ...]:
    """The inputs, then the outputs, in model order."""
    view, names, progress = program.view, program.names, program.progress
    sides = (
        (True, view.given, names.inputs, progress and progress.arriving),
        (False, view.handed_out, names.outputs, progress and progress.departing),
    )
    return tuple(
        # rows come from anywhere and go there
        Port(
            view.tensor(tensor),
            is_input,
            name.parameter,
            name.macro,
            0 if by_rows else program.options.dma_line,
            _word(program, tensor),
        )
        for is_input, tensors, called, by_rows in sides
        for tensor, name in zip(tensors, called, strict=True)
    )


def scale_words(tensor: Tensor) -> str:
    """Returns "scale 0.05, zero point 3", or "no scale"."""
    quantization = tensor.quantization
    if quantization is None or not quantization.per_tensor:
        return "no scale"
    return f"scale {quantization.scale:.9g}, zero point {quantization.zero_point}"


def quantization_in(words: str) -> Quantization | None:
    """The quantization that `scale_words` wrote at the end of these words; None for "no scale"."""
    found = re.search(r"scale (\S+), zero point (-?\d+)$", words)
    return per_tensor(float(found[1]), int(found[2])) if found else None


def data_digest(program: Program) -> str:
    """Returns the digest of what the bytes of inputs, outputs and states mean: types, shapes and orders, and scales and names of
    classes where the firmware sees them.

    Records and blocks of weights carry it. The size of the arena is not in it, so that a later version with a better plan reads
    records of firmware in the field, and makes blocks for it. The scales of states change with the weights.
    """

    def shape(name: str) -> list:
        tensor = program.view.tensor(name)
        return [tensor.dtype.name, list(tensor.dims), str(tensor.storage)]

    def meaning(name: str) -> list:
        tensor = program.view.tensor(name)
        return [*shape(name), scale_words(tensor), list(tensor.names)]

    view = program.view
    states = [[*shape(state.read), program.memory.states.offsets[state.read]] for state in view.states]
    sides = [[meaning(name) for name in names] for names in (view.given, view.handed_out)]
    return digest_of(facts_of([program.name, program.options.record, sides, states]))


def _word(program: Program, name: str) -> int:
    """Returns the alignment in bytes of an input or output for words, 1 if words may be at any address. Rows come from anywhere
    in an array: kernels read words of them only if a row takes whole words."""
    if not program.is_aligned_only:
        return 1
    progress = program.progress
    by_rows = [line.row_bytes for line in (progress.arriving, progress.departing) if line] if progress else []
    return gcd(WORD_BYTES, *by_rows)
