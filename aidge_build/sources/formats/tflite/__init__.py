# SPDX-License-Identifier: MIT
"""TensorFlow Lite files: the importer is loaded with the first one, a thirtieth of a command's start for few models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from aidge_build.graph.view import GraphView
from aidge_build.sources.source_format import ModelFile, SourceFormat

IDENTIFIER = b"TFL3"


def _read(file: ModelFile) -> tuple[GraphView, Sequence[str]]:
    from aidge_build.sources.formats.tflite.importer import import_tflite

    return import_tflite(file.data, file.name, file.signature, file.contract, file.bind)


def _left_out(file: ModelFile, origins: Collection[str]) -> Iterator[str]:
    from aidge_build.sources.formats.tflite.file import read_tflite

    for graph in read_tflite(file.data).subgraphs:
        for operator in graph.operators:
            if operator.name not in origins:
                yield f"left out: {operator.where()}: not needed, evaluated while generating, or another name for its input"


FORMAT = SourceFormat(
    title="TensorFlow Lite",
    recognizes=lambda head: head[4:8] == IDENTIFIER,
    lacks=lambda data: f"its bytes 4 to 7 are {data[4:8].hex(' ')}, not 'TFL3'",
    read=_read,
    rounding="tflite",  # whoever hands over such a file expects LiteRT's answers
    takes=("bind", "signature"),
    left_out=_left_out,
    to_onnx="python -m tf2onnx.convert --tflite FILE --output FILE.onnx",
)
