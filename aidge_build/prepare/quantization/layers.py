# SPDX-License-Identifier: MIT
"""Decides which layers of a float graph compute in integers, and which tensors are stored as integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import no_layer
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Activated
from aidge_build.operators.conv_transpose import ConvTranspose
from aidge_build.operators.kinds import ElementWise, ForAxis
from aidge_build.operators.linear import LinearQuantized
from aidge_build.operators.matmul import MatMul
from aidge_build.operators.pad import Pad
from aidge_build.operators.pool import AvgPooling, GlobalAveragePooling
from aidge_build.operators.real import RealQuantized
from aidge_build.operators.rearrange import Concat
from aidge_build.operators.resize import Resize
from aidge_build.prepare.quantization.scheme import WEIGHT_BITS, Scheme
from aidge_build.prepare.recipes.quantize_islands import selects

WEIGHTS, BIAS = 1, 2  # places among the inputs of linear layers
_COMPUTING = (ElementWise, RealQuantized, MatMul, AvgPooling, GlobalAveragePooling, Concat, Resize, ForAxis)


@dataclass(frozen=True, eq=False)
class Layer:
    """An operator and the clamps after it, without a quantization between them. `dtype` is the type that it computes in;
    weights of a linear layer have `weight_bits`.

    `kind`: linear (constant weights), selecting (its results hold elements of its input), computing, or float (without integers).
    """

    nodes: tuple[Node, ...]
    kind: str
    dtype: DType | None
    weight_bits: int = 8

    @property
    def node(self) -> Node:
        """The operator that gives the layer its name."""
        return self.nodes[0]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The tensors that leave the layer."""
        return self.nodes[-1].outputs

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which a user may mean the layer: its nodes, the nodes of the file that they come from, and its outputs."""
        return tuple(dict.fromkeys(name for node in self.nodes for name in (node.name, *node.origin, *node.outputs)))

    def read(self, view: GraphView) -> tuple[str, ...]:
        """Returns the tensors that the layer reads and that may be quantized, without weights, biases and indices."""
        if self.dtype is None:
            return ()
        inputs = self.node.inputs[:1] if self.kind in ("linear", "selecting") else self.node.inputs
        return tuple(name for name in dict.fromkeys(inputs) if name and view.tensor(name).dtype is DType.float32)

    def constants(self, view: GraphView) -> tuple[str, ...]:
        """Returns the constants that the layer stores as integers: weights, biases and operands."""
        if self.dtype is None or self.kind == "selecting":
            return ()
        tensors = [view.tensor(name) for name in dict.fromkeys(self.node.inputs) if name]
        return tuple(tensor.name for tensor in tensors if tensor.is_constant and tensor.dtype is DType.float32)


@dataclass(frozen=True, eq=False)
class Layers:
    """The layers of a graph in order. `stored` holds the type in which each tensor between them is stored."""

    view: GraphView
    layers: tuple[Layer, ...]
    stored: Mapping[str, DType] = field(default_factory=dict)

    @cached_property
    def of_output(self) -> dict[str, Layer]:
        """The layer that writes a tensor."""
        return {name: layer for layer in self.layers for name in layer.outputs}


def values_of(view: GraphView, name: str) -> numpy.ndarray:
    """The values of a constant."""
    return numpy.asarray(view.tensor(name).data)


def layers_of(view: GraphView, scheme: Scheme) -> Layers:
    """Returns the layers, and the tensors that are stored as integers; AidgeError if the scheme names no existing layer."""
    named = dict(scheme.layers)
    inside: set[str] = set()
    found: list[Layer] = []
    stored: dict[str, DType] = {}
    for name in view.inputs:
        wanted = named.pop(name, "int8")
        _require_weights(name, wanted, wanted not in WEIGHT_BITS)
        if view.tensor(name).dtype is DType.float32 and wanted != "float32":
            stored[name] = DType(wanted)
    used: set[str] = set()
    for node in view.nodes:
        if node.name in inside:
            continue
        nodes = _with_clamps(view, node)
        inside.update(one.name for one in nodes)
        layer = Layer(nodes, _kind(view, nodes), DType.int8)
        used.update(name for name in layer.names if name in named)
        layer = _typed(layer, named, stored)
        if layer.dtype is not None:
            stored |= dict.fromkeys(layer.outputs, layer.dtype)
        found.append(layer)
    unknown = named.keys() - used
    if unknown:
        names = [*view.inputs, *(layer.names[0] for layer in found)]
        raise no_layer(min(unknown), names, "layers", [name for layer in found for name in layer.names])
    return Layers(view, tuple(found), _needed(view, found, stored, scheme))


def _with_clamps(view: GraphView, node: Node) -> tuple[Node, ...]:
    """Returns the node and each ReLU or Clip that alone reads the output of the node before it."""
    nodes = [node]
    while isinstance(nodes[-1].operator, Activated) or len(nodes) > 1:
        reader = view.only_consumer(nodes[-1].output) if len(nodes[-1].outputs) == 1 else None
        if reader is None or reader.type not in ("ReLU", "Clip"):
            break
        nodes.append(reader)
    return tuple(nodes)


def _kind(view: GraphView, nodes: tuple[Node, ...]) -> str:
    node, operator = nodes[0], nodes[0].operator
    inputs = [tensor for tensor in view.input_tensors(node) if tensor is not None]
    if not inputs or inputs[0].is_constant or not _are_real([*view.output_tensors(nodes[-1]), inputs[0]]):
        return "float"
    if isinstance(operator, LinearQuantized | ConvTranspose):
        return "linear" if all(tensor.is_constant for tensor in inputs[1:]) else "float"
    if isinstance(operator, Pad):
        return "selecting" if _pads_exactly(operator, len(inputs)) else "float"
    if selects(node) or operator.moves:
        return "selecting"
    return "computing" if isinstance(operator, _COMPUTING) and _are_real(inputs) else "float"


def _pads_exactly(operator: Pad, inputs: int) -> bool:
    """Whether a padded value is a value of the data, or 0, which every quantization holds."""
    return operator.mode != "constant" or (operator.value == 0 and inputs == 1)


def _are_real(tensors: Sequence[Tensor]) -> bool:
    return all(tensor.dtype is DType.float32 for tensor in tensors)


def _require_weights(name: str, wanted: str, has_weights: bool) -> None:
    """Raises AidgeError (USAGE) if a layer without constant weights is to have weights of few bits."""
    if wanted in WEIGHT_BITS and not has_weights:
        what = f"'{name}' has no weights that are quantized, and {wanted} is a type of weights"
        raise AidgeError(
            what,
            where="layers",
            hint="name the layer that has the weights (not the pool that it is fused with), or give int8, int16 or float32",
            code="USAGE",
        )


def _typed(layer: Layer, named: Mapping[str, str], stored: Mapping[str, DType]) -> Layer:
    """Returns the layer with its types: a selection keeps its input's type, another layer has the user's type, or else int8."""
    wanted = next((named[name] for name in layer.names if name in named), "int8")
    _require_weights(layer.names[0], wanted, layer.kind == "linear")
    dtype: DType | None = DType.int8
    if layer.kind == "selecting":
        dtype = stored.get(layer.node.inputs[0])
    elif layer.kind == "float" or wanted == "float32":
        dtype = None
    elif wanted not in WEIGHT_BITS:
        dtype = DType(wanted)
    return replace(layer, dtype=dtype, weight_bits=WEIGHT_BITS.get(wanted, 8))


def _needed(view: GraphView, layers: list[Layer], stored: dict[str, DType], scheme: Scheme) -> dict[str, DType]:
    """Returns the stored types of the tensors that integer layers write or read."""
    wanted = {name for layer in layers if layer.dtype is not None for name in (*layer.outputs, *layer.read(view))}
    return {name: dtype for name, dtype in stored.items() if name in wanted}
