# SPDX-License-Identifier: MIT
"""Recurrent layers read int8 as it is stored: weights stay bytes, data lose their DequantizeLinear."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.rewrite import Rewrite
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.meaning import require_same_meaning
from aidge_build.prepare.recipes.read_stored import read_stored
from tests.models import graph, types

RANDOM = numpy.random.default_rng(5)
WEIGHTS = {
    "w": RANDOM.integers(-128, 128, (1, 16, 3)).astype(numpy.int8),
    "r": RANDOM.integers(-128, 128, (1, 16, 4)).astype(numpy.int8),
    "b": RANDOM.integers(-128, 128, (1, 32)).astype(numpy.int8),
    "s": RANDOM.uniform(0.005, 0.01, 16).astype(numpy.float32),
    "z": numpy.zeros(16, numpy.int8),
    "sx": numpy.float32(0.03),
    "zx": numpy.int8(-7),
}
PARAMETERS = "wf = DequantizeLinear<axis=1>(w, s, z) rf = DequantizeLinear<axis=1>(r, s, z) bf = DequantizeLinear(b, sx, zx)"


def layer(nodes: str, constants=None, inputs: str = "int8[5,1,3] x"):
    text = f"{PARAMETERS} {nodes} y = LSTM<hidden_size=4>(xf, wf, rf, bf)"
    return graph(text, inputs=inputs, outputs="float[5,1,1,4] y", constants={**WEIGHTS, **(constants or {})})


def test_weights_and_data_of_a_recurrent_layer_stay_int8_and_its_bias_becomes_float():
    before = layer("xf = DequantizeLinear(x, sx, zx)")
    after = simplify(before)
    assert types(after) == ["LSTM"]
    read = [after.tensor(name) for name in after.nodes[0].inputs]
    assert [tensor.dtype for tensor in read] == [DType.int8, DType.int8, DType.int8, DType.float32]
    assert [tensor.quantization is not None for tensor in read] == [True, True, True, False]
    require_same_meaning(before, after, "simplify", exact=False)


def test_uint8_data_and_weights_become_int8():
    unsigned = {name: WEIGHTS[name].astype(numpy.int16) + 128 for name in ("w", "r")}
    before = layer(
        "xf = DequantizeLinear(x, sx, zx)",
        {**{name: values.astype(numpy.uint8) for name, values in unsigned.items()}, "z": numpy.full(16, 128, numpy.uint8),
         "zx": numpy.uint8(100), "b": unsigned["w"][:, :, :2].reshape(1, 32).astype(numpy.uint8)},
        "uint8[5,1,3] x",
    )  # fmt: skip
    after = simplify(before)
    read = [after.tensor(name) for name in next(node for node in after.nodes if node.type == "LSTM").inputs[:3]]
    assert [(tensor.dtype, set(tensor.quantization.zero_points)) for tensor in read[1:]] == [(DType.int8, {0})] * 2
    assert (read[0].dtype, read[0].quantization.zero_point) == (DType.int8, -28)
    require_same_meaning(before, after, "simplify", exact=False)


def test_data_with_a_scale_for_each_channel_or_from_elsewhere_are_left_alone():
    for nodes, more in (
        ("xf = DequantizeLinear<axis=2>(x, sx, zx)", {"sx": numpy.float32([0.1, 0.2, 0.3]), "zx": numpy.int8([1, 2, 3])}),
        ("c = Cast<to=1>(x) xf = Relu(c)", {}),
    ):
        text = f"wf = DequantizeLinear<axis=1>(w, s, z) rf = DequantizeLinear<axis=1>(r, s, z) {nodes}"
        before = graph(
            f"{text} y = LSTM<hidden_size=4>(xf, wf, rf)",
            inputs="int8[5,1,3] x",
            outputs="float[5,1,1,4] y",
            constants={name: values for name, values in {**WEIGHTS, **more}.items() if name != "b"},
        )
        after = simplify(before)
        data = after.tensor(next(node for node in after.nodes if node.type == "LSTM").inputs[0])
        assert data.dtype is DType.float32 and len(after.nodes) > 1
        require_same_meaning(before, after, "simplify", exact=False)


def test_float_data_of_the_graph_stay_float():
    view = graph(
        f"{PARAMETERS} y = LSTM<hidden_size=4>(x, wf, rf, bf)",
        inputs="float[5,1,3] x",
        outputs="float[5,1,1,4] y",
        constants={name: values for name, values in WEIGHTS.items() if name != "zy"},
    )
    after = simplify(view)
    assert [after.tensor(name).dtype for name in after.nodes[0].inputs[:2]] == [DType.float32, DType.int8]


def test_data_that_the_node_reads_by_another_scale_than_it_was_written_with_keep_their_node():
    """A view whose tensor says something else: the recipe believes the tensor only where both agree."""
    view = layer("xf = DequantizeLinear(x, sx, zx)")
    rewrite = Rewrite(view)
    rewrite.update_tensor("x", quantization=per_tensor(0.5, 0))
    assert "DequantizeLinear" in types(read_stored(rewrite.finish()))
    rewrite.update_tensor("x", quantization=per_tensor(0.03, -7))
    view = rewrite.finish()
    assert types(read_stored(view)).count("DequantizeLinear") == types(view).count("DequantizeLinear") - 1


def test_what_others_read_stays_dequantized():
    before = graph(
        f"{PARAMETERS} xf = DequantizeLinear(x, sx, zx) y = LSTM<hidden_size=4>(xf, wf, rf, bf) other = Sin(xf)",
        inputs="int8[5,1,3] x",
        outputs="float[5,1,1,4] y, float[5,1,3] other",
        constants=WEIGHTS,
    )
    assert types(simplify(before)).count("DequantizeLinear") == 1


def test_other_operators_keep_their_dequantize_linear():
    view = graph(
        "xf = DequantizeLinear(x, sx, zx) y = Sin(xf)", inputs="int8[5] x", outputs="float[5] y", constants={
            "sx": WEIGHTS["sx"], "zx": WEIGHTS["zx"]}
    )  # fmt: skip
    assert types(read_stored(view)) == ["DequantizeLinear", "Sin"]
