# SPDX-License-Identifier: MIT
"""What is damaged: good inputs of each kind, and the command that reads the damaged one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy
import onnx

from aidge_build import cli
from aidge_build.base.installed import board_folder, kernel_folder
from aidge_build.base.settings import BASES
from aidge_build.boards.cores import FOLDER
from aidge_build.sources.onnx_format.node_cases import node_cases
from tools.fuzz import mutations, readers
from tools.fuzz.files import MEMORIES, Files
from tools.fuzz.model_mutations import damaged_model
from tools.fuzz.seeds import models, plan_of, programs
from tools.fuzz.tflite_mutations import damaged_tflite

TARGETS = (
    (),
    ("--board", "stm32f4"),
    ("--board", "mps2-an386"),
    ("--cpu", "cortex-m55"),
    ("--lib", "ref"),
    ("--optimize", "size"),
)
_LARGEST = 60_000  # bytes of a model that is damaged: larger ones are the same again


ACCURACY = b"""{"model": "m", "task": "classes", "output": "y", "samples": 4, "calibration_samples": 1, "stages": [{"name": "n",
 "where": "host", "top1": {"correct": 3, "count": 4, "share": 0.75, "low": 0.3, "high": 0.95}, "confusion": [[2, 0], [1, 1]],
 "auc": 0.9, "errors": {"y": {"mean_error": 0, "mae": 1, "rmse": 1, "r2": null}}, "mean_deviation": {"y": 0.5}}],
 "limits": [{"name": "min-top1", "limit": 0.7, "reached": 0.75, "kept": true}]}"""


class Models:
    """ONNX files: damaged fields, or (`structural` false) damaged bytes."""

    def __init__(self, folder: Path, structural: bool = True):
        self.folder, self.structural = folder, structural
        found = [*models(), *(case.model for case in node_cases().values()), *_bound_cases()]
        self.seeds = [data for data in found if len(data) < _LARGEST]

    def damaged(self, chance: Random) -> list[str]:
        data = chance.choice(self.seeds if chance.random() < 0.6 else models())
        if self.structural:
            message = onnx.ModelProto.FromString(data)
            names = [name for node in message.graph.node for name in (*node.input, *node.output, node.op_type)]
            mutations.use_words(names)
            (damaged_model if chance.random() < 0.7 else mutations.damaged_message)(message, chance)
            data = message.SerializeToString()
        else:
            data = mutations.damaged_bytes(data, chance)
        (self.folder / "m.onnx").write_bytes(data)
        verb = chance.choice((["compile", "--name", "m", "--out", str(self.folder / "out")], ["explain"], ["plan", "--why"]))
        return [*verb, str(self.folder / "m.onnx"), *chance.choice(TARGETS)]

    @property
    def path(self) -> Path:
        return self.folder / "m.onnx"

    def keep(self, place: Path) -> None:
        shutil.copyfile(self.path, place.with_suffix(".onnx"))


def _bound_cases():
    """The same cases with all inputs but the first as constants: axes, shapes, scales and weights that are known."""
    for case in node_cases().values():
        names = tuple(case.inputs)[1:]
        if names:
            yield case.bound(names)


class TfliteModels:
    """TensorFlow Lite files: other numbers, dims, types, wires and options in their tables, or damaged bytes."""

    def __init__(self, folder: Path):
        self.path = folder / "m.tflite"

    def damaged(self, chance: Random) -> list[str]:
        self.path.write_bytes(damaged_tflite(chance))
        verb = chance.choice((["compile", "--name", "m", "--out", str(self.path.parent / "out"), "-v"], ["explain"], ["plan"]))
        return [*verb, str(self.path), *chance.choice(TARGETS), *chance.choice(([], ["--rounding", "tflite"]))]

    def keep(self, place: Path) -> None:
        shutil.copyfile(self.path, place.with_suffix(".tflite"))


def _programs(folder: Path) -> Files:
    commands = [
        ["check", "{}", *MEMORIES],
        ["report", "{}", *MEMORIES],
        ["check", "{}", "--board", "mps2-an386"],
        ["flash", "-n", "{}", "--board", "stm32f4"],
    ]
    return Files(folder, programs(folder), mutations.damaged_bytes, "app.elf", commands)


def _headers(folder: Path) -> Files:
    """Programs of which only headers, symbols and notes are damaged."""

    def damage(data: bytes, chance: Random) -> bytes:
        found, at = bytearray(data), data.find(b"aidge\0")
        sections = int.from_bytes(data[32:36], "little")
        count = int.from_bytes(data[48:50], "little")
        places = [range(52), range(52, 52 + 32 * 3), range(sections, sections + 40 * count)]
        if at > 0:
            places.append(range(at - 12, min(len(data), at + 600)))
        for _ in range(chance.choice((1, 1, 2, 3))):
            place = chance.choice(chance.choice(places)[::1])
            if place < len(found):
                size = chance.choice((1, 1, 2, 4))
                found[place : place + size] = chance.choice(
                    (bytes(size), b"\xff" * size, chance.randbytes(size), b"\x01" + bytes(size - 1))
                )
        return bytes(found)

    made = _programs(folder)
    made.damage = damage
    return made


def _plans(folder: Path) -> Files:
    program = folder / "p.elf"
    program.write_bytes(programs(folder)[0])
    plan = plan_of(folder)
    model = folder / "good.onnx"
    model.write_bytes(models()[0])
    commands = [
        ["check", str(program), "--plan", "{}", *MEMORIES],
        ["report", str(program), "--plan", "{}", "--html", str(folder / "page.html"), *MEMORIES],
        ["report", str(program), "--diff", "{}", *MEMORIES],
        ["report", str(program), "--counts", "{}", *MEMORIES],
        ["report", str(program), "--accuracy", "{}", "--html", str(folder / "page.html"), *MEMORIES],
        ["compile", str(model), "--name", "good", "--out", str(folder)],
        ["plan", "{}"],
        ["sbom", "{}", "--out", str(folder / "bill.cdx.json")],
        ["sbom", "{}", "--elf", str(program), "--out", str(folder / "bill.cdx.json")],
    ]
    report = _printed(["report", str(program), "--json", *MEMORIES])
    return Files(folder, [plan, report, ACCURACY], mutations.damaged_json, "good.plan.json", commands)


def _printed(words: list[str]) -> bytes:
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        cli.main(words)
    return out.getvalue().encode()


def _boards(folder: Path) -> Files:
    folders = (board_folder(), board_folder() / BASES)
    seeds = [path.read_bytes() for place in folders for path in sorted(place.glob("*.toml"))]
    model = folder / "good.onnx"
    model.write_bytes(models()[0])
    where = ["--board", "mine", "--board-path", str(folder / "boards")]
    commands = [
        ["boards", "mine", *where[2:]],
        ["compile", str(model), "--name", "good", "--out", str(folder / "out"), *where],
        ["link-script", *where, "--out", str(folder / "link.ld")],
    ]
    return Files(folder, seeds, mutations.damaged_toml, "boards/mine.toml", commands)


def _cores(folder: Path) -> Files:
    seeds = [path.read_bytes() for path in sorted((board_folder() / FOLDER).glob("**/*.toml"))]
    model = folder / "good.onnx"
    model.write_bytes(models()[0])
    (folder / "boards").mkdir()
    (folder / "boards" / "mine.toml").write_text('extends = "stm32f7"\ncpu = "mine"\n')
    where = ["--board-path", str(folder / "boards")]
    made = ["compile", str(model), "--name", "good", "--out", str(folder / "out"), *where]
    commands = [["boards", "mine", *where], [*made, "--cpu", "mine"], [*made, "--board", "mine"]]
    return Files(folder, seeds, mutations.damaged_toml, "boards/cores/mine.toml", commands)


def _libraries(folder: Path) -> Files:
    seeds = [path.read_bytes() for path in sorted(kernel_folder().glob("*/library.toml"))]
    model = folder / "good.onnx"
    model.write_bytes(models()[0])
    where = ["--kernel-path", str(folder / "library")]
    commands = [["kernels", *where], ["compile", str(model), "--name", "good", "--out", str(folder / "out"), *where]]
    return Files(folder, seeds, mutations.damaged_toml, "library/library.toml", commands)


def _vectors(folder: Path) -> Files:
    model = folder / "good.onnx"
    model.write_bytes(models()[0])
    view = onnx.ModelProto.FromString(models()[0]).graph.input[0]
    dims = [dim.dim_value or 1 for dim in view.type.tensor_type.shape.dim]
    good = folder / "good.npz"
    numpy.savez(good, x=numpy.ones((1, *dims), numpy.float32))
    numpy.savez_compressed(folder / "small.npz", x=numpy.zeros((1, *dims), numpy.float32), labels=numpy.arange(3))
    seeds = [good.read_bytes(), (folder / "small.npz").read_bytes()]
    commands = [
        ["export", str(model), "--out", str(folder / "out"), "--io-data", "{}"],
        ["accuracy", str(model), "--labels", "{}"],
    ]
    return Files(folder, seeds, mutations.damaged_bytes, "m.npz", commands)


def _costs(folder: Path) -> Files:
    model = folder / "good.onnx"
    model.write_bytes(models()[0])
    head = b'schema = 1\nname = "mine"\nversion = "1"\nunit = "instructions"\n'
    entry = b'[[cost]]\nlibrary = "ref"\nkernel = "%s"\nfixed = 10\nper_mac = 2.5\nper_element = 3\n'
    compared = b'[[quicker]]\nlibrary = "ref"\nkernel = "b"\nthan = "ref a"\nop = "Relu"\ntypes = "int8 -> int8"\nshape = ""\n'
    numbers = b"layers = 4\nratio = 0.8\nmost = 0.9\n"
    seeds = [
        head + b"".join(entry % name for name in (b"conv2d_float32", b"relu_float32", b"maxpool2d_float32")),
        head + b'features = []\noptimize = "balanced"\n' + compared + numbers,
    ]
    commands = [["compile", str(model), "--name", "good", "--out", str(folder / "out"), "--select", "cost", "--cost-table", "{}"]]
    return Files(folder, seeds, mutations.damaged_toml, "costs.toml", commands)


def _problems(folder: Path) -> Files:
    operation = {"type": "ADD", "inputs": [0, 1], "outputs": [2]}
    graph = {"tensors": [4, 8, 16], "ops": [operation], "inputs": [0, 1], "outputs": [2]}
    buffers = [{"buffers": [[0, 3, 10], [1, 4, 20], [2, 6, 12]]}]
    seeds = [json.dumps(value).encode() for value in (graph, buffers)]
    return Files(folder, seeds, mutations.damaged_json, "problem.json", [["plan", "{}"], ["plan", "{}", "--capacity", "30"]])


KINDS: dict[str, Callable[[Path], Models | TfliteModels | Files]] = {
    "onnx": Models,
    "tflite": TfliteModels,
    "onnx-bytes": lambda folder: Models(folder, structural=False),
    "elf": _programs,
    "elf-headers": _headers,
    "plan": _plans,
    "board": _boards,
    "core": _cores,
    "library": _libraries,
    "vectors": _vectors,
    "costs": _costs,
    "problems": _problems,
    **readers.KINDS,
}
