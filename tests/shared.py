# SPDX-License-Identifier: MIT
"""Models with reference vectors that lie beside the checkout; tests that need them skip with a message where they are absent."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
MLPERF_TINY = SHARED / "models" / "mlperf_tiny"
MODELS = ("ad_toycar", "ic_resnet8", "kws_dscnn", "sww_dscnn1d", "vww_mobilenet025")
FLOAT_MODELS = ("ad_toycar", "ic_resnet8", "kws_dscnn", "vww_mobilenet025")


def shared(path: Path) -> Path:
    """The path, or a skip that names it."""
    if not path.exists():
        pytest.skip(f"{path.relative_to(SHARED.parent)} is not there (it lies beside the checkout)")
    return path


def int8_model(name: str) -> Path:
    return shared(MLPERF_TINY / f"{name}_int8_qdq.onnx")


def float_model(name: str) -> Path:
    return shared(MLPERF_TINY / f"{name}_float.onnx")


def vectors(name: str) -> Path:
    return shared(MLPERF_TINY / f"{name}_io.npz")
