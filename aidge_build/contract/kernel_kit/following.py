# SPDX-License-Identifier: MIT
"""The overlap of output and input for kernels that read a part of their input before they write a part of their output.

A kernel works in steps. When a step begins to write, this step and later steps read no byte of the input before byte `unread`;
when it ends, `written` bytes of the output are written. An output that begins max(written - unread) bytes before its input, or
earlier, overwrites only bytes that no step reads again. (Kernels that work pixel by pixel on ref's window: `raster`.)
"""

from __future__ import annotations

from collections.abc import Iterable

from aidge_build.contract.spec import Demands
from aidge_build.graph.tensor import Tensor

Steps = Iterable[tuple[int, int]]  # (written, unread) of each step, in bytes


def following(steps: Steps, output: Tensor, scratch_bytes: int = 0) -> Demands:
    """Returns the overlap of output 0 with input 0 that these steps allow; none if it would save nothing, or without steps."""
    lead = max((written - unread for written, unread in steps), default=output.size_bytes)
    overlap = ((0, max(0, lead)),) if lead < output.size_bytes else ()
    return Demands(scratch_bytes=scratch_bytes, overlap=overlap)


def row_steps(
    batches: int, input_rows: int, output_rows: int, row_bytes: tuple[int, int], rows: Iterable[tuple[int, int]]
) -> Steps:
    """Returns the steps of whole rows, of `row_bytes` (input, output). A step of one image is (written output rows, input rows
    that are needed no more); the latter may be below 0 and above the height."""
    steps = [(done, min(max(0, unread), input_rows)) for done, unread in rows]
    return [
        ((batch * output_rows + done) * row_bytes[1], (batch * input_rows + unread) * row_bytes[0])
        for batch in range(batches)
        for done, unread in steps
    ]
