# SPDX-License-Identifier: MIT
"""From a float model and samples of its inputs to a quantized ONNX file (docs/quantization.md)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from aidge_build.importers.onnx_importer import import_with_sources
from aidge_build.onnx_format import in_opset, write_model
from aidge_build.operators import builtin_operators
from aidge_build.operators.base import Operator
from aidge_build.quantization.insert import with_quantizers
from aidge_build.quantization.layers import layers_of
from aidge_build.quantization.observe import Progress
from aidge_build.quantization.parameters import activations_of, constants_of
from aidge_build.quantization.prepare import prepared
from aidge_build.quantization.samples import checked_samples
from aidge_build.quantization.scheme import Scheme

__all__ = ["Progress", "Scheme", "quantize"]

LEAST_OPSET, LEAST_OPSET_INT16 = 13, 21  # that have QuantizeLinear with an axis, and for int16


def quantize(
    model: bytes,
    samples: Mapping[str, numpy.ndarray],
    scheme: Scheme = Scheme(),
    progress: Progress | None = None,
    *,
    name: str = "model.onnx",
    operators: Mapping[str, type[Operator]] | None = None,
    bind: Mapping[str, int] | None = None,
    external: Mapping[str, bytes] | None = None,
) -> bytes:
    """The quantized model as an ONNX file in QDQ form; equal arguments give equal bytes.

    `model` is the float model's file, `name` names it in messages; `samples` holds the calibration data [sample, dims...] by
    input name (or `x`, `x_<input>`). `operators`, `bind` and `external` are those of the importer. AidgeError for a model that is
    quantized already, for data that are no samples of its inputs, and for layers of the scheme that are not there.
    """
    wide = "int16" in scheme.layers.values()
    converted = in_opset(model, LEAST_OPSET_INT16 if wide else LEAST_OPSET, name, external or {})
    imported = import_with_sources(
        converted, name, builtin_operators() if operators is None else operators, bind or {}, external or {}
    )
    view = prepared(imported.view)
    inputs = checked_samples(samples, view)
    layers = layers_of(view, scheme)
    found = activations_of(layers, inputs, scheme, progress)
    return write_model(with_quantizers(layers, found, constants_of(layers, found), imported, scheme))
