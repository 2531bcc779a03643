# SPDX-License-Identifier: MIT
"""Firmware that answers `verify --serial`: on this machine under sanitizers, fed with damaged requests, and on QEMU over a
pseudo-terminal and a socket. AIDGE_STRESS=1 takes more options."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.npz import read_npz
from aidge_build.base.serial_line import opened_port
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program as compiled
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.run.toolchain import build_program
from aidge_build.run.verify.over_serial import SerialLine, answered
from aidge_build.run.verify.serial_protocol import GREETING, HELLO, MAGIC, OUTPUTS, REFUSAL, VECTOR, frame
from aidge_build.run.verify.vectors import random_vectors, stored_rows
from tests.command import aidge_build
from tests.programs import needs_cross_compiler, needs_qemu
from tests.qemu_server import free_port, wait_for
from tests.sanitized import SANITIZED, WARNINGS
from tests.small_model import small_model

KEYWORD = Path(__file__).resolve().parents[2] / "examples" / "keyword" / "keyword.onnx"
INPUTS, HEAD = 8, 16
HOST_MAIN = """
#include <stdint.h>
#include <stdio.h>
int aidge_serial_get(void);
void aidge_serial_put(uint8_t byte);
void net_serial(void);
int aidge_serial_get(void)
{
    int byte = getchar();
    return byte == EOF ? -1 : byte;
}
void aidge_serial_put(uint8_t byte)
{
    (void)putchar(byte);
}
int main(void)
{
    while (!feof(stdin))
        net_serial();
    return 0;
}
"""
BOARD_MAIN = """
#include <stdint.h>
#define UART(offset) (*(volatile uint32_t *)(0x40004000u + (offset)))
int aidge_serial_get(void);
void aidge_serial_put(uint8_t byte);
void kws_serial(void);
int aidge_serial_get(void)
{
    while ((UART(4) & 2u) == 0u) {
        UART(0xC) = 2u;
        *(volatile uint32_t *)0xE000E280u = 1u; /* not pending */
        if ((UART(4) & 2u) == 0u)
            __asm__ volatile("wfi"); /* the interrupt of a byte wakes the core, and is not taken */
    }
    return (int)(UART(0) & 0xFFu);
}
void aidge_serial_put(uint8_t byte)
{
    while ((UART(4) & 1u) != 0u) {
    }
    UART(0) = byte;
}
int main(void)
{
    __asm__ volatile("cpsid i");
    *(volatile uint32_t *)0xE000E100u = 1u;
    UART(0x10) = 16u;
    UART(8) = 0xBu;
    aidge_serial_put('?');
    for (;;)
        kws_serial();
}
"""


def generated(model: Path, name: str, folder: Path, *words: str) -> None:
    assert aidge_build("compile", model, "--name", name, "--out", folder, *words).exit_code == 0
    done = aidge_build("verify", model, "--serial-handler", "--name", name, "--out", folder, *words)
    assert done.exit_code == 0 and f"{name}_serial.c: compile it with {name}.c, define aidge_serial_get" in done.stdout


@pytest.fixture(scope="module", params=[("--arena", "caller", "--io", "arena")], ids=" ".join)
def handler(request, tmp_path_factory) -> Path:
    """The handler of a model for this machine: bytes come from stdin, and go to stdout."""
    if shutil.which("cc") is None:
        pytest.skip("needs cc")
    folder = tmp_path_factory.mktemp("handler")
    (folder / "net.onnx").write_bytes(small_model())
    generated(folder / "net.onnx", "net", folder, "--board", "host", *request.param)
    (folder / "main.c").write_text(HOST_MAIN)
    sources = [str(path) for path in sorted(folder.glob("*.c"))]
    subprocess.run(["cc", *WARNINGS, *SANITIZED, *sources, "-lm", "-o", str(folder / "app")], check=True)
    return folder / "app"


def answers(handler: Path, data: bytes) -> list[tuple[int, int, bytes]]:
    """Kind, number and payload of each answer; the program touches no wrong byte, and sends nothing but whole frames."""
    done = subprocess.run([str(handler)], input=data, capture_output=True, timeout=60, check=True)
    found, rest = [], done.stdout
    while rest:
        kind, number, length = struct.unpack_from("<xBxxII", rest, len(MAGIC))
        found.append((kind, number, rest[HEAD : HEAD + length]))
        assert rest.startswith(frame(*found[-1]))
        rest = rest[len(frame(*found[-1])) :]
    return found


@pytest.mark.parametrize(
    "request_, reason, detail",
    [
        (frame(HELLO, 3, version=2), 1, 2),
        (frame(9, 3), 2, 9),
        (frame(VECTOR, 3, bytes(INPUTS + 1)), 3, INPUTS + 1),
        (frame(HELLO, 3, b"x"), 3, 1),
        (frame(VECTOR, 3, bytes(INPUTS))[:-1] + b"?", 4, None),
        (frame(VECTOR, 3, bytes(INPUTS))[:-6], 6, 0),
        (frame(HELLO, 3)[:-1], 6, 0),
    ],
    ids=["version", "kind", "length", "length of a greeting", "CRC", "cut inputs", "cut CRC"],
)
def test_a_request_that_is_wrong_is_refused_with_the_reason(handler, request_, reason, detail):
    (kind, number, payload), *_ = answers(handler, request_)
    assert (kind, number) == (REFUSAL, 3) and struct.unpack("<II", payload)[0] == reason
    assert detail is None or struct.unpack("<II", payload)[1] == detail


def test_damaged_requests_never_change_an_answer_nor_touch_a_wrong_byte(handler):
    chance = random.Random(2)
    vectors = [chance.randbytes(INPUTS) for _ in range(300)]
    wanted = answers(handler, b"".join(frame(VECTOR, number, vector) for number, vector in enumerate(vectors)))
    assert [kind for kind, _, _ in wanted] == [OUTPUTS] * len(vectors) and len({payload for *_, payload in wanted}) > 100
    stream = b""
    for number, vector in enumerate(vectors):
        data = bytearray(frame(VECTOR, 1000 + number, vector))
        for _ in range(chance.choice((1, 1, 3))):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(6)] = chance.randbytes(chance.randrange(6))
        padding = bytes(INPUTS + HEAD + 4)  # as the host begins again
        stream += bytes(data) + padding + frame(HELLO, 5000 + number) + frame(VECTOR, number, vector)
    found = answers(handler, stream)
    assert [one for one in found if one[0] == OUTPUTS and one[1] < 1000] == wanted
    assert len([number for kind, number, _ in found if kind == GREETING and number >= 5000]) == len(vectors)
    late = [one for one in found if one[0] == OUTPUTS and one[1] >= 1000]  # nothing was changed in them
    assert all(payload == wanted[number - 1000][2] for _, number, payload in late)
    assert {struct.unpack("<I", payload[:4])[0] for kind, _, payload in found if kind == REFUSAL} >= {1, 2, 3, 4}


def firmware_of(model: Path, name: str, folder: Path, *words: str) -> Path:
    """A linked firmware for a board of QEMU."""
    generated(model, name, folder, "--board", "mps2-an386", *words)
    (folder / "main.c").write_text(BOARD_MAIN.replace("kws_", f"{name}_"))
    sources = [folder / each for each in (f"{name}.c", f"{name}_weights.c", f"{name}_serial.c", "main.c")]
    board = load_board("mps2-an386")
    return build_program(board, sources, folder / "app.elf", work_folder=folder / "objects", include_folders=[folder])


@contextlib.contextmanager
def running(elf: Path, serial: str) -> Iterator[str]:
    """QEMU with the firmware; yields what QEMU says of its serial port."""
    command = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", serial, "-kernel", str(elf)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline() if serial == "pty" else ""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


MORE = [("--arena", "caller"), ("--io", "arena"), ("--update", "weights", "--arena", "caller"), ("--max-step", "20000")]


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("words", [(), *(MORE if os.environ.get("AIDGE_STRESS") else [])], ids=" ".join)
def test_a_firmware_on_a_serial_line_is_compared_with_numpy(tmp_path, words):
    with running(firmware_of(KEYWORD, "kws", tmp_path, *words), "pty") as said:
        line = SerialLine(re.search(r"/dev/\S+", said)[0], 115200, 10.0)
        with opened_port(line.port) as port:
            port.write(frame(VECTOR, 0, bytes(320))[:100], 5)  # a request that is cut
        parser = argparse.ArgumentParser()
        add_model_arguments(parser)
        program = compiled(load(parser.parse_args([str(KEYWORD), "--board", "mps2-an386", *words]), "kws"))
        vectors = random_vectors(program.view, 3, seed=1)
        rows = [b"".join(row) for row in stored_rows(program.view, vectors)]
        (wanted,) = run_in_order(program.view, vectors).values()  # from the initial states, which the line restores
        assert answered(program, rows, line) == answered(program, rows, line) == wanted.tobytes()
        other = replace(program, options=replace(program.options, arena="static" if "caller" in words else "caller"))
        with pytest.raises(AidgeError, match=r"it was built with header \w{12} \(320 B in, 8 B out\), this model"):
            answered(other, rows, line)


@needs_cross_compiler
@needs_qemu
def test_the_verb_says_that_a_firmware_is_right_or_has_other_weights(tmp_path):
    for seed in range(2):
        (tmp_path / f"net{seed}.onnx").write_bytes(small_model(seed))
    numpy.savez(tmp_path / "v.npz", x=numpy.random.default_rng(1).integers(-128, 128, (20, 1, 8), dtype=numpy.int8))
    elf, port = firmware_of(tmp_path / "net0.onnx", "net", tmp_path), free_port()
    words = ("--board", "mps2-an386", "--io-data", tmp_path / "v.npz", "--serial", f"socket://127.0.0.1:{port}", "--name", "net")
    with running(elf, f"tcp:127.0.0.1:{port},server=on,wait=off"):
        wait_for(port)
        right = aidge_build("verify", tmp_path / "net0.onnx", *words, "--elf", elf, "--layer-values", tmp_path / "values.npz")
        wrong = aidge_build("verify", tmp_path / "net1.onnx", *words)
    assert right.exit_code == 0
    assert right.stdout.startswith("net0.onnx on mps2-an386: 0 of 60 values differ from the numpy backend (largest difference 0)")
    values = read_npz(tmp_path / "values.npz")  # for gdb
    assert json.loads(values["aidge"].tobytes())["model_sha256"] == hashlib.sha256(small_model(0)).hexdigest()
    assert values["y"].shape == (20, 1, 3) and values["x"].shape == (20, 1, 8) and len(values) == 4
    assert wrong.exit_code == 1 and re.search(r": \d\d of 60 values differ from the numpy backend", wrong.stdout)
    failed = "FAILED: beyond the contract's tolerance, and no layer differs by itself. Next: docs/howto-wrong-result.md"
    assert failed in wrong.stdout.splitlines()


@pytest.mark.parametrize(
    "words, message",
    [
        (["--serial", "/dev/null"], "--serial: works only with --board. Hint: leave it out, or add --board B, the board of the"),
        (["--serial", "/dev/null", "--board", "stm32f4", "--layers"], "--serial: does not fit --layers. Hint: leave out --seri"),
        (["--baud", "9600", "--board", "stm32f4"], "--baud: works only with --serial. Hint: leave it out, or add --serial PORT"),
        (["--serial", "x", "--board", "stm32f4", "--serial-seconds", "0"], "--serial-seconds: 0 is no time from 0 to 3600 s"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, words, message):
    done = aidge_build("verify", KEYWORD, "--io-data", tmp_path / "v.npz", *words)
    assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1
