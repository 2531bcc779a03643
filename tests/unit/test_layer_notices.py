# SPDX-License-Identifier: MIT
"""Notices about layers: each says its layers and reasons, and says nothing of a neighbour for which it is not true."""

from __future__ import annotations

from types import SimpleNamespace

import numpy
import pytest

from aidge_build.graph.view import GraphView
from aidge_build.prepare.adaptation import float_layers
from aidge_build.prepare.adaptation.assignment import Assignment, Choice
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.adaptation.slow_layers import layers_with_float_weights, slow_layers, wide_layers
from tests.models import graph

STEPS = (numpy.arange(-8, 8).reshape(4, 4, 1, 1) * 0.25).astype(numpy.float32)
VALUES = {
    "w": STEPS,
    "v": STEPS[::-1].copy(),
    "r": numpy.random.default_rng(1).normal(size=(4, 4, 1, 1)).astype(numpy.float32),
    "k": numpy.ones((1, 4, 1, 1), numpy.float32),
    "s": numpy.float32(0.5),
    "z": numpy.int8(1),
    "h": numpy.int16(1),
}
D = "d = DequantizeLinear(x, s, z) "
PER_MAC = {"float32_soft": 10, "float32": 3, "int8": 2}


def assigned(text: str, outputs: str = "float[1,4,2,2] y", inputs: str = "int8[1,4,2,2] x", **choices: Choice) -> Assignment:
    words = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
    view: GraphView = graph(
        text, inputs=inputs, outputs=outputs, constants={name: value for name, value in VALUES.items() if name in words}, opset=21
    )
    kernel = SimpleNamespace(library="lib", name="k")
    default = {node.name: Choice(None if node.operator.views else kernel, "") for node in view.nodes}
    return Assignment(view, default | choices)


@pytest.mark.parametrize(
    "text, layers, ends",
    [
        (D + "a = LeakyRelu(d) y = Conv(a, w)", "Conv_2", "LeakyRelu_1"),
        (D + "a = LeakyRelu(d) b = Identity(a) y = Conv(b, w)", "Conv_3", "LeakyRelu_1"),
        (D + "a = LeakyRelu(d) b = Transpose<perm=[0,1,3,2]>(a) y = Conv(b, w)", "Conv_3", "LeakyRelu_1"),
        (D + "a = Add(d, k) y = Conv(a, w)", "Conv_2", "Add_1"),
        (D + "a = LeakyRelu(d) b = Conv(a, w) c = Conv(a, v) y = Add(b, c)", "Conv_2, Conv_3", "LeakyRelu_1"),
        (D + "a = LeakyRelu(d) b = Sin(a) c = Add(a, b) y = Conv(c, w)", "Conv_4", "Add_3"),
        (D + "a = LeakyRelu(d) b = Conv(a, w) c = Sin(b) y = Conv(c, v)", "Conv_2", "LeakyRelu_1"),
        (D + "a = LeakyRelu(d) b = Conv(a, w) c = Sin(d) e = Conv(c, v) y = Add(b, e)", "Conv_2, Conv_4",
         "LeakyRelu_1, Sin_3"),
        (D + "y = Conv(d, w)", "", ""),  # a layer of integers
        (D + "e = Identity(d) y = Conv(e, w)", "", ""),
        (D + "a = LeakyRelu(d) y = Conv(a, r)", "", ""),  # weights of no levels
        ("a = LeakyRelu(f) " + D + "b = Conv(a, w) y = Add(b, d)", "", ""),  # floats from the caller
        (D + "a = Add(d, f) y = Conv(a, w)", "", ""),
    ],
)  # fmt: skip
def test_layers_of_floats_are_named_with_the_operators_behind_which_stored_values_end(text, layers, ends):
    found = assigned(text, inputs="int8[1,4,2,2] x, float[1,4,2,2] f")
    lines = float_layers.missing_quantization(found, (), Target())
    count = "1 layer computes" if layers.count("Conv") == 1 else "2 layers compute"
    said = f"{count} in float32, although the weights and the sources of the data are quantized: {layers}; "
    assert lines == ((f"{said}add QuantizeLinear and DequantizeLinear after {ends}",) if layers else ())


@pytest.mark.parametrize(
    "stated, features, said",
    [
        ([PER_MAC], (), "640 instead of 128"),
        ([PER_MAC], ("fpu",), "192 instead of 128"),
        ([{"float32_soft": 10}, {"int8": 4, "float32_soft": 1}], (), "640 instead of 256"),
        ([{"int8": 4}], (), ""),
        ([{"float32_soft": 10}], (), ""),
        ([], (), ""),
    ],
)  # fmt: skip
def test_layers_of_floats_cost_what_the_first_library_says_that_knows(stated, features, said):
    libraries = [SimpleNamespace(per_mac=one) for one in stated]
    found = assigned(D + "a = LeakyRelu(d) y = Conv(a, w)")
    (line,) = float_layers.missing_quantization(found, libraries, Target(frozenset(features)))
    cost = f"; about {said} instructions, and weights four times as large" if said else ""
    assert line.endswith(f"after LeakyRelu_1{cost}")
    without = assigned(D + "a = LeakyRelu(d) y = Conv(a, w)", Conv_2=Choice(None, ""))
    assert float_layers.missing_quantization(without, libraries, Target()) == ()


C, Q = "c = Cast<to=1>(x) ", " y = QuantizeLinear({}, s, z)"


@pytest.mark.parametrize(
    "dtype, text, names, count",
    [
        ("int16", C + "a = Sub(c, k)", "Cast_0, Sub_1, QuantizeLinear_2", 3_000),
        ("int16", C + "a = Mul(k, c)", "Cast_0, Mul_1, QuantizeLinear_2", 3_000),
        ("int16", C + "e = Identity(c) a = Sub(e, k)", "Cast_0, Sub_2, QuantizeLinear_3", 3_000),
        ("int16", C + "e = Transpose<perm=[0,1,3,2]>(c) a = Div(e, k)", "Cast_0, Transpose_1, Div_2, QuantizeLinear_3", 3_000),
        ("int8", D + "a = Add(d, k)", "DequantizeLinear_0, Add_1, QuantizeLinear_2", 3_000),
        ("int8", "d = DequantizeLinear(x, s) a = Add(d, k)", "DequantizeLinear_0, Add_1, QuantizeLinear_2", 3_000),
        ("int8", "a = DequantizeLinear(x, s, z)", "", 0),  # another scale
        ("int16", "a = Cast<to=1>(x)", "", 0),
        ("double", C + "a = Sub(c, k)", "", 0),
        ("int16", C + "a = Sub(c, c)", "", 0),  # no constant
        ("int16", C + "a = Sin(c)", "", 0),
        ("float", "c = Sub(x, k) a = Sub(c, k)", "", 0),
    ],
)
def test_integers_that_are_normalised_in_floats_are_named_from_the_cast_to_the_quantization(
    dtype, text, names, count, monkeypatch
):
    monkeypatch.setattr(float_layers, "length_of", lambda lengths, kernel, seen: lengths if kernel == "k" else 1 << 40)
    found = assigned(text + Q.format("a"), "int8[1,4,2,2] y", f"{dtype}[1,4,2,2] x")
    libraries = [SimpleNamespace(name="other", lengths=7), SimpleNamespace(name="lib", lengths=1_000)]
    lines = float_layers.float_normalizations(found, libraries)
    whys = {"int16": "int16 has more than 256 values", "int8": "integers do not give all 256 values"}
    assert len(lines) == bool(names)
    for line in lines:
        start = f"{dtype} values are normalised in float32: {names}; up to about {count:,} instructions; "
        assert line.startswith(start + whys[dtype])


TWO = "a = Conv(x, w) y = Conv(a, v)"


def slow(costs: dict[str, float], libraries=("fast", "mid", "last"), *, lacks_fpu: bool = False, narrow: bool = False, **changes):
    """The notices of two layers of the library `last` that cost so much per product."""
    kernel = SimpleNamespace(
        library="last",
        name="k",
        node_class=SimpleNamespace(takes_per_mac=lambda seen, is_narrow: costs[seen.node.name] + is_narrow),
    )
    choice = {
        "kernel": kernel,
        "rule": "",
        "rejected": (("last k2", "no"), ("mid m", "is odd"), ("fast f", "is even")),
        **changes,
    }
    found = assigned(TWO, inputs="float[1,4,2,2] x", Conv_0=Choice(**choice), Conv_1=Choice(**choice))
    return slow_layers(found, {"narrow"} if narrow else {"fpu"}, libraries, lacks_fpu=lacks_fpu)


def test_a_layer_is_slow_above_the_limit_or_in_floats_without_an_fpu_and_the_first_refusal_says_why():
    assert slow({"Conv_0": 6.0, "Conv_1": 2.0}) == ()
    above = "more than 6 instructions per multiply-accumulate"
    assert slow({"Conv_0": 6.5, "Conv_1": 2.0}) == (f"1 layer takes {above}: Conv_0 (last k: mid m: is odd)",)
    assert slow({"Conv_0": 6.0, "Conv_1": 2.0}, narrow=True) == (f"1 layer takes {above}: Conv_0 (last k: mid m: is odd)",)
    assert slow({"Conv_0": 7.0, "Conv_1": 8.0}, libraries=("fast", "last")) == (
        f"2 layers take {above}: Conv_0, Conv_1 (last k: fast f: is even)",
    )
    (alone,) = slow({"Conv_0": 7.0, "Conv_1": 1.0}, libraries=("last",))
    assert alone.endswith("Conv_0 (last k: no library has another kernel for it)")
    (first,) = slow({"Conv_0": 7.0, "Conv_1": 1.0}, libraries=("last", "fast"))
    assert first.endswith("Conv_0 (last k: few taps or outputs)")
    (soft,) = slow({"Conv_0": 1.0, "Conv_1": 7.0}, lacks_fpu=True)
    assert soft == f"2 layers take {above}: Conv_0 (last k: float32 on a core without an FPU); Conv_1 (last k: mid m: is odd)"
    other = (("fast f", "rounds as 'onnx', the build wants 'double'"),)
    (contract,) = slow({"Conv_0": 7.0, "Conv_1": 1.0}, rejected=other)
    assert contract.startswith(
        "1 layer has portable kernels under --rounding tflite, because the faster ones of fast exist for onnx"
    )
    assert slow({"Conv_0": 7.0, "Conv_1": 9.0}, kernel=None) == ()


@pytest.mark.parametrize(
    "text, inputs, lines",
    [
        (
            D + "y = Conv(d, r)",
            "int8[1,4,2,2] x",
            ["1 layer has float32 weights and quantized data, which become floats, too: Conv_1"],
        ),
        ("d = DequantizeLinear(x, s, h) y = Conv(d, r)", "int16[1,4,2,2] x", ["1 layer has int16 data, which become floats"]),
        (
            "d = DequantizeLinear(x, s) y = Conv(d, r)",
            "int8[1,4,2,2] x",
            ["1 layer has float32 weights and quantized data, which become floats, too: Conv_1"],
        ),
        (D + "y = Add(d, k)", "int8[1,4,2,2] x", []),  # no products
        (D + "a = Relu(d) y = Conv(a, r)", "int8[1,4,2,2] x", []),  # not directly
        (D + "y = Conv(d, f)", "int8[1,4,2,2] x, float[4,4,1,1] f", []),  # no constant
        ("y = Conv(x, r)", "float[1,4,2,2] x", []),
    ],
)
def test_float_weights_of_stored_data_are_named_by_the_type_of_the_data(text, inputs, lines):
    found = layers_with_float_weights(assigned(text, inputs=inputs))
    assert len(found) == len(lines) and all(one.startswith(line) for one, line in zip(found, lines, strict=True))


@pytest.mark.parametrize(
    "reasons, libraries, is_named",
    [
        ((("fast f", "input 1 is int16, wants int8"),), ("fast", "lib"), True),
        ((("fast f", "input 1 is int16, wants int8"),), ("lib", "fast"), False),  # not preferred
        ((("fast f", "is odd"),), ("fast", "lib"), False),
        ((), ("fast", "lib"), False),
    ],
)
@pytest.mark.parametrize("data, weights", [("int8", "int16"), ("int16", "int16"), ("int8", "int8")])
def test_wide_weights_are_named_if_a_preferred_library_refuses_them_before_bytes(reasons, libraries, is_named, data, weights):
    choice = Choice(SimpleNamespace(library="lib", name="k"), "", reasons)
    found = assigned("y = Mul(a, b) q = Neg(a)", f"{data}[4] y, {data}[4] q", f"{data}[4] a, {data}[4] b", Mul_0=choice)
    tensors = {**found.view.tensors, "b": found.view.tensor("b").with_(dtype=found.view.tensor("a").dtype.__class__[weights])}
    found = Assignment(GraphView("net", found.view.nodes, tensors, found.view.inputs, found.view.outputs), found.choices)
    assert bool(wide_layers(found, libraries)) == (is_named and (data, weights) == ("int8", "int16"))
