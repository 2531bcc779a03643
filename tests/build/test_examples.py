# SPDX-License-Identifier: MIT
"""Small examples as a user copies them: built, checked and run; what their READMEs show is what they print."""

from __future__ import annotations

import os
import re
import sys

import numpy
import pytest

from tests.build.checkout import ROOT, copy_of_example, run_in, scons_in
from tests.programs import needs_cross_compiler

# Example -> the neighbours that it takes networks from. The first is the main program and network of the second.
EXAMPLES = {
    "hello": (),
    "custom_board": ("hello",),
    "custom_kernel": (),
    "anomaly": (),
    "two_models": ("anomaly", "digits", "keyword", "update"),
    "camera_rows": (),
    "story": (),
}
STRESS = "AIDGE_STRESS" in os.environ
SAMPLE = ("custom_board", "custom_kernel", "anomaly", "camera_rows")  # each takes two seconds or three
MODELS = {
    "hello": "model.py hello.onnx",
    "anomaly": "train.py anomaly.onnx",
    "custom_kernel": "model.py model/thermal.onnx",
    "camera_rows": "model.py stripes.onnx",
}


def shown(name: str) -> list[str]:
    """The lines of output that the README shows, without what it leaves out."""
    text = (ROOT / "examples" / name / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```\n\$ scons run\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [part for line in block.splitlines() for part in line.split(" ...; ") if part.strip() not in ("", "...")]


@needs_cross_compiler
@pytest.mark.parametrize("name", EXAMPLES if STRESS else SAMPLE)
def test_an_example_is_built_checked_and_prints_what_its_page_shows(tmp_path, name):
    folder = copy_of_example(name, tmp_path)
    for neighbour in EXAMPLES[name]:
        copy_of_example(neighbour, tmp_path)
    printed = scons_in(folder, f"support={ROOT / 'boards'}", "run")
    assert "CHECK  build/firmware.elf" in printed and "warning:" not in printed, printed
    place = 0
    for line in shown(name):
        assert line.strip() in printed[place:], (line, printed)
        place = printed.index(line.strip(), place)


@needs_cross_compiler
@pytest.mark.skipif(not STRESS, reason="AIDGE_STRESS=1 builds the program with two networks twice")
def test_two_networks_share_their_kernels_as_the_page_says(tmp_path):
    folder = copy_of_example("two_models", tmp_path)
    for neighbour in EXAMPLES["two_models"]:
        copy_of_example(neighbour, tmp_path)
    sizes = []
    for kernels in ("own", "shared"):
        words = (f"support={ROOT / 'boards'}", f"kernels={kernels}", "build/voices.elf")
        printed = scons_in(folder, *words)
        (size,) = re.findall(r"FLASH +([\d,]+) /", printed)
        sizes.append(int(size.replace(",", "")))
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert f"{sizes[0] - sizes[1]:,} B larger: {sizes[0] // 1000} KB instead of {sizes[1] // 1000} KB" in " ".join(page.split())


@pytest.mark.parametrize("name", MODELS)
def test_the_script_beside_a_network_writes_it(tmp_path, name):
    folder = copy_of_example(name, tmp_path)
    model = folder / MODELS[name].split()[1]
    before = model.read_bytes()
    model.unlink()
    run_in(folder, sys.executable, "-B", *MODELS[name].split())
    assert model.read_bytes() == before


def test_the_thermistors_of_the_page_are_what_the_formula_says():
    volts = numpy.array([0.50, 0.51, 0.52, 0.55, 0.60, 0.70, 0.62, 0.58])
    degrees = -20 + 95 * volts - 60 * volts**2 + 25 * volts**3
    slope = numpy.polyfit(numpy.linspace(-1, 1, 8), degrees, 1)[0]
    for name, value in (("mean", degrees.mean()), ("slope", slope), ("hottest", degrees.max())):
        assert f"{name} in hundredths of a degree: {int(100 * value)}" in shown("custom_kernel")
