# SPDX-License-Identifier: MIT
"""Models that must be refused: one whole line each, with the file, the node, the reason and a hint."""

from __future__ import annotations

import random

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from aidge_build.base.errors import EXIT_BAD_INPUT, AidgeError
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests import bad_files
from tests.models import model as written
from tests.refusals import own_words

FLOAT = TensorProto.FLOAT


def value(name, dims, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def model(nodes, inputs=None, outputs=None, initializers=(), opset=13, **more):
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", (1, 4))] if inputs is None else inputs,
        [value("y", None)] if outputs is None else outputs,
        list(initializers),
    )
    more = {"opset_imports": [helper.make_opsetid("", opset)], "ir_version": 8, **more}
    return helper.make_model(graph, **more)


def relu(**more):
    return helper.make_node("Relu", ["x"], ["y"], **more)


def constant(name, values, dtype=numpy.int64):
    return numpy_helper.from_array(numpy.array(values, dtype), name)


def refusal(data, bind=None, external=None):
    """The whole message of the refusal, which is one line and ends the command with exit code 2; without the hint where that is
    the one of its kind."""
    data = data if isinstance(data, bytes) else data.SerializeToString()
    with pytest.raises(AidgeError) as refused:
        import_onnx(data, "m.onnx", builtin_operators(), bind or {}, external or {})
    assert refused.value.exit_code == EXIT_BAD_INPUT
    return own_words(refused.value)


def accepted(data, bind=None):
    data = data if isinstance(data, bytes) else data.SerializeToString()
    return import_onnx(data, "m.onnx", builtin_operators(), bind or {}, {})


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "m.onnx: the file is empty, not an ONNX model"),
        (b"hello world\n", "m.onnx: this is a text file, not an ONNX model"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
            "m.onnx: this is a Git LFS pointer, not the model itself. "
            "Hint: run 'git lfs pull' in that checkout, or download the file itself",
        ),
        (
            b"\x1c\0\0\0TFL3\0\0\0\0",
            "m.onnx: this is a TensorFlow Lite model (.tflite), not ONNX. Hint: "
            "compile, explain and verify read it as it is; to quantize it: python -m tf2onnx.convert --tflite FILE --output "
            "FILE.onnx",
        ),
        (
            b"\x89HDF\r\n\x1a\n\0\0",
            "m.onnx: this is an HDF5 file (a Keras .h5 model?), not ONNX. Hint: "
            "python -m tf2onnx.convert --opset 17 --keras model.h5 --output model.onnx",
        ),
        (
            b"\x7fELF\x01\x01\x01\0",
            "m.onnx: this is a linked program or an object file (ELF), not an ONNX model. Hint: name the model first; "
            "`aidge-build check FILE`, `report FILE` and `run FILE --board B` read programs, and `verify MODEL --against FILE` "
            "compares a model with one",
        ),
        (b"PK\x03\x04\0\0README", "m.onnx: this is a zip archive, not ONNX. Hint: unpack it first"),
        (b"\x08\x08", "m.onnx: not an ONNX model (it has no graph)"),
        (b"\x0b\x0b\x0b", "m.onnx: not an ONNX model (wire type 3 before byte 1)"),
        (
            b"\x3a\xff\xff\xff\xff\x0f\x00",
            "m.onnx: the file is truncated or damaged: at byte 6 it announces 4294967295 bytes, 1 are left. "
            "Hint: copy or download the model again",
        ),
    ],
)
def test_a_file_that_is_no_model_is_named(content, message):
    assert refusal(content) == message


def test_a_pytorch_file_gets_the_command_that_converts_it():
    message = refusal(b"PK\x03\x04\0\0archive/data.pkl")
    assert message.startswith("m.onnx: this is a PyTorch file (.pt), not ONNX. Hint: ")
    assert "torch.onnx.export(m.eval(), " in message
    assert "weights_only=True" in message and "weights_only=False" not in message
    assert message.endswith("a .pt file that holds a whole network runs code when it is loaded: load only your own")


@pytest.mark.requirement("MODEL_FILE")
def test_deep_nesting_is_refused_before_protobuf_sees_it():
    graph = b""
    for _ in range(1000):
        attribute = b"\x32" + _length(graph) + graph  # AttributeProto.g
        node = b"\x2a" + _length(attribute) + attribute  # NodeProto.attribute
        graph = b"\x0a" + _length(node) + node  # GraphProto.node
    assert refusal(b"\x3a" + _length(graph) + graph) == "m.onnx: the messages of the file are nested more than 48 deep"


def _length(content: bytes) -> bytes:
    size, encoded = len(content), b""
    while size > 0x7F:
        encoded += bytes([size & 0x7F | 0x80])
        size >>= 7
    return encoded + bytes([size])


def test_every_truncation_ends_in_a_sentence():
    data = model([relu()], initializers=[constant("w", range(50))]).SerializeToString()
    for end in range(len(data)):
        try:
            accepted(data[:end])
        except AidgeError as error:
            assert str(error).startswith("m.onnx: ")


def test_flipped_bits_end_in_a_sentence_or_a_graph():
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2], name="conv"),
        helper.make_node("Reshape", ["c", "shape"], ["r"]),
        helper.make_node("Softmax", ["r"], ["y"], axis=1),
    ]
    data = model(
        nodes,
        [value("x", (1, 2, 4, 4))],
        initializers=[constant("w", numpy.ones((3, 2, 3, 3)), numpy.float32), constant("shape", [1, -1])],
    )
    data = data.SerializeToString()
    refused = 0
    for seed in range(1000):
        chance, damaged = random.Random(seed), bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 8))):
            damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        try:
            accepted(bytes(damaged))
        except AidgeError:
            refused += 1
    assert refused > 300


@pytest.mark.requirement("VERSION")
def test_versions_that_are_not_known_are_refused_with_the_range():
    newest, newest_ir = onnx.defs.onnx_opset_version(), onnx.IR_VERSION
    assert refusal(model([relu()], opset=9999)) == (
        f"m.onnx: opset 9999 is not supported (6 to {newest} are). "
        "Hint: convert the model: onnx.version_converter.convert_version(model, 17)"
    )
    assert refusal(model([relu()], opset=1)).startswith(f"m.onnx: opset 1 is not supported (6 to {newest} are)")
    assert refusal(model([relu()], ir_version=99)) == f"m.onnx: IR version 99 is not supported (3 to {newest_ir} are)"
    without = model([relu()])
    del without.opset_import[:]
    assert refusal(without) == f"m.onnx: the model imports no opset. Hint: opsets 6 to {newest} are supported"
    twice = model([relu()], opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx", 12)])
    assert refusal(twice) == "m.onnx: two opset imports of the domain 'ai.onnx': 13 and 12"
    same = model(
        [relu()], opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx", 13)]
    )  # as onnx.compose writes them
    import_onnx(same.SerializeToString(), "m.onnx", builtin_operators(), {}, {})
    foreign = model([relu()], opset_imports=[helper.make_opsetid("ai.onnx.ml", 2)])
    assert refusal(foreign) == "m.onnx: node 0 with output 'y' (Relu): the model imports no opset of the domain 'ai.onnx'"


@pytest.mark.requirement("SCHEMA")
@pytest.mark.parametrize("opset", [-(1 << 40), -1, 0, 1 << 31, 1 << 40])
def test_an_opset_of_another_domain_that_no_int_holds_is_refused_in_one_line(opset):
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", opset)]
    node = helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml")
    assert refusal(model([node], opset_imports=imports)).startswith("m.onnx: ")


@pytest.mark.requirement("OPERATOR")
def test_all_unknown_operators_are_reported_at_once():
    nodes = [
        helper.make_node("Covn", ["x"], ["a"], name="first"),
        helper.make_node("Covn", ["a"], ["b"]),
        helper.make_node("Thing", ["b"], ["y"], domain="my.own"),
    ]
    assert refusal(model(nodes)) == (
        "m.onnx: unsupported operators Covn, my.own::Thing: Covn at node 'first' (Covn, number 0) and 1 more; "
        "my.own::Thing at node 2 with output 'y' (my.own::Thing). Hint: nearest supported: Concat, Conv; "
        "a new operator is one file in a library of your own (--kernel-path DIR --lib NAME,...)"
    )


@pytest.mark.parametrize(
    "node, message",
    [
        (relu(color=3), "unknown attribute 'color'. Hint: Relu of this opset has: none"),
        (helper.make_node("Softmax", ["x"], ["y"], axis=1.5), "attribute 'axis' is float '1.5', wants INT"),
        (helper.make_node("Concat", ["x"], ["y"]), "the required attribute 'axis' is missing"),
        (helper.make_node("Relu", ["x", "x"], ["y"]), "2 inputs; Relu has 1"),
        (helper.make_node("Relu", [""], ["y"]), "input 0 (X) is not given"),
        (helper.make_node("Concat", ["x", "x"], ["y"], axis=9), "axis 9 is out of range for rank 2"),
        (helper.make_node("Transpose", ["x"], ["y"], perm=[0, 0]), "perm (0, 0) is no permutation of the 2 axes"),
        (
            helper.make_node("Add", ["x", "i"], ["y"]),
            "input 1 ('i') is int64, but 'x' is float32. Hint: both must have the same type: insert a Cast",
        ),
        (helper.make_node("MatMul", ["x", "x"], ["y"]), "the inner dims differ: [1, 4] has 4, [1, 4] has 1"),
        (
            helper.make_node("MatMul", ["b", "b"], ["y"]),
            "input 0 ('b') is int8, MatMul wants float16 or float32 or float64 or int32 or int64 or uint32 or uint64",
        ),
        (helper.make_node("Reshape", ["x", "wrong_count"], ["y"]), "[1, 4] has 4 elements, [3, 5] has 15"),
        (helper.make_node("Reshape", ["x", "two_open"], ["y"]), "the shape [-1, -1] holds -1 more than once"),
        (
            helper.make_node("Reshape", ["x", "i"], ["y"]),
            "input 1 ('i') must be constant, but it is computed at run time. "
            "Hint: if the input never changes, give it its value: --bind i=VALUE",
        ),
        (
            helper.make_node("Gather", ["x", "wrong_count"], ["y"], axis=1),
            "the indices 3 to 5 are out of range for axis 1 of length 4",
        ),
        (helper.make_node("Slice", ["x", "zero", "one", "zero", "zero"], ["y"]), "the steps [0] hold 0"),
        (
            helper.make_node("Split", ["x", "wrong_count"], ["y", "z"], axis=1),
            "the sizes [3, 5] do not add up to the 4 of axis 1",
        ),
        (
            helper.make_node("Pad", ["x", "pads"], ["y"], mode="reflect"),
            "mode reflect: the pads [0, 7] reach beyond the axis of length 4",
        ),
        (helper.make_node("Dropout", ["x"], ["y", "mask"]), None),
        (
            helper.make_node("ConstantOfShape", ["bomb"], ["y"]),
            "the constant result 'y' has 274877906944 bytes, too many to evaluate while importing. "
            "Hint: the limits are 67108864 bytes for a tensor, 268435456 for a model",
        ),
        (
            helper.make_node("Expand", ["one", "bomb"], ["y"]),
            "the constant result 'y' has 549755813888 bytes, too many to evaluate while importing. "
            "Hint: the limits are 67108864 bytes for a tensor, 268435456 for a model",
        ),
        (
            helper.make_node("QuantizeLinear", ["x", "not_positive"], ["y"]),
            "the scale 'not_positive' holds -1.0, wants positive finite numbers",
        ),
        (
            helper.make_node("QuantizeLinear", ["x", "not_finite"], ["y"]),
            "the scale 'not_finite' holds nan, wants positive finite numbers",
        ),
        (helper.make_node("QuantizeLinear", ["x", "three"], ["y"]), "3 scales, but axis 1 has (4,) elements"),
        (helper.make_node("QuantizeLinear", ["x", "three"], ["y"], axis=5), "axis 5 is out of range for rank 2"),
    ],
)
def test_a_node_that_cannot_be_meant_is_refused(node, message):
    constants = [
        constant("wrong_count", [3, 5]),
        constant("two_open", [-1, -1]),
        constant("zero", [0]),
        constant("one", [1]),
        constant("pads", [0, 0, 0, 7]),
        constant("bomb", [1 << 18, 1 << 18]),
        constant("not_positive", -1, numpy.float32),
        constant("not_finite", numpy.nan, numpy.float32),
        constant("three", [1, 1, 1], numpy.float32),
    ]
    inputs = [value("x", (1, 4)), value("i", (4,), TensorProto.INT64), value("b", (4, 4), TensorProto.INT8)]
    data = model([node], inputs, [value("y", None, TensorProto.UINT8 if node.op_type == "QuantizeLinear" else FLOAT)], constants)
    if message is None:
        accepted(data)
        return
    name = f"node 0 with output '{node.output[0]}' ({node.op_type})"
    assert refusal(data) == f"m.onnx: {name}: {message}"


@pytest.mark.parametrize(
    "attributes, message",
    [
        ({"group": 0}, "group is 0, must be positive"),
        ({"group": 3}, "the input has 4 channels, the weights want 4 in each of 3 groups"),
        ({"strides": [0, 1]}, "strides (0, 1): each must be in 1..65535"),
        ({"dilations": [1 << 31, 1]}, "dilations (2147483648, 1): each must be in 1..65535"),
        ({"pads": [0, 0, -1, 0]}, "pads (0, 0, -1, 0): each must be in 0..65535"),
        ({"kernel_shape": [5, 5]}, "kernel_shape (5, 5) differs from the weights' (3, 3)"),
        ({"auto_pad": "SAME_UPPER", "pads": [1, 1, 1, 1]}, "both pads (1, 1, 1, 1) and auto_pad SAME_UPPER"),
    ],
)
def test_an_impossible_convolution_is_refused(attributes, message):
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="c", **attributes)
    data = model([node], [value("x", (1, 4, 8, 8))], initializers=[constant("w", numpy.zeros((2, 4, 3, 3)), numpy.float32)])
    assert refusal(data) == f"m.onnx: node 'c' (Conv, number 0): {message}"


@pytest.mark.requirement("GRAPH")
def test_a_cycle_is_printed():
    nodes = [
        helper.make_node("Add", ["x", "c"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
        helper.make_node("Relu", ["b"], ["c"], name="third"),
        helper.make_node("Relu", ["c"], ["y"], name="last"),
    ]
    assert refusal(model(nodes)) == (
        "m.onnx: the graph has a cycle: first -> second -> third -> first. Hint: a model for firmware must be acyclic"
    )


def test_nodes_that_are_not_sorted_are_sorted():
    view, _ = accepted(model([helper.make_node("Relu", ["a"], ["y"]), helper.make_node("Neg", ["x"], ["a"])]))
    assert [node.type for node in view.nodes] == ["Neg", "ReLU"]


@pytest.mark.requirement("MODEL")
def test_two_producers_of_a_tensor_are_both_named():
    nodes = [relu(name="a"), helper.make_node("Neg", ["x"], ["y"], name="b")]
    assert refusal(model(nodes)) == (
        "m.onnx: tensor 'y' is produced twice: by node 'a' (Relu, number 0) and by node 'b' (Neg, number 1)"
    )
    assert refusal(model([relu(), helper.make_node("Neg", ["y"], ["x"], name="b")])) == (
        "m.onnx: tensor 'x' is produced twice: by graph input 'x' and by node 'b' (Neg, number 1)"
    )
    twice = [constant("w", [1]), constant("w", [2])]
    assert refusal(model([relu()], initializers=twice)) == "m.onnx: two initialisers are named 'w'"
    assert refusal(model([relu()], inputs=[value("x", (1,)), value("x", (1,))])) == "m.onnx: two graph inputs are named 'x'"


def test_a_tensor_that_nobody_produces_is_named():
    assert refusal(model([helper.make_node("Add", ["x", "ghost"], ["y"], name="a")])) == (
        "m.onnx: node 'a' (Add, number 0): nothing produces its input 'ghost'"
    )
    assert refusal(model([relu()], outputs=[value("ghost", (1,))])) == "m.onnx: nothing produces the graph output 'ghost'"


def test_what_no_output_needs_is_dropped():
    nodes = [relu(), helper.make_node("Neg", ["x"], ["dead"])]
    view, _ = accepted(model(nodes, initializers=[constant("unused", [1])]))
    assert [node.type for node in view.nodes] == ["ReLU"]
    assert sorted(view.tensors) == ["x", "y"]


def test_an_initialiser_replaces_the_input_of_the_same_name():
    data = model(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [value("x", (1, 4)), value("w", (4,))],
        initializers=[constant("w", [1, 2, 3, 4], numpy.float32)],
    )
    view, _ = accepted(data)
    assert view.inputs == ("x",)
    assert view.tensor("w").is_constant


@pytest.mark.requirement("BIND", "DIMS")
@pytest.mark.parametrize(
    "dims, message",
    [
        ((1, -4), "m.onnx: graph input 'x': its dims [1, -4] hold a negative number"),
        (
            (1 << 31, 1 << 31),
            "m.onnx: graph input 'x' has the dims [2147483648, 2147483648], 4611686018427387904 elements; "
            "the limit is 140737488355328",
        ),
        ((1, 0), "m.onnx: node 0 with output 'y' (Relu): its input 'x' has the dims [1, 0], no element"),
        (
            (1, "height"),
            "m.onnx: graph input 'x': dimension 1 ('height') has no fixed size. Hint: give it one: --bind height=...",
        ),
        ((1, None), "m.onnx: graph input 'x': dimension 1 ('x.1') has no fixed size. Hint: give it one: --bind x.1=..."),
        (
            None,
            "m.onnx: graph input 'x': its rank is unknown. Hint: export the model with the shape of this input, "
            "for example onnxsim --overwrite-input-shape",
        ),
    ],
)
def test_dims_that_are_no_size_are_refused(dims, message):
    assert refusal(model([relu()], [value("x", dims)])) == message


def test_a_symbolic_batch_becomes_one_and_says_so():
    view, notices = accepted(model([relu()], [value("x", ("N", 4))]))
    assert view.tensor("y").dims == (1, 4)
    assert notices == ("symbolic batch 'N' becomes 1 (--bind N=NUMBER gives another size)",)


def test_the_name_of_a_batch_is_one_wherever_it_stands():
    data = model([relu()], [value("x", ("N", 4)), value("state", (2, "N", 3))])
    view, notices = accepted(data)
    assert view.tensor("state").dims == (2, 1, 3) and notices == (
        "symbolic batch 'N' becomes 1 (--bind N=NUMBER gives another size)",
    )
    assert accepted(data, {"N": 5})[0].tensor("state").dims == (2, 5, 3)


def test_a_bound_dimension_gets_its_number():
    data = model([relu()], [value("x", ("N", "height", None))])
    view, notices = accepted(data, {"N": 2, "height": 5, "x.2": 3})
    assert view.tensor("y").dims == (2, 5, 3)
    assert notices == ()


@pytest.mark.requirement("BIND")
def test_a_binding_that_fits_nothing_is_refused():
    data = model([relu()], [value("x", ("N", "height"))])
    assert refusal(data, {"height": 5, "hieght": 7}) == (
        "m.onnx: --bind hieght=7: the model has no input or dimension 'hieght'. Hint: did you mean --bind height=7?"
    )
    assert refusal(data, {"height": 0}) == "m.onnx: --bind height=0: a dimension must be a positive integer"


def test_a_declared_output_that_contradicts_is_refused():
    assert refusal(model([relu()], outputs=[value("y", (2, 4))])) == (
        "m.onnx: graph output 'y' is declared [2, 4], but has the dims [1, 4]. "
        "Hint: a batch that the file fixes in its outputs must be fixed in its inputs, too"
    )
    for dims in ((1, 5), (4,)):
        assert "Hint: the nodes of the file say otherwise: export" in refusal(model([relu()], outputs=[value("y", dims)]))
    assert refusal(model([relu()], outputs=[value("y", (1, 4), TensorProto.INT8)])) == (
        "m.onnx: graph output 'y' is declared int8, but is float32"
    )


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_a_window_that_would_begin_in_the_end_pad_is_none_whatever_a_file_declares(kind):
    pool = helper.make_node(kind, ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], pads=[1] * 4, ceil_mode=1)
    too_large, nodes = value("y", (1, 1, 4, 4)), [pool, helper.make_node("Relu", ["y"], ["z"])]
    between = model(nodes, [value("x", (1, 1, 5, 5))], [value("z", (1, 1, 3, 3))])
    between.graph.value_info.append(too_large)
    view, _ = accepted(between)
    assert [view.tensors[name].dims for name in ("y", "z")] == [(1, 1, 3, 3)] * 2
    message = refusal(model([pool], [value("x", (1, 1, 5, 5))], [too_large]))
    assert message.startswith("m.onnx: graph output 'y' is declared [1, 1, 4, 4], but has the dims [1, 1, 3, 3]. Hint: ")
    assert "leave the dims of its outputs open" in message and "after a pool with ceil_mode and pads" in message


def _tensor(**fields):
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[4])
    for name, content in fields.items():
        if name in ("dims", "float_data", "int32_data"):
            del getattr(tensor, name)[:]
            getattr(tensor, name).extend(content)
        else:
            setattr(tensor, name, content)
    return tensor


@pytest.mark.requirement("TENSOR", "TYPE")
@pytest.mark.parametrize(
    "tensor, message",
    [
        (_tensor(raw_data=b"\0" * 12), "float32[4] wants 16 bytes, the file holds 12"),
        (_tensor(raw_data=b"\0" * 20), "float32[4] wants 16 bytes, the file holds 20"),
        (
            _tensor(dims=[1 << 40, 1 << 40], raw_data=b"\0" * 16),
            "float32[1099511627776, 1099511627776] wants 4835703278458516698824704 bytes, the file holds 16",
        ),
        (_tensor(dims=[-4], raw_data=b"\0" * 16), "the dims [-4] hold a negative number"),
        (_tensor(float_data=[1, 2]), "float32[4] wants 4 values in float_data, the file holds 2"),
        (_tensor(raw_data=b"\0" * 16, float_data=[1, 2, 3, 4]), "the values are stored twice, in raw_data and in float_data"),
        (_tensor(data_type=TensorProto.INT8, int32_data=[1, 2, 3, 400]), "values outside the range of int8"),
        (_tensor(data_type=99), "the element type 99 is not supported"),
        (_tensor(data_type=TensorProto.STRING), "text[4] wants 4 values, the file holds 0"),
        (_tensor(data_type=TensorProto.COMPLEX64), "the element type COMPLEX64 is not supported"),
        (_tensor(data_type=TensorProto.FLOAT8E4M3FN), "the element type FLOAT8E4M3FN is not supported"),
        (_tensor(data_type=TensorProto.INT4), "int8[4] wants 2 bytes of 4 bits for each element, the file holds 0"),
        (_tensor(data_type=TensorProto.FLOAT4E2M1), "the element type FLOAT4E2M1 is not supported"),
    ],
)
def test_an_initialiser_that_lies_is_refused_before_allocation(tensor, message):
    found = refusal(model([relu()], initializers=[tensor]))
    assert found.split(". Hint: ")[0] == f"m.onnx: initialiser 'w': {message}"


def test_kinds_of_values_that_are_no_tensors_are_refused_by_name():
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, None)
    assert (
        refusal(model([relu()], [sequence]))
        == "m.onnx: graph input 'x': its type is a sequence, only tensors and maps of numbers are supported"
    )
    text = model([relu()], [value("x", (1,), TensorProto.STRING)])
    assert refusal(text).startswith("m.onnx: node 0 with output 'y' (Relu): it works on the text 'x'")
    sparse = model([relu()])
    sparse.graph.sparse_initializer.add().values.name = "s"
    assert refusal(sparse) == "m.onnx: sparse initialiser 's': sparse tensors are not supported. Hint: store it dense"


NAMES = (
    *bad_files.NAMES["69"],
    "int",
    "errno",
    "../../evil",
    "\x1b[31m",
    "\u202e",
    "\U0001f600",
    "x" * 100_000,
)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_every_name_survives_the_import_and_no_message_prints_it_raw(name):
    view, _ = accepted(model([relu(name=name), helper.make_node("Neg", ["y"], [name])], outputs=[value(name, None)]))
    assert view.outputs == (name,)
    assert view.nodes[0].name == name
    message = refusal(model([helper.make_node("Relu", [name], ["y"], name=name)]))
    assert message.isprintable() and len(message) < 5000


def test_a_name_that_is_not_text_becomes_visible():
    data = model([relu(name="NAME")]).SerializeToString().replace(b"NAME", b"N\xff\xfeE")
    view, _ = accepted(data)
    assert view.nodes[0].name == "N\\xff\\xfeE"


def test_nodes_get_names_of_their_own():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"], name="same"),
        helper.make_node("Relu", ["b"], ["c"], name="same"),
        helper.make_node("Relu", ["c"], ["y"], name="Relu_0"),
    ]
    view, _ = accepted(model(nodes))
    assert [node.name for node in view.nodes] == ["Relu_0_2", "same", "same_2", "Relu_0"]


def test_long_chains_and_wide_concats_take_linear_time():
    chain = [helper.make_node("Relu", [f"t{i}" if i else "x"], [f"t{i + 1}"]) for i in range(20_000)]
    view, _ = accepted(model(chain, outputs=[value("t20000", None)]))
    assert len(view.nodes) == 20_000
    view, _ = accepted(model([helper.make_node("Concat", ["x"] * 5000, ["y"], axis=1)]))
    assert view.tensor("y").dims == (1, 20_000)


@pytest.mark.parametrize(("dim", "name"), [("N", "N"), (None, "x.0")])
def test_an_open_first_axis_that_is_too_short_with_one_element_names_the_option_that_makes_it_longer(dim, name):
    nodes = "t = Transpose<perm = [1, 0]>(x) u = Unsqueeze(t, first) y = Conv(u, w)"
    constants = {"first": numpy.array([0]), "w": numpy.ones((2, 4, 3), numpy.float32)}
    file = onnx.load_from_string(written(nodes, inputs="float[N,4] x", outputs="float[1,2,M] y", constants=constants))
    if dim is None:
        file.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    data = file.SerializeToString()
    with pytest.raises(AidgeError, match="the kernel spans 3 positions, the padded input has 1") as refused:
        import_onnx(data, "open.onnx", builtin_operators(), {}, {})
    assert refused.value.hint.endswith(f"another size helps: --bind {name}=NUMBER")
    view, _ = import_onnx(data, "open.onnx", builtin_operators(), {name: 20}, {})
    assert view.tensor("y").dims == (1, 2, 18)
