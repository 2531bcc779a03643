# SPDX-License-Identifier: MIT
"""TensorFlow Lite files as plain values: the only room that imports the package flatbuffers."""

from aidge_build.sources.formats.tflite.file.container import Field, Table
from aidge_build.sources.formats.tflite.file.model import (
    TfliteModel,
    TfliteOperator,
    TfliteQuantization,
    TfliteSignature,
    TfliteSubgraph,
    TfliteTensor,
)
from aidge_build.sources.formats.tflite.file.reader import read_tflite

__all__ = [
    "Field",
    "Table",
    "TfliteModel",
    "TfliteOperator",
    "TfliteQuantization",
    "TfliteSignature",
    "TfliteSubgraph",
    "TfliteTensor",
    "read_tflite",
]
