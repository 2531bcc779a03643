# SPDX-License-Identifier: MIT
"""`explain` says how a layer is computed, what it costs, and why no fast kernel takes it; such a layer is right all the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

from tests.command import aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler, needs_qemu

pytestmark = [needs_cross_compiler, needs_qemu]
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"

# Convolutions in two groups around a depthwise one with a window of nine rows and strides of three.
UNUSUAL = """
r = DequantizeLinear(x, xs, zero)
wa = DequantizeLinear(qa, ws, zero)
a = Conv<group = 2, pads = [1, 1, 1, 1]>(r, wa)
b = QuantizeLinear(a, as, zero) c = DequantizeLinear(b, as, zero)
wd = DequantizeLinear(qd, ws, zero)
d = Conv<group = 6, strides = [3, 3], pads = [4, 4, 4, 4]>(c, wd)
e = QuantizeLinear(d, as, zero) f = DequantizeLinear(e, as, zero)
wg = DequantizeLinear(qg, ws, zero)
g = Conv<group = 2>(f, wg)
y = QuantizeLinear(g, as, zero)
"""


@pytest.fixture
def unusual(tmp_path) -> Path:
    random = numpy.random.Generator(numpy.random.PCG64(3))
    constants = {
        name: random.integers(-127, 128, dims).astype(numpy.int8)
        for name, dims in {"qa": (6, 2, 3, 3), "qd": (6, 1, 9, 9), "qg": (4, 3, 2, 2)}.items()
    }
    scales = {"xs": 0.03, "ws": 0.01, "as": 0.05}
    made = model(
        UNUSUAL,
        inputs="int8[1,4,13,11] x",
        outputs="int8[1,4,h,w] y",
        constants={**constants, **{name: numpy.float32(scale) for name, scale in scales.items()}, "zero": numpy.int8(0)},
    )
    (tmp_path / "unusual.onnx").write_bytes(made)
    numpy.savez(tmp_path / "io.npz", x=random.integers(-128, 128, (3, 1, 4, 13, 11)).astype(numpy.int8))
    return tmp_path / "unusual.onnx"


@pytest.mark.parametrize(
    "board, library, reason",
    [
        ("mps2-an386", "cortexm", "steps 3 columns, 1 between taps; wants at most 2, and 1"),
        ("mps3-an547", "helium", "a window of 9 x 9 taps"),
    ],
)
def test_what_the_first_library_does_not_take_goes_to_another_is_right_and_the_reasons_are_said(unusual, board, library, reason):
    nodes = [node for node in aidge_build("explain", unusual, "--board", board, "--json").json["nodes"] if node["macs"]]
    _, depthwise, _ = nodes
    assert depthwise["library"] != library
    said = [entry["reason"] for entry in depthwise["rejected"] if entry["kernel"].startswith(f"{library} ")]
    assert said and any(reason in text for text in said), depthwise["rejected"]
    assert reason in aidge_build("explain", unusual, "--board", board, "-v").stdout
    verified = aidge_build("verify", unusual, "--board", board, "--io-data", unusual.parent / "io.npz", "--perturb", 6, "--json")
    assert verified.exit_code == 0 and verified.json["differing_values"] == 0 and verified.json["values"] > 100


WORDS = """
r = DequantizeLinear(x, xs, zero) w = DequantizeLinear(q, ws, none)
a = Conv<pads = [1, 1, 1, 1]>(r, w) b = Relu(a) y = QuantizeLinear(b, ys, zero)
"""
VOLUME = "a = Conv<pads = [1, 0, 1, 1, 0, 1]>(x, w) y = MaxPool<kernel_shape = [2, 1, 2], strides = [1, 2, 2]>(a)"


def words(random):
    """A convolution of 16-bit values, the bytes of its model and two inputs."""
    scales = {"xs": 1e-4, "ws": 0.01, "ys": 4e-4}
    constants = {
        "q": random.integers(-127, 128, (6, 5, 3, 3)).astype(numpy.int8),
        "zero": numpy.int16(0),
        "none": numpy.int8(0),
        **{name: numpy.float32(scale) for name, scale in scales.items()},
    }
    made = model(WORDS, inputs="int16[1,5,7,3] x", outputs="int16[1,6,7,3] y", constants=constants, opset=21)
    return made, random.integers(-32768, 32768, (2, 1, 5, 7, 3)).astype(numpy.int16)


def volume(random):
    """A convolution and a pool over three axes."""
    weights = random.normal(size=(4, 3, 3, 2, 3)).astype(numpy.float32)
    made = model(VOLUME, inputs="float[1,3,5,7,6] x", outputs="float[1,4,d,h,w] y", constants={"w": weights})
    return made, random.normal(size=(2, 1, 3, 5, 7, 6)).astype(numpy.float32)


@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_layers_over_three_axes_are_built_and_right_without_a_fast_kernel(board, tmp_path):
    nodes = right(volume, board, tmp_path)
    assert {node["library"] for node in nodes} == {"ref"}
    fast, reason = "cortexm" if board == "mps2-an386" else "helium", "has no kernel for Conv3D"
    assert any(entry["kernel"].startswith(fast) and entry["reason"] == reason for entry in nodes[0]["rejected"])
    assert reason in aidge_build("explain", tmp_path / "net.onnx", nodes[0]["name"], "--board", board).stdout


@pytest.mark.parametrize("board, library", [("mps2-an386", "cortexm"), ("mps3-an547", "helium")])
def test_layers_of_16_bit_values_have_a_fast_kernel_that_is_right(board, library, tmp_path):
    nodes = right(words, board, tmp_path)
    assert next(node["library"] for node in nodes if node["op"] == "Conv2D") == library


def right(make, board, folder) -> list[dict]:
    """The nodes of a model whose firmware computes what numpy does."""
    made, inputs = make(numpy.random.Generator(numpy.random.PCG64(5)))
    (folder / "net.onnx").write_bytes(made)
    numpy.savez(folder / "io.npz", x=inputs)
    verified = aidge_build("verify", folder / "net.onnx", "--board", board, "--io-data", folder / "io.npz", "--json")
    assert verified.exit_code == 0 and verified.json["differing_values"] == 0 and verified.json["values"] > 100
    return aidge_build("explain", folder / "net.onnx", "--board", board, "--json").json["nodes"]


def test_explain_says_block_and_epilogue_and_the_plan_says_the_same(tmp_path):
    explained = {node["name"]: node for node in aidge_build("explain", DIGITS, "--board", "mps2-an386", "--json").json["nodes"]}
    facts = explained["conv1"]["facts"]
    assert facts["block"] == "2 pixels x 4 channels" and "integer" in facts["epilogue"]
    assert explained["conv1"]["instructions_per_mac"] is None and explained["flatten"]["facts"] == {}
    text = aidge_build("explain", DIGITS, "conv1", "--board", "mps2-an386").stdout
    assert "block 2 pixels x 4 channels; epilogue integer" in text and "- instructions per MAC" in text and text.count("\n") == 2
    assert aidge_build("compile", DIGITS, "--out", tmp_path, "--board", "mps2-an386").exit_code == 0
    planned = json.loads((tmp_path / "digits.plan.json").read_text())["layers"]
    assert {layer["name"]: layer["facts"] for layer in planned} == {
        name: node["facts"] for name, node in explained.items() if node["kernel"] != "view"
    }


def test_explain_says_what_constants_take_beside_those_of_the_model(tmp_path):
    assert aidge_build("compile", DIGITS, "--out", tmp_path, "--board", "mps2-an386").exit_code == 0
    plan = json.loads((tmp_path / "digits.plan.json").read_text())
    taken, own = plan["weights_bytes"], plan["model_constants_bytes"]
    nodes = aidge_build("explain", DIGITS, "--board", "mps2-an386", "--json").json["nodes"]
    assert sum(node["constants_bytes"] for node in nodes) == taken
    assert sum(node["model_constants_bytes"] for node in nodes) == own
    last = aidge_build("explain", DIGITS, "--board", "mps2-an386").stdout.splitlines()[-1]
    assert f"constants: {taken:,} B; {own:,} B in the model, +{taken - own:,} B (" in last


def test_explain_measures_each_layer_where_there_is_an_emulator(unusual, tmp_path):
    measured = {
        words: aidge_build("explain", unusual, "--board", "mps2-an386", "--measure", *words, "--json").json["nodes"]
        for words in ((), ("--io-data", tmp_path / "io.npz"))
    }
    for nodes in measured.values():
        for node in filter(lambda node: node["macs"], nodes):
            assert node["instructions_from"] == "measured" and node["instructions"] > node["macs"]
            assert node["instructions_per_mac"] == round(node["instructions"] / node["macs"], 3)
    again = aidge_build("explain", unusual, "--board", "mps2-an386", "--measure", "--json").json
    assert again["nodes"] == measured[()]
    lines = aidge_build("explain", unusual, "--board", "mps2-an386", "--measure").stdout.splitlines()
    rows = [line.split() for line in lines]
    (whole,) = [row for row in rows if row[:2] == ["an", "inference"]]
    assert whole[2] == f"{again['instructions']:,}" and max(map(len, lines)) <= 120
    (around,) = [row for row in rows if row[:3] == ["around", "the", "layers"]]
    (flash,) = [row for row in rows if row[:2] == ["all", "SSRAM1"]]
    code = sum(read["code_bytes"] for node in again["nodes"] for read in node["reads"])
    assert 2 * again["instructions"] <= int(flash[2].replace(",", "")) <= 4 * again["instructions"] and code > 0
    layers = sum(node["instructions"] or 0 for node in again["nodes"])
    assert 0 < layers < again["instructions"] == layers + int(around[3].replace(",", ""))
    for words in (("--board", "host"), ("--cpu", "cortex-m4")):
        refused = aidge_build("explain", unusual, *words, "--measure")
        assert refused.exit_code == 2 and "--board" in refused.stderr


def test_explain_reads_what_a_layer_costs_from_the_table(tmp_path):
    (tmp_path / "net.onnx").write_bytes(model("y = Relu(x)", inputs="float[1,40] x", outputs="float[1,40] y"))
    (tmp_path / "costs.toml").write_text(
        'schema = 1\nname = "t"\nversion = "1"\nunit = "instructions"\n'
        '[[cost]]\nlibrary = "ref"\nkernel = "unary_float32"\nop = "ReLU"\nper_element = 7\n'
    )
    nodes = aidge_build(
        "explain", tmp_path / "net.onnx", "--select", "cost", "--cost-table", tmp_path / "costs.toml", "--json"
    ).json["nodes"]
    assert [(node["instructions"], node["instructions_from"]) for node in nodes] == [(280, "cost table")], nodes
