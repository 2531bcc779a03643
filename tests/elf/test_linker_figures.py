# SPDX-License-Identifier: MIT
"""The use of each memory, read from the ELF, equals the linker's own figures and the size of the image that is flashed.

A fixed sample; AIDGE_STRESS=1 (`./sconsw stress`) takes every board, program and kind of build.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess

import pytest

from aidge_build.boards import Board, load_board
from aidge_build.prove.elf import read_image, region_use
from aidge_build.run.toolchain import build_program
from aidge_build.run.toolchain.compiler import Compiler
from tests.boards import LINKED
from tests.programs import EXAMPLES, build_example, model, needs_cross_compiler

pytestmark = needs_cross_compiler
_LINE = re.compile(r"^\s*(\w+):\s+(\d+) (B|KB|MB|GB)\s", re.MULTILINE)
_UNIT = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
SMALL = "hand-written"
FLAGS = ("-O2", "-Os -flto", "-O0")
BOOT_LOADERS = (0, 0x3000)  # bytes: what is left of 64 KB holds the images of examples/digits, too
WHOLE = tuple(itertools.product((SMALL, *EXAMPLES), LINKED, FLAGS, BOOT_LOADERS))
# Each board with each kind of build, each example with two, all together once with a boot loader and link-time optimisation.
SAMPLE = (
    tuple((SMALL, board, FLAGS[index % 2], BOOT_LOADERS[index // 2 % 2]) for index, board in enumerate(LINKED))
    + tuple((SMALL, board, "-Os -flto", BOOT_LOADERS[1]) for board in LINKED[:2])
    + tuple(
        (example, board, flags, offset)
        for example in EXAMPLES
        for board, flags, offset in (
            ("microbit", "-Os -flto", BOOT_LOADERS[1]),
            ("mps3-an547", "-O0", 0),
        )
    )
)
CASES = WHOLE if os.environ.get("AIDGE_STRESS") else SAMPLE
INITIALISED = "int initialised[30] = {1};\nint main(void) { initialised[1]++;"


def behind(board: Board, boot_loader_bytes: int, folder) -> Board:
    """The board with a boot loader at the beginning of its flash."""
    flash = board.region("code")
    assert flash == board.region("vectors") and flash.kind == "flash"
    (folder / "behind.toml").write_text(
        f'extends = "{board.name}"\n[regions.{flash.name}]\norigin = {flash.origin + boot_loader_bytes}\n'
        f'length = {flash.length_bytes - boot_loader_bytes}\nkind = "flash"\n'
    )
    return load_board("behind", [folder])


def build(program: str, board: Board, folder, flags: tuple[str, ...]):
    if program != SMALL:
        return build_example(program, board, folder, flags=flags, board_path=folder)
    (folder / "app.c").write_text(model(board.arena_regions[0].name).replace("int main(void) {", INITIALISED))
    return build_program(board, [folder / "app.c"], folder / "app.elf", work_folder=folder / "objects", extra_flags=flags)


@pytest.mark.parametrize("program, name, flags, boot_loader", CASES, ids=lambda value: str(value).replace(" ", ""))
def test_the_figures_are_those_of_the_linker_and_of_the_image(tmp_path, monkeypatch, program, name, flags, boot_loader):
    printed = []

    def run(self, command, where):
        printed.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    monkeypatch.setattr(Compiler, "run", run)
    board = load_board(name) if not boot_loader else behind(load_board(name), boot_loader, tmp_path)
    elf = build(program, board, tmp_path, (*flags.split(), "-Wl,--print-memory-usage"))
    by_linker = {region: int(number) * _UNIT[unit] for region, number, unit in _LINE.findall(printed[-1])}
    uses, homeless = region_use(read_image(elf), board.regions)
    assert {use.region.name: use.used_bytes for use in uses} == by_linker and homeless == ()
    for use in uses:
        if use.region.kind == "flash" and use.used_bytes:
            assert use.used_bytes == image_bytes(elf, use.region, tmp_path)
    assert sum(by_linker.values()) > by_linker[board.region("code").name] + 512


def image_bytes(elf, region, folder) -> int:
    """The size of what is flashed into `region`: one image would fill the gap to another flash memory."""
    stored = [section for section in read_image(elf).sections if section.load_address is not None]
    inside = [f"--only-section={section.name}" for section in stored if region.origin <= section.load_address < region.end]
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", *inside, elf, folder / "image"], check=True)
    return (folder / "image").stat().st_size
