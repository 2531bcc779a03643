# SPDX-License-Identifier: MIT
"""The MLPerf Tiny models as .tflite files under the contract of LiteRT: its values for seeded random inputs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest

from aidge_build.sources.formats.tflite.importer import import_tflite
from tests.command import aidge_build
from tests.exactness.tflite_references import STORED, model_inputs
from tests.programs import needs_cross_compiler
from tests.shared import MLPERF_TINY, MODELS, shared

M4, M7, M55 = "mps2-an386", "mps2-an500", "mps3-an547"
SAMPLE = (("sww_dscnn1d", M4, 2), ("ad_toycar", M7, 2), ("ad_toycar", M55, 2))
WHOLE = (*((name, "host", 200) for name in MODELS), *((name, board, 20) for name in MODELS for board in (M4, M7, M55)))


def differing(name: str, board: str, count: int, folder: Path) -> str:
    """What `verify` says of the first `count` stored inputs of a model; it fails where a value differs."""
    path = shared(MLPERF_TINY / f"{name}_int8.tflite")
    with numpy.load(STORED) as archive:
        wanted = archive[f"model|{name}_int8"]
    view, _ = import_tflite(path.read_bytes(), name)
    given = view.tensor(view.inputs[0])
    inputs = model_inputs(name, given.layout.stored_dims, given.dtype.numpy, len(wanted))
    numpy.savez(folder / "io.npz", x=inputs[:count], y=wanted[:count])
    words = "--reference", "y", "--board", board, "--rounding", "tflite"
    result = aidge_build("verify", path, "--io-data", folder / "io.npz", *words)
    assert result.exit_code == 0, result
    return result.stdout


@needs_cross_compiler
@pytest.mark.parametrize(("name", "board", "count"), SAMPLE)
def test_no_value_differs_from_litert(name, board, count, tmp_path):
    assert "0 of " in differing(name, board, count, tmp_path)


@needs_cross_compiler
@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="ten minutes of processor time: AIDGE_STRESS=1")
@pytest.mark.parametrize(("name", "board", "count"), WHOLE)
def test_for_200_inputs_on_the_host_and_20_on_boards_no_value_differs_from_litert(name, board, count, tmp_path):
    assert "0 of " in differing(name, board, count, tmp_path)
