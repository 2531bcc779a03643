# SPDX-License-Identifier: MIT
"""Code of a model in a RAM that is seen at a second address, on a board without an emulator."""

from __future__ import annotations

from pathlib import Path

from aidge_build.boards import load_board
from aidge_build.prove.elf import read_image
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.programs import ROOT, needs_riscv

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
MAIN = '#include "digits.h"\nstatic int8_t in[64], out[10];\nint main(void) { return digits_run(in, out); }\n'


@needs_riscv
def test_hot_code_is_measured_moved_and_proved_to_be_there(tmp_path: Path):
    board, place = load_board("esp32c3"), tmp_path / "place.toml"
    words = ("--place", "auto", "--within", "IRAM=2K", "--out", place)
    said = aidge_build("explain", DIGITS, "--board", "esp32c3", *words, "--json")
    assert said.exit_code == 0, said.stderr
    assert max(one["hot_bytes"] or 0 for one in said.json["nodes"]) > 500
    assert {one["memory"] for one in said.json["place"]["moved"]} == {"IRAM"} and said.json["place"]["stalls_saved"] > 0
    assert aidge_build("compile", DIGITS, "--board", "esp32c3", "--place", place, "--out", tmp_path).exit_code == 0
    (tmp_path / "main.c").write_text(MAIN)
    sources = [tmp_path / name for name in ("digits.c", "digits_weights.c", "main.c")]
    elf = build_program(board, sources, tmp_path / "app.elf", work_folder=tmp_path, include_folders=[tmp_path])
    checked = aidge_build("check", elf, "--board", "esp32c3")
    assert checked.exit_code == 0 and "MEM" not in checked.stdout, checked
    code = read_image(elf).section(".aidge_code_IRAM")
    iram = next(region for region in board.regions if region.name == "IRAM")
    assert code is not None and iram.origin < code.address < iram.end and 0 < code.size_bytes <= 2048
