# SPDX-License-Identifier: MIT
"""Concatenations and splits without a copy: taken only where the plan is not worse, and right to the byte."""

from __future__ import annotations

import argparse

import numpy
import pytest

from aidge_build.build.compile import build_program
from aidge_build.build.inputs import add_model_arguments, load
from tests.command import aidge_build
from tests.models import model
from tests.target.test_arena_poison import has_sanitizer, program_of, require_right

CONV = "Conv<pads=[1,1,1,1]>"
SHAPES = {
    "w1": (6, 4, 3, 3),
    "w2": (3, 4, 1, 1),
    "w3": (8, 9, 3, 3),
    "w4": (5, 8, 3, 3),
    "v1": (8, 4, 3, 3),
    "v2": (8, 4, 1, 1),
    "v3": (8, 8, 3, 3),
}
NETWORKS = {
    # members with gaps between their pixels, from a convolution and a pointwise one
    "channels": (
        f"a = {CONV}(x, w1) b = Conv(x, w2) c = Concat<axis=1>(a, b) d = {CONV}(c, w3) e = {CONV}(d, w4) y = "
        "GlobalAveragePool(e)",
        5,
    ),
    # members and pieces in one piece, and a reader of a member alone
    "rows": (
        f"a = {CONV}(x, v1) b = Conv(x, v2) c = Concat<axis=2>(a, b) d = {CONV}(c, v3) p, q = Split<axis=2>(d) e = {CONV}(p, v3)"
        f" f = {CONV}(q, v3) g = Add(e, f) h = Add(g, a) y = GlobalAveragePool(h)",
        8,
    ),
    # a joint tensor within a joint tensor
    "nested": (
        f"a = {CONV}(x, v1) b = Conv(x, v2) c = Concat<axis=2>(a, b) d = {CONV}(x, v1) e = Concat<axis=2>(d, c) f = {CONV}(e, v3)"
        " y = GlobalAveragePool(f)",
        8,
    ),
}


@pytest.fixture
def network(tmp_path):
    def make(name: str):
        random = numpy.random.default_rng(5)
        constants = {key: (random.normal(size=dims) * 0.3).astype(numpy.float32) for key, dims in SHAPES.items()}
        text, channels = NETWORKS[name]
        used = {key: values for key, values in constants.items() if key in text}
        path = tmp_path / "joint.onnx"
        path.write_bytes(model(text, inputs="float[1,4,8,8] x", outputs=f"float[1,{channels},1,1] y", constants=used))
        numpy.savez(tmp_path / "io.npz", x=random.normal(size=(3, 1, 4, 8, 8)).astype(numpy.float32))
        return path, tmp_path / "io.npz"

    return make


def built(path, *options):
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return build_program(load(parser.parse_args([str(path), "--lib", "ref", *options]), "joint"))


@pytest.mark.parametrize(
    "name, left_out, with_rows", [("channels", {"Concat"}, 2), ("rows", {"Concat", "Split"}, 0), ("nested", {"Concat"}, 0)]
)
def test_what_only_moves_bytes_is_left_out_and_its_parts_lie_in_the_joint_tensor(network, name, left_out, with_rows):
    path, _ = network(name)
    program, plain = built(path), built(path, "--memory-model", "plain")
    assert not left_out & {layer.node.type for layer in program.layers} and left_out <= {
        layer.node.type for layer in plain.layers
    }
    assert program.memory.peak.peak_bytes <= plain.memory.peak.peak_bytes
    assert program.memory.arena.peak_bytes <= plain.memory.arena.peak_bytes
    assert sum(place.rows > 1 for place in program.memory.places.values()) == with_rows
    assert all((place.rows > 1) == (place.stride_bytes > 0) for place in program.memory.places.values())


@pytest.mark.parametrize("name", NETWORKS)
def test_every_layer_is_right_without_the_copies(network, name):
    path, vectors = network(name)
    result = aidge_build("verify", path, "--io-data", vectors, "--board", "host", "--lib", "ref", "--layers", "--json")
    assert result.exit_code == 0, result.stderr or result.stdout
    assert not {"Concat", "Split"} & {layer["op"] for layer in result.json["layers"]}


@pytest.mark.skipif(not has_sanitizer(), reason="needs a C compiler with AddressSanitizer")
@pytest.mark.parametrize("name", NETWORKS)
def test_a_layer_touches_no_byte_of_another_member(network, name, tmp_path):
    path, _ = network(name)
    require_right(program_of(path), tmp_path, numpy.random.default_rng(2).normal(size=(2, 1, 4, 8, 8)).astype(numpy.float32))


def test_a_joint_tensor_that_would_cost_memory_is_copied(tmp_path):
    """The small first member should be there early, and the joint tensor, whose pixels it shares, should not."""
    random = numpy.random.default_rng(1)
    sizes = {"first": (10, 4, 1, 1), "small": (4, 10, 3, 3), "wide": (64, 10, 1, 1), "narrow": (8, 64, 1, 1)}
    constants = {name: random.normal(size=dims).astype(numpy.float32) for name, dims in sizes.items()}
    text = (
        f"t = Conv(x, first) a = {CONV}(t, small) b = Conv(t, wide) c = Sigmoid(b) d = Conv(c, narrow) e = Concat<axis=1>(a, d)"
        " y = GlobalAveragePool(e)"
    )
    path = tmp_path / "late.onnx"
    path.write_bytes(model(text, inputs="float[1,4,8,8] x", outputs="float[1,12,1,1] y", constants=constants))
    program = built(path)
    assert "Concat" in {layer.node.type for layer in program.layers}
    assert program.memory.peak.peak_bytes < (64 + 12) * 64 * 4  # the wide tensor beside the joint one


@pytest.mark.parametrize(
    "text, kind",
    [
        ("a = Conv(x, v2) b = Conv(x, v2) c = Concat<axis=3>(a, b) d = Conv(c, v3)", "Concat"),  # pieces of every row
        ("a = Conv(x, v2) b = Softmax<axis=1>(a) e = Conv(x, v2) c = Concat<axis=1>(b, e) d = Conv(c, two)", "Concat"),
        ("a = Conv(x, v2) b = Conv(x, v2) c = Concat<axis=1>(a, b) f = Conv(c, two) d = Add(f, a)", "Concat"),
        ("c = Conv(x, v2) p, q = Split<axis=1>(c) e = Conv(p, w4) f = Conv(q, w4) d = Add(e, f)", "Split"),
    ],
    ids=["axis between", "kernel without gaps", "member that others read", "pieces of pixels"],
)
def test_a_tensor_that_its_kernels_cannot_use_in_pieces_is_copied(text, kind, tmp_path):
    random = numpy.random.default_rng(1)
    sizes = {"v2": (8, 4, 1, 1), "v3": (8, 8, 1, 1), "two": (8, 16, 1, 1), "w4": (8, 4, 1, 1)}
    constants = {name: random.normal(size=dims).astype(numpy.float32) for name, dims in sizes.items() if f" {name})" in text}
    path = tmp_path / "copied.onnx"
    path.write_bytes(
        model(f"{text} y = GlobalAveragePool(d)", inputs="float[1,4,8,8] x", outputs="float[1,8,1,1] y", constants=constants)
    )
    assert kind in {layer.node.type for layer in built(path).layers}


@pytest.mark.parametrize("pixels", [2, 3])
def test_members_of_several_pixels_are_as_far_apart_as_the_pixels_of_the_joint_tensor(pixels, tmp_path):
    text = f"a = {CONV}(x, w1) b = Conv(x, w2) c = Concat<axis=1>(a, b) d = {CONV}(c, w3) y = GlobalAveragePool(d)"
    constants = {name: numpy.ones(SHAPES[name], numpy.float32) for name in ("w1", "w2", "w3")}
    path = tmp_path / "pixels.onnx"
    path.write_bytes(model(text, inputs=f"float[1,4,1,{pixels}] x", outputs="float[1,8,1,1] y", constants=constants))
    places = built(path).memory.places
    assert [(places[name].rows, places[name].stride_bytes) for name in "ab"] == [(pixels, 9 * 4)] * 2
    assert places["b"].offset_bytes - places["a"].offset_bytes == 6 * 4


def test_members_of_an_int8_concatenation_with_one_scale_are_written_in_place(tmp_path):
    random = numpy.random.default_rng(3)
    constants = {
        "s": numpy.float32(0.05),
        "z": numpy.int8(3),
        "ws": numpy.float32(0.02),
        "wz": numpy.int8(0),
        **{
            name: random.integers(-127, 128, dims).astype(numpy.int8)
            for name, dims in (("w1", (6, 4, 3, 3)), ("w2", (3, 4, 1, 1)))
        },
    }
    lines = ["xf = DequantizeLinear(x, s, z)"]
    for name in ("w1", "w2"):
        lines.append(f"{name}f = DequantizeLinear({name}, ws, wz)")
    lines += [
        f"af = {CONV}(xf, w1f) aq = QuantizeLinear(af, s, z) a = DequantizeLinear(aq, s, z)",
        "bf = Conv(xf, w2f) bq = QuantizeLinear(bf, s, z) b = DequantizeLinear(bq, s, z)",
        "cf = Concat<axis=1>(a, b) cq = QuantizeLinear(cf, s, z) c = DequantizeLinear(cq, s, z)",
        "df = MaxPool<kernel_shape=[2,2],strides=[2,2]>(c) y = QuantizeLinear(df, s, z)",
    ]
    path = tmp_path / "int8.onnx"
    path.write_bytes(model(" ".join(lines), inputs="int8[1,4,8,8] x", outputs="int8[1,9,4,4] y", constants=constants))
    numpy.savez(tmp_path / "io.npz", x=random.integers(-128, 128, (3, 1, 4, 8, 8)).astype(numpy.int8))
    result = aidge_build("verify", path, "--io-data", tmp_path / "io.npz", "--lib", "ref", "--json")
    assert result.exit_code == 0, result.stderr or result.stdout
    assert "Concat" not in {layer["op"] for layer in result.json["layers"]}


@pytest.mark.parametrize("channels, is_copied", [(3, True), (4, False)])
def test_pieces_begin_at_words_or_are_copied(channels, is_copied, tmp_path):
    """The first of both pieces has 75 or 100 bytes: kernels may read whole words of the second one."""
    weights = numpy.random.default_rng(3).integers(-127, 128, (channels, 4, 1, 1)).astype(numpy.int8)
    constants = {"s": numpy.float32(0.05), "z": numpy.int8(3), "w": weights, "o": numpy.int8(0)}
    text = "xf = DequantizeLinear(x, s, z) wf = DequantizeLinear(w, s, o) "
    for name in "ab":
        text += f"{name}f = Conv(xf, wf) {name}q = QuantizeLinear({name}f, s, z) {name} = DequantizeLinear({name}q, s, z) "
    text += "cf = Concat<axis=2>(a, b) cq = QuantizeLinear(cf, s, z) c = DequantizeLinear(cq, s, z) "
    text += "df = MaxPool<kernel_shape=[2,2],strides=[2,2]>(c) y = QuantizeLinear(df, s, z)"
    path = tmp_path / "pieces.onnx"
    path.write_bytes(model(text, inputs="int8[1,4,5,5] x", outputs=f"int8[1,{channels},5,2] y", constants=constants))
    assert ("Concat" in {layer.node.type for layer in built(path).layers}) == is_copied
