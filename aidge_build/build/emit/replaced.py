# SPDX-License-Identifier: MIT
"""Weights that are replaced in the field: what N_bind compares, and how layers find their constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.build.emit.blob import ALIGNMENT, CRC_BYTE, FORMAT, HEAD_BYTES, MAGIC, digest_words, make_blob
from aidge_build.build.emit.ports import data_digest
from aidge_build.plan.constant_arrays import Array, Arrays
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class ReplacedText:
    """The numbers that the template compares with the head of a block (emit/blob.py), and each array's alignment in bytes.

    `bound` is C text: where N_bind stores the pointer.
    """

    magic: int
    format: int
    data: tuple[int, int]
    layout: tuple[int, int]
    alignments: tuple[int, ...]
    bound: str
    alignment: int = ALIGNMENT
    head_bytes: int = HEAD_BYTES
    crc_byte: int = CRC_BYTE

    @property
    def count(self) -> int:
        """The number of arrays."""
        return len(self.alignments)

    @property
    def is_mixed(self) -> bool:
        """Whether arrays differ in alignment."""
        return len(set(self.alignments)) > 1

    @property
    def least_bytes(self) -> int:
        """A block is not shorter than its head and its table."""
        return self.head_bytes + 4 * self.count


def replaced_text(program: Program, arrays: Arrays, layout: str) -> ReplacedText | None:
    """Returns the values for the template, None for a model with fixed weights."""
    if not program.options.replaces_weights:
        return None
    alignments = tuple(array.alignment for array in arrays.replaceable)
    return ReplacedText(MAGIC, FORMAT, digest_words(data_digest(program)), digest_words(layout), alignments, bound_of(program))


def bound_of(program: Program) -> str:
    """Returns the variable in which N_bind stores the pointer, as C text."""
    return "self->weights" if program.options.arena == "caller" else bound_symbol(program)


def bound_symbol(program: Program) -> str:
    """The C name of the pointer to the weights in use, where the model owns its memory."""
    return f"{program.name}_bound"


def blob_symbol(program: Program) -> str:
    """The C name of the weights that the code was generated with."""
    return f"{program.name}_weights"


def in_flash(program: Program, arrays: Arrays, layout: str) -> tuple[Array, ...]:
    """Returns the arrays that N_weights.c defines: each constant, or one block that holds the replaceable constants."""
    if not program.options.replaces_weights:
        return arrays.all
    blob = make_blob(arrays.replaceable, data_digest(program), layout, program.options.weights_version)
    whole = Array(blob_symbol(program), numpy.frombuffer(blob, numpy.uint8), "all weights, checked by their user", ALIGNMENT)
    return (whole, *([arrays.initial_state] if arrays.initial_state else []))
