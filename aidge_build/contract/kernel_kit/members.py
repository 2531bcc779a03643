# SPDX-License-Identifier: MIT
"""The nodes that a meta-operator covers, as kernels of their own would see them."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.spec import NodeView


def members(view: NodeView) -> tuple[NodeView, ...]:
    """Returns a view of each covered node, in order; a tensor between two of them has the format of the output. The
    nodes of a band are small images."""
    graph, (output,) = view.operator.graph, view.outputs
    tensors = {
        **{name: tensor if tensor.is_constant else tensor.with_(format=output.format) for name, tensor in graph.tensors.items()},
        **dict(zip((*graph.inputs, *graph.outputs), (*view.inputs, *view.outputs))),
    }
    return tuple(
        replace(
            view,
            node=node,
            inputs=tuple(tensors[name] if name else None for name in node.inputs),
            outputs=tuple(tensors[name] for name in node.outputs),
            layer=None,
        )
        for node in graph.nodes
    )
