# SPDX-License-Identifier: MIT
"""The scale and zero point of every tensor and the integers of every weight."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.softmax import Softmax
from aidge_build.quantization.layers import BIAS, WEIGHTS, Layer, Layers, values_of
from aidge_build.quantization.observe import Progress, observe
from aidge_build.quantization.ranges import NEED_HISTOGRAM, Range, quantization_of, range_of
from aidge_build.quantization.scheme import Scheme
from aidge_build.quantization.weights import Stored, stored_bias, stored_weights, weight_scales

SHARES: Range = (0.0, 255 / 256)  # of a Softmax: 256 steps of 1 / 256, whatever the samples were


def activations_of(
    layers: Layers, samples: Mapping[str, numpy.ndarray], scheme: Scheme, progress: Progress | None = None
) -> dict[tuple[str, DType], Quantization]:
    """The quantization of every tensor in every type in which it is stored or read."""
    wanted = _wanted(layers)
    source = _sources(layers)
    own = {source.get(name, name) for name, _ in wanted}
    fixed = {name for name in own if name in layers.of_output and isinstance(layers.of_output[name].node.operator, Softmax)}
    seen = observe(layers.view, samples, own - fixed, scheme.calibration in NEED_HISTOGRAM, progress)
    found = {}
    for name, dtype in wanted:
        origin = source.get(name, name)
        ends = SHARES if origin in fixed else range_of(seen[origin], scheme, dtype)
        found[name, dtype] = quantization_of(ends, scheme, dtype)
    return found


def _wanted(layers: Layers) -> list[tuple[str, DType]]:
    """Tensors with the types in which they are stored, and those in which layers of another type read them."""
    wanted = dict.fromkeys(layers.stored.items())
    for layer in layers.layers:
        if layer.dtype is not None:
            computed = (name for name in layer.read(layers.view) if not layers.view.tensor(name).is_constant)
            wanted |= dict.fromkeys((name, layer.dtype) for name in computed)
    return list(wanted)


def _sources(layers: Layers) -> dict[str, str]:
    """For what selections hand on: the tensor whose quantization it shares."""
    found: dict[str, str] = {}
    for layer in layers.layers:
        if layer.kind == "selecting" and layer.dtype is not None:
            found |= dict.fromkeys(layer.outputs, found.get(layer.node.inputs[0], layer.node.inputs[0]))
    return found


def constants_of(layers: Layers, found: Mapping[tuple[str, DType], Quantization]) -> dict[str, Stored]:
    """Weights and biases of linear layers, by the node's name and ":weights" or ":bias"."""
    stored: dict[str, Stored] = {}
    for layer in layers.layers:
        if layer.kind == "linear" and layer.dtype is not None:
            stored |= _linear(layers, layer, found[layer.node.inputs[0], layer.dtype])
    return stored


def _linear(layers: Layers, layer: Layer, data: Quantization) -> dict[str, Stored]:
    node, data_scale = layer.node, float(data.scale)
    weights = values_of(layers.view, node.inputs[WEIGHTS])
    bias = values_of(layers.view, node.inputs[BIAS]) if len(node.inputs) > BIAS and node.inputs[BIAS] else None
    quantization = weight_scales(node, weights, bias, data_scale)
    stored = {f"{node.name}:weights": stored_weights(weights, quantization)}
    if bias is not None:
        stored[f"{node.name}:bias"] = stored_bias(bias, data_scale, quantization)
    return stored
