# SPDX-License-Identifier: MIT
"""How near the outputs of a quantized network are to the float model's outputs, on the samples that it was quantized by."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import CheckFailed
from aidge_build.base.naming import counted
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.view import GraphView
from aidge_build.operators.arithmetic.requantize import dequantize_linear
from aidge_build.operators.arithmetic.requantize import quantize as to_levels
from aidge_build.prepare.quantization.layers import Layer
from aidge_build.prepare.quantization.observe import Progress
from aidge_build.prepare.quantization.samples import count_of, each_sample

LEAST_AGREEMENT = 0.9  # of outputs of integers and truth values: labels, places, decisions
EXACT_DB = 120.0  # float32 rounds 140 dB below and more
# Eight bits on values that fill their range are 30 to 45 dB; below OK_DB an output is no longer the float model's.
GOOD_DB, OK_DB = 25.0, 15.0
GOOD_PERCENT, OK_PERCENT = 99.0, 95.0  # of integers that are equal
Samples = Mapping[str, numpy.ndarray]


def power_and_noise(wanted: numpy.ndarray, found: numpy.ndarray) -> tuple[float, float]:
    """Returns the sums of the squares of a signal and of the noise. NaN and infinity in the signal have no power. The same
    infinity has no noise; any other value instead of infinity or NaN has infinite noise."""
    finite = numpy.isfinite(wanted)
    signal = wanted[finite].astype(numpy.float64)
    difference = found[finite].astype(numpy.float64) - signal
    is_same = bool((found == wanted)[~finite].all())
    return float(numpy.sum(signal * signal)), float(numpy.sum(difference * difference)) if is_same else math.inf


def decibels(power: float, noise: float) -> float:
    """Returns 10 log10 of the signal's power by the noise's power: infinite without noise or with the noise of float32 alone,
    minus infinite for a signal of zeros, and for noise that is infinite or NaN."""
    if noise == 0 or power >= noise * 10 ** (EXACT_DB / 10):
        return math.inf
    return 10 * math.log10(power / noise) if power and math.isfinite(noise) else -math.inf


def json_decibels(ratio: float) -> float | None:
    """Returns the ratio for a document: None if it is infinite (exact), and never below -EXACT_DB."""
    return None if ratio == math.inf else max(ratio, -EXACT_DB)


def cut(figure: float) -> str:
    """Returns the figure with one decimal, cut off and not rounded, so that it never seems to reach a bound that it is below."""
    return f"{numpy.floor(10 * figure) / 10:.1f}"


@dataclass(frozen=True)
class Run:
    """A graph and its inputs [sample, dims...]. `stated` holds the quantization of the inputs and outputs that are integers."""

    view: GraphView
    samples: Samples
    stated: Mapping[str, Quantization]

    def inputs(self) -> Samples:
        """The samples as the graph stores them."""
        return {
            name: to_levels(values, self.stated[name], self.view.tensor(name).dtype) if name in self.stated else values
            for name, values in self.samples.items()
        }

    def real(self, name: str, stored: numpy.ndarray) -> numpy.ndarray:
        """The real values of a tensor."""
        return dequantize_linear(stored, self.stated[name]) if name in self.stated else stored


class Nearness:
    """Sums over samples of two tensors: a tensor of the float model, and its counterpart in the quantized network."""

    def __init__(self):
        self.power = self.noise = 0.0
        self.equal = self.elements = self.undefined = 0
        self.is_float = True

    def add(self, wanted: numpy.ndarray, found: numpy.ndarray) -> None:
        """Adds the values of both tensors in one sample."""
        self.is_float = wanted.dtype.kind == "f"
        self.equal += int(numpy.count_nonzero(wanted == found))
        self.elements += wanted.size
        if self.is_float:
            self.undefined += int(numpy.count_nonzero(~numpy.isfinite(wanted)))
            power, noise = power_and_noise(wanted, found)
            self.power += power
            self.noise += noise

    @property
    def sqnr(self) -> float:
        """Signal to quantization noise in dB."""
        return decibels(self.power, self.noise)

    def is_enough(self, least_sqnr: float) -> bool:
        """Whether floats reach this bound, and integers LEAST_AGREEMENT."""
        return self.sqnr >= least_sqnr if self.is_float else self.equal >= LEAST_AGREEMENT * self.elements

    @property
    def verdict(self) -> str:
        """Returns a word and its bounds: `good (25 dB or more)`, `ok (15 to 25 dB)` or `poor (less than 15 dB)`; integers in %.
        Values of the float model that are NaN or infinity leave it `undecided`."""
        if self.undefined:
            return f"undecided ({self.undefined:,} of {counted(self.elements, 'value')} of the float model are NaN or infinity)"
        found, unit = (self.sqnr, "dB") if self.is_float else (100 * self.equal / max(self.elements, 1), "%")
        good, ok = (GOOD_DB, OK_DB) if self.is_float else (GOOD_PERCENT, OK_PERCENT)
        if found >= good:
            return f"good ({good:g} {unit} or more)"
        return f"ok ({ok:g} to {good:g} {unit})" if found >= ok else f"poor (less than {ok:g} {unit})"

    def __str__(self) -> str:
        if self.is_float:
            exact = "no noise" if self.undefined else "exact"
            return exact if self.sqnr == math.inf else f"{cut(self.sqnr)} dB"
        return f"{cut(100 * self.equal / max(self.elements, 1))} % equal"


def nearness(floats: Run, quantized: Run, pairs: Mapping[str, str], progress: Progress | None = None) -> dict[str, Nearness]:
    """Returns for each tensor of the float model in `pairs` how near its counterpart in the quantized network is."""
    found = {name: Nearness() for name in pairs}
    runs = (floats, quantized)
    executions = [prepare(run.view) for run in runs]
    contexts = [execution.context({}) for execution in executions]
    count = count_of(floats.samples)
    for index, both in enumerate(zip(*(each_sample(run.inputs()) for run in runs), strict=True)):
        for execution, context, inputs in zip(executions, contexts, both, strict=True):
            execution.forward(context, inputs)
        for name, other in pairs.items():
            found[name].add(_value(floats, contexts[0], name), quantized.real(other, _value(quantized, contexts[1], other)))
        if progress is not None:
            progress("compared", index + 1, count)
    return found


def _value(run: Run, context, name: str) -> numpy.ndarray:
    tensor = run.view.tensor(name)
    return context[name] if tensor.data is None else tensor.data


def too_far(outputs: Mapping[str, Nearness], least_sqnr: float) -> str | None:
    """Returns the first output that is not near enough."""
    return next((name for name, found in outputs.items() if not found.is_enough(least_sqnr)), None)


def refusal(
    output: str, outputs: Mapping[str, Nearness], layers: Sequence[tuple[Layer, Nearness]], least_sqnr: float, count: int
) -> CheckFailed:
    """Returns the error for an output that is too far from the float model's. `layers` holds all layers in order."""
    found = outputs[output]
    if found.undefined and found.sqnr == -math.inf:
        return _undefined(output, found, layers, count)
    wanted = f"{least_sqnr:g} dB" if found.is_float else f"{100 * LEAST_AGREEMENT:g} %"
    first = next(((layer, near) for layer, near in layers if not near.is_enough(least_sqnr)), None)
    blamed = f"the first layer below that is {first[0].node.where()} with {first[1]}" if first else "no layer of floats is below"
    name = first[0].names[0] if first else "LAYER"
    less = "--least-sqnr DB accepts less" if found.is_float else "--least-sqnr=-inf compares nothing"
    spared = shlex.quote(f"{name}=float32")
    return CheckFailed(
        f"output '{output}' of the quantized model has {found} on the {count} samples, and {wanted} are wanted; {blamed}",
        hint=f"--layer-types {spared} or =int16 spares a layer, --ranges mse chooses other ranges, {less}",
        code="SQNR",
    )


def _undefined(output: str, found: Nearness, layers: Sequence[tuple[Layer, Nearness]], count: int) -> CheckFailed:
    """Returns the error for an output with float values that are NaN or infinity, and other values in the quantized model."""
    first = next((layer for layer, near in layers if near.undefined and near.sqnr == -math.inf), None)
    blamed = f"the first layer with such values is {first.node.where()}" if first else "no layer before it has such values"
    return CheckFailed(
        f"output '{output}' of the float model is NaN or infinity in {found.undefined:,} of {counted(found.elements, 'value')} "
        f"on the {count} samples, and nothing can be compared with that; {blamed}",
        hint="repair the model, or leave out the samples that give such values",
        code="SQNR",
    )
