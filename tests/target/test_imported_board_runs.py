# SPDX-License-Identifier: MIT
"""A board whose file was made from a CMSIS pack."""

from __future__ import annotations

from pathlib import Path

from aidge_build.boards import load_board
from aidge_build.run.toolchain import build_program
from tests.chips import PACK
from tests.command import aidge_build
from tests.programs import model, needs_cross_compiler


@needs_cross_compiler
def test_a_program_is_built_and_run_with_the_memories_of_a_pack(tmp_path: Path) -> None:
    pack = tmp_path / "Maker.Chips_DFP.pdsc"
    pack.write_text(PACK)
    written = aidge_build("boards", "--import", pack, "CHIP401RE", "--out", tmp_path / "mine")
    assert written.exit_code == 0, written.stderr
    board = load_board("chip401re", [tmp_path / "mine"])
    (tmp_path / "app.c").write_text(model(board.arena_regions[0].name))
    elf = build_program(board, [tmp_path / "app.c"], tmp_path / "app.elf", work_folder=tmp_path / "objects")
    ran = aidge_build("run", elf, "--board", "chip401re", "--board-path", tmp_path / "mine", "--folder", tmp_path, "--json")
    assert ran.exit_code == 0 and ran.json["run_instructions"] > 0
