# SPDX-License-Identifier: MIT
"""examples/story: a decoder with keys and values in states, in 512 KB of flash; its scores on text that training never saw."""

from __future__ import annotations

import re

import numpy
import onnx

from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.operators import builtin_operators
from aidge_build.sources.importing import import_file
from aidge_build.sources.source_format import ModelFile
from tests.build.checkout import ROOT, copy_of_example, scons_in
from tests.programs import needs_cross_compiler

EXAMPLE = ROOT / "examples" / "story"


@needs_cross_compiler
def test_the_story_is_built_checked_and_reads_on_the_board_as_in_numpy(tmp_path):
    printed = scons_in(copy_of_example("story", tmp_path), f"support={ROOT / 'boards'}")
    assert "CHECK  build/firmware.elf" in printed and "warning:" not in printed, printed
    assert "state 98,312 B = plan" in printed and "64 answers are the same" in printed
    (flash,) = re.findall(r"FLASH +([\d,]+) / +524,288 B", printed)
    (ram,) = re.findall(r"SRAM +([\d,]+) / +262,144 B", printed)
    assert int(flash.replace(",", "")) <= 240_000 and int(ram.replace(",", "")) <= 128_000


def test_the_scores_are_those_of_the_network_that_was_trained():
    vectors = numpy.load(EXAMPLE / "test_text.npz")
    view, _ = import_file(ModelFile((EXAMPLE / "story.onnx").read_bytes(), "story.onnx", builtin_operators()))
    found = run_in_order(view, {"character": vectors["x"]})["scores"]
    numpy.testing.assert_allclose(found, vectors["scores"], rtol=0, atol=1e-4 * numpy.abs(vectors["scores"]).max())


def test_the_weights_have_four_bits_and_fit_200_kilobytes():
    file = onnx.load(EXAMPLE / "story.onnx")
    products = [node for node in file.graph.node if node.op_type == "MatMulNBits"]
    assert {(attribute.i) for node in products for attribute in node.attribute if attribute.name == "bits"} == {4}
    assert len(products) == 25 and sum(len(tensor.raw_data) for tensor in file.graph.initializer) <= 200_000
