# SPDX-License-Identifier: MIT
"""The glue to CMSIS-NN: within one level of the exact meaning per layer. Needs a checkout: AIDGE_CMSIS_NN=DIR."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy
import pytest

from tests.command import aidge_build
from tests.shared import int8_model, vectors

VARIABLE = "AIDGE_CMSIS_NN"
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"


@pytest.fixture
def checkout() -> Path:
    folder = os.environ.get(VARIABLE, "")
    if not folder:
        pytest.skip(f"{VARIABLE} names no checkout of CMSIS-NN")
    return Path(folder)


def test_without_a_checkout_the_library_is_refused_with_the_option_that_is_missing(tmp_path):
    result = aidge_build("compile", DIGITS, "--out", tmp_path, "--lib", "cmsis_nn,ref")
    assert result.exit_code == 2 and "add --checkout cmsis_nn=DIR with their source folder" in result.stderr


def test_its_kernels_are_listed_with_their_rounding():
    libraries = aidge_build("kernels", "--json").json["libraries"]
    (library,) = [library for library in libraries if library["name"] == "cmsis_nn"]
    assert {kernel["op"] for kernel in library["kernels"]} == {"Conv2D", "ConvDepthWise2D", "FC"}
    assert {kernel["rounding"] for kernel in library["kernels"]} == {"cmsis-nn"}


def test_its_rounding_is_not_that_of_the_contract(checkout):
    nodes = aidge_build(
        "explain", int8_model("kws_dscnn"), "--lib", "cmsis_nn,ref", "--checkout", f"cmsis_nn={checkout}", "--json"
    ).json["nodes"]
    assert {node["library"] for node in nodes} <= {"ref", ""}
    reasons = {
        rejected["reason"] for node in nodes for rejected in node["rejected"] if rejected["kernel"].startswith("cmsis_nn ")
    }
    assert "rounds as 'cmsis-nn', the build wants 'onnx'" in reasons


@pytest.mark.parametrize("board", ["host", "mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("name", ["kws_dscnn", "ic_resnet8"])
def test_a_network_stays_close_to_the_exact_meaning(checkout, name, board, tmp_path):
    values = numpy.load(vectors(name))["x"][:2]
    numpy.savez(tmp_path / "io.npz", x=values)
    result = aidge_build(
        "verify",
        int8_model(name),
        "--io-data",
        tmp_path / "io.npz",
        "--board",
        board,
        "--lib",
        "cmsis_nn,ref",
        "--rounding",
        "any",
        "--checkout",
        f"cmsis_nn={checkout}",
        "--json",
        "--keep",
        tmp_path / "kept",
    )
    assert result.json["top1_equal"] == len(values) and max(output["max_difference"] for output in result.json["outputs"]) <= 6
    used = {layer["kernel"].split()[0] for layer in result.json["layers"] if layer["op"] in ("Conv2D", "ConvDepthWise2D", "FC")}
    assert used == {"cmsis_nn"}
    assert "malloc" not in (tmp_path / "kept" / "model.c").read_text()


def test_two_models_in_one_firmware_share_its_functions(checkout, tmp_path):
    options = "--lib", "cmsis_nn,ref", "--checkout", f"cmsis_nn={checkout}", "--rounding", "any", "--out", tmp_path
    for name in ("first", "second"):
        assert aidge_build("compile", DIGITS, "--name", name, *options).exit_code == 0
    names = [f"{name}{suffix}.c" for name in ("first", "second") for suffix in ("", "_weights")]
    subprocess.run(["cc", "-w", "-r", *names, "-o", "both.o"], cwd=tmp_path, check=True)
