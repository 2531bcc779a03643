# SPDX-License-Identifier: MIT
"""The storage orders that a node may get: kernels are chosen before orders are, and have to be right in each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aidge_build.contract.spec import NodeView
from aidge_build.graph.format import Format
from aidge_build.graph.tensor import Tensor


def in_each_order(view: NodeView) -> Iterator[NodeView]:
    """The node with output 0 and all that is computed before it stored alike, in each order that a spec with SAME may get."""

    def stored(tensor: Tensor | None, form: Format) -> Tensor | None:
        return tensor if tensor is None or tensor.is_constant else tensor.with_(format=form)

    for form in view.outputs[0].orders:
        inputs = tuple(stored(tensor, form) for tensor in view.inputs)
        yield replace(view, inputs=inputs, outputs=tuple(tensor.with_(format=form) for tensor in view.outputs))
