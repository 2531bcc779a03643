# SPDX-License-Identifier: MIT
"""Writes what a version leaves in the field, for the tests of every later version: tests/releases/<version>.

    python -m tools.release_artefacts            # after the version is set, when all else of it is merged

It needs the cross compiler and the emulator. Each case is one small int8 model on one board: the program without debug
information, its header, its plan, and the JSON of each verb about it. The case with `--update weights` has the block of
weights that `weights` made, the case with `--record` a dump of RAM. `api.json` lists verbs, options, keys of JSON, functions
of SCons and CMake, and codes of findings: later versions may add to them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy

from aidge_build.base.installed import cmake_folder, scons_toolpath
from aidge_build.base.version import VERSION
from aidge_build.boards import load_board
from aidge_build.cli import main
from aidge_build.prove.elf.findings import RULES
from aidge_build.run.toolchain import build_program
from tests.small_model import small_model

ROOT = Path(__file__).resolve().parents[1]
RELEASES = ROOT / "tests" / "releases"
BOARD, NAME, VECTORS = "stm32f4", "toy", 3
MODEL, RETRAINED, INPUTS, BLOCK, DUMP = "toy.onnx", "retrained.onnx", "inputs.npz", "weights.bin", "ram.bin"
LISTS = ("boards", "kernels", "options", "doctor")
CASES: Mapping[str, tuple[str, ...]] = {
    "plain": (),
    "update": ("--update", "weights", "--weights-version", "7"),
    "record": ("--record", "2"),
}

# Reads inputs until the file ends and writes the outputs; binds the weights of a file, or leaves a dump, where the model can.
MAIN = """#include "toy.h"
#include "semihosting.h"

static int8_t input[TOY_INPUT_SIZE], output[TOY_OUTPUT_SIZE];
static union { uint64_t alignment; uint8_t bytes[1024]; } slot;

int main(void)
{
    int file = semihosting_open("input.bin", SEMIHOSTING_READ), to = semihosting_open("output.bin", SEMIHOSTING_WRITE);
    int32_t left = semihosting_length(file);

    START
    for (; left > 0; left -= (int32_t)sizeof input) {
        if (semihosting_read(file, input, sizeof input) != 0u || toy_run(input, output) != 0)
            return 11;
        (void)semihosting_write(to, output, sizeof output);
    }
    END
    return slot.bytes[0] == 255u;
}
"""
_BIND = """{
        int from = semihosting_open("weights.bin", SEMIHOSTING_READ);
        (void)semihosting_read(from, slot.bytes, (uint32_t)semihosting_length(from));
        if (toy_bind(slot.bytes, sizeof slot.bytes) != TOY_OK)
            return 10;
    }"""
_DUMP = '(void)semihosting_write(semihosting_open("ram.bin", SEMIHOSTING_WRITE), toy_record, TOY_RECORD_BYTES);'
_PARTS = {"plain": ("", ""), "update": (_BIND, ""), "record": ("", _DUMP)}


def verbs_of(case: str) -> dict[str, list[str]]:
    """The commands about the artefacts of a case, by the name of the file that keeps their JSON; they run in the
    folder of the case, and write there."""
    options = ["--board", BOARD, *CASES[case]]
    model, replays = f"../{MODEL}", ["--name", NAME, "--replay", DUMP]
    weights = {"weights": ["weights", f"../{RETRAINED}", "--against", "app.elf", "--out", BLOCK]} if case == "update" else {}
    commands = {
        **weights,  # the firmware reads them
        "check": ["check", "app.elf", "--board", BOARD, "--plan", f"{NAME}.plan.json"],
        "report": ["report", "app.elf", "--board", BOARD],
        "run": ["run", "app.elf", "--board", BOARD, "--folder", "."],
        "verify": ["verify", model, *options, *(replays if case == "record" else ["--io-data", f"../{INPUTS}"])],
    }
    if case == "plain":
        commands |= {
            "explain": ["explain", model, *options],
            "plan": ["plan", model, *options],
            "fit": ["fit", model, "--boards", BOARD],
        }
    return commands


def run_json(words: Sequence[str], folder: Path) -> dict:
    """What a verb prints as JSON, run in `folder`; RuntimeError where it fails."""
    out, before = io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out):
            code = main([*words, "--json"])
    finally:
        os.chdir(before)
    if code:
        raise RuntimeError(f"aidge-build {' '.join(words)}: exit code {code}: {out.getvalue()}")
    return json.loads(out.getvalue())


def keys_of(value: object, where: str = "") -> Iterator[str]:
    """The places of a JSON document: "models[].arena_bytes". Keys that are names of the model or of files count as one."""
    if isinstance(value, dict):
        is_table = where.rpartition(".")[2] in ("files", "nodes", "tensors", "facts")
        for key, inside in value.items():
            place = f"{where}.{'*' if is_table else key}".removeprefix(".")
            yield place
            yield from keys_of(inside, place)
    elif isinstance(value, list):
        for inside in value:
            yield from keys_of(inside, f"{where}[]")


def options_of(verb: str) -> list[str]:
    """The options that the help of a verb lists."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([verb, "--help", "all"])
    return sorted(set(re.findall(r"^\s+(?:-\w(?: \w+)?, )?(--[a-z][\w-]*)", out.getvalue(), re.MULTILINE)))


def header_names(text: str) -> list[str]:
    """The macros, functions and types of a header, without the digest's own macro."""
    macros = re.findall(r"^#define (\w+)", text, re.MULTILINE)
    declared = re.findall(r"^(?:extern )?(?:const )?\w+ \*?(\w+)(?:\(|\[|;)", text, re.MULTILINE)
    types = re.findall(r"^\} (\w+);", text, re.MULTILINE)
    return sorted({name for name in (*macros, *declared, *types) if not re.search(r"_HEADER_[0-9a-f]{12}$", name)})


def api() -> dict:
    """What docs/stability.md calls API, of the code as it is."""
    scons = Path(scons_toolpath(), "aidge.py").read_text()
    cmake = Path(cmake_folder(), "aidge_build-config.cmake").read_text()
    schemas = {path.name: json.loads(path.read_text()) for path in sorted((ROOT / "aidge_build" / "base" / "schemas").iterdir())}
    options = run_json(["options"], ROOT)["options"]
    modules = (ROOT / "aidge_build" / "cli").glob("*.py")  # also of verbs that became forms of others: their names stay
    verbs = sorted(path.stem.replace("_", "-") for path in modules if "\nEXAMPLES = " in path.read_text())
    return {
        "verbs": verbs,
        "options": {verb: options_of(verb) for verb in verbs},
        "scons_functions": sorted(re.findall(r'AddMethod\(\w+, "(\w+)"\)', scons)),
        "scons_options": sorted({one["scons"] for one in options if one["scons"]}),
        "cmake_functions": sorted(re.findall(r"^function\((aidge_\w+)", cmake, re.MULTILINE)),
        "cmake_options": sorted({one["cmake"] for one in options if one["cmake"]}),
        "values": {one["name"]: one["values"] for one in options if one["values"]},
        "schemas": {name: sorted(set(_properties(schema))) for name, schema in schemas.items()},
        "json": {verb: sorted(set(keys_of(run_json([verb], ROOT)))) for verb in LISTS},
        "findings": sorted(RULES),
        "exit_codes": {
            "0": "ok",
            "1": "a check failed",
            "2": "bad input or usage",
            "3": "something is missing",
            "70": "internal error",
        },
    }


def _properties(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
    for inside in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _properties(inside)


def _make_case(folder: Path, case: str) -> None:
    folder.mkdir()
    run_json(["compile", f"../{MODEL}", "--board", BOARD, "--out", ".", *CASES[case]], folder)
    start, end = _PARTS[case]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "main.c").write_text(MAIN.replace("START", start).replace("END", end))
        sources = [folder / f"{NAME}.c", folder / f"{NAME}_weights.c", work / "main.c"]
        build_program(load_board(BOARD), sources, folder / "app.elf", work_folder=work / "objects", include_folders=[folder])
        subprocess.run(["arm-none-eabi-strip", "--strip-debug", folder / "app.elf"], check=True)
    (folder / "input.bin").write_bytes(numpy.load(folder.parent / INPUTS)["x"].tobytes())
    for source in (folder / f"{NAME}.c", folder / f"{NAME}_weights.c"):
        source.unlink()
    for verb, words in verbs_of(case).items():
        _write_json(folder / f"{verb}.json", run_json(words, folder))


def _write_json(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def make(folder: Path, done: Callable[[str], object]) -> None:
    """Writes all artefacts of this version into `folder`, which must not exist."""
    folder.mkdir(parents=True)
    (folder / MODEL).write_bytes(small_model(seed=0))
    (folder / RETRAINED).write_bytes(small_model(seed=3))
    numpy.savez(folder / INPUTS, x=numpy.random.default_rng(0).integers(-128, 128, (VECTORS, 1, 8)).astype(numpy.int8))
    for case in CASES:
        _make_case(folder / case, case)
        done(f"{folder / case}")
    _write_json(folder / "api.json", api())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes tests/releases/<version>: what this version leaves in the field.")
    parser.add_argument("--version", default=VERSION, help="the folder's name, where the version is not set yet")
    made = RELEASES / parser.parse_args().version
    if made.exists():
        raise SystemExit(
            f"{made}: is there already; a release is never made again: remove the folder first if it was not released"
        )
    make(made, print)
