# SPDX-License-Identifier: MIT
"""Generated C of .tflite files gives the bytes of the numpy backend: a sample on a Cortex-M4, in stress all on the host."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest

from aidge_build.sources.formats.tflite.importer import import_tflite
from tests import tflite_random
from tests.command import Result, aidge_build
from tests.exactness.test_tflite import WITHOUT_CONTRACT
from tests.programs import needs_cross_compiler
from tests.sanitized import SANITIZED_FLAGS
from tests.tflite_cases import CASES, inputs_of
from tests.tflite_random import GRAPHS, REFUSED, family_of, file_of

RANDOM_ON_M4 = ("UNIDIRECTIONAL_SEQUENCE_LSTM int8 random 1", "CONV_2D int16 random 1")
UNDER_DOUBLE = ("small network", "ADD int8", "CONV_2D same uint8", "MEAN int8 True", "MUL int8", "SOFTMAX int8")
SAMPLE = ("small network", "TRANSPOSE_CONV int8", "DEPTHWISE_CONV_2D uint8")


def verify(name: str, folder: Path, *words: str) -> Result:
    """The result of `verify` on a case with its seeded inputs."""
    data, inputs = (CASES[name](), inputs_of) if name in CASES else (file_of(name), tflite_random.inputs_of)
    view, _ = import_tflite(data, name, rounding="double" if name in GRAPHS else "onnx")
    given = [view.tensor(one) for one in view.given]
    rows = inputs(name, [(tensor.layout.stored_dims, tensor.dtype.name) for tensor in given])
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
@pytest.mark.parametrize("name", (*UNDER_DOUBLE, *RANDOM_ON_M4))
def test_under_the_contract_of_litert_the_program_computes_what_the_numpy_backend_computes(name, tmp_path):
    result = verify(name, tmp_path, "--board", "mps2-an386", "--rounding", "tflite")
    assert result.exit_code == 0, result


@pytest.mark.parametrize("family", ["DIV uint8", "LOG_SOFTMAX int8", "SUM int8"])
def test_what_the_contract_of_litert_does_not_say_is_not_computed_in_float32_in_its_place(family, tmp_path):
    (tmp_path / "m.tflite").write_bytes(file_of(f"{family} random 0"))
    words = "--out", tmp_path / "gen", "--board", "host", "--rounding", "tflite"
    result = aidge_build("compile", tmp_path / "m.tflite", *words)
    assert (result.exit_code, "no kernel accepts it" in result.stderr) == (2, True), result


@pytest.mark.parametrize("family", ["SVDF int8", "UNIDIRECTIONAL_SEQUENCE_LSTM int8"])
def test_what_only_that_contract_says_is_refused_under_another_one(family, tmp_path):
    (tmp_path / "m.tflite").write_bytes(file_of(f"{family} random 0"))
    result = aidge_build("compile", tmp_path / "m.tflite", "--out", tmp_path / "gen", "--board", "host", "--rounding", "onnx")
    assert (result.exit_code, "exists under --rounding tflite alone" in result.stderr) == (2, True), result


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="two minutes of processor time: AIDGE_STRESS=1")
@pytest.mark.parametrize(
    "name",
    [
        *(name for name in CASES if name not in WITHOUT_CONTRACT),
        *(name for name in GRAPHS if family_of(name) not in REFUSED),
    ],
)
def test_under_the_contract_of_litert_so_does_every_program(name, tmp_path):
    result = verify(name, tmp_path, "--board", "host", "--rounding", "double", *SANITIZED_FLAGS)
    assert result.exit_code == 0, result


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="two minutes of processor time: AIDGE_STRESS=1")
@pytest.mark.parametrize("name", CASES)
def test_the_program_of_every_case_computes_it_on_the_host_too(name, tmp_path):
    result = verify(name, tmp_path, "--board", "host", *SANITIZED_FLAGS)
    assert result.exit_code == 0, result
