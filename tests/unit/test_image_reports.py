# SPDX-License-Identifier: MIT
"""The lines of a bench image as values."""

from __future__ import annotations

import json
import zlib

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.serial_line import received_lines
from aidge_build.measure.bench.image_report import read_report

IMAGE = {
    "aidge": "image",
    "schema": 1,
    "tool": "0.3.0",
    "compiler": "arm-none-eabi-gcc 12.2.1",
    "board": "stm32f401",
    "cpu": "cortex-m4",
    "clock_hz": 16000000,
    "flash_wait_states": 0,
    "model_sha256": "ab" * 32,
    "layers": 2,
    "counter": "CYCCNT",
    "cpuid": "410fc241",
}
LAYERS = [
    {"aidge": "layer", "index": index, "operator": "FC", "kernel": "cortexm fc_int8", "macs": 48, "cycles": [200, 180 + index]}
    for index in range(2)
]
MODEL = {"aidge": "model", "returned": 0, "report_cycles": 17, "cycles": [410, 375], "outputs_crc32": ["8a3ce532", "8a3ce532"]}


def report(*objects: dict) -> list[bytes]:
    lines = [json.dumps(each).encode() for each in objects]
    return [*lines, b'{"aidge":"end","crc32":"%08x"}' % zlib.crc32(b"".join(lines))]


WHOLE = report(IMAGE, *LAYERS, MODEL)


def test_a_report_is_read_after_noise_and_after_the_end_of_another():
    found = read_report([b"\xff\x00{", b"[1]", b"7", b'{"aidge": 3}', *WHOLE[2:], b"boot", *WHOLE, *WHOLE], "line")
    assert found.board == "stm32f401" and found.cycles == (410, 375)
    assert [layer.cycles for layer in found.layers] == [(200, 180), (200, 181)]


@pytest.mark.parametrize(
    "lines",
    [
        [WHOLE[0], WHOLE[1].replace(b"180", b"108"), *WHOLE[2:]],  # a digit
        [*WHOLE[:2], *WHOLE[3:]],  # a line
        [*WHOLE[:2], b"noise", *WHOLE[2:]],
        WHOLE[:-1],
        report(IMAGE, LAYERS[0], MODEL),
        report(IMAGE, *reversed(LAYERS), MODEL),
        report(IMAGE, *LAYERS, {**MODEL, "cycles": [410]}),
        report(IMAGE, *LAYERS),
    ],
)
def test_a_damaged_report_is_left_out_and_the_next_one_is_read(lines):
    with pytest.raises(AidgeError, match="holds no whole report of a bench image"):
        read_report(lines, "line")
    assert read_report([*lines, *WHOLE], "line").cycles == (410, 375)


@pytest.mark.requirement("CALIBRATIONS")
def test_a_model_that_refused_and_another_format_are_errors():
    with pytest.raises(AidgeError, match="the model returned 3 on the board"):
        read_report(report(IMAGE, *LAYERS, {**MODEL, "returned": 3}), "line")
    with pytest.raises(AidgeError, match="schema 2, this version reads 1"):
        read_report(report({**IMAGE, "schema": 2}, *LAYERS, MODEL), "line")


def test_lines_of_a_file_lose_their_ends_and_a_missing_port_is_named(tmp_path):
    (tmp_path / "said").write_bytes(b"one\r\ntwo\nlast")
    assert [*received_lines(tmp_path / "said")] == [b"one", b"two", b"last"]
    with pytest.raises(AidgeError, match="cannot be read"):
        [*received_lines(tmp_path / "absent")]
