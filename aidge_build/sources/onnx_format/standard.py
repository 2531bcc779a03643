# SPDX-License-Identifier: MIT
"""Questions to the package onnx about the standard's operators, with whatever numbers files hold."""

from __future__ import annotations

import onnx

_OPSETS = range(1, 1 << 31)  # files hold 64 bits, the package's own functions take 32


def find_schema(name: str, opset: int, domain: str = "") -> onnx.defs.OpSchema | None:
    """The definition of the operator in this opset, withdrawn ones included; None where there is none."""
    if opset not in _OPSETS:
        return None
    try:
        return onnx.defs.get_schema(name, opset, domain)
    except onnx.defs.SchemaError:
        return None
