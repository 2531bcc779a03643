# SPDX-License-Identifier: MIT
"""Exporters name a fused layer by the whole chain that it came from: people read what its function in C is called."""

from __future__ import annotations

import pytest

from tests.command import aidge_build
from tests.models import model

CHAIN = "functional_1/activation/Relu;functional_1/batch_normalization/FusedBatchNormV3;functional_1/conv2d/BiasAdd"
COLUMNS = 80


@pytest.fixture
def fused(tmp_path, monkeypatch):
    import onnx

    made = onnx.load_from_string(model("a = Relu(x) b = Exp(a) y = Neg(b)", inputs="float[1,4] x", outputs="float[1,4] y"))
    for number, node in enumerate(made.graph.node):
        node.name = f"{CHAIN}_{number}"
        for names in (node.input, node.output):
            names[0] = names[0] if names[0] in "xy" else f"{CHAIN};{names[0]}"
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    monkeypatch.chdir(tmp_path)
    return "m.onnx"


@pytest.mark.parametrize("words", [("explain",), ("explain", "--plan"), ("explain", "--plan", "--why")])
def test_a_layer_is_called_as_in_c_and_no_line_is_wider_than_the_columns(words, fused, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    said = aidge_build(*words, fused, "--board", "host").stdout
    assert "relu_1" in said and CHAIN not in said and max(map(len, said.splitlines())) <= COLUMNS
    monkeypatch.delenv("COLUMNS")
    assert CHAIN in aidge_build(*words, fused, "--board", "host", "-v").stdout
    assert aidge_build("explain", fused, "--board", "host", "--json").json["nodes"][0]["name"].startswith(CHAIN)


def test_a_layer_is_explained_by_the_name_that_is_shown(fused):
    said = aidge_build("explain", fused, "relu_1", "--board", "host").stdout
    assert said.startswith(CHAIN) and "Rejected: " in said and said.count("\n") == 2
