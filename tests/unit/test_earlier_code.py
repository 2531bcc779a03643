# SPDX-License-Identifier: MIT
"""Firmware of an earlier version gets weights for the code that this version made."""

from __future__ import annotations

import argparse
from dataclasses import replace
from types import SimpleNamespace

import pytest

from aidge_build.boards.cores import of_instructions
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.cli.firmware_code import program_for
from tools.prediction.graph import Graph


@pytest.mark.parametrize("board", ["stm32f4", "stm32h743", "mps3-an547"])
def test_weights_are_made_for_the_code_of_version_0_2_0_and_for_that_of_today(board, tmp_path):
    graph = Graph(1, quantized=True)
    image = graph.convolution(graph.input(1, 40, 8, 16), 64, (1, 1))
    graph.output(graph.dense(graph.dense(graph.flat(graph.convolution(image, 2, (1, 1))), 64), 8))
    (tmp_path / "net.onnx").write_bytes(graph.model().SerializeToString())
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    request = load(parser.parse_args([str(tmp_path / "net.onnx"), "--board", board, "--update", "weights"]), "net")
    instructions = of_instructions(request.target.features)
    earlier = replace(request, timing=None, target=replace(request.target, features=instructions, loop_bytes=0))
    blobs, codes = [], []
    for each in (request, earlier):
        made = emit(build_program(each))
        update = made.manifest["claim"]["update"]
        assert program_for(request, SimpleNamespace(layout=update["layout"], data=update["data"]))[1].blob == made.blob
        blobs.append(made.blob)
        codes.append(b"".join(made.files.values()))
    assert blobs[0] != blobs[1]
    assert [b"_beside(" in code for code in codes] == [board == "mps3-an547", False]
