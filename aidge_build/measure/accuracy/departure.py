# SPDX-License-Identifier: MIT
"""Measures how far each layer of the firmware is from the float model: the noise that arrived, and the noise that the layer adds.

The float model runs twice on the same samples: by itself, and on the outputs of the firmware's layers. The difference between the
firmware's output and the first run is the noise of all layers so far. The difference to the second run is the noise of this layer
alone: a range that was cut off, other weights, a fault of the kernel. Only its own noise counts against a layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.measure.accuracy.counterparts import CONVERSIONS, Counterpart
from aidge_build.prepare.quantization.nearness import OK_DB, decibels, json_decibels, power_and_noise
from aidge_build.run.verify.vectors import Vectors

BINS = 64


@dataclass(frozen=True)
class Noise:
    """A layer's signal to noise, in dB; infinite without noise. `node` and `tensor` are the firmware's, `original` is the tensor
    of the float model; ranges are (smallest, largest) of real values that are finite. `is_undefined`: the float model has NaN or
    infinity there."""

    node: str
    tensor: str
    original: str
    sqnr_db: float
    own_db: float
    firmware_range: tuple[float, float]
    float_range: tuple[float, float]
    is_undefined: bool = False

    def as_json(self) -> dict:
        """The same for programs; a layer without noise has None (`json_decibels`)."""
        return {
            "node": self.node,
            "tensor": self.tensor,
            "original": self.original,
            "sqnr_db": json_decibels(self.sqnr_db),
            "own_sqnr_db": json_decibels(self.own_db),
            "firmware_range": list(self.firmware_range),
            "float_range": list(self.float_range),
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """The inputs and all layers with a counterpart, in the firmware's order, and the first that departs (None: none does).

    `values` are the (firmware, float) values of each, by tensor. `missing` are the nodes that have none.
    """

    noises: tuple[Noise, ...]
    values: Mapping[str, tuple[numpy.ndarray, numpy.ndarray]]
    departs: Noise | None
    missing: tuple[str, ...]

    @property
    def shown(self) -> Noise | None:
        """The layer to look at: the first that departs, or else the one with the most noise of its own."""
        return self.departs or min(self.noises, key=lambda noise: noise.own_db, default=None)


def sqnr_db(signal: numpy.ndarray, got: numpy.ndarray) -> float:
    """The power of a signal by the power of its noise, in dB (`decibels`)."""
    return decibels(*power_and_noise(signal, got))


def compared(
    layers: Sequence[tuple[Node, Sequence[Tensor]]],
    pairs: Mapping[str, Counterpart],
    floats: GraphView,
    inputs: Vectors,
    stored_inputs: Vectors,
    firmware: Vectors,
    least_db: float = OK_DB,
) -> Comparison:
    """Returns the comparison of all layers. `inputs` are the inputs of the float model, `stored_inputs` the same as the firmware
    got them, as real values; `firmware` are the real values of each layer's outputs. All [vector, dims...]."""
    clean, given = _both_runs(pairs, floats, inputs, stored_inputs, firmware)
    noises, values, missing = [], {}, []
    for name, wanted in inputs.items():
        if wanted.dtype.kind == "f":
            wanted, got = wanted.astype(numpy.float64), stored_inputs[name].astype(numpy.float64)
            values[name] = (got, wanted)
            ratio = sqnr_db(wanted, got)
            noises.append(Noise(f"input {name}", name, name, ratio, ratio, _range(got), _range(wanted)))
    for node, outputs in layers:
        for tensor in outputs:
            pair = pairs.get(tensor.name)
            if pair is None:
                missing += [] if node.type in CONVERSIONS else [node.name]
                continue
            got = firmware[tensor.name].astype(numpy.float64)
            wanted, own = (_kept(arrays[pair.original], pair).reshape(got.shape) for arrays in (clean, given))
            values[tensor.name] = (got, wanted)
            ratios, ranges = (sqnr_db(wanted, got), sqnr_db(own, got)), (_range(got), _range(wanted))
            is_undefined = not numpy.isfinite(wanted).all()
            noises.append(Noise(node.name, tensor.name, pair.original, *ratios, *ranges, is_undefined))
    departs = next((noise for noise in noises if noise.own_db < least_db), None)
    return Comparison(tuple(noises), values, departs, tuple(dict.fromkeys(missing)))


def histograms(firmware: numpy.ndarray, floats: numpy.ndarray) -> dict:
    """Returns how many finite values of both are in each of `BINS` equal parts of the range of both together."""
    (low, high), (least, most) = _range(firmware), _range(floats)
    low, high = min(low, least), max(high, most)
    if low == high:
        low, high = low - 0.5, high + 0.5
    counts = [numpy.histogram(values, BINS, (low, high))[0].tolist() for values in (firmware, floats)]
    return {"low": low, "high": high, "firmware": counts[0], "float": counts[1]}


def _both_runs(
    pairs: Mapping[str, Counterpart], floats: GraphView, inputs: Vectors, stored_inputs: Vectors, firmware: Vectors
) -> tuple[Vectors, Vectors]:
    """The tensors that have a counterpart, computed from the float inputs, and from the outputs of the firmware's layers."""
    heard: dict[str, str] = {}
    for name, pair in pairs.items():
        heard.setdefault(pair.original, name)  # of several the first: before it is quantized again
    clean: dict[str, list[numpy.ndarray]] = {name: [] for name in heard}
    given: dict[str, list[numpy.ndarray]] = {name: [] for name in heard}
    constants = {name: tensor.data for name, tensor in floats.tensors.items() if tensor.is_constant}
    for index in range(len(next(iter(inputs.values())))):
        known = {**constants, **{name: values[index] for name, values in inputs.items()}}
        handed = {**constants, **{name: values[index] for name, values in stored_inputs.items()}}
        for node in floats.nodes:
            known |= zip(node.outputs, _results(node, floats, known))
            for name, result in zip(node.outputs, _results(node, floats, handed)):
                handed[name] = result
                if name in heard:
                    clean[name].append(known[name])
                    given[name].append(result)
                    handed[name] = _handed_on(result, firmware[heard[name]][index], pairs[heard[name]])
    return tuple({name: numpy.stack(rows) for name, rows in run.items() if rows} for run in (clean, given))  # type: ignore


def _results(node: Node, view: GraphView, known: Mapping[str, numpy.ndarray]) -> tuple[numpy.ndarray, ...]:
    values = [known[name] if name else None for name in node.inputs]
    return evaluate(node.operator, values, view.input_tensors(node), view.output_tensors(node))


def _handed_on(result: numpy.ndarray, values: numpy.ndarray, pair: Counterpart) -> numpy.ndarray:
    """The firmware's values in the float tensor's place; channels that it leaves out, which are constant, stay as computed."""
    if pair.channels is None:
        return values.reshape(result.shape).astype(result.dtype)
    whole = numpy.array(result)
    whole[:, list(pair.channels)] = values
    return whole


def _kept(values: numpy.ndarray, pair: Counterpart) -> numpy.ndarray:
    wide = values.astype(numpy.float64)
    return wide if pair.channels is None else wide[:, :, list(pair.channels)]


def _range(values: numpy.ndarray) -> tuple[float, float]:
    finite = values[numpy.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
