# SPDX-License-Identifier: MIT
"""Small decoders with random weights, in the structure in which exporters write them, and onnxruntime's logits of a text.

gpt       Hugging Face optimum, GPT-2: learned positions, one projection, a mask of the lowest float
llama     Hugging Face optimum, Llama: rotary angles from positions, repeated heads of keys, NaN filled after the softmax
grouped   onnxruntime's builder: GroupQueryAttention on caches of a fixed length, SkipSimplifiedLayerNormalization
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

WORDS, WIDTH, HEADS, KEPT, POSITIONS = 32, 32, 2, 1, 64
HEAD = WIDTH // HEADS
STYLES = ("gpt", "llama", "grouped", "modern")
LOWEST = float(numpy.finfo(numpy.float32).min)


@dataclass
class _Graph:
    """Nodes and constants so far; constants get names of their own."""

    random: numpy.random.Generator
    layers: int
    nodes: list = field(default_factory=list)
    constants: list = field(default_factory=list)

    def constant(self, values, dtype=None) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values, dtype), name))
        return name

    def weights(self, *dims: int) -> str:
        return self.constant(self.random.normal(size=dims) * (dims[0] ** -0.5 if len(dims) > 1 else 0.1), numpy.float32)

    def floats(self, *values) -> str:
        return self.constant(values[0] if len(values) == 1 else values, numpy.float32)

    def whole(self, *values) -> str:
        return self.constant(values, numpy.int64)

    def one(self, kind: str, *inputs: str, outputs: Sequence[str] = (), **attributes) -> str:
        names = list(outputs) or [f"t{len(self.nodes)}"]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"n{len(self.nodes)}", **attributes))
        return names[0]

    def theirs(self, kind: str, *inputs: str, **words) -> str:
        return self.one(kind, *inputs, domain="com.microsoft", **words)


def decoder(style: str, seed: int = 1, layers: int = 2) -> onnx.ModelProto:
    """A decoder with caches of open lengths."""
    graph = _Graph(numpy.random.default_rng(seed), layers)
    writers = {"gpt": _gpt, "llama": _llama, "grouped": _grouped, "modern": _modern}
    writers[style](graph)
    kept = HEADS if style == "gpt" else KEPT
    total = "total_sequence_length" if style == "grouped" else "past_sequence_length + sequence_length"
    inputs = [("input_ids", ["batch_size", "sequence_length"]), ("attention_mask", ["batch_size", total])]
    inputs += [] if style == "grouped" else [("position_ids", ["batch_size", "sequence_length"])]
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, dims) for name, dims in inputs]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch_size", "sequence_length", WORDS])]
    for side, prefix, length in ((values, "past_key_values", "past_sequence_length"), (outputs, "present", total)):
        for layer in range(layers):
            for part in ("key", "value"):
                dims = ["batch_size", kept, length, HEAD]
                side.append(helper.make_tensor_value_info(f"{prefix}.{layer}.{part}", TensorProto.FLOAT, dims))
    made = helper.make_graph(graph.nodes, style, values, outputs, graph.constants)
    opsets = [helper.make_opsetid("", 23 if style == "modern" else 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, ir_version=10, opset_imports=opsets)


def _apart(g: _Graph, name: str, heads: int) -> str:
    return g.one("Transpose", g.one("Reshape", name, g.whole(0, 0, heads, HEAD)), perm=[0, 2, 1, 3])


def _joined(g: _Graph, name: str) -> str:
    return g.one("Reshape", g.one("Transpose", name, perm=[0, 2, 1, 3]), g.whole(0, 0, WIDTH))


def _appended(g: _Graph, layer: int, part: str, new: str) -> str:
    return g.one("Concat", f"past_key_values.{layer}.{part}", new, outputs=[f"present.{layer}.{part}"], axis=-2)


def _linear(g: _Graph, name: str, columns: int, rows: int = WIDTH) -> str:
    return g.one("Add", g.one("MatMul", name, g.weights(rows, columns)), g.weights(columns))


def _layer_norm(g: _Graph, name: str) -> str:
    scale = g.constant(1 + 0.1 * g.random.normal(size=WIDTH), numpy.float32)
    return g.one("LayerNormalization", name, scale, g.weights(WIDTH), axis=-1, epsilon=1e-5)


def _rms(g: _Graph, name: str) -> str:
    mean = g.one("ReduceMean", g.one("Pow", name, g.floats(2)), axes=[-1], keepdims=1)
    root = g.one("Sqrt", g.one("Add", mean, g.floats(1e-6)))
    normal = g.one("Mul", name, g.one("Div", g.floats(1), root))
    return g.one("Mul", g.constant(1 + 0.1 * g.random.normal(size=WIDTH), numpy.float32), normal)


def _gpt(g: _Graph) -> None:
    places = g.one("Gather", g.weights(POSITIONS, WIDTH), "position_ids")
    hidden = g.one("Add", g.one("Gather", g.weights(WORDS, WIDTH), "input_ids"), places)
    mask = g.one("Cast", g.one("Unsqueeze", "attention_mask", g.whole(1, 2)), to=TensorProto.FLOAT)
    mask = g.one("Where", g.one("Equal", mask, g.floats(0)), g.floats(LOWEST), g.floats(0))
    for layer in range(g.layers):
        parts = [f"q{layer}", f"k{layer}", f"v{layer}"]
        g.one("Split", _linear(g, _layer_norm(g, hidden), 3 * WIDTH), g.whole(*[WIDTH] * 3), outputs=parts, axis=2)
        query, key, value = (_apart(g, name, HEADS) for name in parts)
        key, value = _appended(g, layer, "key", key), _appended(g, layer, "value", value)
        scores = g.one("MatMul", query, g.one("Transpose", key, perm=[0, 1, 3, 2]))
        scores = g.one("Add", g.one("Div", scores, g.floats(HEAD**0.5)), mask)
        found = g.one("MatMul", g.one("Softmax", scores, axis=-1), value)
        hidden = g.one("Add", hidden, _linear(g, _joined(g, found), WIDTH))
        wide = _linear(g, _layer_norm(g, hidden), 2 * WIDTH)
        gate = g.one(
            "Tanh",
            g.one(
                "Mul", g.one("Add", wide, g.one("Mul", g.one("Pow", wide, g.floats(3)), g.floats(0.044715))), g.floats(0.7978846)
            ),
        )
        wide = g.one("Mul", g.one("Mul", wide, g.floats(0.5)), g.one("Add", gate, g.floats(1)))
        hidden = g.one("Add", hidden, _linear(g, wide, WIDTH, 2 * WIDTH))
    g.one("MatMul", _layer_norm(g, hidden), g.weights(WIDTH, WORDS), outputs=["logits"])


def _turned(g: _Graph, name: str, angles: tuple[str, str]) -> str:
    low, high = (
        g.one("Slice", name, g.whole(first), g.whole(last), g.whole(3)) for first, last in ((0, HEAD // 2), (HEAD // 2, 1 << 62))
    )
    turned = g.one("Concat", g.one("Neg", high), low, axis=-1)
    return g.one("Add", g.one("Mul", name, angles[0]), g.one("Mul", turned, angles[1]))


def _repeated(g: _Graph, name: str) -> str:
    shape = g.one("Shape", name)
    parts = [g.one("Gather", shape, g.whole(axis), axis=0) for axis in range(4)]
    many = g.one("Concat", *parts[:2], g.whole(HEADS // KEPT), *parts[2:], axis=0)
    merged = g.one("Concat", parts[0], g.whole(HEADS), *parts[2:], axis=0)
    return g.one("Reshape", g.one("Expand", g.one("Unsqueeze", name, g.whole(2)), many), merged)


def _llama(g: _Graph) -> None:
    hidden = g.one("Gather", g.weights(WORDS, WIDTH), "input_ids")
    speeds = g.constant(10.0 ** (-numpy.arange(HEAD // 2) / 2).reshape(1, -1, 1), numpy.float32)
    places = g.one("Cast", g.one("Unsqueeze", "position_ids", g.whole(1)), to=TensorProto.FLOAT)
    angle = g.one("Transpose", g.one("MatMul", speeds, places), perm=[0, 2, 1])
    angle = g.one("Unsqueeze", g.one("Concat", angle, angle, axis=-1), g.whole(1))
    angles = g.one("Cos", angle), g.one("Sin", angle)
    seen = g.one("Unsqueeze", g.one("Cast", "attention_mask", to=TensorProto.BOOL), g.whole(1, 2))
    for layer in range(g.layers):
        normal = _rms(g, hidden)
        query, key, value = (
            _apart(g, g.one("MatMul", normal, g.weights(WIDTH, heads * HEAD)), heads) for heads in (HEADS, KEPT, KEPT)
        )
        key = _appended(g, layer, "key", _turned(g, key, angles))
        value = _appended(g, layer, "value", value)
        scale = g.floats(HEAD**-0.25)
        columns = g.one("Mul", g.one("Transpose", _repeated(g, key), perm=[0, 1, 3, 2]), scale)
        scores = g.one("MatMul", g.one("Mul", _turned(g, query, angles), scale), columns)
        scores = g.one("Add", scores, g.one("Where", seen, g.floats(0), g.floats(float("-inf"))))
        shares = g.one("Softmax", scores, axis=-1)
        shares = g.one("Where", g.one("IsNaN", shares), g.floats(0), shares)
        found = g.one("MatMul", shares, _repeated(g, value))
        hidden = g.one("Add", hidden, g.one("MatMul", _joined(g, found), g.weights(WIDTH, WIDTH)))
        normal = _rms(g, hidden)
        gate, wide = (g.one("MatMul", normal, g.weights(WIDTH, 2 * WIDTH)) for _ in range(2))
        wide = g.one("Mul", g.one("Mul", gate, g.one("Sigmoid", gate)), wide)
        hidden = g.one("Add", hidden, g.one("MatMul", wide, g.weights(2 * WIDTH, WIDTH)))
    g.one("MatMul", _rms(g, hidden), g.weights(WIDTH, WORDS), outputs=["logits"])


def _grouped(g: _Graph) -> None:
    rows = g.one("Sub", g.one("ReduceSum", "attention_mask", g.whole(1)), g.whole(1))
    last = g.one("Cast", rows, to=TensorProto.INT32)
    total = g.one("Cast", g.one("Gather", g.one("Shape", "attention_mask"), g.constant(1, numpy.int64)), to=TensorProto.INT32)
    tables = _tables(g)
    hidden = g.one("Gather", g.weights(WORDS, WIDTH), "input_ids")
    normal = g.one("SimplifiedLayerNormalization", hidden, g.weights(WIDTH), axis=-1, epsilon=1e-6)
    for layer in range(g.layers):
        past, present = ([f"{name}.{layer}.{part}" for part in ("key", "value")] for name in ("past_key_values", "present"))
        packed = g.one("MatMul", normal, g.weights(WIDTH, (HEADS + 2 * KEPT) * HEAD))
        words = {"num_heads": HEADS, "kv_num_heads": KEPT, "do_rotary": 1}
        found = g.theirs(
            "GroupQueryAttention", packed, "", "", *past, last, total, *tables, outputs=[f"a{layer}", *present], **words
        )
        found = g.one("MatMul", found, g.weights(WIDTH, WIDTH))
        hidden, normal = _skipped(g, hidden, found, f"{layer}a")
        gate, wide = (g.one("MatMul", normal, g.weights(WIDTH, 2 * WIDTH)) for _ in range(2))
        wide = g.one("Mul", g.one("Mul", gate, g.one("Sigmoid", gate)), wide)
        found = g.one("MatMul", wide, g.weights(2 * WIDTH, WIDTH))
        hidden, normal = _skipped(g, hidden, found, f"{layer}b")
    g.one("MatMul", normal, g.weights(WIDTH, WORDS), outputs=["logits"])


def _tables(g: _Graph) -> tuple[str, str]:
    """The cosines and sines of each position."""
    angles = numpy.outer(numpy.arange(POSITIONS), 10.0 ** (-numpy.arange(HEAD // 2) / 2))
    return g.constant(numpy.cos(angles), numpy.float32), g.constant(numpy.sin(angles), numpy.float32)


def _modern(g: _Graph) -> None:
    tables = _tables(g)
    seen = g.one("Unsqueeze", g.one("Cast", "attention_mask", to=TensorProto.BOOL), g.whole(1))
    hidden = g.one("Gather", g.weights(WORDS, WIDTH), "input_ids")
    for layer in range(g.layers):
        normal = g.one("RMSNormalization", hidden, g.weights(WIDTH), axis=-1)
        query, key, value = (g.one("MatMul", normal, g.weights(WIDTH, heads * HEAD)) for heads in (HEADS, KEPT, KEPT))
        query = g.one("RotaryEmbedding", query, *tables, "position_ids", num_heads=HEADS)
        key = g.one("RotaryEmbedding", key, *tables, "position_ids", num_heads=KEPT)
        past, present = ([f"{name}.{layer}.{part}" for part in ("key", "value")] for name in ("past_key_values", "present"))
        words = {"q_num_heads": HEADS, "kv_num_heads": KEPT, "outputs": [f"a{layer}", *present]}
        found = g.one("MatMul", g.one("Attention", query, key, value, seen, *past, **words), g.weights(WIDTH, WIDTH))
        hidden = g.one("Add", hidden, found)
        wide = g.one("Relu", g.one("MatMul", hidden, g.weights(WIDTH, 2 * WIDTH)))
        hidden = g.one("Add", hidden, g.one("MatMul", wide, g.weights(2 * WIDTH, WIDTH)))
    g.one("MatMul", hidden, g.weights(WIDTH, WORDS), outputs=["logits"])


def _skipped(g: _Graph, hidden: str, found: str, label: str) -> tuple[str, str]:
    names = [f"normal{label}", "", "", f"sum{label}"]
    g.theirs("SkipSimplifiedLayerNormalization", hidden, found, g.weights(WIDTH), outputs=names, epsilon=1e-6)
    return names[3], names[0]


def with_few_bits(model: onnx.ModelProto, block: int = 16) -> onnx.ModelProto:
    """The model with constant weights of MatMul in blocks of 4 bits."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    weights = {one.name: numpy_helper.to_array(one) for one in made.graph.initializer}
    for node in made.graph.node:
        if node.op_type != "MatMul" or node.input[1] not in weights:
            continue
        values = weights[node.input[1]]
        depth, columns = values.shape
        blocks = values.T.reshape(columns, depth // block, block)
        scales = numpy.abs(blocks).max(-1) / 7
        levels = numpy.clip(numpy.rint(blocks / scales[..., None]) + 8, 0, 15).astype(numpy.uint8)
        made.graph.initializer.remove(next(one for one in made.graph.initializer if one.name == node.input[1]))
        packed, name = levels[..., ::2] | levels[..., 1::2] << 4, node.output[0]
        made.graph.initializer.extend(
            [numpy_helper.from_array(packed, f"{name}.q"), numpy_helper.from_array(scales, f"{name}.s")]
        )
        words = {"K": depth, "N": columns, "bits": 4, "block_size": block}
        node.CopyFrom(
            helper.make_node(
                "MatMulNBits", [node.input[0], f"{name}.q", f"{name}.s"], [name], node.name, domain="com.microsoft", **words
            )
        )
    return made


def theirs(model: onnx.ModelProto, tokens: Sequence[int], rows: int) -> numpy.ndarray:
    """onnxruntime's logits of each token, with caches that keep the last `rows` rows."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs, names = {one.name: one.shape for one in session.get_inputs()}, [one.name for one in session.get_outputs()]
    past = {name: numpy.zeros((1, dims[1], 0, dims[3]), "f4") for name, dims in inputs.items() if name.startswith("past")}
    found = []
    for position, token in enumerate(tokens):
        length = min(position, rows) + 1
        given = {"input_ids": [[token]], "attention_mask": [[1] * length], "position_ids": [[position]]}
        whole = {name: numpy.array(values, numpy.int64) for name, values in given.items() if name in inputs}
        results = dict(zip(names, session.run(names, {**whole, **past})))
        found.append(results["logits"].reshape(-1))
        past = {name: results[name.replace("past_key_values", "present")][:, :, -rows:] for name in past}
    return numpy.array(found)
