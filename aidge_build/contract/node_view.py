# SPDX-License-Identifier: MIT
"""The plug-in's view of a node, and of a band of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aidge_build.boards.cores import WIDE_POINTERS
from aidge_build.contract.mem_info import MemInfo
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Band


def asked_of(build) -> dict[str, Any]:
    """Returns what the build asks of every kernel, by the fields of `NodeView`; `build` is any value with these fields."""
    return {
        "objective": build.objective,
        "features": build.features,
        "any_weights": build.any_weights,
        "loop_bytes": build.loop_bytes,
        "packs_weights": build.packs_weights,
    }


@dataclass(frozen=True)
class NodeView:
    """The plug-in's view of a node: the node and its tensors (None for an optional input that is not given).

    `graph` leads to its neighbours. `symbol` is a C identifier that no other layer has ("" before layers are named), `symbols`
    maps the names of all nodes to their identifiers. `objective` is the build's --optimize: a kernel may unroll more for "speed",
    and share code between layers for "size". `features` are the core's features. `in_mem_info` holds the memory of each input
    (None: outside of the arena), once it is known. `layer` is given if the node is a band: some rows of that layer (`band`).
    `any_weights`: the weights may be replaced in the field, so the code must not depend on them if the kernel can avoid it.
    `loop_bytes`: a loop of more bytes of code would wait for the board's flash in every turn (0: none would).
    `packs_weights`: weights that fit fewer than 8 bits are to share bytes in flash.
    """

    node: Node
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    graph: GraphView | None = None
    symbol: str = ""
    objective: str = "balanced"
    features: frozenset[str] = frozenset()
    symbols: Mapping[str, str] = field(default_factory=dict, compare=False)
    in_mem_info: tuple[MemInfo | None, ...] = ()
    layer: BandedLayer | None = None
    any_weights: bool = False
    loop_bytes: int = 0
    packs_weights: bool = False

    @classmethod
    def of(cls, view: GraphView, node: Node, **fields) -> NodeView:
        """Returns the view of a node of this graph; `fields` are further fields of the view."""
        return cls(node, view.input_tensors(node), view.output_tensors(node), view, **fields)

    @property
    def operator(self):
        """The node's operator with its attributes."""
        return self.node.operator

    def before_orders(self) -> NodeView:
        """Returns the node as it is while kernels are matched: storage orders of computed tensors are chosen later, and a
        predicate that reads one is refused."""
        inputs = tuple([None if tensor is None else tensor.undecided for tensor in self.inputs])
        outputs = tuple([tensor.undecided for tensor in self.outputs])
        return NodeView(  # called for every node: `replace` takes twice the time
            self.node,
            inputs,
            outputs,
            self.graph,
            self.symbol,
            self.objective,
            self.features,
            self.symbols,
            self.in_mem_info,
            self.layer,
            self.any_weights,
            self.loop_bytes,
            self.packs_weights,
        )

    @property
    def pointer_bytes(self) -> int:
        """The size of a pointer in scratch: 4, or 8 on a machine of 64 bits."""
        return 8 if WIDE_POINTERS in self.features else 4

    @property
    def multiply_accumulates(self) -> int:
        """The number of multiply-accumulates of the node."""
        return self.operator.multiply_accumulates(self.inputs, self.outputs)

    def band(self, first: int, last: int, rows: int, fewest: int = 1) -> NodeView | None:
        """Returns the rows `[first, last)` of the outputs as a node of their own; the largest band has `rows` rows, the smallest
        `fewest` or more. Returns None if the operator cannot be computed row by row."""
        band = self.operator.band(self.inputs, self.outputs, first, last)
        return None if band is None else self.of_band(band, (first, last), rows, fewest)

    def of_band(self, band: Band, written: tuple[int, int] | None, rows: int, fewest: int = 1) -> NodeView:
        """Returns the node of this band, which writes the rows `written` of the outputs (None: all rows)."""
        return replace(
            self,
            node=self.node.with_(operator=band.operator),
            inputs=tuple(some_rows(tensor, read) for tensor, read in zip(self.inputs, band.reads, strict=True)),
            outputs=tuple(some_rows(tensor, written) for tensor in self.outputs),
            layer=BandedLayer(self, rows, fewest),
        )


@dataclass(frozen=True)
class BandedLayer:
    """A layer that is computed band by band: the whole layer, the rows of the outputs in the largest band, and the fewest rows in
    a band.

    All its bands call the same C function with different structs and literals. So functions, texts and constants follow from the
    whole layer, never from the rows and the vertical pads of a band.
    """

    whole: NodeView
    rows: int
    fewest: int = 1


def some_rows(tensor: Tensor | None, rows: tuple[int, int] | None) -> Tensor | None:
    """Returns the rows `[first, last)` of a tensor, positions on axis 2, as a tensor; the whole tensor for None."""
    if tensor is None or rows is None:
        return tensor
    first, last = rows
    data = None if tensor.data is None else tensor.data[:, :, first:last]
    return tensor.with_(dims=(*tensor.dims[:2], last - first, *tensor.dims[3:]), data=data)
