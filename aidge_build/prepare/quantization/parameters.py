# SPDX-License-Identifier: MIT
"""The scale and zero point of every tensor, and the integers of every weight."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.view import GraphView
from aidge_build.operators.rearrange import Concat
from aidge_build.operators.softmax import Softmax
from aidge_build.prepare.quantization.layers import BIAS, WEIGHTS, Layer, Layers, values_of
from aidge_build.prepare.quantization.moments import Products, products_of
from aidge_build.prepare.quantization.observe import Observed, Progress, observe
from aidge_build.prepare.quantization.ranges import NEED_HISTOGRAM, Range, quantization_of, range_of
from aidge_build.prepare.quantization.scheme import Scheme
from aidge_build.prepare.quantization.undefined import require_range
from aidge_build.prepare.quantization.weights import Linear, Stored, stored_linear

SHARES: Range = (0.0, 255 / 256)  # of a Softmax: 256 steps of 1 / 256, whatever the samples were
Quantizations = Mapping[tuple[str, DType], Quantization]  # of a tensor in a type


def observed(
    layers: Layers, samples: Mapping[str, numpy.ndarray], scheme: Scheme, progress: Progress | None = None
) -> dict[str, Observed]:
    """Returns the observations of the tensors with a quantization of their own, and of the tensors that linear layers read."""
    source = _sources(layers)
    names = {source.get(name, name) for name, _ in _wanted(layers)} | {layer.node.inputs[0] for layer in _linear_layers(layers)}
    return observe(layers.view, samples, names, scheme.calibration in NEED_HISTOGRAM, progress)


def activations_of(
    layers: Layers, seen: Mapping[str, Observed], scheme: Scheme, imported: GraphView
) -> dict[tuple[str, DType], Quantization]:
    """Returns the quantization of every tensor in every type in which it is stored or read; AidgeError for a tensor without a
    range, with the name of a constant of `imported`, the graph of the file."""
    source, found, kept = _sources(layers), {}, _kept(layers, scheme)
    for name, dtype in _wanted(layers):
        origin = source.get(name, name)
        if origin in kept and dtype is layers.stored.get(origin):
            found[name, dtype] = kept[origin]
            continue
        producer = layers.of_output.get(origin)
        if producer is not None and isinstance(producer.node.operator, Softmax):
            found[name, dtype] = quantization_of(SHARES, scheme, dtype)
            continue
        require_range(origin, seen[origin], layers.view, imported)
        found[name, dtype] = quantization_of(range_of(seen[origin], scheme, dtype), scheme, dtype)
    return found


def _kept(layers: Layers, scheme: Scheme) -> dict[str, Quantization]:
    """Returns the quantizations of `Scheme.ports`, by the tensor that has the port's quantization."""
    source, names = _sources(layers), (*layers.view.inputs, *layers.view.outputs)
    if len(names) != len(scheme.ports):
        return {}
    return {source.get(name, name): port for name, port in zip(names, scheme.ports, strict=True) if port is not None}


def clamped(layers: Layers, seen: Mapping[str, Observed], scheme: Scheme) -> tuple[str, ...]:
    """Returns a line about each tensor that exceeds, on the samples, the range of a quantization that it keeps."""
    lines = []
    for name, port in _kept(layers, scheme).items():
        if name not in seen or name not in layers.stored:
            continue
        step = float(port.scale)
        low, high = ((end - port.zero_point) * step for end in layers.stored[name].range)
        if seen[name].low < low - step or seen[name].high > high + step:
            lines.append(
                f"'{name}' is {seen[name].low:.4g} to {seen[name].high:.4g} on the samples, and the scale that it keeps reaches "
                f"from {low:.4g} to {high:.4g}: values outside are clamped"
            )
    return tuple(lines)


def _wanted(layers: Layers) -> list[tuple[str, DType]]:
    """Returns tensors with the types in which they are stored, and with the types in which layers read them."""
    wanted = dict.fromkeys(layers.stored.items())
    for layer in layers.layers:
        if layer.dtype is not None:
            computed = (name for name in layer.read(layers.view) if not layers.view.tensor(name).is_constant)
            wanted |= dict.fromkeys((name, layer.dtype) for name in computed)
    return list(wanted)


def _sources(layers: Layers) -> dict[str, str]:
    """Returns for each tensor without a range of its own the tensor that gives it its quantization: for an output of a selecting
    layer its input, for a state its next value, and for what a Concat joins to a state the joint tensor (the state has held, or
    will hold, the same values)."""
    found: dict[str, str] = {}

    def root(name: str) -> str:
        while name in found:
            name = found[name]
        return name

    for layer in layers.layers:
        if layer.kind == "selecting" and layer.dtype is not None:
            found |= dict.fromkeys(layer.outputs, layer.node.inputs[0])
    for state in layers.view.states:
        window = layers.view.producer(root(state.written))
        joined = window.inputs if window is not None and isinstance(window.operator, Concat) else ()
        for name in (state.read, *(joined if state.read in joined else ())):
            if root(name) != root(state.written) and name in layers.stored:
                found[root(name)] = root(state.written)
    return {name: root(name) for name in found}


def _linear_layers(layers: Layers) -> list[Layer]:
    return [layer for layer in layers.layers if layer.kind == "linear" and layer.dtype is not None]


def constants_of(
    layers: Layers,
    found: Quantizations,
    seen: Mapping[str, Observed],
    samples: Mapping[str, numpy.ndarray],
    scheme: Scheme,
    progress: Progress | None = None,
) -> dict[str, Stored]:
    """Returns weights and biases of linear layers, by the node's name and ":weights" or ":bias"."""
    linear = _linear_layers(layers)
    names = {layer.node.name for layer in linear} if scheme.round_weights else set()
    products = products_of(layers.view, samples, names, scheme.correct_bias, progress) if names else {}
    stored: dict[str, Stored] = {}
    for layer in linear:
        assert layer.dtype is not None
        data = found[layer.node.inputs[0], layer.dtype]
        one = _linear(layers, layer, seen[layer.node.inputs[0]], products.get(layer.node.name))
        weights, bias = stored_linear(one, data, scheme)
        stored[f"{layer.node.name}:weights"] = weights
        if bias is not None:
            stored[f"{layer.node.name}:bias"] = bias
    return stored


def _linear(layers: Layers, layer: Layer, data: Observed, products: Products | None) -> Linear:
    node = layer.node
    bias = values_of(layers.view, node.inputs[BIAS]) if len(node.inputs) > BIAS and node.inputs[BIAS] else None
    return Linear(
        node, values_of(layers.view, node.inputs[WEIGHTS]), bias, data.means, data.variances, products, layer.weight_bits
    )
