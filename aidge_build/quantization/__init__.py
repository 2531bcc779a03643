# SPDX-License-Identifier: MIT
"""From a float model and samples of its inputs to a quantized ONNX file (docs/quantization.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.errors import AidgeError
from aidge_build.importers.dims import Bound
from aidge_build.importers.onnx_importer import import_with_sources
from aidge_build.onnx_format import in_opset, write_model
from aidge_build.operators import builtin_operators
from aidge_build.operators.base import Operator
from aidge_build.quantization.border import with_channels_last
from aidge_build.quantization.equalize import equalized
from aidge_build.quantization.insert import with_quantizers
from aidge_build.quantization.layers import Layers, layers_of
from aidge_build.quantization.observe import Progress
from aidge_build.quantization.parameters import activations_of, constants_of, observed
from aidge_build.quantization.prepare import prepared, with_biases
from aidge_build.quantization.samples import checked_samples
from aidge_build.quantization.scheme import Scheme
from aidge_build.recipes.check import checked

__all__ = ["Progress", "Quantized", "Scheme", "quantize", "quantized"]

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
    """The file of `quantized`, which says what the arguments mean."""
    return quantized(model, samples, scheme, progress, name=name, operators=operators, bind=bind, external=external).file


@dataclass(frozen=True)
class Quantized:
    """A quantized model's file, and decisions that the user should read, one line each."""

    file: bytes
    notices: tuple[str, ...]


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
    """The quantized model as an ONNX file in QDQ form; equal arguments give equal bytes.

    `model` is the float model's file, `name` names it in messages; `samples` holds the calibration data [sample, dims...] by
    input name (or `x`, `x_<input>`). `operators`, `bind` and `external` are those of the importer. AidgeError for a model that is
    quantized already, for data that are no samples of its inputs, and for layers of the scheme that are not there.
    """
    try:
        return _quantized(model, samples, scheme, progress, name, operators or builtin_operators(), bind or {}, external or {})
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
    imported = import_with_sources(converted, name, operators, bind, external)
    view = prepared(imported.view)
    inputs, notices = checked_samples(samples, view), imported.notices
    if scheme.io_layout == "nhwc":
        view, inputs, more = with_channels_last(view, inputs)
        notices += more or ("io_layout nhwc: no input is an image with its channels first",)
    if scheme.equalize:
        view = equalized(view, inputs, progress)
    if scheme.correct_bias:
        view = checked(with_biases, view)
    layers = layers_of(view, scheme)
    seen = observed(layers, inputs, scheme, progress)
    found = activations_of(layers, seen, scheme)
    constants = constants_of(layers, found, seen, inputs, scheme, progress)
    file = write_model(with_quantizers(layers, found, constants, imported, scheme))
    return Quantized(file, (*notices, *_in_float(layers)))


def _in_float(layers: Layers) -> list[str]:
    """A line for each type of layer that computes in float without the user's asking for it."""
    found: dict[str, list[str]] = {}
    for layer in layers.layers:
        if layer.kind == "float" and layers.view.output_tensors(layer.node)[0].dtype.is_float:
            found.setdefault(layer.node.type, []).append(layer.node.name)
    return [
        f"{kind} stays in float32: {', '.join(names[:3])}{' and more' if len(names) > 3 else ''}"
        for kind, names in sorted(found.items())
    ]
