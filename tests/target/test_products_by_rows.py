# SPDX-License-Identifier: MIT
"""Layers that are computed row by row multiply no more often than whole ones: products counted in the machine code that ran."""

from __future__ import annotations

import os

import pytest

from tests.command import aidge_build
from tests.executed_products import count_products, products_of
from tests.programs import needs_cross_compiler
from tests.row_networks import chain, random_inputs
from tests.shared import int8_model, vectors

BOARDS = ("m4-in-qemu", "mps3-an547")
MODELS = [
    *(("kws_dscnn", board, ("--ram-budget", budget)) for board, budget in zip(BOARDS, ("7680", "8113"))),
    *(("ic_resnet8", board, ("--ram-budget", budget)) for board, budget in zip(BOARDS, ("20480", "22703"))),
    *(("vww_mobilenet025", board, ("--ram-budget", "40900", "--io", "arena")) for board in BOARDS),
    *(
        ("vww_mobilenet025", board, ("--ram-budget", budget, "--input", "rows"))
        for board, budget in zip(BOARDS, ("19456", "22527"))
    ),
]
# Vectors of MVE reach across the end of a row of the image: with few rows at a time more of their lanes are used for nothing.
MOST = {"m4-in-qemu": 1.05, "mps3-an547": 1.07}
pytestmark = needs_cross_compiler


@pytest.fixture
def board_words(tmp_path, monkeypatch):
    """The words that name a board which runs in QEMU, whose plug-in counts the products."""
    count_products(monkeypatch)
    (tmp_path / "m4-in-qemu.toml").write_text('extends = "netduinoplus2"\nemulator = "qemu"\n')
    return lambda board: ("--board", board, "--board-path", tmp_path)


def products(path, values, *options) -> dict[str, tuple[int, int]]:
    """For each layer that has multiply-accumulates how many the graph asks for, and how many products ran."""
    result = aidge_build("verify", path, "--io-data", values, "--json", *options)
    assert result.exit_code == 0, result.stderr
    return {layer["name"]: (layer["macs"], layer["instructions"]) for layer in result.json["layers"] if layer.get("macs")}


def assert_no_more_products(path, values, words, *options) -> None:
    whole, by_rows = products(path, values, *words), products(path, values, *words, *options)
    most = MOST[words[1]]
    assert whole.keys() == by_rows.keys() and whole
    for layer, (macs, ran) in by_rows.items():
        assert macs == whole[layer][0] and whole[layer][1] > 0
        assert ran <= most * whole[layer][1], f"{layer}: {ran:,} products by rows, {whole[layer][1]:,} of the whole layer"


@pytest.mark.parametrize("board", BOARDS)
def test_a_layer_by_rows_makes_no_more_products_than_the_whole_layer(board, board_words, tmp_path):
    (tmp_path / "chain.onnx").write_bytes(chain())
    values = random_inputs(tmp_path / "chain.npz", 1)
    assert_no_more_products(tmp_path / "chain.onnx", values, board_words(board), "--memory-model", "cascade")


@pytest.mark.skipif(not os.environ.get("AIDGE_STRESS"), reason="eight models with and without rows: two minutes; ./sconsw stress")
@pytest.mark.parametrize(("name", "board", "options"), MODELS, ids=[f"{name}-{board}" for name, board, _ in MODELS])
def test_models_by_rows_make_no_more_products(name, board, options, board_words):
    assert_no_more_products(int8_model(name), vectors(name), board_words(board), *options)


@pytest.mark.parametrize(
    ("mnemonic", "products"),
    [("smlad", 2), ("smlabb", 1), ("mul.w", 1), ("vmladava.s8", 16), ("vmlas.s16", 8), ("vmul.f32", 0), ("umull", 0), ("add", 0)],
)
def test_an_instruction_counts_as_its_lanes(mnemonic, products):
    assert products_of(mnemonic) == products
