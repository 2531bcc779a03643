# SPDX-License-Identifier: MIT
"""Notes the build's numerical contract on every quantized tensor."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.graph.view import GraphView


def under_contract(view: GraphView, rounding: str) -> GraphView:
    """Returns the graph with computed tensors of this contract; the same graph if all have it."""
    changed = {
        name: tensor.with_(quantization=replace(tensor.quantization, rounding=rounding))
        for name, tensor in view.tensors.items()
        if tensor.quantization is not None and not tensor.is_constant and tensor.quantization.rounding != rounding
    }
    return replace(view, tensors={**view.tensors, **changed}) if changed else view
