# SPDX-License-Identifier: MIT
"""The catalogue of bad inputs, first half: files, containers, names, data beside the model. `tests/bad_graphs.py` has the other.

Each case makes its files in a folder of its own and returns commands; `tests/golden/bad_inputs` holds what each says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
COMPILE = ("compile", "m.onnx", "--cpu", "host", "--out", "out", "--name", "net")
Commands = Sequence[tuple[str, ...]]
CASES: dict[str, Callable[[Path], Commands | None]] = {}


def case(title: str):
    """A case; its title begins with the number that it has in the catalogue. Without commands of its own it compiles m.onnx."""

    def keep(make: Callable[[Path], Commands | None]) -> Callable[[Path], Commands | None]:
        assert title not in CASES
        CASES[title] = make
        return make

    return keep


def value(name: str, dims, dtype: int = FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def constant(name: str, values, dtype=numpy.int64):
    return numpy_helper.from_array(numpy.array(values, dtype), name)


def relu(name: str = "", **more):
    return helper.make_node("Relu", ["x"], ["y"], name=name, **more)


def model(nodes, inputs=None, outputs=None, constants=(), opset: int = 13, name: str = "g", **more) -> bytes:
    graph = helper.make_graph(
        nodes,
        name,
        [value("x", (1, 4))] if inputs is None else inputs,
        [value("y", None)] if outputs is None else outputs,
        list(constants),
    )
    made = helper.make_model(graph, **{"opset_imports": [helper.make_opsetid("", opset)], "ir_version": 8, **more})
    return made.SerializeToString()


def file_case(title: str, content: bytes | Callable[[], bytes]) -> None:
    """A case of one file."""

    def make(folder: Path) -> None:
        (folder / "m.onnx").write_bytes(content() if callable(content) else content)

    case(title)(make)


def length(content: bytes) -> bytes:
    """A message's length as protobuf writes it."""
    size, encoded = len(content), b""
    while size > 0x7F:
        encoded += bytes([size & 0x7F | 0x80])
        size >>= 7
    return encoded + bytes([size])


file_case("01 empty file", b"")
file_case("02 text file", b"hello world\n")
file_case("05 no graph", b"\x08\x08")
file_case("07 a length beyond the file", b"\x3a\xff\xff\xff\xff\x0f\x00")
file_case("09 a pointer of Git LFS", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")
file_case("10 tflite", b"\x1c\0\0\0TFL3\0\0\0\0")
file_case("10 pt", b"PK\x03\x04\0\0archive/data.pkl")
file_case("10 h5", b"\x89HDF\r\n\x1a\n\0\0")
file_case("10 zip", b"PK\x03\x04\0\0README")
file_case("11 opset 9999", lambda: model([relu()], opset=9999))
file_case("12 IR 99", lambda: model([relu()], ir_version=99))
file_case("13 no import of an opset", lambda: model([relu()], opset_imports=[]))
file_case(
    "14 two imports of a domain",
    lambda: model([relu()], opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx", 12)]),
)
file_case("14 opset 1", lambda: model([relu()], opset=1))


@case("03 truncated at each sixteenth")
def _(folder: Path) -> Commands:
    data = model([relu()], constants=[constant("w", range(50))])
    for part in range(1, 16):
        (folder / f"t{part:02}.onnx").write_bytes(data[: len(data) * part // 16])
    return [("compile", f"t{part:02}.onnx", "--out", "out") for part in range(1, 16)]


@case("06 no regular file")
def _(folder: Path) -> Commands:
    (folder / "folder.onnx").mkdir()
    os.mkfifo(folder / "pipe.onnx")
    os.symlink("/dev/zero", folder / "device.onnx")
    return [("compile", f"{name}.onnx", "--out", "out") for name in ("folder", "pipe", "device", "vanished")]


@case("07 two gigabytes")
def _(folder: Path) -> None:
    with open(folder / "m.onnx", "wb") as stream:
        stream.truncate((1 << 31) - 1)


@case("08 nested a thousand deep")
def _(folder: Path) -> None:
    graph = b""
    for _ in range(1000):
        attribute = b"\x32" + length(graph) + graph  # AttributeProto.g
        node = b"\x2a" + length(attribute) + attribute  # NodeProto.attribute
        graph = b"\x0a" + length(node) + node  # GraphProto.node
    (folder / "m.onnx").write_bytes(b"\x3a" + length(graph) + graph)


def external(location: str, name: str = "w", **more: str) -> TensorProto:
    tensor = TensorProto(name=name, data_type=FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, text in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=text)
    return tensor


def adding(*tensors: TensorProto) -> bytes:
    """x plus each of the constants."""
    names = ["x", *(f"s{number}" for number in range(1, len(tensors))), "y"]
    nodes = [helper.make_node("Add", [names[i], tensor.name], [names[i + 1]]) for i, tensor in enumerate(tensors)]
    return model(nodes, constants=tensors)


def external_case(title: str, locations: Sequence[str], prepare: Callable[[Path], object], **more: str) -> None:
    def make(folder: Path) -> Commands:
        (folder / "outside").mkdir()
        (folder / "inside").mkdir()
        (folder / "outside" / "secret").write_bytes(bytes(16))
        prepare(folder)
        for number, location in enumerate(locations):
            (folder / "inside" / f"m{number}.onnx").write_bytes(adding(external(location, **more)))
        return [("compile", f"inside/m{number}.onnx", "--out", "out") for number in range(len(locations))]

    case(title)(make)


def linked(folder: Path) -> None:
    os.symlink("../outside/secret", folder / "inside" / "soft")
    os.symlink("../outside", folder / "inside" / "parent")
    os.link(folder / "outside" / "secret", folder / "inside" / "hard")
    os.symlink("/dev/zero", folder / "inside" / "device")
    (folder / "inside" / "directory").mkdir()


def stored(folder: Path) -> None:
    (folder / "inside" / "w.bin").write_bytes(bytes(16))


external_case("41 data outside the folder", ("../outside/secret", "a/../../outside/secret", "/etc/passwd"), lambda folder: None)
external_case("42 data behind links", ("soft", "parent/secret", "hard", "device", "directory", "missing"), linked)
external_case("43 a negative offset", ("w.bin",), stored, offset="-4")
external_case("43 an offset past the end", ("w.bin",), stored, offset="400")
external_case("43 a length of 2^60", ("w.bin",), stored, length=str(1 << 60))


@case("44 one file for two constants")
def _(folder: Path) -> None:
    (folder / "w.bin").write_bytes(numpy.arange(8, dtype="<f4").tobytes())
    (folder / "m.onnx").write_bytes(
        adding(external("w.bin", offset="0", length="16"), external("w.bin", "v", offset="16", length="16"))
    )


NAMES = {
    "69": (
        "w*/ int injected = 42; /*",
        '"',
        "a\nb",
        "#include <x>",
        "a\\\nb",
        "??/",
        "%s%n",
        "{{7*7}}",
        "$(id)",
        "`id`",
        ";",
        "\0",
    ),
    "70": ("int", "errno", "INT8_MIN", "main", "memcpy", "_X", "0digit"),
    "71": ("x" * 100_000, "a.b"),
    "72": ("\U0001f600", "e\u0301"),
    "73": ("../../evil", "/etc/evil", "CON"),
    "74": ("\x1b[31mred",),
}


def named(names: tuple[str, ...]) -> bytes:
    """The names wherever a model has some: nodes, tensors, constants, the graph."""
    chain = ["x", *names]
    nodes = [helper.make_node("Add", [chain[i], f"{name}'"], [name], name=name) for i, name in enumerate(names)]
    constants = [constant(f"{name}'", [1, 2, 3, 4], numpy.float32) for name in names]
    return model(nodes, outputs=[value(names[-1], None)], constants=constants, name=names[0])


for number, names in NAMES.items():
    file_case(f"{number} names", lambda names=names: named(names))
file_case("73 a graph without a name", lambda: model([relu()], name=""))


@case("71 names that differ in little")
def _(folder: Path) -> None:
    names = ["a.b", "a/b", "a_b", "a:b", "A", "a", f"{'c' * 63}1", f"{'c' * 63}2"]
    chain = ["x", *names]
    nodes = [helper.make_node("Sin", [chain[i]], [chain[i + 1]], name=chain[i + 1]) for i in range(len(names))]
    (folder / "m.onnx").write_bytes(model(nodes, outputs=[value(names[-1], None)]))


file_case("72 a name that is no text", lambda: model([relu("NAME")]).replace(b"NAME", b"N\xff\xfeE"))


@case("74 a description of 100 MB")
def _(folder: Path) -> None:
    made = onnx.load_from_string(model([relu()]))
    made.doc_string = "\x1b[2J" * (25 << 20)
    (folder / "m.onnx").write_bytes(made.SerializeToString())


@case("75 one model by two names")
def _(folder: Path) -> Commands:
    for name in ("one", "two"):
        (folder / f"{name}.onnx").write_bytes(model([relu()]))
    return [("compile", f"{name}.onnx", "--cpu", "host", "--out", f"out_{name}", "--name", "net") for name in ("one", "two")]


@case("76 a model that fits no memory")
def _(folder: Path) -> Commands:
    nodes = [helper.make_node("Sin", ["x"], ["s"]), helper.make_node("Add", ["x", "s"], ["y"])]
    (folder / "m.onnx").write_bytes(model(nodes, [value("x", (1, 100_000))]))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    weights = constant("w", numpy.ones((600, 600)), numpy.float32)
    (folder / "flash.onnx").write_bytes(model(nodes, [value("x", (1, 600))], constants=[weights]))
    return [("compile", name, "--board", "stm32f4", "--out", "out", "--io", "arena") for name in ("m.onnx", "flash.onnx")]
