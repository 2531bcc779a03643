# SPDX-License-Identifier: MIT
"""The catalogue of bad inputs, second half: what a graph can say that no graph can mean, and what is legal and rare."""

from __future__ import annotations

from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper

from tests.bad_files import COMPILE, FLOAT, Commands, case, constant, file_case, length, model, relu, value

INT64, INT8, UINT8 = TensorProto.INT64, TensorProto.INT8, TensorProto.UINT8


def node_case(title: str, *nodes, **more) -> None:
    file_case(title, lambda: model(list(nodes), **more))


def of(kind: str, inputs: str = "x", outputs: str = "y", **more):
    """A node by its words."""
    return helper.make_node(kind, inputs.split(), outputs.split(), **more)


node_case("15 an unknown operator", of("Covn", name="first"))
node_case("16 an unknown domain", of("Thing", domain="my.own"))
node_case("17 an unknown attribute", relu(color=3))
node_case("18 an attribute of the wrong type", of("Softmax", axis=1.5))
node_case("18 no required attribute", of("Concat"))
node_case("19 no kernel for the type", of("Sin"), inputs=[value("x", (1, 4), TensorProto.DOUBLE)], outputs=[value("y", None, 11)])
node_case("20 a cycle", of("Add", "x c", "a", name="first"), of("Relu", "a", "b"), of("Relu", "b", "c"), of("Relu", "c"))
node_case("21 nodes that are not sorted", of("Relu", "a"), of("Neg", "x", "a"))
node_case("22 a tensor with two producers", relu("a"), of("Neg", name="b"))
node_case("23 two constants of a name", relu(), constants=[constant("w", [1]), constant("w", [2])])
node_case("24 two inputs of a name", relu(), inputs=[value("x", (1,)), value("x", (1,))])
node_case("25 an input that nobody produces", of("Add", "x ghost", name="a"))
node_case("26 an output that nobody produces", relu(), outputs=[value("ghost", (1,))])
node_case(
    "27 a constant that is an input",
    of("Add", "x w"),
    inputs=[value("x", (1, 4)), value("w", (4,))],
    constants=[constant("w", [1, 2, 3, 4], numpy.float32)],
)


@case("28 what nobody needs")
def _(folder: Path) -> Commands:
    (folder / "m.onnx").write_bytes(model([relu(), of("Neg", "x", "dead")], constants=[constant("unused", [1])]))
    return [COMPILE, (*COMPILE, "-v")]


file_case(
    "29 an optional input without a name",
    lambda: model([helper.make_node("Clip", ["x", "", "high"], ["y"])], constants=[constant("high", 1, numpy.float32)]),
)
node_case("29 a required input without a name", helper.make_node("Relu", [""], ["y"]))
node_case("30 a negative dim", relu(), inputs=[value("x", (1, -4))])
node_case("31 more elements than an integer holds", relu(), inputs=[value("x", (1 << 31, 1 << 31))])
node_case("32 more elements than any memory holds", relu(), inputs=[value("x", (1, 1 << 38))])
node_case("33 no elements", relu(), inputs=[value("x", (1, 0))])
node_case("34 a symbolic dim", relu(), inputs=[value("x", (1, "height"))])
node_case("35 an unknown rank", relu(), inputs=[value("x", None)])
node_case("36 an output that is declared otherwise", relu(), outputs=[value("y", (1, 5))])


def stored(**fields) -> TensorProto:
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[4])
    for name, content in fields.items():
        if name == "dims":
            del tensor.dims[:]
            tensor.dims.extend(content)
        else:
            setattr(tensor, name, content)
    return tensor


node_case("37 too few bytes", of("Add", "x w"), constants=[stored(raw_data=bytes(12))])
node_case("38 too many bytes", of("Add", "x w"), constants=[stored(raw_data=bytes(20))])
node_case("39 dims that lie", of("Add", "x w"), constants=[stored(dims=[1 << 40, 1 << 40], raw_data=bytes(16))])
for number in (99, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.FLOAT8E4M3FN, TensorProto.INT4, TensorProto.FLOAT4E2M1):
    node_case(f"40 elements of type {number}", of("Add", "x w"), constants=[stored(data_type=number)])

for number, scale in (("46", numpy.nan), ("47", 0), ("48", -1), ("49", numpy.inf), ("50", 1e-42)):
    node_case(
        f"{number} a scale of {scale}",
        of("QuantizeLinear", "x s"),
        outputs=[value("y", None, UINT8)],
        constants=[constant("s", scale, numpy.float32)],
    )
for title, words, more in (
    ("a zero point of another type", "x s z", {"z": constant("z", 0, numpy.float32)}),
    ("three scales for four channels", "x three", {}),
    ("an axis that is not there", "x three", {"axis": 5}),
):
    node_case(
        f"51 {title}",
        of("QuantizeLinear", words, **({"axis": more["axis"]} if "axis" in more else {})),
        outputs=[value("y", None, UINT8)],
        constants=[
            constant("s", 1, numpy.float32),
            constant("three", [1, 1, 1], numpy.float32),
            *([more["z"]] if "z" in more else []),
        ],
    )
node_case(
    "52 constants that are no numbers",
    of("Add", "x w"),
    constants=[constant("w", [numpy.nan, numpy.inf, -numpy.inf, 1], numpy.float32)],
)


@case("53 sums that do not fit 32 bits")
def _(folder: Path) -> None:
    many = 140_000
    nodes = [
        of("DequantizeLinear", "x s z", "real"),
        of("DequantizeLinear", "w s z", "weights"),
        of("MatMul", "real weights", "sum"),
        of("QuantizeLinear", "sum wide z"),
    ]
    constants = [
        constant("s", 0.01, numpy.float32),
        constant("wide", 100, numpy.float32),
        constant("z", 0, numpy.int8),
        constant("w", numpy.full((many, 2), 127), numpy.int8),
    ]
    given = [value("x", (1, many), INT8)]
    (folder / "m.onnx").write_bytes(model(nodes, given, [value("y", None, INT8)], constants))


IMAGE = {"inputs": [value("x", (1, 4, 8, 8))], "constants": [constant("w", numpy.zeros((2, 4, 3, 3)), numpy.float32)]}
for title, attributes in (
    ("54 a stride of 0", {"strides": [0, 1]}),
    ("55 no group", {"group": 0}),
    ("55 groups that do not divide", {"group": 3}),
    ("56 a dilation of 2^31", {"dilations": [1 << 31, 1]}),
    ("57 a negative pad", {"pads": [0, 0, -1, 0]}),
    ("58 a kernel of another shape", {"kernel_shape": [5, 5]}),
    ("58 pads and auto_pad", {"auto_pad": "SAME_UPPER", "pads": [1, 1, 1, 1]}),
):
    node_case(title, of("Conv", "x w", name="c", **attributes), **IMAGE)
node_case("58 a pool of nothing", of("MaxPool", kernel_shape=[0, 2]), inputs=[value("x", (1, 4, 8, 8))])

SHAPES = [
    constant("wrong", [3, 5]),
    constant("open", [-1, -1]),
    constant("zero", [0]),
    constant("one", [1]),
    constant("pads", [0, 0, 0, 7]),
    constant("bomb", [1 << 18, 1 << 18]),
    constant("nine", [9]),
]
BESIDE = [value("x", (1, 4)), value("i", (2,), INT64)]
for title, node in (
    ("59 a shape of other elements", of("Reshape", "x wrong")),
    ("59 a shape with two open dims", of("Reshape", "x open")),
    ("59 a shape at run time", of("Reshape", "x i")),
    ("60 an axis that is not there", of("Concat", "x x", axis=9)),
    ("60 a permutation that is none", of("Transpose", perm=[0, 0])),
    ("60 indices out of range", of("Gather", "x wrong", axis=1)),
    ("61 a step of 0", of("Slice", "x zero one zero zero")),
    ("61 sizes that do not add up", of("Split", "x wrong", "y z", axis=1)),
    ("61 a reflection beyond the tensor", of("Pad", "x pads", mode="reflect")),
    ("62 more of the largest than there are", of("TopK", "x nine", "y indices")),
    ("63 inner dims that differ", of("MatMul", "x x")),
    ("68 a constant of 2^36 elements", of("ConstantOfShape", "bomb")),
    ("68 an expansion to 2^36 elements", of("Expand", "one bomb")),
    ("68 a tiling to 2^36 elements", of("Tile", "x bomb")),
):
    node_case(title, node, inputs=BESIDE, constants=SHAPES)
node_case("63 types that differ", of("Add", "x i"), inputs=[value("x", (1, 4)), value("i", (4,), TensorProto.INT32)])


def branch(kind: str, name: str):
    return helper.make_graph([of(kind, "x", name)], name, [], [value(name, None)])


node_case(
    "64 a branch at run time",
    of("If", "c", then_branch=branch("Relu", "a"), else_branch=branch("Neg", "b")),
    inputs=[value("x", (1, 4)), value("c", (1,), TensorProto.BOOL)],
)
node_case(
    "64 a loop whose count comes at run time",
    helper.make_node(
        "Loop",
        ["n", "", "x"],
        ["y"],
        body=helper.make_graph(
            [of("Identity", "on", "more"), of("Relu", "v", "next")],
            "body",
            [value("k", (), INT64), value("on", (), TensorProto.BOOL), value("v", (1, 4))],
            [value("more", (), TensorProto.BOOL), value("next", (1, 4))],
        ),
    ),
    inputs=[value("x", (1, 4)), value("n", (), INT64)],
)
file_case("65 a sequence", lambda: model([relu()], [helper.make_tensor_sequence_value_info("x", FLOAT, None)]))
node_case("65 words", relu(), inputs=[value("x", (1,), TensorProto.STRING)])
file_case(
    "65 an optional",
    lambda: model(
        [relu()], [helper.make_value_info("x", helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, [1])))]
    ),
)


@case("66 a function that calls itself")
def _(folder: Path) -> None:
    made = onnx.load_from_string(
        model([of("F", domain="own")], opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("own", 1)])
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("own", 1)]
    made.functions.append(helper.make_function("own", "F", ["a"], ["b"], [of("F", "a", "b", domain="own")], opsets))
    (folder / "m.onnx").write_bytes(made.SerializeToString())


def nested(depth: int) -> bytes:
    """Branches in branches, byte by byte: onnx itself writes none that deep."""
    inner = branch("Relu", "v").SerializeToString()
    other = helper.make_attribute("else_branch", branch("Neg", "u")).SerializeToString()
    for level in range(depth):
        taken = b"\x0a\x0bthen_branch" + b"\x32" + length(inner) + inner + b"\xa0\x01\x05"
        node = b"\x0a\x01c\x12\x01y\x22\x02If" + b"".join(b"\x2a" + length(one) + one for one in (taken, other))
        inner = b"\x0a" + length(node) + node
        if level < depth - 1:
            inner += b"\x12\x01g\x62\x03\x0a\x01y"  # its name, and its output
    whole = onnx.load_from_string(model([relu()], constants=[constant("c", True, numpy.bool_)]))
    del whole.graph.node[:]
    graph = whole.graph.SerializeToString() + inner
    whole.ClearField("graph")
    return whole.SerializeToString() + b"\x3a" + length(graph) + graph


@case("67 a chain, a wide layer, sub-graphs")
def _(folder: Path) -> Commands:
    """As long here as there is time for; tests/unit/test_large_graphs.py has 20,000 nodes, and that the work is linear."""
    names = ["x", *(f"t{index}" for index in range(400)), "y"]
    nodes = [of(("Sin", "Cos")[i % 2], names[i], names[i + 1]) for i in range(len(names) - 1)]
    (folder / "m.onnx").write_bytes(model(nodes))
    wide = [f"w{index}" for index in range(100)]
    nodes = [*(of("Sin", "x", name) for name in wide), of("Concat", " ".join(wide), axis=1)]
    (folder / "wide.onnx").write_bytes(model(nodes))
    (folder / "deep.onnx").write_bytes(nested(150))
    return [("compile", name, "--cpu", "host", "--out", "out", "--name", "net") for name in ("m.onnx", "wide.onnx", "deep.onnx")]
