# SPDX-License-Identifier: MIT
"""A board whose file was made from a CMSIS pack."""

from __future__ import annotations

from pathlib import Path

from aidge_build.boards import load_board
from tests.chips import PACK
from tests.command import aidge_build
from tests.programs import build_example, needs_cross_compiler


@needs_cross_compiler
def test_an_imported_board_builds_and_runs_the_example(tmp_path: Path) -> None:
    pack = tmp_path / "Maker.Chips_DFP.pdsc"
    pack.write_text(PACK)
    written = aidge_build("boards", "--import", pack, "CHIP401RE", "--out", tmp_path / "mine")
    assert written.exit_code == 0, written.stderr
    elf = build_example("digits", load_board("chip401re", [tmp_path / "mine"]), tmp_path, board_path=tmp_path / "mine")
    ran = aidge_build("run", elf, "--board", "chip401re", "--board-path", tmp_path / "mine", "--folder", tmp_path, "--json")
    assert ran.exit_code == 0 and ran.json["run_instructions"] > 0
