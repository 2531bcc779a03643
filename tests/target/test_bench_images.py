# SPDX-License-Identifier: MIT
"""Bench images run from reset on the registers of their boards, and say what the host computes."""

from __future__ import annotations

import dataclasses
import json
import os
import struct
import subprocess
import threading
import zlib
from functools import cache
from pathlib import Path

import jsonschema
import pytest
import unicorn
from unicorn import arm_const

from aidge_build.boards import load_board
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.measure.bench.image import REPORTED, with_boot_block
from aidge_build.measure.bench.image_report import read_report
from aidge_build.measure.packages.seeded import elements, numbers
from aidge_build.operators import builtin_operators
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate import Counted, Firmware, RunResult, Stops, run_program
from aidge_build.sources.importing import import_file
from aidge_build.sources.source_format import ModelFile
from tests.command import aidge_build
from tests.docs.test_schemas import undescribed
from tests.preemption import Tasks
from tests.programs import needs_cross_compiler, needs_qemu
from tests.small_model import small_model

pytestmark = needs_cross_compiler
ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "aidge_build/base/schemas/image.schema.json").read_text())
OF_EACH_UART = {
    "stm32f401": "usart_v1",
    "stm32g071": "usart_v2",
    "stm32l4r5": "lpuart",
    "microbit": "nrf_uart",
    "rp2040": "pl011",
}
MORE = ("stm32f446", "stm32f767", "stm32h743", "stm32u575", "nrf52840", "rp2350")
BOARDS = (*OF_EACH_UART, *MORE) if os.environ.get("AIDGE_STRESS") else tuple(OF_EACH_UART)
LAYERS = ("net_gemm_2", "net_gemm_7")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("images")
    (made / "net.onnx").write_bytes(small_model())
    return made


@pytest.fixture(scope="module")
def images(folder):
    """The path of the image of a board without its ending."""

    @cache
    def made(board: str) -> Path:
        done = aidge_build("package", folder / "net.onnx", "--for", "bench-image", "--board", board, "--out", folder)
        assert done.exit_code == 0, done.stderr
        return folder / f"net_{board}"

    return made


@pytest.fixture(scope="module")
def runs(images):
    """What the image of a board does up to the end of its first report."""

    @cache
    def ran(board: str) -> RunResult:
        elf = images(board).with_suffix(".elf")
        return run_program(
            elf,
            load_board(board),
            work_folder=elf.parent,
            counted=Counted("net_run", LAYERS),
            firmware=Firmware(Stops(until=REPORTED), answers_peripherals=True),
        )

    return ran


def printed(result: RunResult) -> list[bytes]:
    return dict(result.channels)["serial"].encode().split(b"\r\n")[:-1]


def digest_by_numpy() -> str:
    """What numpy computes from the first numbers of the sequence."""
    view = import_file(ModelFile(small_model(), "net.onnx", builtin_operators()))[0]
    (given,) = [view.tensor(name) for name in view.given]
    x = given.from_stored(elements(given, numbers(given.elements))).reshape(1, *given.dims)
    outputs = run_in_order(view, {given.name: x})
    return f"{zlib.crc32(b''.join(view.tensor(name).to_stored(outputs[name][0]).tobytes() for name in view.handed_out)):08x}"


@pytest.mark.parametrize("board", BOARDS)
def test_an_image_prints_the_digest_of_the_host_and_the_cycles_of_each_layer(board, runs):
    result = runs(board)
    for line in printed(result):
        jsonschema.validate(json.loads(line), SCHEMA, jsonschema.Draft202012Validator)
        assert [*undescribed(json.loads(line), SCHEMA, {}, "line")] == []
    report = read_report(printed(result), board)
    described = load_board(board)
    assert (report.board, report.cpu, report.clock_hz) == (board, described.cpu, described.serial.clock_hz)
    assert report.counter == ("CYCCNT" if "thumb2" in described.features else "SysTick")
    assert set(report.outputs_crc32) == {digest_by_numpy()}
    # The emulator's counters count instructions. Its own count of a layer includes the report of the layer.
    for layer, known in zip(report.layers, result.layers, strict=True):
        assert all(0 <= known.instructions / result.runs - cycles <= 60 for cycles in layer.cycles), (layer, known)
    assert all(0 < cycles - sum(layer.cycles[run] for layer in report.layers) < 40 for run, cycles in enumerate(report.cycles))


def test_each_kind_of_uart_has_a_board():
    drivers = {path.stem for path in (ROOT / "boards/serial").glob("*.c")}
    assert {load_board(name).serial.kind for name in OF_EACH_UART} == set(OF_EACH_UART.values()) == drivers


def test_calibrate_reads_an_image_over_a_pseudo_terminal(folder, runs, tmp_path):
    text = b"\r\n".join([*printed(runs("rp2040")), b""])
    host, board = os.openpty()
    done = threading.Event()

    def board_prints() -> None:
        os.write(host, text[300:])  # whoever opens the port comes in the middle of a report
        while not done.wait(0.05):
            os.write(host, text)

    printing = threading.Thread(target=board_prints)
    printing.start()
    try:
        out = tmp_path / "calibration.json"
        result = aidge_build("bench", "--calibrate", folder / "net.onnx", "--serial", os.ttyname(board), "--out", out)
    finally:
        done.set()
        while printing.is_alive():
            os.read(board, 4096)
            printing.join(0.01)
        os.close(board)
        os.close(host)
    assert result.exit_code == 0 and "measured on rp2040: " in result.stdout, result.stderr
    found = json.loads(out.read_text())
    assert (found["board"], found["clock_hz"], found["counter"]) == ("rp2040", 12_000_000, "SysTick")
    (model,) = found["models"]
    assert model["outputs_crc32"] == digest_by_numpy() and model["cycles_measured"] > model["instructions"] > 1000
    assert [layer["kernel"] for layer in model["layers"]] == ["armv6m fc_int8"] * 2
    assert all(layer["cycles_estimated"] > layer["instructions"] > 100 for layer in model["layers"])
    # The image counts as many as the emulator in another program, with other inputs, does.
    assert all(abs(layer["cycles_measured"] / layer["instructions"] - 1) < 0.05 for layer in model["layers"]), model


def saved(tmp_path: Path, lines: list[bytes]) -> Path:
    (tmp_path / "received.txt").write_bytes(b"\n".join(lines) + b"\n")
    return tmp_path / "received.txt"


def changed(lines: list[bytes], old: bytes, new: bytes) -> list[bytes]:
    """The lines of a board that says something else: their digest is right."""
    body = [line.replace(old, new) for line in lines[:-1]]
    assert body != lines[:-1]
    return [*body, b'{"aidge":"end","crc32":"%08x"}' % zlib.crc32(b"".join(body))]


def test_a_report_without_the_model_becomes_a_file_without_estimates(runs, tmp_path):
    received, out = saved(tmp_path, printed(runs("rp2040"))), tmp_path / "calibration.json"
    result = aidge_build("bench", "--calibrate", "--serial", received, "--out", out)
    assert result.exit_code == 0, result.stderr
    (model,) = json.loads(out.read_text())["models"]
    assert model["cycles_estimated"] is None and model["layers"][0]["cycles_measured"] > 0
    assert str(out) in result.stdout and "net" not in out.read_text()


def test_a_board_that_computes_something_else_is_no_calibration(folder, runs, tmp_path):
    lines, digest = printed(runs("rp2040")), digest_by_numpy().encode()
    for words, text in (((folder / "net.onnx",), b'["12345678","12345678"]'), ((), b'["%s","12345678"]' % digest)):
        wrong = saved(tmp_path, changed(lines, b'["%s","%s"]' % (digest, digest), text))
        result = aidge_build("bench", "--calibrate", *words, "--serial", wrong, "--out", tmp_path / "no.json")
        assert result.exit_code == 1 and "outputs differ" in result.stdout and not (tmp_path / "no.json").exists()


def test_the_model_and_the_options_must_be_those_of_the_image(folder, runs, tmp_path):
    lines = printed(runs("rp2040"))
    other = saved(tmp_path, changed(lines, b'"model_sha256":"', b'"model_sha256":"0'))
    refused = aidge_build("bench", "--calibrate", folder / "net.onnx", "--serial", other)
    assert refused.exit_code == 2 and "is not the model of the image" in refused.stderr
    portable = saved(tmp_path, changed(lines, b"armv6m fc_int8", b"ref fc_int8"))
    refused = aidge_build("bench", "--calibrate", folder / "net.onnx", "--serial", portable)
    assert refused.exit_code == 2 and "FC by ref fc_int8 where this model has FC by armv6m fc_int8" in refused.stderr
    elsewhere = aidge_build("bench", "--calibrate", "--serial", saved(tmp_path, lines), "--board", "stm32f4")
    assert elsewhere.exit_code == 2 and "the image is for board rp2040" in elsewhere.stderr


def test_the_turns_of_systick_are_counted_by_its_interrupt(images):
    core = Tasks(images("microbit").with_suffix(".elf"), load_board("microbit"))
    core.machine.write(0xE000E018, (0x1000).to_bytes(4, "little"))
    assert core.call("cycles_so_far") == 0xFFF000
    core.call("SysTick_Handler")
    core.call("SysTick_Handler")
    assert core.call("cycles_so_far") == (2 << 24) + 0xFFF000
    core.machine.write(0xE000E018, bytes(4))
    assert core.call("cycles_so_far") == 2 << 24


@needs_qemu
@pytest.mark.parametrize(
    ("board", "machine", "clock_hz"),
    [("microbit", ("microbit",), 16_000_000), ("stm32f401", ("netduinoplus2", "-serial", "null"), 168_000_000)],
)
def test_another_emulator_with_uarts_and_a_timer_of_its_own_receives_the_report(board, machine, clock_hz, images, runs):
    """QEMU's nRF51, and an STM32F405 with the USART of an F401. It has no CYCCNT, and SysTick, 64 ns for each instruction."""
    command = [
        "qemu-system-arm",
        "-nographic",
        "-monitor",
        "none",
        "-icount",
        "shift=6",
        "-kernel",
        images(board).with_suffix(".elf"),
        "-M",
        *machine,
    ]
    with subprocess.Popen([*map(str, command), "-serial", "stdio"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as qemu:
        try:
            report = read_report((line.rstrip(b"\r\n") for line in qemu.stdout), board)
        finally:
            qemu.kill()
    assert report.board == board and report.counter == "SysTick" and set(report.outputs_crc32) == {digest_by_numpy()}
    instructions = [cycles / (64e-9 * clock_hz) for cycles in report.cycles]
    ours = read_report(printed(runs(board)), board)
    assert all(0.9 < there / here < 1.2 for there, here in zip(instructions, ours.cycles, strict=True)), (report, ours)


# ---- Files ----


def bytes_of_uf2(data: bytes) -> tuple[dict[int, int], set[int]]:
    """Address -> byte, and the families: by the format's README."""
    found, families = {}, set()
    assert len(data) % 512 == 0
    for number in range(len(data) // 512):
        block = data[512 * number : 512 * (number + 1)]
        first, second, flags, address, size, index, count, family = struct.unpack_from("<8I", block)
        assert (first, second, block[508:]) == (0x0A324655, 0x9E5D5157, b"\x30\x6f\xb1\x0a")
        assert flags == 0x2000 and size == 256 and address % 256 == 0 and (index, count) == (number, len(data) // 512)
        found.update(enumerate(block[32 : 32 + size], address))
        families.add(family)
    return found, families


def bytes_of_hex(data: bytes) -> dict[int, int]:
    found: dict[int, int] = {}
    upper = 0
    for line in data.decode("ascii").splitlines():
        record = bytes.fromhex(line.removeprefix(":"))
        assert line.startswith(":") and sum(record) % 256 == 0 and len(record) == record[0] + 5
        low, kind, content = int.from_bytes(record[1:3], "big"), record[3], record[4:-1]
        if kind == 4:
            upper = int.from_bytes(content, "big")
        elif kind == 0:
            found.update(enumerate(content, (upper << 16) + low))
    assert kind == 1
    return found


@pytest.mark.parametrize("board", [name for name in BOARDS if name.startswith(("rp", "stm32l4"))])
def test_the_files_hold_what_binutils_takes_from_the_program(board, images, tmp_path):
    elf = images(board).with_suffix(".elf")
    flash = load_board(board).region("code").origin
    subprocess.run(["arm-none-eabi-objcopy", "-O", "ihex", elf, tmp_path / "net.hex"], check=True)
    binary = elf.with_suffix(".bin").read_bytes()
    stored = bytes_of_hex(elf.with_suffix(".hex").read_bytes())
    assert stored == bytes_of_hex((tmp_path / "net.hex").read_bytes())
    assert {address: binary[address - flash] for address in stored} == stored
    assert all(byte == 0xFF for at, byte in enumerate(binary) if flash + at not in stored)
    assert elf.with_suffix(".uf2").is_file() == board.startswith("rp")
    if board.startswith("rp"):
        pages, families = bytes_of_uf2(elf.with_suffix(".uf2").read_bytes())
        assert {address: pages[address] for address in stored} == stored
        assert families == {0xE48BFF56 if board == "rp2040" else 0xE48BFF59}


def mirrored(byte: int) -> int:
    return int(f"{byte:08b}"[::-1], 2)


def test_the_second_stage_has_its_crc_sets_the_ssi_up_and_starts_the_image(images):
    pages, _ = bytes_of_uf2(images("rp2040").with_suffix(".uf2").read_bytes())
    flash = 0x10000000
    stage = bytes(pages[flash + at] for at in range(256))
    # CRC-32/MPEG-2: zlib's with its bits mirrored and not inverted in the end.
    crc = zlib.crc32(bytes(map(mirrored, stage[:252]))) ^ 0xFFFFFFFF
    assert int.from_bytes(stage[252:], "little") == int(f"{crc:032b}"[::-1], 2)
    core = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    core.ctl_set_cpu_model(arm_const.UC_CPU_ARM_CORTEX_M0)
    written = []
    core.mem_map(flash, 1 << 20)
    core.mem_map(0x20000000, 1 << 19)
    core.mem_map(0xE000E000, 0x1000)
    core.mmio_map(0x18000000, 0x1000, lambda *_: 0, None, lambda _, at, size, value, data: written.append((at, value)), None)
    for address, byte in pages.items():
        core.mem_write(address, bytes([byte]))
    core.mem_write(0x20041F00, stage)  # where the boot ROM puts it
    entry = int.from_bytes(core.mem_read(flash + 0x104, 4), "little")
    core.emu_start(0x20041F01, entry & ~1, count=100)
    assert core.reg_read(arm_const.UC_ARM_REG_PC) == entry & ~1
    assert core.reg_read(arm_const.UC_ARM_REG_SP) == int.from_bytes(core.mem_read(flash + 0x100, 4), "little")
    assert int.from_bytes(core.mem_read(0xE000ED08, 4), "little") == flash + 0x100
    # Off, clock / 2, 32-bit frames of an EEPROM read, one frame, command 03h with 24 bits of address on one line, on.
    assert written == [(0x08, 0), (0x14, 2), (0x00, 31 << 16 | 3 << 8), (0x04, 0), (0xF4, 0x03000218), (0x08, 1)]


def test_the_image_definition_of_an_rp2350_follows_the_vectors(images):
    pages, _ = bytes_of_uf2(images("rp2350").with_suffix(".uf2").read_bytes())
    words = struct.unpack("<1024I", bytes(pages.get(0x10000000 + at, 0xFF) for at in range(4096)))
    begin = words.index(0xFFFFDED3)
    kind, last, link, end = words[begin + 1 : begin + 5]
    assert kind & 0xFF == 0x42 and kind >> 8 & 0xFF == 1  # an image type, one word
    flags = kind >> 16
    assert (flags & 15, flags >> 4 & 3, flags >> 8 & 7, flags >> 12 & 7) == (1, 2, 0, 1)  # program, secure, Arm, RP2350
    assert last & 0xFF == 0xFF and last >> 8 & 0xFFFF == 1 and link == 0 and end == 0xAB123579
    assert 0x20000000 < words[0] <= 0x20082000 and 0x10000000 < words[1] < 0x10400000 and begin >= 16


def test_an_image_runs_from_its_uf2_file_alone(images, runs):
    """What the boot loader stored, and nothing of the ELF file, prints the same report."""
    pages, _ = bytes_of_uf2(images("rp2040").with_suffix(".uf2").read_bytes())
    elf = images("rp2040").with_suffix(".elf")
    first = min(pages)
    content = bytes(pages.get(address, 0xFF) for address in range(first, max(pages) + 1))
    image = read_image(elf)
    (vectors,) = [section for section in image.sections if section.name == ".vectors"]
    stored = dataclasses.replace(vectors, address=first, size_bytes=len(content), load_address=first, content=content)

    from aidge_build.run.emulate.program import INSTRUCTION_LIMIT, Program
    from aidge_build.run.emulate.unicorn_machine import run_in_unicorn

    program = Program(
        dataclasses.replace(image, sections=(stored,)),
        load_board("rp2040"),
        elf.parent,
        ("net",),
        True,
        "",
        (),
        INSTRUCTION_LIMIT,
        stops=Stops(until=REPORTED),
        may_be_stopped=True,
        answers_peripherals=True,
    )
    assert printed(run_in_unicorn(program)) == printed(runs("rp2040"))


# ---- Refusals ----


def test_a_board_without_a_serial_port_is_refused_with_boards_that_have_one(folder, tmp_path):
    for words, said in ((("--board", "stm32f303"), "board stm32f303: has no serial port"), ((), "a bench image is for a board")):
        refused = aidge_build("package", folder / "net.onnx", "--for", "bench-image", "--out", tmp_path, *words)
        assert refused.exit_code == 2 and said in refused.stderr and "rp2040" in refused.stderr


def test_a_chip_that_wants_a_second_stage_and_has_none_is_refused(folder, tmp_path):
    (tmp_path / "mine.toml").write_text('extends = "rp2350"\nboot_block = "second-stage"\n')
    words = ("--for", "bench-image", "--board", "mine", "--board-path", tmp_path, "--out", tmp_path)
    refused = aidge_build("package", folder / "net.onnx", *words)
    assert refused.exit_code == 2 and "has no second stage for its boot ROM" in refused.stderr


def test_a_board_without_a_boot_block_is_left_as_it_is():
    assert with_boot_block(load_board("stm32f4")) is load_board("stm32f4") or not load_board("stm32f4").boot_block
    assert [region.name for region in with_boot_block(load_board("rp2350")).regions][:3] == ["VECTORS", "BOOT", "FLASH"]


@pytest.mark.parametrize("option", ["--release=2.0.0", "--author=Somebody", "--url=https://example.org/", "--io-data=x.npz"])
def test_an_option_of_packages_is_refused(option, folder, tmp_path):
    words = ("--for", "bench-image", "--board", "rp2040", "--out", tmp_path, option)
    refused = aidge_build("package", folder / "net.onnx", *words)
    assert refused.exit_code == 2 and f"{option.partition('=')[0]}: a bench-image is no package" in refused.stderr


@pytest.mark.skipif(not os.environ.get("AIDGE_STRESS"), reason="more images of the same model: AIDGE_STRESS=1")
@pytest.mark.parametrize(
    "options", ["--arena=caller", "--io=arena", "--update=weights", "--record=1", "--max-step=600", "--dma=on"]
)
def test_the_options_of_the_model_change_no_digest(options, folder, tmp_path):
    words = ("--for", "bench-image", "--board", "stm32f401", "--out", tmp_path, options)
    assert aidge_build("package", folder / "net.onnx", *words).exit_code == 0
    run = ("run", tmp_path / "net_stm32f401.elf", "--board", "stm32f401", "--peripherals", "--until", REPORTED, "--json")
    lines = aidge_build(*run).json["channels"]["serial"].encode().split(b"\r\n")
    assert set(read_report(lines, "line").outputs_crc32) == {digest_by_numpy()}


def test_a_core_whose_cycle_counter_does_not_count_counts_by_systick(images):
    """Nothing moves the counter of this emulated core: it is plain memory."""
    core = Tasks(images("stm32f401").with_suffix(".elf"), load_board("stm32f401"))
    core.call("start_counter")
    assert core.machine.read(0xE000E010, 4) == bytes([7, 0, 0, 0])
    core.call("SysTick_Handler")
    core.machine.write(0xE000E018, (1).to_bytes(4, "little"))
    assert core.call("cycles_so_far") == (1 << 24) + 0xFFFFFF


@pytest.mark.skipif(not os.environ.get("AIDGE_STRESS"), reason="one more image: AIDGE_STRESS=1")
def test_a_board_and_a_driver_of_ones_own_need_no_code(folder, tmp_path):
    """Another UART of the chip at another speed, and a driver in the folder of the board."""
    (tmp_path / "usart_v1.c").write_text((ROOT / "boards/serial/usart_v1.c").read_text())
    (tmp_path / "mine.toml").write_text(
        'extends = "stm32f401"\n[serial]\ndriver = "usart_v1.c"\nbase = 0x40011000\n'
        'clock_hz = 16000000\nbaud = 57600\nport = "PA9"\n'
    )
    words = ("--board", "mine", "--board-path", tmp_path)
    made = aidge_build("package", folder / "net.onnx", "--for", "bench-image", "--out", tmp_path, *words)
    assert made.exit_code == 0 and "prints on PA9, 57600 baud" in made.stdout, made.stderr
    run = aidge_build("run", tmp_path / "net_mine.elf", *words, "--peripherals", "--until", REPORTED, "--json")
    report = read_report(run.json["channels"]["serial"].encode().split(b"\r\n"), "line")
    assert report.board == "mine" and set(report.outputs_crc32) == {digest_by_numpy()}
