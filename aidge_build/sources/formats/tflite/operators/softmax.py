# SPDX-License-Identifier: MIT
"""SOFTMAX and LOG_SOFTMAX along the last axis."""

from __future__ import annotations

import numpy

from aidge_build.graph.quantization import per_tensor
from aidge_build.operators.base import require
from aidge_build.operators.binary import Mul
from aidge_build.operators.restated import Restated
from aidge_build.operators.softmax import LogSoftmax, Softmax
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads


@reads("SOFTMAX", wants=Wants.SAME, kind=9, beta=Field(0, "float32"))
def softmax(source: TfliteNode) -> None:
    """e^(beta x) / sum: of quantized data beta is a factor of the scale."""
    value, data, beta = source.input(0), source.read(0), source.options["beta"]
    if beta != 1:
        require(bool(numpy.isfinite(beta)) and beta > 0, f"its beta is {beta}, wants a positive number")
        if value.quantization is None:
            data = source.step(Mul(), [data, source.add_constant(f"{source.name}_beta", numpy.array([beta], numpy.float32))])
        else:
            scale = float(value.quantization.scale * numpy.float32(beta))
            stated = per_tensor(scale, value.quantization.zero_point)
            data = source.step(Restated(), [data], value, quantization=stated)
    source.write(Softmax(axis=source.axis(-1, value.rank)), [data])


@reads("LOG_SOFTMAX", wants=Wants.SAME, kind=36)
def log_softmax(source: TfliteNode) -> None:
    """log(softmax(x))"""
    source.write(LogSoftmax(axis=source.axis(-1, source.input(0).rank)), [source.read(0)])
