# SPDX-License-Identifier: MIT
"""FULLY_CONNECTED."""

from __future__ import annotations

import math

from aidge_build.operators.base import require
from aidge_build.operators.matmul import FC
from aidge_build.operators.view import Reshape
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.linear import Form, activation, adds_halfwords, form_of, parameters, write_layer
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads


@reads(
    "FULLY_CONNECTED",
    wants=Wants.FILE,
    kind=8,
    fused_activation_function=Field(0, "int8"),
    weights_format=Field(1, "int8"),
    keep_num_dims=Field(2, "bool"),
)
def fully_connected(source: TfliteNode) -> None:
    """Weights [outputs, inputs]; the data is read as rows of as many elements, whatever its dims."""
    value, weights = source.input(0), source.constant(1)
    require(source.options["weights_format"] == 0, "its weights are shuffled, which is not supported")
    require(weights.ndim == 2, f"its weights have the dims {list(weights.shape)}, wants 2 axes")
    elements, width = math.prod(value.dims), weights.shape[1]
    require(width > 0 and elements % width == 0, f"{elements} elements do not divide into rows of {width}")
    form = form_of(value, source.input(1), source.output(), adds_halfwords(source, weights))
    data, rows = source.elements(0) if form is Form.INTEGERS else source.read_real(0), elements // width
    if value.dims != (rows, width):
        data = source.step(Reshape((rows, width)), [data], value if form is Form.INTEGERS else None)
    made = (*value.dims[:-1], len(weights)) if source.options["keep_num_dims"] else (rows, len(weights))
    inputs = [data, *parameters(source, form, weights, 0)]
    write_layer(source, form, FC(**activation(source)), inputs, None if len(made) == 2 else made)
