# SPDX-License-Identifier: MIT
"""Cross-layer equalization: scales the channels between two linear layers so that one range suits all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import LeakyReLU, ReLU
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.prepare.quantization.layers import BIAS, WEIGHTS, values_of
from aidge_build.prepare.quantization.observe import Progress
from aidge_build.prepare.quantization.samples import count_of, each_sample
from aidge_build.prepare.recipes.check import check_rewrite

LIMIT = 2.0**10  # of one channel's factor
POWERS = ((0.0, 0.0), (0.25, 0.25), (0.5, 0.5), (0.25, 0.0), (0.5, 0.0))

Pair = tuple[Node, Node]  # two linear layers: the second alone reads the first, directly or through a ReLU or LeakyReLU


def equalized(view: GraphView, samples: Mapping[str, numpy.ndarray], progress: Progress | None = None) -> GraphView:
    """Returns a graph of the same function: in each pair, channel i of the first layer is divided by s_i, and the weights of the
    second layer that read it are multiplied by s_i. All channels of a tensor share a scale, but each output of the second layer
    has its own, so channels of small range gain precision. s_i = r_i^p / w_i^q, with the largest value r_i of the channel in the
    samples and the largest of its weights w_i relative to the largest of the same output; p and q are the pair of POWERS that
    promises the least noise.

    After Nagel et al., Data-free quantization through weight equalization and bias correction (2019), with ranges of values
    instead of ranges of weights, because weights have a scale for each channel here.
    """
    pairs = _pairs(view)
    seen = _seen(view, samples, [second.inputs[0] for _, second in pairs], progress)
    weights = {name: values_of(view, name).astype(numpy.float64) for pair in pairs for name in _constants(pair)}
    for first, second in pairs:
        _equalize(first, second, seen[second.inputs[0]], weights)
    rewrite = Rewrite(view)
    for node in {node.name: node for pair in pairs for node in pair}.values():
        names = [
            rewrite.add_tensor(constant(f"{name}_equalized", weights[name].astype(numpy.float32))) if name in weights else name
            for name in node.inputs
        ]
        rewrite.replace_node(node, node.with_(inputs=tuple(names)))
    return check_rewrite(view, rewrite.finish(), "equalize")


def _pairs(view: GraphView) -> list[Pair]:
    found = []
    for first in view.nodes:
        reader = view.only_consumer(first.output) if _is_linear(view, first) else None
        if reader is not None and isinstance(reader.operator, ReLU | LeakyReLU):
            reader = view.only_consumer(reader.output)
        if reader is not None and _is_linear(view, reader) and _tells_channels_apart(view, reader):
            found.append((first, reader))
    return found


def _is_linear(view: GraphView, node: Node) -> bool:
    """Whether the node is linear with float constants of its own, and without a clamp, which a factor would move."""
    if not isinstance(node.operator, Conv | FC) or node.operator.clamps:
        return False
    constants = [view.tensor(name) for name in node.inputs[1:] if name]
    alone = all(len(view.consumers(tensor.name)) == 1 for tensor in constants)
    return alone and all(tensor.is_constant and tensor.quantization is None for tensor in constants)


def _tells_channels_apart(view: GraphView, node: Node) -> bool:
    """Whether each weight belongs to one channel of the input, which is false for groups of several channels."""
    return _groups(node) == 1 or node.operator.depthwise


def _groups(node: Node) -> int:
    return getattr(node.operator, "groups", 1)


def _constants(pair: Pair) -> list[str]:
    return [name for node in pair for name in node.inputs[1:] if name]


@dataclass(frozen=True, eq=False)
class Seen:
    """The channels (axis 1) of a tensor: the largest magnitude and the mean square of each."""

    largest: numpy.ndarray
    power: numpy.ndarray


def _seen(view: GraphView, samples: Mapping[str, numpy.ndarray], names: list[str], progress: Progress | None) -> dict[str, Seen]:
    found = {name: Seen(*numpy.zeros((2, view.tensor(name).dims[1]))) for name in names}
    execution, count = prepare(view), count_of(samples)
    context = execution.context({})
    for index, inputs in enumerate(each_sample(samples) if names else ()):
        execution.forward(context, inputs)
        for name, seen in found.items():
            values = numpy.moveaxis(context[name], 1, 0).reshape(len(seen.largest), -1).astype(numpy.float64)
            numpy.maximum(seen.largest, numpy.abs(values).max(axis=1), out=seen.largest)
            numpy.add(seen.power, (values**2).mean(axis=1) / count, out=seen.power)
        if progress is not None:
            progress("equalized", index + 1, count)
    return found


def _equalize(first: Node, second: Node, seen: Seen, weights: dict[str, numpy.ndarray]) -> None:
    rows, columns = weights[first.inputs[WEIGHTS]], weights[second.inputs[WEIGHTS]]
    depthwise = _groups(second) > 1
    magnitudes = numpy.abs(columns).reshape(*columns.shape[:2], -1).max(axis=2)
    magnitudes = numpy.diag(magnitudes[:, 0]) if depthwise else magnitudes  # [output, channel]
    candidates = [_factors(seen.largest, magnitudes, *powers) for powers in POWERS]
    factors = candidates[int(numpy.argmin([_noise(seen, magnitudes, one) for one in candidates]))]
    weights[first.inputs[WEIGHTS]] = rows / factors.reshape(-1, *(1,) * (rows.ndim - 1))
    if len(first.inputs) > BIAS and first.inputs[BIAS]:
        weights[first.inputs[BIAS]] = weights[first.inputs[BIAS]] / factors
    along = (-1, *(1,) * (columns.ndim - 1)) if depthwise else (1, -1, *(1,) * (columns.ndim - 2))
    weights[second.inputs[WEIGHTS]] = columns * factors.reshape(along)


def _factors(ranges: numpy.ndarray, magnitudes: numpy.ndarray, p: float, q: float) -> numpy.ndarray:
    """Returns the factors of channels: 1 if values or weights are all 0; the mean of the other logarithms is 0."""
    largest = numpy.maximum(magnitudes.max(axis=1, keepdims=True), numpy.finfo(float).tiny)
    relative = (magnitudes / largest).max(axis=0)
    used = (ranges > 0) & (relative > 0)
    factors = numpy.ones(len(ranges))
    if used.any():
        logarithms = p * numpy.log(ranges[used]) - q * numpy.log(relative[used])
        factors[used] = numpy.exp(logarithms - logarithms.mean())
    return numpy.clip(factors, 1 / LIMIT, LIMIT)


def _noise(seen: Seen, magnitudes: numpy.ndarray, factors: numpy.ndarray) -> float:
    """Returns the squared error of the second layer's results: the error of a value is relative to the largest value, the error
    of a weight to the largest weight of its output."""
    scaled = magnitudes * factors
    values = ((seen.largest / factors).max(initial=0.0) * scaled) ** 2
    of_weights = scaled.max(axis=1, keepdims=True) ** 2 * (magnitudes > 0) * seen.power / factors**2
    return float((values + of_weights).sum())
