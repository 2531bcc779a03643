# SPDX-License-Identifier: MIT
"""Operators of onnxruntime's domain com.microsoft that operators of ONNX express: what its optimizers fuse, written apart again.

Source: onnxruntime's ContribOperators documentation, and its CPU kernels where that leaves something open.
"""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.importers.expansion import Draft, expands


@expands("com.microsoft::BiasGelu")
def bias_gelu(draft: Draft) -> Sequence[str]:
    """Gelu(x + bias)."""
    return (draft.one("Gelu", draft.one("Add", draft.input(0), draft.input(1)), opset=20),)
