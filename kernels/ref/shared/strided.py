# SPDX-License-Identifier: MIT
"""The struct of strided_copy.h."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Struct
from aidge_build.graph.dtype import DType

AXES = 6
# Instructions of the innermost loop on a Cortex-M4: each time it begins, a memcpy, a byte of it, an element by itself.
_BEGIN, _COPY, _BYTE, _ELEMENT = 35, 20, 0.5, 5


def strided_copy(
    dims: Sequence[int],
    source: Sequence[int],
    target: Sequence[int],
    dtype: DType,
    source_start: int = 0,
    target_start: int = 0,
    in_order: bool = False,
) -> Struct:
    """A copy of `dims` elements with these steps (in elements) along the axes; the longest steps become the outer loops, and,
    unless they stay `in_order`, the innermost one is that of the axis with which the copy takes the fewest instructions."""
    axes = sorted(((far, near, size) for near, far, size in zip(source, target, dims) if size != 1), key=lambda axis: -axis[0])
    merged: list[tuple[int, int, int]] = []
    for target_step, source_step, size in axes:
        if merged and merged[-1][0] == size * target_step and merged[-1][1] == size * source_step:
            merged[-1] = (target_step, source_step, merged[-1][2] * size)
        else:
            merged.append((target_step, source_step, size))
    if len(merged) > AXES:
        raise AidgeError(f"the copy needs {len(merged)} loops, the kernel has {AXES}", code="KERNEL")
    if all(size for _, _, size in merged) and merged and not in_order:
        merged.append(merged.pop(_innermost(merged, dtype.size_bytes)))
    filled = [(0, 0, 1)] * (AXES - len(merged)) + merged
    return Struct(
        "aidge_ref_strided_copy_shape",
        {
            "element_bytes": dtype.size_bytes,
            "source_start": source_start,
            "target_start": target_start,
            "dims": tuple(size for _, _, size in filled),
            "source_steps": tuple(step for _, step, _ in filled),
            "target_steps": tuple(step for step, _, _ in filled),
        },
    )


def _innermost(axes: Sequence[tuple[int, int, int]], element_bytes: int) -> int:
    """The place of the best innermost axis; of equal ones that with the shortest steps."""

    def instructions(place: int) -> float:
        target, source, size = axes[place]
        run = _COPY + _BYTE * size * element_bytes if target == source == 1 else _ELEMENT * size
        return (_BEGIN + run) / size

    return min(reversed(range(len(axes))), key=instructions)
