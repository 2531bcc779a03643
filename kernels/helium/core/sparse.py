# SPDX-License-Identifier: MIT
"""Weights without the blocks of 4 taps that are 0: of each output a word, the number of vectors; of each vector the bytes of 4
blocks from the begin of the taps as uint16, then their 16 weights. A vector that lacks blocks has zeros."""

from __future__ import annotations

import numpy

from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType

from .assembly import Assembler
from .packed import bits_of_weights

BLOCK, LANES = 4, 16
MOST_KEPT = 0.35  # of the blocks: each takes 6 bytes, and more than twice the cycles
LARGEST_PLACE = (1 << 16) - 1


def too_many_blocks(view: NodeView, rows: numpy.ndarray) -> str:
    """Why weights [outputs, taps] are multiplied as they are, or nothing."""
    if view.any_weights:
        return "other weights may come"
    if view.inputs[1].dtype is not DType.int8 or rows.shape[1] % BLOCK or rows.shape[1] > LARGEST_PLACE:
        return f"{view.inputs[1].dtype.name} weights of {rows.shape[1]} taps, wants int8 and a multiple of {BLOCK}"
    kept = float(rows.reshape(-1, BLOCK).any(axis=1).mean())
    most = MOST_KEPT / (2 if bits_of_weights(view, rows) <= BLOCK else 1)
    return "" if kept <= most else f"{100 * kept:.0f} % of the blocks of {BLOCK} taps have weights, wants {100 * most:.0f} %"


def vectors_of(row: numpy.ndarray) -> int:
    """How many vectors an output has."""
    return max(1, -(-int(row.reshape(-1, BLOCK).any(axis=1).sum()) * BLOCK // LANES))


def sparse_bytes(row: numpy.ndarray) -> bytes:
    """The weights of an output."""
    blocks = row.reshape(-1, BLOCK).astype(numpy.int8)
    kept, count = numpy.flatnonzero(blocks.any(axis=1)), vectors_of(row)
    places, weights = numpy.zeros(count * BLOCK, "<u2"), numpy.zeros((count * BLOCK, BLOCK), numpy.int8)
    places[: len(kept)], weights[: len(kept)] = BLOCK * kept, blocks[kept]
    vectors = zip(places.reshape(count, BLOCK), weights.reshape(count, LANES))
    return b"".join([numpy.array([count], "<i4").tobytes(), *(part.tobytes() for vector in vectors for part in vector)])


def emit_begin(emit: Assembler, stream: str, label: str) -> None:
    """The begin of a loop over the vectors of an output, which `emit_end` ends."""
    emit(f"ldr %vectors, [{stream}], #4", "dls %vectors, %vectors")
    emit.label(label)
    emit(f"vldrh.u32 %q.block_places, [{stream}], #8", f"vldrw.u32 %q.weights, [{stream}], #16")


def emit_end(emit: Assembler, label: str) -> None:
    """The end of the loop."""
    emit(f"le %vectors, %{label}")
