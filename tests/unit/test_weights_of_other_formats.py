# SPDX-License-Identifier: MIT
"""`aidge-build weights` with a model of another format than the firmware's: what to give instead."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.prove.elf.claim import Claim, ClaimedUpdate
from tests.command import aidge_build
from tests.models import model
from tests.tflite_cases import CASES

SCALES = {"narrow": numpy.float32(0.1), "wide": numpy.float32(0.2), "zero": numpy.int8(0)}
POOLING = """d = DequantizeLinear (x, narrow, zero) a = AveragePool <kernel_shape = [2, 2]> (d)
    y = QuantizeLinear (a, wide, zero)"""
FILES = {
    "pool.onnx": lambda: model(POOLING, inputs="int8[1,1,4,4] x", outputs="int8[1,1,3,3] y", constants=SCALES),
    "sum.tflite": CASES["SUM int8 True"],
    "dense.tflite": CASES["FULLY_CONNECTED int8"],
}


@pytest.mark.parametrize(
    "file, made_with, hint",
    [
        ("pool.onnx", ("--rounding=tflite",), "give a .tflite file with the new weights"),
        ("sum.tflite", ("--rounding=tflite",), "give the network of the firmware with other weights"),
        ("dense.tflite", (), "give an ONNX file with the new weights"),
    ],
)
def test_a_file_that_the_contract_of_the_firmware_does_not_cover_gets_no_hint_that_makes_other_code(
    file, made_with, hint, tmp_path, monkeypatch
):
    update = ClaimedUpdate(version=0, layout="", data="", layers=(), ports=())
    claim = Claim("net", 0, (), True, made_with=("--update=weights", *made_with), update=update)
    monkeypatch.setattr("aidge_build.cli.weights.read_image", lambda path: None)
    monkeypatch.setattr("aidge_build.cli.weights._claimed", lambda image, name: (claim, update))
    monkeypatch.setattr("aidge_build.cli.weights.require_identity", lambda image, claim: None)
    (tmp_path / file).write_bytes(FILES[file]())
    refused = aidge_build("weights", tmp_path / file, "--against", tmp_path / "app.elf", "--out", tmp_path / "new.bin")
    assert refused.exit_code in (1, 2) and hint in refused.stderr, refused
    assert "--rounding onnx computes it" not in refused.stderr and not (tmp_path / "new.bin").exists()
