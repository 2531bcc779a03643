# SPDX-License-Identifier: MIT
"""Finds the tensor of the float model that each layer of the firmware computes.

Quantizers put QuantizeLinear and DequantizeLinear around the tensors of the float model and rename some of them; recipes then
remove, fuse and move nodes. The names connect them: a tensor of the firmware has its name from the quantized file, and the group
of tensors there that differ only by quantization contains a name of the float model. If no name is left, the nodes of the file
that make up a layer are looked up by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node

CONVERSIONS = ("QuantizeLinear", "DequantizeLinear", "Reformat", "Restated")  # put in by us: no layers of the model
_SAME_VALUES = ("QuantizeLinear", "DequantizeLinear", "Identity", "Cast")


@dataclass(frozen=True)
class Counterpart:
    """`tensor` of the firmware holds the values of `original` of the float model, or only these `channels` (of axis 1)."""

    tensor: str
    original: str
    channels: tuple[int, ...] | None = None


def counterparts(
    layers: Iterable[tuple[Node, Sequence[Tensor]]], quantized: GraphView, floats: GraphView
) -> dict[str, Counterpart]:
    """Returns the counterpart by tensor name, for the outputs of `layers` (a node of the firmware with its outputs) that have
    one.

    `quantized` and `floats` are the graphs of both files as they were imported, before any recipe.
    """
    names = _float_names(quantized, floats)
    places = {node.name: index for index, node in enumerate(floats.nodes)}
    found = {}
    for node, outputs in layers:
        for tensor in outputs:
            candidates = [names[tensor.name]] if tensor.name in names else []
            if len(outputs) == 1 and not candidates and node.type not in CONVERSIONS:
                candidates = _by_origin(node, places, floats)
            fit = next((one for name in candidates if (one := _fitting(tensor, name, floats)) is not None), None)
            if fit is not None:
                found[tensor.name] = fit
    return found


def _float_names(quantized: GraphView, floats: GraphView) -> dict[str, str]:
    """Returns tensor of the quantized file -> tensor of the float model with the same values except for quantization."""
    group: dict[str, str] = {}
    for node in quantized.nodes:  # in order: a quantizer's input has its group already
        if node.type in _SAME_VALUES and not quantized.tensor(node.inputs[0]).is_constant:
            group[node.outputs[0]] = group.get(node.inputs[0], node.inputs[0])
    known = {name for name, tensor in floats.tensors.items() if not tensor.is_constant}
    members: dict[str, list[str]] = {}
    for name in quantized.tensors:
        members.setdefault(group.get(name, name), []).append(name)
    found: dict[str, str] = {}
    for first, others in members.items():
        # The first of the group is the operator's output; exporters may have left the name to a later one (a graph output's).
        original = next((name for name in (first, *others) if name in known), None)
        if original is not None:
            found |= dict.fromkeys(others, original)
    return found


def _by_origin(node: Node, places: dict[str, int], floats: GraphView) -> list[str]:
    """Returns the output of the last node of the float model that the layer was made from."""
    there = sorted((places[name] for name in node.origin if name in places), reverse=True)
    return [floats.nodes[index].outputs[0] for index in there[:1]]


def _fitting(tensor: Tensor, original: str, floats: GraphView) -> Counterpart | None:
    """Returns None if the dims show that it is another tensor, or the same one in another order."""
    wanted = floats.tensor(original)
    if not wanted.dtype.is_float:
        return None
    if tensor.dims == wanted.dims:
        return Counterpart(tensor.name, original)
    kept = tensor.kept
    if kept is not None and wanted.rank > 1 and wanted.dims[1] == kept.count:
        if tensor.dims == (wanted.dims[0], len(kept.channels), *wanted.dims[2:]):
            return Counterpart(tensor.name, original, kept.channels)
    return Counterpart(tensor.name, original) if _without_ones(tensor.dims) == _without_ones(wanted.dims) else None


def _without_ones(dims: Sequence[int]) -> list[int]:
    return [size for size in dims if size != 1]
