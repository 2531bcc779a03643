# SPDX-License-Identifier: MIT
"""Compares the firmware's layers with the float model that it was quantized from: data, lines and drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.terminal import table
from aidge_build.build.inputs import read_model_file
from aidge_build.build.request import CompileRequest
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.measure.accuracy.counterparts import Counterpart, counterparts
from aidge_build.measure.accuracy.departure import Comparison, Noise, compared, histograms
from aidge_build.measure.accuracy.labelled import LabelledSet
from aidge_build.measure.accuracy.stages import input_quantizations
from aidge_build.plan.program import Program
from aidge_build.prepare.input_samples import fed, is_channels_last
from aidge_build.prepare.quantization.nearness import OK_DB, cut, json_decibels
from aidge_build.run.verify.vectors import Vectors
from aidge_build.sources.importing import import_file
from aidge_build.sources.source_format import ModelFile


@dataclass(frozen=True, eq=False)
class Beside:
    """The float model, the firmware's layers (node, outputs), and their counterparts by the names of outputs."""

    floats: GraphView
    layers: Sequence[tuple[Node, Sequence[Tensor]]]
    pairs: Mapping[str, Counterpart]


def beside_float(program: Program, request: CompileRequest, path: Path) -> Beside:
    """Reads the float model. AidgeError if both have no layer in common; call it before anything is built or run."""
    model, external = read_model_file(path)
    floats, _ = import_file(ModelFile(model, str(path), request.operators, request.bind, external))
    quantized, _ = import_file(replace(request.file, contract="onnx", state={}))
    layers = [(layer.node, layer.outputs) for layer in program.layers]
    pairs = counterparts(layers, quantized, floats)
    if not pairs:
        raise AidgeError(
            "no layer of the firmware has a tensor or node of this model's names",
            where=str(path),
            hint="name the float model that was quantized; exporters that rename everything leave nothing to compare",
            code="USAGE",
        )
    return Beside(floats, layers, pairs)


def compare_with_float(
    program: Program, beside: Beside, samples: LabelledSet, stored: Vectors, trace: Vectors, least_db: float | None
) -> Comparison:
    """Compares the layers: `samples` are the inputs of both models, `stored` the inputs as quantized by the firmware, `trace` its
    layers' outputs."""
    clean, given = _float_inputs(program.view, beside.floats, samples, stored)
    real_trace = {name: real_values(program.view.tensor(name), values) for name, values in trace.items() if name in beside.pairs}
    least = OK_DB if least_db is None else least_db
    return compared(beside.layers, beside.pairs, beside.floats, clean, given, real_trace, least)


def real_values(tensor: Tensor, values: numpy.ndarray) -> numpy.ndarray:
    """Returns [vector, dims...] as real values; integers without quantization mean themselves."""
    quantization = tensor.quantization
    if quantization is None or values.dtype.kind == "f":
        return values.astype(numpy.float64)
    offsets = quantization.along(quantization.zero_points, tensor.rank, numpy.float64)
    return (values.astype(numpy.float64) - offsets) * quantization.along(quantization.scales, tensor.rank, numpy.float64)


def _float_inputs(view: GraphView, floats: GraphView, samples: LabelledSet, stored: Vectors) -> tuple[Vectors, Vectors]:
    """Returns the inputs of the float model: the samples, and the samples as quantized by the firmware. Quantizers keep the order
    of inputs."""
    if len(floats.inputs) != len(view.given):
        raise AidgeError(
            f"has {counted(len(floats.inputs), 'input')}, the firmware {len(view.given)}", where=floats.name, code="USAGE"
        )
    same = set(floats.inputs) == set(view.given)
    known = input_quantizations(view)
    clean, given = {}, {}
    for own, other in zip(view.given, view.given if same else floats.inputs):
        wanted = floats.tensor(other)
        clean[other] = fed(samples, own, wanted, known.get(own))
        handed = real_values(view.tensor(own), stored[own])
        if is_channels_last(view.tensor(own).dims, wanted.dims):
            handed = numpy.moveaxis(handed, -1, 2)
        given[other] = handed.reshape(clean[other].shape).astype(wanted.dtype.numpy)
    return clean, given


def as_json(comparison: Comparison, path: Path) -> dict:
    """The comparison for programs and for the report."""
    shown = comparison.shown
    return {
        "float_model": str(path),
        "layers": [noise.as_json() for noise in comparison.noises],
        "departs": comparison.departs.tensor if comparison.departs else None,
        "shown": shown.tensor if shown else None,
        "histogram": histograms(*comparison.values[shown.tensor]) if shown else None,
        "without_counterpart": list(comparison.missing),
    }


def lines(comparison: Comparison, data: dict, read: Mapping[str, str]) -> list[str]:
    """The comparison for people; `read` are short names of layers, without which tensors of the float model are named, too."""
    rows = [
        (
            _decibels(layer["own_sqnr_db"]),
            _decibels(layer["sqnr_db"]),
            "{:.4g} to {:.4g}".format(*layer["float_range"]),
            "{:.4g} to {:.4g}".format(*layer["firmware_range"]),
            read.get(layer["node"], layer["node"]),
            *(() if read else (layer["original"],)),
        )
        for layer in data["layers"]
    ]
    titles = ("own SQNR dB", "SQNR dB", "float range", "firmware range", "layer", "tensor of the float model")
    found = table(rows, titles if not read else titles[:-1], (0, 1))
    if comparison.missing:
        found.append(f"without a counterpart in the float model: {', '.join(read.get(one, one) for one in comparison.missing)}")
    departs = comparison.departs
    if departs is None:
        return [*found, "no layer departs from the float model"]
    name, decibels = read.get(departs.node, departs.node), _decibels(json_decibels(departs.own_db))
    return [*found, f"first layer that departs: node '{name}', {decibels} dB of its own; {_cause(departs)}"]


def _cause(departs: Noise) -> str:
    """Returns the cause of the departure, as far as values and ranges tell it."""
    if departs.is_undefined:
        return "the float model has NaN or infinity there: repair it, or leave out the samples that give such values"
    (low, high), (least, most) = departs.firmware_range, departs.float_range
    if least < low - 0.1 * (most - least) or most > high + 0.1 * (most - least):
        ranges = f"its range is {low:.4g} to {high:.4g}, in the float model {least:.4g} to {most:.4g}"
        return f"{ranges}: calibration saw less, or these inputs are not as in training (docs/howto-wrong-result.md)"
    return "its range is right: look at its weights, its bias and its scales"


def _decibels(number: float | None) -> str:
    return "exact" if number is None else cut(number)
