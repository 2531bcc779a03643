# SPDX-License-Identifier: MIT
"""Generated C of .tflite files gives the bytes of the numpy backend: a sample on a Cortex-M4, in stress all on the host."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest

from aidge_build.importers.tflite.importer import import_tflite
from tests.command import Result, aidge_build
from tests.exactness.test_tflite import WITHOUT_CONTRACT
from tests.programs import needs_cross_compiler
from tests.tflite_cases import CASES, inputs_of

UNDER_DOUBLE = ("small network", "ADD int8", "CONV_2D same uint8", "MEAN int8 True", "MUL int8", "SOFTMAX int8")
SAMPLE = ("small network", "TRANSPOSE_CONV int8", "DEPTHWISE_CONV_2D uint8")


def verify(name: str, folder: Path, *words: str) -> Result:
    """The result of `verify` on a case with its seeded inputs."""
    data = CASES[name]()
    view, _ = import_tflite(data, name)
    given = [view.tensor(one) for one in view.inputs]
    rows = inputs_of(name, [(tensor.layout.stored_dims, tensor.dtype.name) for tensor in given])
    keys = ["x"] if len(given) == 1 else [f"x_{tensor.name}" for tensor in given]
    numpy.savez(folder / "io.npz", **{key: numpy.array([row[place] for row in rows]) for place, key in enumerate(keys)})
    (folder / "case.tflite").write_bytes(data)
    return aidge_build("verify", folder / "case.tflite", "--io-data", folder / "io.npz", *words)


@needs_cross_compiler
@pytest.mark.parametrize("name", SAMPLE)
def test_the_program_computes_what_the_numpy_backend_computes(name, tmp_path):
    result = verify(name, tmp_path, "--board", "mps2-an386")
    assert result.exit_code == 0, result


@needs_cross_compiler
@pytest.mark.parametrize("name", UNDER_DOUBLE)
def test_under_the_contract_of_litert_the_program_computes_what_the_numpy_backend_computes(name, tmp_path):
    result = verify(name, tmp_path, "--board", "mps2-an386", "--rounding", "tflite")
    assert result.exit_code == 0, result


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="two minutes of processor time: AIDGE_STRESS=1")
@pytest.mark.parametrize("name", [name for name in CASES if name not in WITHOUT_CONTRACT])
def test_under_the_contract_of_litert_so_does_every_program(name, tmp_path):
    flags = "--flag=-fsanitize=address,undefined", "--flag=-fno-sanitize-recover"
    result = verify(name, tmp_path, "--board", "host", "--rounding", "double", *flags)
    assert result.exit_code == 0, result


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="two minutes of processor time: AIDGE_STRESS=1")
@pytest.mark.parametrize("name", CASES)
def test_the_program_of_every_case_computes_it_on_the_host_too(name, tmp_path):
    result = verify(name, tmp_path, "--board", "host", "--flag=-fsanitize=address,undefined", "--flag=-fno-sanitize-recover")
    assert result.exit_code == 0, result
