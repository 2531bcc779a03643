# SPDX-License-Identifier: MIT
"""Names and order of a file's nodes, and what it declares about its outputs."""

from __future__ import annotations

from collections.abc import Iterable

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node, topological
from aidge_build.sources.onnx_format import ModelNode, ValueInfo

_BATCH = "a batch that the file fixes in its outputs must be fixed in its inputs, too"
_CONTRADICTION = (
    "the nodes of the file say otherwise: export the model again, or leave the dims of its outputs open; torch.onnx.export with "
    "dynamo=False declares one position too many after a pool with ceil_mode and pads, with dynamo=True it does not"
)


def check_output(value: ValueInfo, tensor: Tensor) -> None:
    """Refuses an output that differs from the file's declaration."""
    if value.dtype not in (DType.any, tensor.dtype):
        raise AidgeError(f"graph output '{value.name}' is declared {value.dtype.name}, but is {tensor.dtype.name}", code="GRAPH")
    if value.dims is None:
        return
    pairs = enumerate(zip(value.dims, tensor.dims))
    differing = [axis for axis, (declared, size) in pairs if isinstance(declared, int) and declared != size]
    same_rank = len(value.dims) == tensor.rank
    if differing or not same_rank:
        shown = ", ".join(str(dim) if dim is not None else "?" for dim in value.dims)
        raise AidgeError(
            f"graph output '{value.name}' is declared [{shown}], but has the dims {list(tensor.dims)}",
            code="GRAPH",
            hint=_BATCH if same_rank and differing == [0] else _CONTRADICTION,
        )


def unique_names(nodes: Iterable[ModelNode]) -> list[str]:
    """A name for each node, by its index: the file's own where there is one, else operator type and index."""
    nodes = list(nodes)
    taken = {node.name for node in nodes}
    seen: set[str] = set()
    names = []
    for node in nodes:
        name = node.name
        if not name or name in seen:
            name = base = f"{node.name or node.op_type}_{node.index}"
            count = 1
            while name in taken or name in seen:
                count += 1
                name = f"{base}_{count}"
        seen.add(name)
        names.append(name)
    return names


def in_order(nodes: tuple[ModelNode, ...], names: list[str]) -> list[ModelNode]:
    """Returns the nodes in an order with each node after the nodes that write the inputs of it and of the graphs in it."""
    light = tuple(Node(names[node.index], node, node.reads, tuple(filter(None, node.outputs))) for node in nodes)
    return [node.operator for node in topological(light)]


def trimmed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names without empty names at the end."""
    while names and not names[-1]:
        names = names[:-1]
    return names
