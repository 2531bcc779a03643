# SPDX-License-Identifier: MIT
"""Quantizes a float model with samples of its inputs to an ONNX file (docs/quantization.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.operators import builtin_operators
from aidge_build.operators.base import Operator
from aidge_build.prepare.quantization.border import with_channels_last
from aidge_build.prepare.quantization.equalize import equalized
from aidge_build.prepare.quantization.insert import with_quantizers
from aidge_build.prepare.quantization.layers import Layer, Layers, layers_of
from aidge_build.prepare.quantization.nearness import Nearness, Run, nearness, refusal, too_far
from aidge_build.prepare.quantization.observe import Progress
from aidge_build.prepare.quantization.parameters import activations_of, clamped, constants_of, observed
from aidge_build.prepare.quantization.prepare import dequantized_weights, prepared, with_biases
from aidge_build.prepare.quantization.samples import checked_samples, count_of
from aidge_build.prepare.quantization.scheme import Scheme
from aidge_build.prepare.quantization.undefined import refuse_undefined_constants
from aidge_build.prepare.recipes.check import checked
from aidge_build.sources.dims import Bound
from aidge_build.sources.folding import strange_numbers
from aidge_build.sources.formats.onnx.importer import Imported, import_with_sources
from aidge_build.sources.onnx_format import in_opset, write_model

__all__ = ["Progress", "Quantized", "Scheme", "quantize", "quantized"]

# Fields of a scheme that help one model and harm another, by the words of their options.
TRADING = {"calibration": "ranges", "equalize": "equalize", "correct_bias": "correct-bias", "round_weights": "round-weights"}
NOTABLE_DB = 0.5  # a smaller difference is chance
FEW_SAMPLES = 30  # with fewer samples, ranges are chance
LEAST_OPSET, LEAST_OPSET_INT16 = 13, 21  # that have QuantizeLinear with an axis, and for int16


def quantize(
    model: bytes,
    samples: Mapping[str, numpy.ndarray],
    scheme: Scheme = Scheme(),
    progress: Progress | None = None,
    *,
    name: str = "model.onnx",
    operators: Mapping[str, type[Operator]] | None = None,
    bind: Mapping[str, Bound] | None = None,
    external: Mapping[str, bytes] | None = None,
) -> bytes:
    """Returns the file of `quantized`, which explains the arguments."""
    return quantized(model, samples, scheme, progress, name=name, operators=operators, bind=bind, external=external).file


@dataclass(frozen=True)
class Quantized:
    """A quantized model's file, and notices that the user should read, one line each."""

    file: bytes
    notices: tuple[str, ...]
    outputs: Mapping[str, Nearness]  # to the float model's; none where `Scheme.least_sqnr` asks for no comparison
    sample_count: int

    def verdicts(self, samples: str) -> tuple[str, ...]:
        """Returns a line about each output: how near it is to the float model's on the samples, and whether that is enough; and a
        line if the samples are few."""
        given = counted(self.sample_count, "sample")
        lines = [
            f"output '{name}' has {found} of the float model's on the {given} of {samples}, which also set the ranges: "
            f"{found.verdict} on these; other samples show the loss on your data: `aidge-build accuracy`"
            for name, found in self.outputs.items()
        ]
        if self.sample_count < FEW_SAMPLES:
            lines.append(f"{samples} has {given}: a hundred are a good number, and fewer than {FEW_SAMPLES} set ranges by chance")
        return tuple(lines)


def quantized(
    model: bytes,
    samples: Mapping[str, numpy.ndarray],
    scheme: Scheme = Scheme(),
    progress: Progress | None = None,
    *,
    name: str = "model.onnx",
    operators: Mapping[str, type[Operator]] | None = None,
    bind: Mapping[str, Bound] | None = None,
    external: Mapping[str, bytes] | None = None,
) -> Quantized:
    """Returns the quantized model as an ONNX file in QDQ form; equal arguments give equal bytes.

    `model` is the float model's file, `name` names it in messages; `samples` holds the calibration data [sample, dims...] by
    input name (or `x`, `x_<input>`). `operators`, `bind` and `external` are arguments of the importer. AidgeError for a model
    that is quantized already, for data that are no samples of its inputs, for layers of the scheme that do not exist, and for NaN
    and infinity in a tensor that would be integers; CheckFailed for a result that is too far from the float model on the samples
    (`Scheme.least_sqnr`).
    """
    try:
        with numpy.errstate(all="ignore"):  # NaN and infinity are refused by name
            return _quantized(
                model, samples, scheme, progress, name, operators or builtin_operators(), bind or {}, external or {}
            )
    except AidgeError as error:
        raise error if error.code == "CALIBRATION" else error.within(name)


def _quantized(
    model: bytes,
    samples: Mapping[str, numpy.ndarray],
    scheme: Scheme,
    progress: Progress | None,
    name: str,
    operators: Mapping[str, type[Operator]],
    bind: Mapping[str, Bound],
    external: Mapping[str, bytes],
) -> Quantized:
    wide = "int16" in scheme.layers.values()
    converted = in_opset(model, LEAST_OPSET_INT16 if wide else LEAST_OPSET, name, external)
    imported = import_with_sources(converted, name, operators, bind, external, scheme.states)
    given = checked_samples(samples, prepared(imported.view))
    made = _by_scheme(imported, given, scheme, operators, progress)
    output = too_far(made.outputs, scheme.least_sqnr)
    if output is not None:
        layers = made.layer_by_layer()
        refused = refusal(output, made.outputs, layers, scheme.least_sqnr, count_of(given))
        if made.outputs[output].undefined:
            refused.hint = "; ".join([*strange_numbers(imported.view), refused.hint])
        elif made.clamped:
            refused.hint = f"{'; '.join(made.clamped)}: keep the range in training, or make new firmware"
        raise refused
    plain = replace(scheme, **{name: getattr(Scheme, name) for name in TRADING})
    lost = (
        () if plain == scheme or not made.outputs else made.lost_against(_by_scheme(imported, given, plain, operators, progress))
    )
    return Quantized(made.file, (*made.clamped, *made.notices, *lost), made.outputs, count_of(given))


@dataclass(frozen=True, eq=False)
class _Made:
    """A model as one scheme quantizes it: the file, its layers, and how near its outputs are to the float model's."""

    file: bytes
    notices: tuple[str, ...]
    clamped: tuple[str, ...]  # values beyond the range that an input or output keeps, one line for each tensor
    layers: Layers
    real: Mapping[str, str]
    floats: Run  # the graph from which the layers are made
    run: Run
    outputs: Mapping[str, Nearness]

    def layer_by_layer(self) -> list[tuple[Layer, Nearness]]:
        """Returns how near each layer's first output is, in order."""
        view = self.layers.view
        of_layer = {layer.outputs[0]: layer for layer in self.layers.layers if view.tensor(layer.outputs[0]).dtype.is_float}
        found = nearness(self.floats, self.run, {name: self.real[name] for name in of_layer})
        return [(layer, found[name]) for name, layer in of_layer.items()]

    def lost_against(self, plain: _Made) -> tuple[str, ...]:
        """Returns a line for each float output with less signal to noise than under the plain scheme."""
        return tuple(
            f"output '{name}' has {found} and {plain.outputs[name]} without {', '.join(f'--{word}' for word in TRADING.values())}"
            for name, found in self.outputs.items()
            if found.is_float and found.sqnr < plain.outputs[name].sqnr - NOTABLE_DB
        )


def _by_scheme(
    imported: Imported,
    given: Mapping[str, numpy.ndarray],
    scheme: Scheme,
    operators: Mapping[str, type[Operator]],
    progress: Progress | None,
) -> _Made:
    view, inputs, notices = prepared(imported.view), given, imported.notices
    if scheme.io_layout == "nhwc":
        view, inputs, more = with_channels_last(view, inputs)
        notices += more or ("io_layout nhwc: no input is an image with its channels first",)
    refuse_undefined_constants(layers_of(view, scheme), imported.view)
    if scheme.equalize:
        view = equalized(view, inputs, progress)
    if scheme.correct_bias:
        view = checked(with_biases, view)
    layers = layers_of(view, scheme)
    seen = observed(layers, inputs, scheme, progress)
    found = activations_of(layers, seen, scheme, imported.view)
    constants = constants_of(layers, found, seen, inputs, scheme, progress)
    written = with_quantizers(layers, found, constants, imported, scheme)
    file = write_model(written.model)
    compares = scheme.least_sqnr > -math.inf
    again = dequantized_weights(import_with_sources(file, imported.view.name, operators, {}, {}).view) if compares else view
    run = Run(again, inputs, written.stated)
    same = {name: name for name in view.outputs}
    outputs = nearness(Run(imported.view, given, {}), run, same, progress) if compares else {}
    return _Made(
        file,
        (*notices, *_in_float(layers)),
        clamped(layers, seen, scheme),
        layers,
        written.real,
        Run(view, inputs, {}),
        run,
        outputs,
    )


def _in_float(layers: Layers) -> list[str]:
    """Returns a line for each type of layer that computes in float although the user did not ask for it."""
    found: dict[str, list[str]] = {}
    for layer in layers.layers:
        if layer.kind == "float" and layers.view.output_tensors(layer.node)[0].dtype.is_float:
            found.setdefault(layer.node.type, []).append(layer.node.name)
    return [
        f"{kind} stays in float32: {', '.join(names[:3])}{' and more' if len(names) > 3 else ''}"
        for kind, names in sorted(found.items())
    ]
