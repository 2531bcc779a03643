# SPDX-License-Identifier: MIT
"""Kinds of files that came with later verbs: chips of makers, maps of linkers, firmware that gets new weights, calibration data,
plans of cascades."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import numpy
import onnx

from aidge_build import cli
from tests import chips
from tools.fuzz import mutations
from tools.fuzz.files import MEMORIES, Files
from tools.fuzz.seeds import models, programs

_WORD = re.compile(rb"0x[0-9A-Fa-f]+|\d+|\w+|[<>{}\"=&;/\[\]]")


def damaged_text(data: bytes, chance: Random) -> bytes:
    """Words and signs that become other ones of the text, extreme numbers or nothing; or damaged bytes."""
    if chance.random() < 0.2:
        return mutations.damaged_bytes(data, chance)
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        words = list(_WORD.finditer(data))
        if not words:
            break
        word, other = chance.choice(words), chance.choice(words)[0]
        number = chance.choice(mutations.INTEGERS) * chance.choice((1, 1, 1, -1))
        text = chance.choice(mutations.TEXTS).encode()
        new = chance.choice((b"", word[0] * 2, other, other, b"%d" % number, b"0x%x" % abs(number), text))
        data = data[: word.start()] + new + data[word.end() :]
    return data


def packs(folder: Path) -> Files:
    """Descriptions of a CMSIS pack."""
    out = str(folder / "made")
    commands = [["boards", "--import", "{}", name, *more] for name in ("CHIP407VG", "CHIP0") for more in ((), ("--out", out))]
    return Files(folder, [chips.PACK.encode()], damaged_text, "chips.pdsc", [*commands, ["boards", "--import", "{}"]])


def trees(folder: Path) -> Files:
    """Devicetrees."""
    commands = [["boards", "--import", "{}", *more] for more in ((), ("--out", str(folder / "made")))]
    return Files(folder, [chips.TREE.encode()], damaged_text, "zephyr.dts", commands)


def maps(folder: Path) -> Files:
    """Maps of links."""
    elf = folder / "p.elf"
    elf.write_bytes(programs(folder, ("-Wl,-Map=" + str(folder / "seed.map"),))[0])
    data = (folder / "seed.map").read_bytes()
    table = (
        b"Memory Configuration\n\nName Origin Length Attributes\nFLASH 0x08000000 0x00100000 xr\nRAM 0x20000000 0x00020000 xrw\n"
    )
    start = data.index(b"Linker script and memory map")
    seeds = [data, data[: data.index(b"Memory Configuration")] + table + b"\n" + data[start:]]
    return Files(
        folder, seeds, damaged_text, "app.map", [["check", str(elf), "--map", "{}"], ["report", str(elf), "--map", "{}"]]
    )


def updatable(folder: Path) -> Files:
    """Firmware whose weights can be replaced, to which new ones are made."""
    seeds = programs(folder, compiled=("--update", "weights"))
    words = ["weights", str(folder / "good.onnx"), "--name", "good", "--cpu", "cortex-m4", "--out", str(folder / "new.bin")]
    commands = [[*words, "--against", "{}"], ["check", "{}", *MEMORIES]]
    return Files(folder, seeds, mutations.damaged_bytes, "app.elf", commands)


def samples(folder: Path) -> Files:
    """Calibration data."""
    model, good = folder / "good.onnx", folder / "good.npz"
    model.write_bytes(models()[0])
    dims = [dim.dim_value or 1 for dim in onnx.ModelProto.FromString(models()[0]).graph.input[0].type.tensor_type.shape.dim]
    numpy.savez(good, x=numpy.ones((2, *dims), numpy.float32))
    commands = [
        ["quantize", str(model), "--calibration", "{}", "--out", str(folder / "int8.onnx")],
        ["compile", str(model), "--name", "good", "--out", str(folder / "out"), "--quantize", "{}"],
    ]
    return Files(folder, [good.read_bytes()], mutations.damaged_bytes, "samples.npz", commands)


def cascade_plans(folder: Path) -> Files:
    """The notes that compile leaves of a model in cascades, which the next one reads."""
    model = folder / "good.onnx"
    model.write_bytes(models()[0])
    words = ["compile", str(model), "--name", "good", "--out", str(folder), "--memory-model", "cascade"]
    cli.main(words)
    seeds = [(folder / "good.plan.json").read_bytes()]
    return Files(folder, seeds, mutations.damaged_json, "good.plan.json", [words, ["plan", "{}"]])


KINDS = {
    "packs": packs,
    "trees": trees,
    "maps": maps,
    "updatable": updatable,
    "samples": samples,
    "cascade-plans": cascade_plans,
}
