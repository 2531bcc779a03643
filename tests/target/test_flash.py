# SPDX-License-Identifier: MIT
"""Flashing prints and runs the command of the board's runner, and never a program that fails its check."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from aidge_build.boards import load_board
from aidge_build.elf import read_image
from aidge_build.elf.uf2 import uf2_of
from aidge_build.errors import AidgeError
from aidge_build.toolchain import runners
from tests.command import aidge_build
from tests.elf.compiled_parts import addresses, patched
from tests.programs import build, model, needs_cross_compiler

RUNNERS = ("openocd", "pyocd", "probe-rs", "gdb-multiarch", "arm-none-eabi-gdb")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Puts programs on a PATH of their own that write their arguments to a file and end with an exit code."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def install(*names: str, exit_code: int = 0) -> Path:
        for name in names:
            (folder / name).write_text(f'#!/bin/sh\nprintf "%s|" "{name}" "$@" >> "{tmp_path}/called"\nexit {exit_code}\n')
            (folder / name).chmod(0o755)
        return tmp_path / "called"

    # Compilers stay where they are; runners and gdb are only those that a test installs.
    find = shutil.which
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(
        shutil,
        "which",
        lambda name, **options: find(name, **options) if name not in RUNNERS or (folder / name).exists() else None,
    )
    return install


def test_the_first_runner_that_is_installed_is_taken(installed):
    board = load_board("stm32h743")
    with pytest.raises(
        AidgeError, match="none of its runners is installed. Tried: openocd; pyocd; probe-rs. Hint: apt install openocd"
    ) as caught:
        runners.choose_runner(board)
    assert caught.value.exit_code == 3
    installed("probe-rs")
    assert runners.choose_runner(board) == runners.Runner("probe-rs", "STM32H743ZITx")
    installed("pyocd")
    assert runners.flash_command(runners.choose_runner(board), Path("a.elf")) == [
        "pyocd",
        "flash",
        "--target",
        "stm32h743xx",
        "a.elf",
    ]
    installed("openocd")
    assert runners.flash_command(runners.choose_runner(board), Path("a b.elf"))[-1] == "program {a b.elf} verify reset exit"
    assert runners.choose_runner(board, "probe-rs").name == "probe-rs"


def test_a_board_without_runners_and_an_unknown_runner_are_refused():
    with pytest.raises(AidgeError, match="board mps2-an386: names no runner"):
        runners.choose_runner(load_board("mps2-an386"))
    with pytest.raises(AidgeError, match="has no runner 'jlink'. Hint: runners: openocd, probe-rs"):
        runners.choose_runner(load_board("stm32f7"), "jlink")


@pytest.mark.parametrize("line", ['{ jlink = "x" }', '{ uf2 = "rp2040" }', "{ openocd = 3 }"])
def test_a_wrong_runner_in_a_board_file_is_an_error(tmp_path, line):
    (tmp_path / "mine.toml").write_text(f'extends = "stm32f4"\nrunners = {line}\n')
    with pytest.raises(AidgeError, match="'runners"):
        load_board("mine", [tmp_path])


@needs_cross_compiler
def test_flashing_runs_what_a_dry_run_prints(tmp_path, installed):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    called = installed("openocd")
    printed = aidge_build("flash", elf, "--board", "stm32f7", "-n")
    assert printed.exit_code == 0 and not called.exists()
    assert printed.stdout == f"openocd -f board/stm32f746g-disco.cfg -c 'program {{{elf}}} verify reset exit'\n"
    assert aidge_build("flash", elf, "--board", "stm32f7").exit_code == 0
    assert called.read_text() == f"openocd|-f|board/stm32f746g-disco.cfg|-c|program {{{elf}}} verify reset exit|"
    installed("openocd", exit_code=1)
    failed = aidge_build("flash", elf, "--board", "stm32f7")
    assert failed.exit_code == 1 and "openocd ended with exit code 1. Hint: is the board connected?" in failed.stderr


@needs_cross_compiler
def test_what_was_agreed_for_the_check_is_agreed_for_flashing(tmp_path, installed):
    elf = build("stm32f7", model("DTCM", weights='__attribute__((section(".data.x"))) const'), tmp_path)
    installed("openocd")
    refused = aidge_build("flash", elf, "--board", "stm32f7", "-n")
    assert refused.exit_code == 1 and "is not flashed: MEM03: weights kws_fc_weights" in refused.stderr
    assert aidge_build("flash", elf, "--board", "stm32f7", "-n", "--weights-in", "SRAM1").exit_code == 0
    unknown = aidge_build("flash", elf, "--board", "stm32f7", "-n", "--shares", "kws+vww")
    assert unknown.exit_code == 2 and "the program holds no model 'vww'" in unknown.stderr


@needs_cross_compiler
def test_a_program_that_fails_its_check_is_not_flashed(tmp_path, installed):
    elf = build("stm32f7", model("DTCM", arena_bytes=520), tmp_path)
    called = installed("openocd")
    for options in ([], ["--debug"], ["-n"]):
        result = aidge_build("flash", elf, "--board", "stm32f7", *options)
        assert result.exit_code == 1 and "is not flashed: MEM02: arena kws_arena is 520 B" in result.stderr
    assert not called.exists()


@needs_cross_compiler
def test_a_program_whose_code_was_changed_is_not_flashed(tmp_path, installed):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    installed("openocd")
    objects = [f"--objects={path}" for path in sorted((tmp_path / "objects").glob("*.o"))]
    assert objects and aidge_build("flash", elf, "--board", "stm32f7", "-n", *objects).exit_code == 0
    patched(elf, addresses(elf)["kws_run"], b"\x00\x20\x70\x47")
    result = aidge_build("flash", elf, "--board", "stm32f7", "-n", *objects)
    assert result.exit_code == 1 and "is not flashed: COD01: kws_run differs in " in result.stderr


@needs_cross_compiler
def test_debugging_serves_gdb_and_stops_in_main(tmp_path, installed):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    installed("openocd", "gdb-multiarch")
    server, gdb = aidge_build("flash", elf, "--board", "stm32f7", "--debug", "-n").stdout.splitlines()
    assert server == "openocd -f board/stm32f746g-disco.cfg -c 'gdb_port 3333' &"
    assert "-ex 'target extended-remote 127.0.0.1:3333' -ex 'monitor reset halt' -ex load -ex 'break main' -ex continue" in gdb


@needs_cross_compiler
def test_a_uf2_file_holds_the_flash_image(tmp_path):
    elf = build("stm32f7", model("DTCM").replace("int main(void) {", "int kept[9] = {7};\nint main(void) { kept[1]++;"), tmp_path)
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", str(elf), str(tmp_path / "image")], check=True)
    content = uf2_of(read_image(elf), 0xADA52840)
    image = bytearray()
    for number in range(len(content) // 512):
        block = content[512 * number : 512 * number + 512]
        first, second, flags, address, size, index, count, family = struct.unpack("<8I", block[:32])
        assert (first, second, flags, size, index, count, family) == (
            0x0A324655,
            0x9E5D5157,
            0x2000,
            256,
            number,
            len(content) // 512,
            0xADA52840,
        )
        assert address == 0x08000000 + 256 * number and block[508:] == struct.pack("<I", 0x0AB16F30)
        image += block[32:288]
    expected = (tmp_path / "image").read_bytes()
    assert image[: len(expected)] == expected and not any(image[len(expected) :])


@needs_cross_compiler
def test_a_uf2_file_is_copied_to_the_drive_of_the_boot_loader(tmp_path, monkeypatch):
    (tmp_path / "dongle.toml").write_text('extends = "stm32f4"\nrunners = { uf2 = "0xada52840" }\n')
    elf = build("stm32f4", model("CCM"), tmp_path)
    drive = tmp_path / "media" / "me" / "BOOT"
    drive.mkdir(parents=True)
    monkeypatch.setattr(runners.uf2_drive, "__defaults__", ((tmp_path / "media",),))
    options = ["--board", "dongle", "--board-path", tmp_path]
    missing = aidge_build("flash", elf, *options)
    assert missing.exit_code == 3 and "no drive of a UF2 boot loader is mounted" in missing.stderr
    (drive / "INFO_UF2.TXT").write_text("UF2 Bootloader\n")
    assert "BOOT/app.uf2, " in aidge_build("flash", elf, *options).stdout
    assert (drive / "app.uf2").read_bytes() == uf2_of(read_image(elf), 0xADA52840)


@needs_cross_compiler
def test_scons_shows_the_command_without_running_it(tmp_path):
    if not Path(sys.executable).with_name("aidge-build").exists():
        pytest.skip(f"aidge-build is not beside {sys.executable}: run the tests with ./sconsw test")
    if not shutil.which("openocd"):
        (tmp_path / "openocd").write_text("#!/bin/sh\nexit 7\n")
        (tmp_path / "openocd").chmod(0o755)
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:{tmp_path}"}
    done = subprocess.run(
        [sys.executable, "-m", "SCons", "-Q", "-n", "board=stm32f7", f"build={tmp_path / 'out'}", "flash"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("openocd -f board/stm32f746g-disco.cfg -c ")
