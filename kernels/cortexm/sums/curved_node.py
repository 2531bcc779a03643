# SPDX-License-Identifier: MIT
"""Layers of the dense core with the function behind them."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.contract.spec import Demands, NodeView

from .curved_layers import curved_layer, layer_alone, pack_curved
from .dense_node import DenseNode
from .stream import Stream


class CurvedNode(DenseNode):
    """The base beside that of the layer alone, whose geometry it has, with another epilogue in the stream."""

    def __init__(self, node: NodeView, mem_info=None):
        super().__init__(layer_alone(node), mem_info)
        self.whole = node

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return super().demands(layer_alone(view))

    def stream(self, order: list[int], blocks: Sequence[int] = (), places: Sequence[int] = ()) -> Stream:
        return pack_curved(curved_layer(self.whole), order)
