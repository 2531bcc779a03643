# SPDX-License-Identifier: MIT
"""examples/update: firmware that was built once gets the weights of a network that was trained again, by a task of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from aidge_build.boards import load_board
from aidge_build.run.emulate import run_program
from tests.build.checkout import ROOT, copy_of_example, run_in, scons_in
from tests.command import aidge_build
from tests.programs import needs_cross_compiler

EXAMPLE = ROOT / "examples" / "update"
KEYWORD = ROOT / "examples" / "keyword"
OLD, NEW = "14 of 20 right", "20 of 20 right"
stress = pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="AIDGE_STRESS=1 signs weights and trains the network again")


@pytest.fixture
def folder(tmp_path):
    return copy_of_example("update", tmp_path)


def built(folder: Path, *words: str) -> Path:
    scons_in(folder, f"support={ROOT / 'boards'}", f"keyword={KEYWORD}", *words)
    return folder / "build" / "firmware.elf"


def pushed(elf: Path) -> bytes:
    """The block for the firmware, as the README makes it."""
    out = elf.parent / "update.bin"
    made = aidge_build("weights", EXAMPLE / "retrained.onnx", "--against", elf, "--out", out)
    assert made.exit_code == 0 and "the code of all 15 layers is the code of the firmware" in made.stdout, made
    assert "states keep their bytes" in made.stdout and "call keyword_reset after keyword_bind" in made.stdout, made
    return out.read_bytes()


def heard(elf: Path, block: bytes) -> list[str]:
    """What the firmware prints while this block arrives."""
    (elf.parent / "update.bin").write_bytes(block)
    result = run_program(elf, load_board("stm32f4"), work_folder=elf.parent, count=False)
    assert result.exit_code == 0, result
    return result.stdout.splitlines()


def damaged(block: bytes) -> bytes:
    return block[:3000] + bytes([block[3000] ^ 4]) + block[3001:]


@needs_cross_compiler
def test_the_old_program_hears_better_with_new_weights_and_goes_on_with_the_old_ones_when_they_are_damaged(folder):
    elf = built(folder)
    program, new = elf.read_bytes(), pushed(elf)
    assert heard(elf, damaged(new)) == ["new weights refused: the old ones go on", OLD]
    printed = heard(elf, new)
    assert printed[0] == "new weights are in use" and printed[-1] == NEW and len(printed) == 3
    assert elf.read_bytes() == program
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert all(line in readme for line in (OLD, NEW, *printed))


@stress
@needs_cross_compiler
def test_signed_weights_are_bound_behind_their_header(folder):
    elf = built(folder, "weights_at=32")
    new = pushed(elf)
    header, signature = bytes.fromhex("3db8f396") + bytes(28), bytes(152)
    assert heard(elf, header + new + signature)[-1] == NEW
    for refused in (new, header + damaged(new) + signature, bytes(40) + new, header + new[:-1]):
        assert heard(elf, refused) == ["new weights refused: the old ones go on", OLD]
    assert heard(elf, bytes(16385)) == ["new weights refused: longer than a slot", OLD]
    assert heard(elf, b"") == [OLD]


@stress
def test_training_again_gives_the_bytes_of_the_committed_file(folder):
    run_in(folder, sys.executable, "retrain.py", str(KEYWORD), "again.onnx")
    assert (folder / "again.onnx").read_bytes() == (EXAMPLE / "retrained.onnx").read_bytes()
