# SPDX-License-Identifier: MIT
"""The page about source formats does what it says: its folder alone makes the tool read another kind of file."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.operators import builtin_operators
from aidge_build.sources import formats as registry
from aidge_build.sources.importing import import_file
from aidge_build.sources.source_format import ModelFile
from tests.command import aidge_build

ROOT = Path(__file__).resolve().parents[2]
NETWORK, FORMAT = (
    re.search(rf"^```{language}\n(.*?)^```", (ROOT / "docs" / "howto-format.md").read_text(), re.M | re.S)[1]
    for language in ("json", "python")
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the network, for a tool that has the format of the page."""
    place = tmp_path / "formats"
    (place / "dense").mkdir(parents=True)
    (place / "dense" / "__init__.py").write_text(FORMAT)
    (tmp_path / "net.dense").write_text(NETWORK)
    monkeypatch.setattr(registry, "__path__", [str(place), *registry.__path__])
    monkeypatch.delitem(sys.modules, f"{registry.__name__}.dense", raising=False)
    registry.formats.cache_clear()
    yield tmp_path
    registry.formats.cache_clear()
    sys.modules.pop(f"{registry.__name__}.dense", None)


def compiled(folder: Path, *words: str):
    return aidge_build("compile", folder / "net.dense", "--board", "stm32f4", "--out", folder / "generated", *words)


def test_a_format_is_read_by_its_folder_alone(folder):
    done = compiled(folder)
    assert done.exit_code == 0 and done.stdout.startswith("net: 2 layers, 8 MACs, "), done
    plan = json.loads((folder / "generated" / "net.plan.json").read_text())
    assert plan["options"]["rounding"] == "onnx" and [layer["origin"] for layer in plan["layers"]][-1] == ["dense_1"]
    view, _ = import_file(ModelFile(NETWORK.encode(), "net", builtin_operators()))
    result = cpu.run(view, {"x": numpy.float32([[1, 2, 3]])})["dense_1_result"]
    assert result.tolist() == [[0.5 - 0.25]]  # the first layer makes -0.625 and 0.25


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("]}\n]", "]}", "is not JSON"),
        ('"bias": [0.5]', '"bias": 0.5', "layers[1].bias"),
        ("[2.0, 0.0, -0.5]", "[2.0]", "layer 0: its rows of weights have different lengths. Hint: write the network again"),
        ('{"dense"', '{"dance"', "this is a text file, not a Dense model"),
        ('{"dense"', '\x00{"dense"', "not a Dense model: its first bytes are 00 7b 22 64 65 6e 73 65"),
    ],
)
def test_a_damaged_file_is_refused_in_the_words_of_its_format(folder, old, new, reason):
    (folder / "net.dense").write_text(NETWORK.replace(old, new))
    refused = compiled(folder)
    assert refused.exit_code == 2 and reason in refused.stderr, refused


@pytest.mark.parametrize(
    "words, reason",
    [
        (("--signature", "serve"), "--signature is for .tflite models: a Dense model has one graph"),
        (("--bind", "n=4"), "--bind is for .tflite and .onnx models: a Dense model has no open dimension"),
        (("--state", "dense_1_result=x"), "output 'dense_1_result' is float32[1, 1], input 'x' is float32[1, 3]"),
        (("--quantize", "samples.npz"), "this is a Dense model (.dense), not ONNX. Hint: compile, explain and verify read it"),
    ],
)
def test_options_that_the_format_does_not_take_are_refused(folder, monkeypatch, words, reason):
    monkeypatch.chdir(folder)
    numpy.savez("samples.npz", x=numpy.zeros((2, 1, 3), numpy.float32))
    refused = compiled(folder, *words)
    assert refused.exit_code == 2 and reason in refused.stderr, refused


def test_a_folder_without_a_format_says_what_it_lacks(folder):
    (folder / "formats" / "dense" / "__init__.py").write_text(FORMAT.partition("FORMAT =")[0])
    refused = compiled(folder)
    assert refused.exit_code == 2
    assert "sources/formats/dense/__init__.py defines no FORMAT = SourceFormat(...)" in refused.stderr


def test_nothing_outside_of_its_folder_names_a_format():
    package = ROOT / "aidge_build"
    suffix = rf"\.({'|'.join(one.name for one in registry.formats())})"
    words = re.compile(rf'"(\*/)?\*?{suffix}"|^ *(from|import) .*\bformats\.tflite', re.M)
    read = sorted({*package.rglob("*.py")} - {*(package / "sources" / "formats").rglob("*.py")})
    assert [str(path.relative_to(ROOT)) for path in read if words.search(path.read_text())] == []
    scripts = [*(package / "build" / "cmake").glob("*.cmake"), ROOT / "integrations" / "rt-thread" / "SConscript"]
    code = [line for path in scripts for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    assert [line for line in code if re.search(rf"{suffix}\b", line)] == []
