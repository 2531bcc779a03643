# SPDX-License-Identifier: MIT
"""Adds QuantizeLinear and DequantizeLinear after operators that are between a DequantizeLinear and a layer and give only stored
values: the layer then computes on bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import Clip, PReLU
from aidge_build.operators.arithmetic.requantize import dequantize_linear, quantize
from aidge_build.operators.base import Operator
from aidge_build.operators.binary import Max, Min, Where
from aidge_build.operators.kinds import ElementWise
from aidge_build.operators.linear import LinearQuantized
from aidge_build.operators.pad import Pad, PadByInput
from aidge_build.operators.quantize import ANY_AXIS, DequantizeLinear, QuantizeLinear
from aidge_build.operators.rearrange import Concat
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.quantize_islands import hands_on_elements
from aidge_build.prepare.recipes.recipe import recipe
from aidge_build.prepare.recipes.tabulate import results_of

_TYPES = (DType.int8, DType.uint8, DType.int16, DType.uint16)
_PLAIN = (DType.int32, DType.int64, DType.bool)  # indices and conditions
_QUANTIZING = ("QuantizeLinear", "DequantizeLinear")
_OF_ONE_ELEMENT = (ElementWise, Clip, PReLU, Max, Min)
_CHOOSING = (Concat, Max, Min, Where)  # their results are elements of one input or another


@dataclass(frozen=True)
class Grid:
    """The real numbers that this type and quantization can store; `parameters` name the scale and the zero point."""

    dtype: DType
    quantization: Quantization
    parameters: tuple[str, ...]

    @property
    def reals(self) -> numpy.ndarray:
        """All these numbers, from the lowest stored value on."""
        return dequantize_linear(self.dtype.values, self.quantization)

    def holds(self, values: numpy.ndarray) -> bool:
        """Whether each value is one of these numbers."""
        reals = values.astype(numpy.float32)
        return bool((dequantize_linear(quantize(reals, self.quantization, self.dtype), self.quantization) == reals).all())


@recipe(exact=True, of_quantized=True)
def keep_levels(view: GraphView) -> GraphView:
    """1. The operator selects elements, with pads and bounds that are stored values. 2. Or it is a function of one element,
    mostly Relu or Clip, that gives a stored value for every stored value. 3. Several inputs have the same scale and zero point.
    Only operators before a layer that integer kernels compute: the layer has quantized weights, or only a QuantizeLinear reads
    it.
    """
    grids = _grids(view)
    wanted = _wanted(view, grids)
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type in _QUANTIZING or wanted.isdisjoint(node.outputs):
            continue
        grid, inner, behind = grids[node.output], [], []
        for tensor in view.output_tensors(node):
            real = rewrite.add_tensor(Tensor(f"{tensor.name}_level", tensor.dims, DType.float32))
            stored = rewrite.add_tensor(Tensor(f"{tensor.name}_stored_level", tensor.dims, grid.dtype))
            inner.append(real)
            quantizing, back = QuantizeLinear(ANY_AXIS, grid.dtype), DequantizeLinear(ANY_AXIS)
            behind += [
                Node(f"{tensor.name}_quantize", quantizing, (real, *grid.parameters), (stored,), node.origin),
                Node(f"{tensor.name}_dequantize", back, (stored, *grid.parameters), (tensor.name,), node.origin),
            ]
        rewrite.replace_node(node, node.with_(outputs=tuple(inner)), *behind)
    return rewrite.finish()


def _grids(view: GraphView) -> dict[str, Grid]:
    """Returns the float tensors that hold only stored values, by name, with their grids."""
    found: dict[str, Grid] = {}
    for node in view.nodes:
        if node.type == "DequantizeLinear":
            source, stated = view.tensor(node.input), linear_quantization(view, node)
            if stated is not None and stated.per_tensor and source.dtype in _TYPES:
                found[node.output] = Grid(source.dtype, stated, node.inputs[1:])
        elif node.type != "QuantizeLinear":
            grid = _kept(view, node, found)
            if grid is not None:
                found.update((name, grid) for name in node.outputs)
    return found


def _kept(view: GraphView, node: Node, grids: dict[str, Grid]) -> Grid | None:
    """Returns the grid that all inputs of the node share, if its results are on this grid, too."""
    data = [one for one in view.input_tensors(node) if one is not None and not one.is_constant and one.dtype not in _PLAIN]
    found = [grids.get(tensor.name) for tensor in data]
    first = found[0] if found else None
    if first is None or any(
        other is None or (other.dtype, other.quantization) != (first.dtype, first.quantization) for other in found
    ):
        return None
    return first if _gives_levels(view, node, data, first) else None


def _gives_levels(view: GraphView, node: Node, data: list[Tensor], grid: Grid) -> bool:
    operator, constants = node.operator, _real_constants(view, node)
    if isinstance(operator, _OF_ONE_ELEMENT) and len(data) == 1 and len(node.outputs) == 1:
        if any(tensor.elements != 1 or tensor.quantization is not None for tensor in constants):
            return False
        return grid.holds(results_of(view, [node], data[0].name, node.output, grid.reals))
    if constants or not grid.holds(_bounds(operator)):
        return False
    if isinstance(operator, Pad) and not isinstance(operator, PadByInput):
        return operator.mode != "constant" or grid.holds(numpy.array([operator.value]))
    return isinstance(operator, _CHOOSING) or hands_on_elements(node)


def _real_constants(view: GraphView, node: Node) -> list[Tensor]:
    """Returns the constants of a node that are no indices or conditions."""
    return [one for one in view.input_tensors(node) if one is not None and one.is_constant and one.dtype not in _PLAIN]


def _bounds(operator: Operator) -> numpy.ndarray:
    """Returns the finite bounds of an operator that clamps, or an empty array."""
    if not getattr(operator, "clamps", False):
        return numpy.zeros(0)
    given = (getattr(operator, "minimum", 0), getattr(operator, "maximum", 0))
    return numpy.array([bound for bound in given if numpy.isfinite(bound)])


def _wanted(view: GraphView, grids: dict[str, Grid]) -> set[str]:
    """Returns the tensors that layers read, and the tensors before them up to a DequantizeLinear."""
    wanted: set[str] = set()
    for node in reversed(view.nodes):
        if node.type in _QUANTIZING:
            continue
        if not wanted.isdisjoint(node.outputs) or _computes_in_integers(view, node, grids):
            wanted.update(name for name in node.inputs if name in grids)
    return wanted


def _computes_in_integers(view: GraphView, node: Node, grids: dict[str, Grid]) -> bool:
    """Whether the node computes in integers once its data come from a DequantizeLinear."""
    if isinstance(node.operator, LinearQuantized) and len(node.inputs) > 1:
        weights = view.tensor(node.inputs[1])
        return weights.quantization is not None if weights.is_constant else weights.name in grids
    results = [view.only_consumer(name) for name in node.outputs]
    is_function = isinstance(node.operator, _OF_ONE_ELEMENT)
    return not is_function and all(reader is not None and reader.type == "QuantizeLinear" for reader in results)
