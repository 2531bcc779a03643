# SPDX-License-Identifier: MIT
"""Firmware of an earlier version gets weights for the code that this version made."""

from __future__ import annotations

import argparse
from dataclasses import replace
from types import SimpleNamespace

import numpy
import onnx
import pytest

from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.cli.firmware_code import of_version_0_2_0, program_for
from tools.prediction.graph import Graph


def of_nine_bits(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with uint8 weights, whose zero point is not that of int8 ones."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        weights = constants.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if weights is not None and len(weights.dims) > 1:
            data = onnx.numpy_helper.to_array(weights).astype(int)
            bytes_above = numpy.clip(data + 100, 0, 255)
            bytes_above.flat[0] = 255
            weights.CopyFrom(onnx.numpy_helper.from_array(bytes_above.astype(numpy.uint8), weights.name))
            shape = constants[node.input[1]].dims
            point = onnx.numpy_helper.from_array(numpy.full(shape, 100, numpy.uint8), f"{weights.name}_point")
            model.graph.initializer.append(point)
            node.input[:] = [*node.input[:2], point.name]
    return model


@pytest.mark.parametrize(
    ("board", "is_wide"), [("stm32f4", False), ("stm32h743", False), ("mps3-an547", False), ("mps2-an386", True)]
)
def test_weights_are_made_for_the_code_of_version_0_2_0_and_for_that_of_today(board, is_wide, tmp_path):
    graph = Graph(1, quantized=True)
    image = graph.convolution(graph.input(1, 40, 8, 16), 64, (1, 1))
    graph.output(graph.dense(graph.dense(graph.flat(graph.convolution(image, 2, (1, 1))), 64), 8))
    model = of_nine_bits(graph.model()) if is_wide else graph.model()
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    request = load(parser.parse_args([str(tmp_path / "net.onnx"), "--board", board, "--update", "weights"]), "net")
    earlier = replace(request, timing=None, target=of_version_0_2_0(request.target))
    blobs, codes = [], []
    for each in (request, earlier):
        made = emit(build_program(each))
        update = made.manifest["claim"]["update"]
        assert program_for(request, SimpleNamespace(layout=update["layout"], data=update["data"]))[1].blob == made.blob
        blobs.append(made.blob)
        codes.append(b"".join(made.files.values()))
    assert blobs[0] != blobs[1]
    assert [b"_beside(" in code for code in codes] == [board == "mps3-an547", False]
