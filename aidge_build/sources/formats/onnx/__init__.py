# SPDX-License-Identifier: MIT
"""ONNX files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from aidge_build.graph.view import GraphView
from aidge_build.sources.source_format import ModelFile, SourceFormat


def _read(file: ModelFile) -> tuple[GraphView, Sequence[str]]:
    from aidge_build.sources.formats.onnx.importer import import_onnx

    return import_onnx(file.data, file.name, file.operators, file.bind, file.external, file.state, keeps_halves=False)


def _files_beside(data: bytes) -> tuple[str, ...]:
    from aidge_build.sources.onnx_format import external_locations

    return external_locations(data)


def _left_out(file: ModelFile, origins: Collection[str]) -> Iterable[str]:
    from aidge_build.sources.formats.onnx.left_out import left_out

    return left_out(file, origins)


FORMAT = SourceFormat(
    title="ONNX",
    recognizes=lambda head: True,  # a protobuf message has no mark
    is_last=True,
    read=_read,
    takes=("bind", "state"),
    files_beside=_files_beside,
    left_out=_left_out,
    is_quantizable=True,
    file_words="an ONNX file",
)
