# SPDX-License-Identifier: MIT
"""Firmware with a forest gives the values of the numpy backend: as data and as code, with and without an FPU."""

from __future__ import annotations

import numpy
import pytest

from tests.command import aidge_build
from tests.forests import random_model, random_rows
from tests.programs import needs_cross_compiler
from tests.sanitized import SANITIZED_FLAGS


def verified(folder, *words: str):
    """The result of `verify` on 20 trees with leaves that vote for three classes, and missing values among the rows."""
    random = numpy.random.default_rng(11)
    model = random_model(random, "class", 3, 20, 5, features=9, post_transform="NONE")
    rows = random_rows(random, 24, 9)
    (folder / "forest.onnx").write_bytes(model.file(1))
    numpy.savez(folder / "io.npz", x=rows.reshape(24, 1, 9))
    return aidge_build("verify", folder / "forest.onnx", "--io-data", folder / "io.npz", "--json", *words)


@needs_cross_compiler
@pytest.mark.parametrize("board, objective", [("mps2-an386", "speed"), ("rp2040", "size")])
def test_the_program_computes_what_the_numpy_backend_computes(board, objective, tmp_path):
    result = verified(tmp_path, "--board", board, "--optimize", objective)
    assert (result.exit_code, result.json["differing_values"]) == (0, 0), result


def test_neither_form_reads_or_writes_beyond_its_arrays(tmp_path):
    result = verified(tmp_path, "--board", "host", "--optimize", "size", *SANITIZED_FLAGS)
    assert result.exit_code == 0, result
