# SPDX-License-Identifier: MIT
"""Turns DequantizeLinear, operator, QuantizeLinear into the operator on quantized tensors."""

from __future__ import annotations

from collections.abc import Iterable

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.linear import LinearQuantized
from aidge_build.operators.resize import Resize
from aidge_build.operators.restated import Restated
from aidge_build.operators.search import ArgMax
from aidge_build.prepare.recipes.fit_bias import fitted, in_same_units
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.recipe import recipe

BIAS = 2  # its place among the inputs of linear operators


@recipe(exact=False, of_quantized=True)
def quantize_islands(view: GraphView) -> GraphView:
    """1. Tensors between QuantizeLinear and DequantizeLinear get their quantization as a property.
    2. An operator is an island when each computed input comes from a DequantizeLinear, each constant input is
       quantized, and each output goes to one QuantizeLinear alone: it then reads and writes the quantized tensors.
       Under another contract than `onnx` a file that states quantizations on its tensors (.tflite) computes these nodes in
       float32: only linear operators, which the importer writes so, and moves within one quantization are then islands.
    3. Linear operators get their bias in units of sx * sw, whatever its units in the file are (`fit_bias`); operators that only
       move data need equal quantizations. Everything else keeps its explicit QuantizeLinear and DequantizeLinear and runs in
       float.
    """
    view = _annotate(view)
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type in ("QuantizeLinear", "DequantizeLinear"):
            continue
        inputs = [_quantized_source(view, node, place) for place in range(len(node.inputs))]
        readers = [view.only_consumer(name) for name in node.outputs]
        if None in inputs or not all(map(_quantizes, readers)):
            continue
        island = node.with_(inputs=tuple(inputs), outputs=tuple(reader.output for reader in readers))
        sources, outputs = list(view.input_tensors(island)), list(view.output_tensors(island))
        if not _accepts(node, sources, outputs):
            continue
        if isinstance(node.operator, LinearQuantized) and not accepts_linear(sources):
            names = _fitted_weights_and_bias(rewrite, node.operator, sources, *outputs)
            if not names:
                continue
            island = island.with_(inputs=(inputs[0], *names))
        rewrite.replace_node(node, island)
        for reader in readers:
            rewrite.remove_node(reader)
    return rewrite.finish()


def _fitted_weights_and_bias(
    rewrite: Rewrite, operator: LinearQuantized, sources: list[Tensor | None], result: Tensor
) -> list[str]:
    """Returns the names of weights and bias in units of sx * sw; none if they do not fit."""
    fit = fitted(operator, sources[0], sources[1], sources[BIAS], result) if sources[1].is_constant else None
    if fit is None:
        return []
    return [tensor.name if tensor in sources else rewrite.add_tensor(tensor) for tensor in (fit.weights, fit.bias)]


def _quantizes(node: Node | None) -> bool:
    return node is not None and node.type == "QuantizeLinear"


def _annotate(view: GraphView) -> GraphView:
    """Adds the quantization of integer tensors that a QuantizeLinear writes or a DequantizeLinear reads, and of their views."""
    found: dict[str, Quantization | None] = {}
    for node in view.nodes:
        if node.type in ("QuantizeLinear", "DequantizeLinear"):
            name = node.output if node.type == "QuantizeLinear" else node.input
            _note(found, name, linear_quantization(view, node))
    selecting = [node for node in (*view.nodes, *reversed(view.nodes)) if selects(node)]
    for node in selecting:
        for result in node.outputs:
            _pass_through(found, node.input, result)
    plain = _plain_numbers(view, selecting, found)
    rewrite = Rewrite(view)
    for name, quantization in found.items():
        if quantization is not None and view.tensor(name).quantization is None and name not in plain:
            rewrite.update_tensor(name, quantization=quantization)
    return rewrite.finish()


def _plain_numbers(view: GraphView, selecting: list[Node], found: dict[str, Quantization | None]) -> set[str]:
    """Returns the tensors that some node reads or writes as plain integers, and the tensors with the same elements."""
    plain = {name for name in found if _has_integer_user(view, name, found)}
    for node in selecting:
        names = {node.input, *node.outputs}
        if plain & names or _disagrees(view, node, found):
            plain |= names
    return plain


# Operators with results that hold only elements of input 0: they mean the same on stored and on real values.
_SELECTING = (
    "DepthToSpace",
    "Expand",
    "Gather",
    "GatherElements",
    "GatherND",
    "GlobalMaxPooling",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "ReduceMax",
    "ReduceMin",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Tile",
)


_PLAIN = (DType.int32, DType.int64, DType.bool)
_STATING = ("QuantizeLinear", "DequantizeLinear", "Restated")  # they, or the nodes around them, state what their tensors mean


def selects(node: Node) -> bool:
    """Whether the results hold only elements of input 0: stored values then mean the same on both sides."""
    return hands_on_elements(node) and not getattr(node.operator, "clamps", False)


def hands_on_elements(node: Node) -> bool:
    """Whether the results hold elements of input 0, perhaps within bounds."""
    if node.operator.views:
        return not isinstance(node.operator, Restated)
    return node.type in _SELECTING or isinstance(node.operator, Resize) and node.operator.selects


def _has_integer_user(view: GraphView, name: str, found: dict[str, Quantization | None]) -> bool:
    """Whether an operator works on the stored integers as plain numbers; the two operators of quantization and selections do not.

    A selection between two different quantizations does: the stored values pass, and mean something else after it.
    """
    return any(
        node is not None and not (_keeps_meaning(node, found) or node.type in _STATING or _reads_stored(node))
        for node in (view.producer(name), *view.consumers(name))
    )


def _reads_stored(node: Node) -> bool:
    """Whether the node reads stored values as they are: stores of a state, and searches, which only need the order of values."""
    return node.operator.stores or isinstance(node.operator, ArgMax)


def _keeps_meaning(node: Node, found: dict[str, Quantization | None]) -> bool:
    known = found.get(node.input)
    return selects(node) and (node.operator.views or known is not None and all(found.get(name) == known for name in node.outputs))


def _disagrees(view: GraphView, node: Node, found: dict[str, Quantization | None]) -> bool:
    """Whether a view of a computed tensor has another quantization than the tensor: scales along an axis do not pass through."""
    source, *results = node.input, *node.outputs
    return (
        node.operator.views
        and not view.tensor(source).is_constant
        and any(found.get(source) != found.get(name) for name in results)
    )


def _note(found: dict[str, Quantization | None], name: str, quantization: Quantization | None) -> None:
    """Notes the quantization of a tensor. Two different ones cancel each other: the tensor's nodes stay explicit."""
    found[name] = quantization if found.get(name, quantization) == quantization else None


def _pass_through(found: dict[str, Quantization | None], source: str, result: str) -> None:
    for known, other in ((source, result), (result, source)):
        quantization = found.get(known)
        if quantization is not None and quantization.per_tensor and other not in found:
            found[other] = quantization


def _quantized_source(view: GraphView, node: Node, place: int) -> str | None:
    """Returns the quantized tensor that an input comes from; "" for an absent input; None if there is none. Any constant may be a
    bias; indices and conditions count as they are."""
    name = node.inputs[place]
    if not name:
        return ""
    if place > 0 and view.tensor(name).dtype in _PLAIN and not isinstance(node.operator, LinearQuantized):
        return name
    if view.tensor(name).is_constant:
        is_bias = place == BIAS and isinstance(node.operator, LinearQuantized)
        return name if is_bias or view.tensor(name).quantization is not None else None
    producer = view.producer(name)
    if producer is None or producer.type != "DequantizeLinear":
        return None
    source = view.tensor(producer.input)
    return source.name if source.quantization is not None and source.quantization == linear_quantization(view, producer) else None


def _accepts(node: Node, inputs: list[Tensor | None], outputs: list[Tensor]) -> bool:
    given = [tensor for tensor in inputs if tensor is not None]
    if any(tensor.quantization is None for tensor in outputs) or all(tensor.is_constant for tensor in given):
        return False
    if isinstance(node.operator, LinearQuantized):
        return _is_per_tensor(outputs) and _has_integer_constants(inputs)
    if not _is_per_tensor((*given, *outputs)):
        return False
    if any(tensor.quantization.rounding != Quantization.rounding for tensor in outputs) and not _moves_stored(
        node, inputs, outputs
    ):
        return False
    return not (node.operator.views or node.operator.moves) or _is_stored_alike(inputs[0], outputs)


def _is_stored_alike(given: Tensor, outputs: list[Tensor]) -> bool:
    return all(given.quantization == tensor.quantization and given.dtype is tensor.dtype for tensor in outputs)


def _has_integer_constants(inputs: list[Tensor | None]) -> bool:
    return _has_integer_products(inputs) and all(bias is None or bias.is_constant for bias in inputs[BIAS : BIAS + 1])


def _is_per_tensor(tensors: Iterable[Tensor]) -> bool:
    return all(tensor.quantization is None or tensor.quantization.per_tensor for tensor in tensors)


def _moves_stored(node: Node, inputs: list[Tensor | None], outputs: list[Tensor]) -> bool:
    """Whether the node selects stored values within one quantization: every contract then gives the same."""
    return selects(node) and all(tensor.quantization == inputs[0].quantization for tensor in outputs)


def _has_integer_products(inputs: list[Tensor | None]) -> bool:
    """Whether the data have one scale, and the weights one scale or one for each output."""
    data, weights = inputs[:2]
    return data.quantization.per_tensor and weights.quantization.axis in (None, 0)


def accepts_linear(inputs: list[Tensor | None]) -> bool:
    """Whether a linear operator computes these inputs in integers: data and weights have one scale each (weights: or per output),
    and the bias is in units of both."""
    data, weights, *rest = inputs
    bias = rest[0] if rest else None
    if not _has_integer_products(inputs) or bias is None:
        return bias is None and _has_integer_products(inputs)
    wanted = (DType.int32, DType.int64) if data.dtype is DType.int16 else (DType.int32,)
    if not bias.is_constant or bias.dtype not in wanted or bias.quantization is None or any(bias.quantization.zero_points):
        return False
    return in_same_units(data.quantization, weights.quantization, bias.quantization)
