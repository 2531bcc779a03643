# SPDX-License-Identifier: MIT
"""The struct of softmax_shape.h: rows of a tensor in its storage order."""

from __future__ import annotations

from aidge_build.contract.call import Struct


def softmax_shape(sizes: tuple[int, int, int]) -> Struct:
    """The struct with these sizes (kernel_kit/rows)."""
    return Struct("aidge_ref_softmax_shape", dict(zip(("outer", "length", "inner"), sizes)))
