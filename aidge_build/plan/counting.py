# SPDX-License-Identifier: MIT
"""How long the steps are in which the monitor counts (--max-step): estimates from above. `check` proves the linked steps.

| instructions of | proved on Cortex-M0, M4F, M55, RISC-V |
|---|---|
| ELEMENT of an input, with sums of 32 bits, or of floats on an FPU | 32, 23, 24, 23 |
| WIDE_ELEMENT, with sums of 64 bits | 97, 46, 47, 48 |
| SOFT_ELEMENT, floats without an FPU | 774 (M0), 692 (RISC-V) |
| the last step with 64 scores, int8 | 2,156, 1,957, not tried, 1,806; estimated: 2,560 |
| the last step with 64 scores, floats without an FPU | 8,780 (M0), 6,082 (RISC-V); estimated: 10,004 |
"""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.graph.tensor import Tensor
from aidge_build.plan.seen_range import sum_dtype

AROUND = 200  # N_step and the call, around the elements
ELEMENT, WIDE_ELEMENT, SOFT_ELEMENT = 36, 105, 850
SCORE, SOFT_SCORE = 14, 110  # an element of an output
BIN = 16  # a bin of a histogram: its edge, the search for a full bin, halving
INPUT, SOFT_EDGES = 120, 650  # an input, but for its bins; the edges of floats without an FPU
MOST_STEPS = (1 << 16) - 1  # N_progress counts them with 16 bits


def elements_of_step(tensor: Tensor, max_step: int, has_fpu: bool) -> int:
    """Returns how many elements of an input a step counts: all steps but the last one as many, the last one as many or fewer."""
    is_wide = not tensor.dtype.is_float and sum_dtype(tensor.dtype, tensor.elements).size_bytes > 4
    each = SOFT_ELEMENT if _is_soft(tensor, has_fpu) else WIDE_ELEMENT if is_wide else ELEMENT
    most = max(1, (max_step - AROUND) // each)
    steps = min(-(-tensor.elements // most), MOST_STEPS)
    return -(-tensor.elements // steps)


def instructions_at_end(inputs: Sequence[Tensor], outputs: Sequence[Tensor], bins: int, has_fpu: bool) -> int:
    """Returns the instructions of the last step, which counts the outputs and adds the sums of the inputs to the counters."""
    scores = sum(one.elements * (SOFT_SCORE if _is_soft(one, has_fpu) else SCORE) for one in outputs)
    edges = sum(SOFT_EDGES for one in (*inputs, *outputs) if _is_soft(one, has_fpu))
    return AROUND + len(inputs) * INPUT + scores + edges + bins * BIN


def _is_soft(tensor: Tensor, has_fpu: bool) -> bool:
    return tensor.dtype.is_float and not has_fpu
