# SPDX-License-Identifier: MIT
"""Operators that somebody adds, as firmware: the kernel of the kit's page, and the table that an element-wise operator gets."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest

from aidge_build import net
from aidge_build.boards import load_board
from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.operators import builtin_operators
from aidge_build.operators.kinds import ElementWise
from aidge_build.run.verify.firmware import execute
from tests.command import aidge_build
from tests.compiled import program_of
from tests.programs import needs_cross_compiler, needs_qemu

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "kit.md").read_text()
OPERATOR, KERNEL = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)[:2]
(HEADER,) = re.findall(r"^```c\n(.*?)^```", PAGE, re.M | re.S)
LEVELS = numpy.arange(-128, 128, dtype=numpy.int8)[None]


@pytest.fixture
def library(tmp_path) -> Path:
    """A user's folder with the operator of the page."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "library.toml").write_text('name = "mine"\n')
    (folder / "scaled.py").write_text(OPERATOR)
    return folder


def scaled(graph: net.Graph, value: net.Value) -> net.Value:
    """A node of the page's operator."""
    return graph.node("my.domain::Scaled", [value], {"gain": 3.0})[0]


def graph_with(library: Path) -> net.Graph:
    names: dict = {}
    exec((library / "scaled.py").read_text(), names)
    return net.Graph("toy", operators={"my.domain::Scaled": names["Scaled"]})


def verified(library: Path, graph: net.Graph, x: numpy.ndarray, board: str):
    model, data = library.parent / "toy.onnx", library.parent / "io.npz"
    model.write_bytes(graph.onnx())
    numpy.savez(data, x=x)
    return aidge_build(
        "verify", model, "--io-data", data, "--kernel-path", library, "--lib", "mine,ref", "--board", board, "--json"
    )


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_the_kernel_of_the_page_computes_what_its_operator_means(board, library):
    graph = graph_with(library)
    graph.output(scaled(graph, net.Relu(graph.input("x", (1, 5)))), "y")
    x = numpy.linspace(-1, 1, 5, dtype=numpy.float32)[None, None]
    refused = verified(library, graph, x, board)
    assert refused.exit_code == 2 and "node 'Scaled' (Scaled): no kernel accepts it" in refused.stderr
    (library / "scaled_float32.py").write_text(KERNEL)
    (library / "scaled.h").write_text(HEADER)
    assert verified(library, graph, x, board).exit_code == 0
    (library / "scaled.h").write_text(HEADER.replace("gain[0] * ", ""))
    assert verified(library, graph, x, board).exit_code == 1


def quantized(graph: net.Graph, x: net.Value, function, result_scale: float) -> net.Value:
    """The function between int8 tensors."""
    inner = function(net.DequantizeLinear(x, numpy.float32(0.03), numpy.int8(5)))
    return net.QuantizeLinear(inner, numpy.float32(result_scale), numpy.int8(-9))


def test_an_operator_of_a_users_runs_on_int8_tensors_without_a_kernel(library):
    graph = graph_with(library)
    graph.output(quantized(graph, graph.input("x", LEVELS.shape, DType.int8), lambda value: scaled(graph, value), 0.11), "y")
    result = verified(library, graph, LEVELS[None], "host")
    assert result.exit_code == 0, result.stderr
    explained = aidge_build("explain", library.parent / "toy.onnx", "--kernel-path", library, "--lib", "mine,ref", "--json").json
    assert [(node["op"], node["kernel"]) for node in explained["nodes"]] == [("Scaled", "table_int8")]


def element_wise_functions() -> list[str]:
    """The ONNX operators of one real number that have a value for every one, or nearly."""
    left_out = ("Acos", "Acosh", "Asin", "Atanh", "Log", "Reciprocal", "Sqrt", "BitwiseNot", "IsInf", "IsNaN", "Not", "Swish")
    return [name for name, cls in sorted(builtin_operators().items()) if issubclass(cls, ElementWise) and name not in left_out]


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("part, board_name", [(0, "host"), (1, "host"), (2, "mps2-an386"), (3, "mps3-an547")])
def test_every_element_wise_operator_on_real_numbers_is_a_table_between_int8_tensors(part, board_name, tmp_path):
    names, board = element_wise_functions()[part::4], load_board(board_name)
    graph = net.Graph("some", opset=22)
    x = graph.input("x", LEVELS.shape, DType.int8)
    for name in names:
        graph.output(quantized(graph, x, net.builder(name), 0.05), f"of_{name}")
    program = program_of(graph.onnx(), "some.onnx", board)
    assert [layer.kernel.name for layer in program.layers] == ["table_int8"] * len(names) and len(names) >= 6
    found = execute(program, board, {"x": LEVELS[None]}, tmp_path).outputs
    wanted = cpu.run(program.view, {"x": LEVELS})
    for name in program.view.outputs:
        assert numpy.array_equal(found[name][0], wanted[name]), name
