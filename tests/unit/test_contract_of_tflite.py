# SPDX-License-Identifier: MIT
"""Which numerical contract a model is compiled under where nobody names one: a .tflite file's is LiteRT's."""

from __future__ import annotations

import argparse

import pytest

from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.build.request import CompileRequest
from aidge_build.cli.bench import add_arguments
from tests.command import aidge_build
from tests.models import model
from tests.tflite_cases import CASES


@pytest.fixture
def files(tmp_path):
    (tmp_path / "m.tflite").write_bytes(CASES["FULLY_CONNECTED int8"]())
    (tmp_path / "m.onnx").write_bytes(model("y = Relu(x)", inputs="float[1,4] x", outputs="float[1,4] y"))
    return tmp_path


def requested(path, *words: str) -> CompileRequest:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return load(parser.parse_args([str(path), *words]), "net")


def test_a_tflite_file_has_the_contract_of_litert_unless_another_one_is_named(files):
    for name, words, rounding in (
        ("m.tflite", (), "double"),
        ("m.tflite", ("--rounding", "tflite"), "double"),
        ("m.tflite", ("--rounding", "double"), "double"),
        ("m.tflite", ("--rounding", "onnx"), "onnx"),
        ("m.onnx", (), "onnx"),
    ):
        request = requested(files / name, *words)
        assert (request.options.rounding, request.target.rounding) == (rounding, rounding), (name, words)


def test_the_words_that_firmware_remembers_name_every_contract_but_that_of_older_firmware(files):
    assert requested(files / "m.tflite").words == ("--rounding=tflite",)
    assert requested(files / "m.tflite", "--rounding", "onnx").words == requested(files / "m.onnx").words == ()


def test_bench_measures_every_format_under_one_contract():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert parser.parse_args(["models"]).rounding == "onnx"


def test_a_core_without_kernels_of_the_contract_says_so_in_one_line(files):
    words = "compile", files / "m.tflite", "--out", files / "out"
    (line,) = [line for line in aidge_build(*words, "--cpu", "cortex-m0plus").stdout.splitlines() if "--rounding" in line]
    assert "1 layer has portable kernels under --rounding tflite, because the faster ones of armv6m exist for onnx alone" in line
    for more in (
        ("--cpu", "cortex-m4"),
        ("--cpu", "cortex-m55", "--fpu", "auto"),
        ("--cpu", "cortex-m0plus", "--rounding", "onnx"),
    ):
        assert "--rounding" not in aidge_build(*words, *more).stdout


@pytest.mark.parametrize("name", ["SUM int8 True", "TRANSPOSE_CONV int16"])
def test_what_the_contract_does_not_say_is_refused_with_the_option_that_computes_it(name, files):
    (files / "m.tflite").write_bytes(CASES[name]())
    words = "compile", files / "m.tflite", "--cpu", "cortex-m4", "--out", files / "out"
    refused = aidge_build(*words)
    assert refused.exit_code == 2 and "Hint: --rounding onnx computes it" in refused.stderr
    assert aidge_build(*words, "--rounding", "onnx").exit_code == 0
