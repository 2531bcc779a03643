# SPDX-License-Identifier: MIT
"""TensorFlow Lite files that are damaged, or hold what is not supported: refused in one line that names what."""

from __future__ import annotations

import struct
import time

import flatbuffers
import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.cli import main
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.tflite.importer import import_tflite
from aidge_build.sources.formats.tflite.registry import pieces
from aidge_build.sources.importing import import_file
from aidge_build.sources.source_format import ModelFile
from tests.models import model
from tests.tflite_files import Graph, fully_connected, write


def refusal(data: bytes | Graph) -> str:
    """The one line."""
    with pytest.raises(AidgeError) as caught:
        import_tflite(data if isinstance(data, bytes) else write(data), "m.tflite")
    text = str(caught.value)
    assert text.startswith("m.tflite: ") and len(text.splitlines()) == 1
    return text


def layer(kind: str = "ADD", options: tuple = (11, (0, "int8", 0)), **how) -> Graph:
    """One node with two inputs and an output of four elements."""
    graph = Graph()
    names = [graph.input((4,), **how), graph.input((4,), **how)]
    graph.node(kind, names, [graph.output((4,), **how)], *options)
    return graph


@pytest.mark.parametrize("length", [8, 9, 20, 60, 200, 400])
def test_a_file_that_ends_too_early_is_damaged(length):
    data = fully_connected()
    assert length < len(data)
    assert "the file is damaged: it points at the bytes" in refusal(data[:length])


@pytest.mark.requirement("MODEL_FILE")
def test_a_vector_that_is_longer_than_the_file_is_damaged():
    data = bytearray(write(layer()))
    at = data.index(b"made by a test") - 4
    data[at : at + 4] = struct.pack("<I", 0x7FFFFFFF)
    assert "the file is damaged: it points at the bytes" in refusal(bytes(data))


def test_many_tables_that_share_one_long_vector_cost_little():
    builder = flatbuffers.Builder(0)
    long = builder.CreateNumpyVector(numpy.zeros(300_000, numpy.int32))
    tensors = []
    for _ in range(2000):
        builder.StartObject(8)
        builder.PrependUOffsetTRelativeSlot(7, long, 0)
        tensors.append(builder.EndObject())
    builder.StartVector(4, len(tensors), 4)
    for tensor in tensors:
        builder.PrependUOffsetTRelative(tensor)
    found = builder.EndVector()
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, found, 0)
    graph = builder.EndObject()
    builder.StartVector(4, 1, 4)
    builder.PrependUOffsetTRelative(graph)
    graphs = builder.EndVector()
    builder.StartVector(4, 1, 4)
    builder.PrependUOffsetTRelative(graph)  # any table will do as the first buffer
    buffers = builder.EndVector()
    builder.StartObject(5)
    builder.PrependUint32Slot(0, 3, 0)
    builder.PrependUOffsetTRelativeSlot(2, graphs, 0)
    builder.PrependUOffsetTRelativeSlot(4, buffers, 0)
    builder.Finish(builder.EndObject(), b"TFL3")
    before = time.process_time()
    assert "many of its tables share one long vector" in refusal(bytes(builder.Output()))
    assert time.process_time() - before < 5


@pytest.mark.requirement("VERSION")
def test_another_version_of_the_schema_is_refused():
    assert "version 4 of the schema is not supported (3 is)" in refusal(write(layer(), version=4))


def test_all_that_is_not_supported_is_said_at_once():
    graph = Graph()
    x = graph.input((2, 2))
    names = [graph.tensor((2, 2)) for _ in range(4)]
    graph.node("MATRIX_DIAG", [x], [names[0]])
    graph.node("CUSTOM Mine", [names[0]], [names[1]])
    graph.node("MATRIX_DIAG", [names[1]], [names[2]])
    graph.node("ADD", [names[2], graph.tensor((2, 2), "STRING", name="words")], [graph.output((2, 2))], 11)
    text = refusal(graph)
    assert "Hint: docs/tflite.md says what is supported" in text
    assert "operator CUSTOM Mine at node 1 (CUSTOM Mine)" in text
    assert "operator MATRIX_DIAG at node 0 (MATRIX_DIAG) and 1 more" in text
    assert "tensor 'words' is STRING, which is not supported for a computed tensor at node 3 (ADD)" in text


def test_integers_of_a_quantized_type_without_scale_have_no_sum():
    assert "node 0 (ADD): 't2' is int8 without scale" in refusal(layer(dtype="int8"))
    imported, _ = import_tflite(write(layer("MAXIMUM", (0,), dtype="int8")), "m.tflite")
    assert imported.nodes[0].type == "Max"


@pytest.mark.requirement("OPERATOR")
def test_a_computed_tensor_with_elements_of_a_constant_is_refused():
    graph = layer()
    graph.tensors[2]["data"] = numpy.zeros(4, numpy.float32)
    assert "tensor 't2' is computed, and has the elements of a constant" in refusal(graph)


def test_state_is_refused_by_name():
    graph = layer()
    graph.tensors[0]["is_variable"] = True
    assert "tensor 't0' is a variable, but the operator that has it keeps no state here" in refusal(graph)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda graph: graph.tensors[2].update(dims=[5]), "its output 't2' is declared float32[5], but is float32[4]"),
        (lambda graph: graph.tensors[2].update(type="INT32"), "its output 't2' is declared int32[4], but is float32[4]"),
        (lambda graph: graph.tensors[0].update(dims=[3]), "node 0 (ADD): "),
        (lambda graph: graph.nodes[0].update(inputs=[0, 2]), "nothing produces its input 1 (tensor 2) before it"),
        (lambda graph: graph.nodes[0].update(inputs=[0, 9]), "node 0 (ADD): tensor 9 is named, there are 3"),
        (lambda graph: graph.nodes[0].update(inputs=[0]), "node 0 (ADD): input 1 is not given"),
        (lambda graph: graph.nodes[0].update(options_kind=5), "its options are of kind 5 of the schema, wants 11"),
        (lambda graph: graph.nodes[0].update(options=((0, "int8", 4),)), "its fused activation has the number 4"),
        (lambda graph: graph.nodes[0].update(outputs=[0]), "tensor 't0' is produced twice"),
        (lambda graph: graph.outputs.append(2), "the graph names a tensor twice as its output"),
        (lambda graph: graph.tensors[0].update(dims=[-4]), "tensor 't0': its dims [-4] hold a negative number"),
        (lambda graph: graph.tensors[0].update(dims=[1 << 30, 0, 1 << 30]), "more than any model for firmware"),
        (lambda graph: graph.tensors[0].update(dims=[1] * 17), "tensor 't0' has the dims [1, 1, "),
        (lambda graph: graph.nodes[0].update(kind="ADD_N", inputs=[]), "node 0 (ADD_N): it has no input"),
        (lambda graph: graph.tensors[1].update(data=b"123"), "the constant 't1' has 3 bytes, its dims [4] want 16"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(change, words):
    graph = layer()
    if words.startswith("the constant"):
        graph.inputs.pop()
    change(graph)
    assert words in refusal(graph)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scales": [0.0]}, "tensor 't1': the scale 0.0 is not a positive finite number"),
        ({"scales": [numpy.nan]}, "tensor 't1': the scale nan is not a positive finite number"),
        ({"zero_points": [300]}, "tensor 't1' has a zero point outside of INT8"),
        ({"scales": [0.1, 0.2, 0.3]}, "tensor 't1' has 3 scales and"),
        ({"scales": [0.1] * 3, "zero_points": [0] * 3}, "tensor 't1' has the dims [4] and 3 scales on axis 0"),
    ],
)
def test_scales_that_mean_nothing_are_refused(change, words):
    graph = layer(dtype="int8", scale=0.5)
    graph.tensors[1].update(change)
    if "zero_points" not in change and len(change["scales"]) > 1:
        graph.tensors[1]["zero_points"] = [0, 0]
    assert words in refusal(graph)


def test_a_signature_belongs_to_the_other_format():
    data = model("y = Relu(x)", inputs="float[2] x", outputs="float[2] y")
    with pytest.raises(AidgeError, match=r"--signature is for \.tflite models"):
        import_file(ModelFile(data, "m.onnx", builtin_operators(), {}, {}, "serve"))


def signal(signature: list[int], dims: list[int]) -> bytes:
    """A pool of 1 x 4 over a signal whose dims the file leaves open where the signature says -1."""
    graph = Graph()
    given, shape = graph.input(dims, name="wave", signature=signature), graph.constant(numpy.array([1, 1, -1, 1], numpy.int32))
    image = graph.tensor((1, 1, 1, 1), signature=[1, 1, -1, 1])
    graph.node("RESHAPE", [given, shape], [image])
    window = (0, "int8", 1), (1, "int32", 4), (2, "int32", 1), (3, "int32", 4), (4, "int32", 1)
    graph.node("MAX_POOL_2D", [image], [graph.output((1, 1, 1, 1), signature=[1, 1, -1, 1])], 5, *window)
    return write(graph)


@pytest.mark.parametrize(
    ("signature", "bind", "reason", "hint"),
    [
        ([1, -1], {}, "graph input 'wave': the file leaves dimension 1 open", "give it a size: --bind wave.1=NUMBER"),
        ([-1, -1], {}, "graph input 'wave': the file leaves dimension 1 open", "give it a size: --bind wave.1=NUMBER"),
        ([-1, 1], {}, "the padded input has 1", "the open first axis became 1; another size helps: --bind wave.0=NUMBER"),
        ([1, -1], {"wave.1": 0}, "--bind wave.1=0: a dimension must be a positive integer", ""),
        ([1, -1], {"wave.1": (8, 8)}, "--bind wave.1=8,8: a dimension must be a positive integer", ""),
        ([1, -1], {"N": 8}, "--bind N=8: the model has no open dimension 'N'", "open dimensions are: wave.1"),
        ([1, 1], {"wave.1": 8}, "no open dimension 'wave.1'", "all dimensions of the model are fixed"),
    ],
)
def test_what_a_file_leaves_open_is_asked_for_by_name(signature, bind, reason, hint):
    with pytest.raises(AidgeError) as caught:
        import_file(ModelFile(signal(signature, [1, 1]), "m.tflite", builtin_operators(), bind, {}))
    assert reason in str(caught.value) and hint in str(caught.value)


@pytest.mark.parametrize(
    ("signature", "dims", "bind", "length"),
    [
        ([1, -1], [1, 1], {"wave.1": 40}, 10),
        ([-1, 1], [1, 1], {"wave.0": 40}, 10),
        ([1, -1], [1, 16], {}, 4),
        ([1, -1], [1, 16], {"wave.1": 32}, 8),
    ],
)
def test_open_dims_have_the_size_that_the_user_or_else_the_file_says(signature, dims, bind, length):
    view, _ = import_file(ModelFile(signal(signature, dims), "m.tflite", builtin_operators(), bind, {}))
    assert view.tensor(view.outputs[0]).layout.stored_dims == (1, 1, length, 1)


def test_the_command_refuses_in_one_line(tmp_path, capsys):
    path = tmp_path / "net.tflite"
    path.write_bytes(fully_connected()[:100])
    assert main(["compile", str(path), "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and "net.tflite: the file is damaged" in said


def test_every_operator_that_is_registered_is_one_of_the_schema():
    from aidge_build.sources.formats.tflite.file.names import OPERATORS

    assert set(pieces()) <= set(OPERATORS.values()) and len(pieces()) >= 90


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty, not a TensorFlow Lite model"),
        (b"PK\x03\x04\0\0README", "this is a zip archive, not TensorFlow Lite. Hint: unpack it first"),
        (b"\x1f\x8b\x08\0", "this is a gzip archive, not TensorFlow Lite. Hint: unpack it first"),
        (b"const char model[] = {0x1c};", "this is a text file, not a TensorFlow Lite model"),
        (
            bytes(range(200, 255)),
            "not a TensorFlow Lite model: its bytes 4 to 7 are cc cd ce cf, not 'TFL3'. Hint: name the file that",
        ),
    ],
)
def test_a_file_that_only_its_name_calls_tflite_is_refused_as_one(data, reason, tmp_path, capsys):
    path = tmp_path / "net.tflite"
    path.write_bytes(data)
    assert main(["compile", str(path), "--out", str(tmp_path)]) == 2
    assert f"net.tflite: {reason}" in capsys.readouterr().err
