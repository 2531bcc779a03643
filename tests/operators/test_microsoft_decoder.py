# SPDX-License-Identifier: MIT
"""Attention over caches and rotary embeddings, as onnxruntime's builders of decoders write them: with onnxruntime's values."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference import cpu
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx

STRESS = "AIDGE_STRESS" in os.environ
ROWS, TYPES = 9, {"f": onnx.TensorProto.FLOAT, "l": onnx.TensorProto.INT64, "i": onnx.TensorProto.INT32}


@dataclass
class Node:
    """A node of com.microsoft: `given` are inputs by name, `constants` initialisers; `filled` rows of caches are defined."""

    kind: str
    names: list[str]
    given: dict[str, numpy.ndarray]
    constants: dict[str, numpy.ndarray] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("y",)
    attributes: dict[str, object] = field(default_factory=dict)
    filled: int = 0

    def file(self) -> bytes:
        node = helper.make_node(self.kind, self.names, list(self.outputs), domain="com.microsoft", **self.attributes)
        inputs = [helper.make_tensor_value_info(name, TYPES[one.dtype.char], one.shape) for name, one in self.given.items()]
        outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in self.outputs]
        constants = [numpy_helper.from_array(values, name) for name, values in self.constants.items()]
        graph = helper.make_graph([node], "g", inputs, outputs, constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()


def same_as_onnxruntime(node: Node) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    data = node.file()
    theirs = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(list(node.outputs), node.given)
    view, _ = import_onnx(data, "m", builtin_operators(), {}, {})
    for graph in (view, simplify(view)):
        ours = cpu.run(graph, {name: node.given[name] for name in graph.inputs})
        for name, values in zip(node.outputs, theirs):
            assert ours[name].shape == values.shape
            rows = slice(None) if name == "y" else slice(0, node.filled)  # onnxruntime leaves later rows of a cache undefined
            assert numpy.allclose(ours[name][:, :, rows], values[:, :, rows], rtol=1e-5, atol=1e-5), name


def tables(random, pairs: int) -> dict[str, numpy.ndarray]:
    angles = random.uniform(-3, 3, (ROWS + 3, pairs))
    return {"cos": numpy.cos(angles).astype("f4"), "sin": numpy.sin(angles).astype("f4")}


def grouped(
    seed: int, heads=(4, 2), batch=1, length=1, rotary=32, interleaved=0, packed=False, filled=3, cache=True, **attributes
) -> Node:
    """`filled` rows of the cache hold something before the new ones; `rotary` elements of 32 are turned."""
    random = numpy.random.default_rng(seed)
    many, few = heads
    width = 32

    def real(*dims: int) -> numpy.ndarray:
        return random.normal(size=dims).astype("f4")

    if packed:
        given = {"q": real(batch, length, (many + 2 * few) * width)}
    else:
        given = {name: real(batch, length, count * width) for name, count in (("q", many), ("k", few), ("v", few))}
    if cache:
        given |= {name: real(batch, few, ROWS, width) for name in ("pk", "pv")}
    given["last"] = numpy.full((batch,), filled + length - 1 if cache else length - 1, numpy.int32)
    constants = {"total": numpy.array(filled + length if cache else length, numpy.int32)}
    names = ["q", "" if packed else "k", "" if packed else "v", *(("pk", "pv") if cache else ("", "")), "last", "total"]
    if rotary:
        constants |= tables(random, rotary // 2)
        names += ["cos", "sin"]
    attributes |= {"num_heads": many, "kv_num_heads": few, "do_rotary": int(rotary > 0), "rotary_interleaved": interleaved}
    return Node("GroupQueryAttention", names, given, constants, ("y", "nk", "nv"), attributes, filled + length)


GROUPED = {
    "a token": {},
    "the first token": {"filled": 0},
    "the last row": {"filled": ROWS - 1},
    "one head of keys": {"heads": (3, 1)},
    "as many heads of keys": {"heads": (2, 2)},
    "no rotary": {"rotary": 0},
    "a part of a head is turned": {"rotary": 16},
    "pairs of neighbours": {"interleaved": 1},
    "pairs of neighbours in a part": {"interleaved": 1, "rotary": 16},
    "packed": {"packed": True},
    "a local window": {"local_window_size": 2, "filled": 5},
    "a local window that is not full": {"local_window_size": 4, "filled": 1},
    "a scale": {"scale": 0.5},
    "a soft cap": {"softcap": 2.0},
    "a prompt": {"filled": 0, "length": 4},
    "a prompt without a cache": {"cache": False, "length": 5, "packed": True},
    "two streams": {"batch": 2},
}


@pytest.mark.parametrize("name", GROUPED)
def test_grouped_attention_has_onnxruntimes_values(name):
    same_as_onnxruntime(grouped(1, **GROUPED[name]))


@pytest.mark.skipif(not STRESS, reason="AIDGE_STRESS=1 tries all combinations")
def test_grouped_attention_in_all_combinations():
    for seed, (heads, rotary, interleaved, packed, filled, window) in enumerate(
        itertools.product([(4, 2), (3, 3), (6, 1)], [0, 16, 32], [0, 1], [False, True], [0, 2, 5, 8], [-1, 1, 3])
    ):
        same_as_onnxruntime(
            grouped(
                seed,
                heads=heads,
                rotary=rotary,
                interleaved=interleaved,
                packed=packed,
                filled=filled,
                local_window_size=window,
            )
        )


@pytest.mark.parametrize(
    "words, reason",
    [
        ({"smooth_softmax": 1}, "a sink of attention is not supported"),
        ({"heads": (3, 2)}, "3 heads of queries for 2 of keys"),
        ({"kv_cache_bit_width": 8}, "a quantized cache is not supported"),
    ],
)
def test_what_grouped_attention_cannot_do_is_refused(words, reason):
    with pytest.raises(AidgeError, match=reason):
        import_onnx(grouped(1, **words).file(), "m", builtin_operators(), {}, {})


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("dims, heads", [((1, 3, 16), 2), ((2, 2, 1, 8), 0), ((1, 1, 12), 0), ((2, 2, 3, 8), 0)])
@pytest.mark.parametrize("one_position", [True, False])
def test_rotary_embeddings_have_onnxruntimes_values(interleaved, dims, heads, one_position):
    random = numpy.random.default_rng(4)
    pairs = dims[2] // (2 * heads) if heads else dims[-1] // 2 if len(dims) == 4 else 3
    length = dims[1] if len(dims) == 3 else dims[2]
    places = numpy.array([2]) if one_position else random.integers(0, ROWS, (dims[0], length))
    attributes = {"interleaved": interleaved, "num_heads": heads}
    given = {"x": random.normal(size=dims).astype("f4"), "places": places}
    same_as_onnxruntime(
        Node("RotaryEmbedding", ["x", "places", "cos", "sin"], given, tables(random, pairs), attributes=attributes)
    )


@pytest.mark.parametrize("length, words", [(1, {}), (3, {"unidirectional": 1}), (1, {"masked": True}), (2, {"bias": True})])
def test_attention_joins_new_keys_and_values_to_a_cache(length, words):
    random = numpy.random.default_rng(6)
    past, heads, width, masked, bias = 4, 2, 8, words.pop("masked", False), words.pop("bias", False)
    given = {name: random.normal(size=(1, length, heads * width)).astype("f4") for name in "qkv"}
    given |= {name: random.normal(size=(1, heads, past, width)).astype("f4") for name in ("pk", "pv")}
    constants = {"b": random.normal(size=3 * heads * width).astype("f4")} if bias else {}
    if masked:
        given["m"] = numpy.array([[0, 1, 1, 1, 1]], numpy.int32)
    names = ["q", "k", "v", "b" if bias else "", "m" if masked else "", "", "pk", "pv"]
    node = Node("MultiHeadAttention", names, given, constants, ("y", "nk", "nv"), {"num_heads": heads, **words}, past + length)
    same_as_onnxruntime(node)
