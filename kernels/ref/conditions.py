# SPDX-License-Identifier: MIT
"""Named conditions that the specs of this library share; other libraries share them, too."""

from __future__ import annotations

from aidge_build.kernel_kit.conditions import (
    ALL_QUANTIZED,
    CONSTANT_PARAMETERS,
    QUANTIZED,
    REAL,
    SAME_QUANTIZATION,
    SYMMETRIC_WEIGHTS,
)

__all__ = ["ALL_QUANTIZED", "CONSTANT_PARAMETERS", "QUANTIZED", "REAL", "SAME_QUANTIZATION", "SYMMETRIC_WEIGHTS"]
