# SPDX-License-Identifier: MIT
"""A model in the words of a newer opset."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
import onnx.version_converter

from aidge_build.base.errors import AidgeError
from aidge_build.sources.onnx_format.reader import read_model
from aidge_build.sources.onnx_format.schema import means_the_same


def in_opset(data: bytes, least: int, where: str, external: Mapping[str, bytes]) -> bytes:
    """Returns the model with at least this opset of the default domain; the same bytes if it has that already.

    If all its operators mean the same in both opsets, only the number changes; else the package onnx converts them.
    """
    read_model(data, where, external)  # refuses what is no model
    model = onnx.ModelProto.FromString(data)
    version = next((entry for entry in model.opset_import if entry.domain in ("", "ai.onnx")), None)
    if version is None or version.version >= least:
        return data
    own = [node.op_type for node in model.graph.node if node.domain in ("", "ai.onnx")]
    if all(means_the_same(kind, version.version, least) for kind in own):
        version.version = least
    else:
        model = _converted(model, version.version, least)
    needed = onnx.helper.find_min_ir_version_for(list(model.opset_import), ignore_unknown=True)
    model.ir_version = max(model.ir_version, needed)
    return model.SerializeToString(deterministic=True)


def _converted(model: onnx.ModelProto, opset: int, least: int) -> onnx.ModelProto:
    try:
        return onnx.version_converter.convert_version(model, least)
    except Exception as error:  # of C++, with texts of its own
        said = (str(error).splitlines() or [type(error).__name__])[-1]
        raise AidgeError(
            f"the model has opset {opset}, and onnx cannot convert it to {least}: {said}",
            code="VERSION",
            hint=f"export it for opset {least} or newer",
        ) from error
