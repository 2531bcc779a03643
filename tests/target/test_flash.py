# SPDX-License-Identifier: MIT
"""Flashing prints and runs the command of the board's runner, and never a program that fails its check."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.prove.elf import read_image
from aidge_build.prove.elf.boot_block import crc32_of, lacks_boot_block
from aidge_build.prove.elf.uf2 import uf2_of
from aidge_build.run.toolchain import runners
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
        AidgeError,
        match="none of its runners is installed. Tried: openocd; pyocd; probe-rs. "
        "Hint: apt install openocd, or pip install pyocd, or cargo install probe-rs-tools",
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
    assert printed.stdout.splitlines() == [
        f"openocd -f board/stm32f746g-disco.cfg -c 'program {{{elf}}} verify reset exit'",
        f"probe-rs download --chip STM32F746NG --verify {elf}  # not on this machine: cargo install probe-rs-tools",
    ]
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


@pytest.mark.requirement("FLASH")
@needs_cross_compiler
def test_a_program_that_fails_its_check_is_not_flashed(tmp_path, installed):
    elf = build("stm32f7", model("DTCM", arena_bytes=520), tmp_path)
    called = installed("openocd")
    for options in ([], ["--debug"], ["-n"]):
        result = aidge_build("flash", elf, "--board", "stm32f7", *options)
        assert result.exit_code == 1 and "is not flashed: MEM02: arena kws_arena is 520 B" in result.stderr
    assert not called.exists()


@pytest.mark.requirement("FLASH")
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
    server, gdb, other, _ = aidge_build("flash", elf, "--board", "stm32f7", "--debug", "-n").stdout.splitlines()
    assert other.startswith("probe-rs gdb --chip STM32F746NG") and "#" in other and "#" not in server + gdb
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


@needs_cross_compiler
def test_a_dry_run_needs_no_runner_and_names_those_of_the_board(tmp_path, installed):
    elf = build("stm32h563", "int main(void) { return 0; }", tmp_path)
    printed = aidge_build("flash", elf, "--board", "stm32h563", "-n", "--json")
    (runner,) = printed.json["runners"]
    assert runner == {"name": "probe-rs", "installed": False, "commands": printed.json["commands"]}
    assert printed.json["commands"] == [["probe-rs", "download", "--chip", "STM32H563ZI", "--verify", str(elf)]]
    refused = aidge_build("flash", elf, "--board", "stm32h563")
    assert refused.exit_code == 3 and "Hint: cargo install probe-rs-tools; flash -n prints the commands" in refused.stderr
    assert "openocd" not in refused.stderr and "pyocd" not in refused.stderr
    installed("openocd")
    elf = build("stm32f4", "int main(void) { return 0; }", tmp_path)
    one = aidge_build("flash", elf, "--board", "stm32f4", "-n", "--runner", "openocd")
    assert one.stdout.count("\n") == 1 and one.stdout.startswith("openocd ")


def image(origin: int, content: bytes):
    section = SimpleNamespace(load_address=origin, content=content)
    debug = SimpleNamespace(load_address=None, content=b"what is not loaded")
    return SimpleNamespace(sections=[debug, SimpleNamespace(load_address=origin, content=b""), section])


def test_the_crc_is_that_of_the_boot_rom():
    """The check value of CRC-32/MPEG-2, as the catalogue of parametrised CRC algorithms has it."""
    assert crc32_of(b"123456789") == 0x0376E6E7 and crc32_of(b"") == 0xFFFFFFFF


def test_a_second_stage_is_256_bytes_that_end_with_their_crc():
    good = bytes(range(1, 253)) + crc32_of(bytes(range(1, 253))).to_bytes(4, "little")
    assert lacks_boot_block(image(0x10000000, good + b"program"), "second-stage", 0x10000000) == ""
    for content in (good[:-1], b"\0" + good, good[:100] + b"\xff" + good[101:], b""):
        assert "no second-stage boot code" in lacks_boot_block(image(0x10000000, content), "second-stage", 0x10000000)
    assert "no second-stage" in lacks_boot_block(image(0x10000004, good), "second-stage", 0x10000000)
    assert lacks_boot_block(image(0x0FFFFFFC, b"more" + good), "second-stage", 0x10000000) == ""
    halves = SimpleNamespace(sections=[*image(0x10000000, good[:8]).sections, *image(0x10000008, good[8:]).sections])
    assert lacks_boot_block(halves, "second-stage", 0x10000000) == ""


def test_an_image_definition_lies_between_its_markers_in_the_first_4_kilobytes():
    block = struct.pack("<5I", 0xFFFFDED3, 0x10210142, 0x000001FF, 0, 0xAB123579)
    for offset, found in ((0, True), (276, True), (4096 - 20, True), (4096 - 16, False), (4096, False), (274, False)):
        lacks = lacks_boot_block(image(0x10000000, bytes(offset) + block), "image-definition", 0x10000000)
        assert (lacks == "") == found, offset
    backwards = struct.pack("<2I", 0xAB123579, 0xFFFFDED3)
    assert "no image definition block" in lacks_boot_block(image(0x10000000, backwards), "image-definition", 0x10000000)
    assert lacks_boot_block(image(0x10000000, backwards), "", 0x10000000) == ""


@needs_cross_compiler
@pytest.mark.parametrize("board, what", [("rp2040", "no second-stage boot code"), ("rp2350", "no image definition block")])
def test_a_program_that_its_boot_rom_would_not_start_is_not_flashed(tmp_path, installed, board, what):
    elf = build(board, "int main(void) { return 0; }", tmp_path)
    called = installed("openocd", "probe-rs", "gdb-multiarch")
    refused = aidge_build("flash", elf, "--board", board)
    assert refused.exit_code == 1 and what in refused.stderr and "the firmware's own build brings it" in refused.stderr
    assert not called.exists()
    dry = aidge_build("flash", elf, "--board", board, "-n")
    assert dry.exit_code == 0 and f"it has {what}" in dry.stdout and "probe-rs download" in dry.stdout
    assert "copy app.uf2, " in dry.stdout and aidge_build("flash", elf, "--board", board, "-n", "--debug").exit_code == 0


@needs_cross_compiler
def test_a_program_with_its_image_definition_is_flashed(tmp_path, installed):
    called = installed("probe-rs")
    words = "0xFFFFDED3u, 0x10210142u, 0x1FFu, 0u, 0xAB123579u"
    block = f'__attribute__((section(".vectors"), used)) const unsigned block[] = {{{words}}};\n'
    elf = build("rp2350", block + "int main(void) { return 0; }", tmp_path)
    assert aidge_build("flash", elf, "--board", "rp2350", "-n", "--json").json["warning"] == ""
    flashed = aidge_build("flash", elf, "--board", "rp2350")
    assert flashed.exit_code == 0 and called.exists(), flashed.stderr


def test_a_boot_block_that_no_chip_wants_is_refused(tmp_path):
    (tmp_path / "mine.toml").write_text('extends = "stm32f4"\nboot_block = "grub"\n')
    with pytest.raises(AidgeError, match="key 'boot_block': 'grub' is not valid. Hint: valid: second-stage, image-definition"):
        load_board("mine", [tmp_path])
