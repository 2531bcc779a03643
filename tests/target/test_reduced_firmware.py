# SPDX-License-Identifier: MIT
"""Firmware that leaves out constant channels gives the bytes of firmware that computes them, with less work and flash."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest

from tests.command import aidge_build
from tests.programs import needs_cross_compiler
from tests.shared import int8_model

VECTORS = int(os.environ.get("AIDGE_CONSTANT_CHANNELS", "2"))  # the whole proof: 1000
BOARDS = ["host", pytest.param("mps2-an386", marks=needs_cross_compiler)] if "AIDGE_CONSTANT_CHANNELS" in os.environ else ["host"]
MODEL = "vww_mobilenet025"


def ran(folder: Path, board: str, choice: str) -> tuple[dict, bytes]:
    """What verify says about random inputs, and the bytes that the program wrote."""
    vectors = folder / "vectors.npz"
    inputs = numpy.random.default_rng(11).integers(-128, 128, (VECTORS, 1, 96, 96, 3)).astype(numpy.int8)
    inputs[::2] = numpy.where(inputs[::2] < 0, -128, 127)
    numpy.savez(vectors, x=inputs, y=numpy.zeros((VECTORS, 2), numpy.int8))
    kept = folder / choice
    result = aidge_build(
        "verify",
        int8_model(MODEL),
        "--io-data",
        vectors,
        "--reference",
        "y",
        "--board",
        board,
        "--constant-channels",
        choice,
        "--keep",
        kept,
        "--json",
    )
    assert result.exit_code in (0, 1), result.stderr
    return result.json, (kept / "output.bin").read_bytes()


@pytest.mark.parametrize("board", BOARDS)
def test_the_outputs_of_visual_wake_words_are_the_same_bytes(board, tmp_path):
    (less, reduced), (more, whole) = (ran(tmp_path, board, choice) for choice in ("on", "off"))
    assert len(whole) == 2 * VECTORS and reduced == whole
    assert len(set(whole)) > 2  # not all vectors look alike
    assert less["macs"] == more["macs"] == more["macs_executed"] > 1.9 * less["macs_executed"]
    assert less["flash_bytes"]["weights"] < 0.25 * more["flash_bytes"]["weights"]
    assert less["peak_bytes"] <= more["peak_bytes"]
