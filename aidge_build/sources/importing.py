# SPDX-License-Identifier: MIT
"""Which importer reads a model's file: that follows from its content, never from its name."""

from __future__ import annotations

from collections.abc import Mapping

from aidge_build.base.errors import AidgeError
from aidge_build.graph.view import GraphView
from aidge_build.operators.base import Operator
from aidge_build.sources.formats.onnx.binding import Bound
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.formats.tflite.file import is_tflite
from aidge_build.sources.onnx_format import TAIL_BYTES, external_locations, refuse_other_files
from aidge_build.sources.state import with_states


def refuse_other_models(head: bytes, tail: bytes) -> None:
    """Name what a large file is when it is known to be no model that can be read, given its first and last bytes."""
    if not is_tflite(head):
        refuse_other_files(head, tail)


def files_beside(data: bytes, name: str) -> tuple[str, ...]:
    """The relative paths of the files that hold weights of this model, sorted; a .tflite file has none.

    AidgeError for a file that its name says to be a .tflite, and its content not.
    """
    if is_tflite(data):
        return ()
    if name.lower().endswith(".tflite"):
        refuse_other_files(data, data[-TAIL_BYTES:], "TensorFlow Lite")
        raise AidgeError(
            f"not a TensorFlow Lite model: its bytes 4 to 7 are {data[4:8].hex(' ')}, not 'TFL3'",
            code="MODEL_FILE",
            hint="name the file that the converter wrote, not one that a vendor's tool has packed or encrypted",
        )
    return external_locations(data)


def import_file(
    data: bytes,
    name: str,
    operators: Mapping[str, type[Operator]],
    bind: Mapping[str, Bound],
    external: Mapping[str, bytes],
    signature: str = "",
    rounding: str = "onnx",
    state: Mapping[str, str] | None = None,
) -> tuple[GraphView, tuple[str, ...]]:
    """The graph of a model's file, and one-line notices; see `import_onnx` and `import_tflite`."""
    if is_tflite(data):
        from aidge_build.sources.formats.tflite.importer import (
            import_tflite,  # a thirtieth of a command's start, for few models
        )

        view, notices = import_tflite(data, name, signature, rounding, bind)
        try:
            return with_states(view, state or {}, {}), notices
        except AidgeError as error:
            raise error.within(name)
    if signature:
        raise AidgeError("--signature is for .tflite models: an ONNX model has one graph", where=name, code="USAGE")
    return import_onnx(data, name, operators, bind, external, state, keeps_halves=False)
