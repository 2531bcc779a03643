# SPDX-License-Identifier: MIT
"""Conversions between real and stored values, and between element types."""

from __future__ import annotations

from aidge_build.graph.dtype import DType
from aidge_build.operators.activation import Clip
from aidge_build.operators.base import require
from aidge_build.operators.cast import Cast
from aidge_build.operators.view import Identity
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads


@reads("QUANTIZE", wants=Wants.SAME)
def quantize(source: TfliteNode) -> None:
    """Real values, or the real values of other stored values, in the scale of the output."""
    require(source.output().quantization is not None, f"its output is {source.output()} without scale")
    given, made = source.input(0), source.output()
    stored = given.quantization is not None and given.quantization.per_tensor
    if stored and (given.dtype is made.dtype or source.on_stored):
        source.write(Clip(), [source.read(0)])  # without bounds: the same numbers in another scale
    else:
        source.write_stored(source.read_real(0))


@reads("DEQUANTIZE", wants=Wants.SAME)
def dequantize(source: TfliteNode) -> None:
    """The real numbers; constants of half precision have been widened already."""
    require(source.output().dtype is DType.float32, f"its output is {source.output()}, wants float32")
    source.write(Identity(), [source.read_real(0)])


@reads("CAST", wants=Wants.SAME)
def cast(source: TfliteNode) -> None:
    """The elements in the type of the output."""
    source.write(Cast(to=source.output().dtype), [source.read(0)])
