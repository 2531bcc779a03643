# SPDX-License-Identifier: MIT
"""A float model quantized in many ways, each measured once on the same labelled samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.build.compile import import_model
from aidge_build.build.request import CompileRequest
from aidge_build.graph.dtype import DType
from aidge_build.graph.view import GraphView
from aidge_build.measure.accuracy.costs import Cost
from aidge_build.measure.accuracy.figures import Figures
from aidge_build.measure.accuracy.labelled import LabelledSet
from aidge_build.measure.accuracy.stages import Stage, UndefinedOutput, input_quantizations, is_number, on_host, renamed
from aidge_build.measure.accuracy.task import judged, task_of
from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.prepare.quantization.layers import Layer, layers_of
from aidge_build.prepare.quantization.nearness import decibels, power_and_noise
from aidge_build.prepare.quantization.prepare import prepared
from aidge_build.prepare.quantization.scheme import WEIGHT_BITS
from aidge_build.run.verify.vectors import Vectors
from aidge_build.sources.formats.onnx.importer import import_with_sources

INT8, INT16, FLOAT = "int8", "int16", "float32"
TYPES = (INT8, INT16, FLOAT)
FEW_BITS = tuple(WEIGHT_BITS)  # types of layers with weights
_CHOOSABLE = ("linear", "computing")  # a layer that only selects elements keeps the type of its input


@dataclass(frozen=True, eq=False)
class Trial:
    """The model with these types of its layers, in the layers' order. `merit` is its main figure (1 is best). `noise` is the
    power of the difference between its outputs and the float model's, relative to the power of the float outputs; `sqnr_db` the
    same in dB. `steps` are the nodes that a build makes of the model: the type of each, and of its result."""

    types: tuple[str, ...]
    model: bytes
    figures: Figures
    merit: float
    noise: float
    sqnr_db: float
    steps: tuple[tuple[str, DType], ...] = ()


@dataclass(eq=False)
class Trials:
    """All trials of one model. `request` is the request of the float model; `scheme` says everything but the layers' types;
    `price` gives the cost of a request; `read` are short names of layers, for people."""

    request: CompileRequest
    calibration: Vectors
    scheme: Scheme
    samples: LabelledSet
    price: Callable[[CompileRequest], Cost]
    task_words: tuple[str, str] = ("auto", "")
    read: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    has_weights: tuple[bool, ...] = ()
    _known: dict[tuple[str, ...], Trial] = field(default_factory=dict)
    _costs: dict[tuple[str, ...], Cost] = field(default_factory=dict)
    _models: dict[tuple[str, ...], bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        view, _ = import_model(self.request)
        self.float_stage = on_host("float", view, self.samples, {})
        self.task = task_of(self.samples, self.float_stage.outputs, self.float_stage.inputs, *self.task_words)
        self.float_figures = judged(self.task, self.samples, self.float_stage.outputs, self.float_stage.inputs)
        self.float_merit = merit_of(self.float_figures)
        choosable = choosable_layers(self.request, self.scheme)
        self.layers = tuple(layer.names[0] for layer in choosable)
        self.has_weights = tuple(layer.kind == "linear" for layer in choosable)

    def shown(self, layer: str) -> str:
        """The layer's name for people."""
        return self.read.get(layer, layer)

    def all(self, kind: str) -> tuple[str, ...]:
        """The same type for every layer."""
        return self._possible((kind,) * len(self.layers))

    def _possible(self, types: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the types with int8 for layers that have no weights of fewer bits."""
        return tuple(
            INT8 if kind in FEW_BITS and not has_weights else kind
            for kind, has_weights in zip(types, self.has_weights, strict=True)
        )

    def measured(self, types: tuple[str, ...]) -> Trial:
        """The trial of these types."""
        types = self._possible(types)
        if types not in self._known:
            view, _ = import_model(self.request_of(types))
            stage = _named_as(self.float_stage, self._on_host(types, view))
            figures = judged(self.task, self.samples, stage.outputs, self.float_stage.inputs)
            power, noise = power_and_noise(*_signals(self.float_stage.outputs, stage.outputs))
            steps = tuple((node.type, view.tensor(node.outputs[0]).dtype) for node in view.nodes)
            worth = merit_of(figures), noise / (power or 1.0), decibels(power, noise)
            self._known[types] = Trial(types, self._models[types], figures, *worth, steps)
        return self._known[types]

    def _on_host(self, types: tuple[str, ...], view: GraphView) -> Stage:
        """The stage of these types; the error of an output that is NaN says how to leave out the layer that cannot be integer."""
        try:
            return on_host(_title(types), view, self.samples, input_quantizations(view))
        except UndefinedOutput as error:
            integer = [self.shown(layer) for layer, kind in zip(self.layers, types, strict=True) if kind != FLOAT]
            layer = integer[0] if len(integer) == 1 else "LAYER"
            error.hint = f"--layer-types {layer}={FLOAT} leaves out a layer with values that integers cannot hold"
            raise

    def loss(self, trial: Trial) -> float:
        """Returns how much worse the trial is than the float model, as a part of 1."""
        top1, floats = trial.figures.top1, self.float_figures.top1
        if top1 and floats:
            return (floats.correct - top1.correct) / top1.count  # of the counts: 0.99 - 0.98 is not 0.01 in binary
        return self.float_merit - trial.merit

    def cost(self, types: tuple[str, ...]) -> Cost:
        """Returns the cost of these types, without executing anything."""
        types = self._possible(types)
        if types not in self._costs:
            self._costs[types] = self.price(self.request_of(types))
        return self._costs[types]

    def request_of(self, types: tuple[str, ...]) -> CompileRequest:
        """The request for the model with these types."""
        types = self._possible(types)
        if types not in self._models:
            layers = {**self.scheme.layers, **dict(zip(self.layers, types, strict=True))}
            scheme = replace(self.scheme, layers=layers, least_sqnr=-math.inf)  # measured by accuracy
            self._models[types] = quantize(
                self.request.model,
                self.calibration,
                scheme,
                name=self.request.file_name,
                operators=self.request.operators,
                bind=self.request.bind,
                external=self.request.external,
            )
        return replace(self.request, model=self._models[types], external={}, bind={})

    @property
    def seen(self) -> tuple[Trial, ...]:
        """The trials so far, in the order in which they were measured."""
        return tuple(self._known.values())


def choosable_layers(request: CompileRequest, scheme: Scheme) -> tuple[Layer, ...]:
    """Returns the layers of the float model with a choice of types that the scheme leaves open, in order."""
    view = import_with_sources(request.model, request.file_name, request.operators, request.bind, request.external).view
    found = [layer for layer in layers_of(prepared(view), scheme).layers if layer.kind in _CHOOSABLE]
    return tuple(layer for layer in found if not set(layer.names) & set(scheme.layers))


def merit_of(figures: Figures) -> float:
    """The main figure: top-1, else the area under the curve, else the explained variance of the worst output."""
    if figures.top1 is not None:
        return figures.top1.share
    if figures.auc is not None:
        return figures.auc
    explained = [one.r2 for _, one in figures.errors if one.r2 is not None]
    if not explained:
        raise AidgeError("the samples give no figure to compare by", hint="targets must vary", code="VECTORS")
    return min(explained)


def _signals(wanted: Vectors, got: Vectors) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The outputs of both models as signals [sample, element]. Numbers of classes have no distance, so each has the signal
    1, and 0 if it differs."""
    pairs = [
        (numpy.ones_like(wanted[name]), got[name] == wanted[name]) if is_number(wanted[name]) else (wanted[name], got[name])
        for name in sorted(wanted)
    ]
    left, right = (numpy.concatenate(side, 1, dtype=numpy.float64) for side in zip(*pairs, strict=True))
    return left, right


def _named_as(reference: Stage, stage: Stage) -> Stage:
    return replace(stage, outputs=renamed(stage.outputs, tuple(reference.outputs)))


def _title(types: tuple[str, ...]) -> str:
    few = "".join(f"{types.count(kind)} {kind}, " for kind in FEW_BITS if kind in types)
    return f"{counted(types.count(INT8), 'layer')} int8, {few}{types.count(INT16)} int16, {types.count(FLOAT)} float"
