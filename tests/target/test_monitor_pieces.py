# SPDX-License-Identifier: MIT
"""--monitor in steps and by rows: the dumps of the same inferences are the same bytes as with whole inferences."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy

from aidge_build.boards import load_board
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler
from tests.row_models import image_filter, quantized, with_words
from tests.sanitized import SANITIZED, WARNINGS

# The inference of each way. Some inferences are left in between: they count nothing. A reset in between does not change the
# inference that has begun.
WAYS = {
    "whole": """
        if (is_reset)
            whole_monitor_reset();
        CHECK(whole_run(frame, result) == 0);
""",
    "steps": """
        if (left > 0u) {
            CHECK(steps_begin(frame, result) == STEPS_OK);
            for (index = 0; index < left % STEPS_STEPS; index++)
                CHECK(steps_step() == STEPS_MORE);
            steps_cancel();
        }
        CHECK(steps_begin(frame, result) == STEPS_OK && steps_step() == STEPS_MORE);
        if (is_reset)
            steps_monitor_reset();
        CHECK(steps_end() == STEPS_OK);
""",
    "rows": """
        if (left > 0u) {
            CHECK(rows_begin(result) == ROWS_OK && rows_push_input(frame, (int32_t)(left % ROWS_INPUT_ROWS)) == ROWS_OK);
            rows_cancel();
        }
        CHECK(rows_begin(result) == ROWS_OK);
        for (index = 0; index < ROWS_INPUT_ROWS; index += count) {
            count = drawn(4);
            count = count < ROWS_INPUT_ROWS - index ? count : ROWS_INPUT_ROWS - index;
            CHECK(rows_push_input(frame + index * WIDTH, (int32_t)count) == ROWS_OK);
            if (is_reset)
                rows_monitor_reset();
        }
        CHECK(rows_end() == ROWS_OK);
""",
    "leaving": """
        CHECK(leaving_begin(frame) == LEAVING_OK);
        if (left > 0u) {
            CHECK(leaving_pull_output(result, (int32_t)(left % LEAVING_OUTPUT_ROWS)) == LEAVING_OK);
            leaving_cancel();
            CHECK(leaving_begin(frame) == LEAVING_OK);
        }
        CHECK(leaving_pull_output(result, LEAVING_OUTPUT_ROWS) == LEAVING_OK);
        if (is_reset)
            leaving_monitor_reset();
        CHECK(leaving_end() == LEAVING_OK);
""",
    "both": """
        CHECK(both_begin() == BOTH_OK);
        for (index = 0; index < BOTH_INPUT_ROWS; index += count) {
            count = 1u + drawn(4);
            count = count < BOTH_INPUT_ROWS - index ? count : BOTH_INPUT_ROWS - index;
            while (both_push_input(frame + index * WIDTH, (int32_t)count) == BOTH_MORE)
                CHECK(both_pull_output(result, 1) == BOTH_OK);
            if (is_reset)
                both_monitor_reset();
        }
        while (both_pull_output(result, 1) == BOTH_OK) {
        }
        CHECK(both_end() == BOTH_OK);
""",
}
OPTIONS = {
    "whole": (),
    "steps": ("--max-step", "MAX_STEP"),
    "rows": ("--input", "rows"),
    "leaving": ("--output", "rows"),
    "both": ("--input", "rows", "--output", "rows"),
}
MAIN = """
INCLUDES
#ifndef __arm__
#include <stdio.h>
#endif
#define CHECK(condition) do { if (!(condition)) return __LINE__ > 255 ? 255 : __LINE__; } while (0)
static TYPE frame[WHOLE_INPUT_SIZE], result[WHOLE_OUTPUT_SIZE];
uint8_t dumps[COUNT][WHOLE_MONITOR_BYTES];
static uint32_t seed = 1;
static uint32_t drawn(uint32_t below) { seed = seed * 1664525u + 1013904223u; return (seed >> 8) % below; }
FUNCTIONS
int main(void)
{
    uint32_t number, index, code = 0;
    for (number = 0; number < TURNS && code == 0; number++) {
        const uint32_t left = number % 4u == 1u ? drawn(30) : 0u, width = 40u + 5u * drawn(44), is_reset = number == 20u;
        for (index = 0; index < WHOLE_INPUT_SIZE; index++)
            frame[index] = (TYPE)((int32_t)drawn(width) - (int32_t)width / 2);
        CALLS
    }
    CHECK(code == 0);
    DUMPS
#ifndef __arm__
    (void)fwrite(dumps, sizeof dumps, 1, stdout);
#endif
    return 0;
}
"""
FUNCTION = """
static int inference_WAY(uint32_t left, uint32_t is_reset)
{
    uint32_t index, count;
    (void)index, (void)count, (void)left;
    BODY
    return 0;
}
"""


def classifier() -> bytes:
    """int8: an input of many elements, and little to do with each."""
    text = f"d_x = DequantizeLinear(x, scale, zero) d_w = DequantizeLinear(w, scale, zero) {quantized('a', CONVOLUTION)} "
    weights = numpy.random.default_rng(1).integers(-127, 128, (8, 1, 3, 3)).astype(numpy.int8)
    constants = {"w": weights, "scale": numpy.float32(1 / 32), "zero": numpy.int8(0)}
    text += "f_y = GlobalAveragePool(d_a) y = QuantizeLinear(f_y, scale, zero)"
    return model(text, inputs="int8[1,1,40,30] x", outputs="int8[1,8,1,1] y", constants=constants)


CONVOLUTION = "Conv<strides = [3, 3]>(d_x, d_w)"
# Model, type, dims of the input, ways.
MODELS = {
    "an int8 classifier": (classifier(), "int8_t", (1, 40, 30), ("whole", "steps", "rows")),
    "a float filter": (image_filter(), "float", (1, 20, 9), ("whole", "steps", "rows", "leaving", "both")),
}


def sources_of(folder: Path, name: str, board: str, max_step: int, turns: int) -> list[Path]:
    """The C files of a program that runs the same inferences in each way, and dumps all counters."""
    data, type_name, dims, ways = MODELS[name]
    (folder / "net.onnx").write_bytes(data)
    usual = numpy.random.default_rng(3).normal(0, 20, (60, 1, *dims)).clip(-99, 99)
    numpy.savez(folder / "samples.npz", x=usual.astype(numpy.int8 if type_name == "int8_t" else numpy.float32))
    for way in ways:
        words = [str(max_step) if word == "MAX_STEP" else word for word in OPTIONS[way]]
        counted = ("--name", way, "--monitor", "on", "--monitor-samples", folder / "samples.npz")
        made = aidge_build("compile", folder / "net.onnx", "--out", folder, "--board", board, *counted, *words)
        assert made.exit_code == 0, made
    words = {
        "INCLUDES": "\n".join(f'#include "{way}.h"' for way in ways),
        "FUNCTIONS": "".join(with_words(FUNCTION, {"inference_WAY": f"inference_{way}", "BODY": WAYS[way]}) for way in ways),
        "CALLS": "\n".join(f"code = code ? code : (uint32_t)inference_{way}(left, is_reset);" for way in ways),
        "DUMPS": "\n".join(f"CHECK({way}_monitor(dumps[{at}]) == 0);" for at, way in enumerate(ways)),
        "COUNT": str(len(ways)),
        "TYPE": type_name,
        "WIDTH": str(dims[-1]),
        "TURNS": f"{turns}u",
    }
    (folder / "main.c").write_text(with_words(MAIN, words))
    assert "at->step < " in (folder / "steps.c").read_text().partition("case 2u:")[0].rpartition("case 1u:")[2]  # several steps
    return [folder / "main.c", *(folder / f"{way}{ending}" for way in ways for ending in (".c", "_weights.c"))]


def one_dump(dumps: bytes, ways: int, turns: int) -> bytes:
    """The dump of each way: all are the same, and count the inferences since the reset."""
    first = dumps[: len(dumps) // ways]
    assert dumps == first * ways and first[:4] == b"AMON" and int.from_bytes(first[20:24], "little") == turns - 20
    return first


def on_this_machine(folder: Path, name: str, turns: int) -> bytes:
    folder.mkdir()
    sources = sources_of(folder, name, "host", 40_000, turns)
    subprocess.run(["cc", *WARNINGS, *SANITIZED, *map(str, sources), "-lm", "-o", str(folder / "app")], check=True)
    return subprocess.run([str(folder / "app")], check=True, stdout=subprocess.PIPE).stdout


def test_inferences_in_steps_and_by_rows_count_what_whole_ones_count(tmp_path):
    name = "a float filter"
    one_dump(on_this_machine(tmp_path / "host", name, 300), len(MODELS[name][-1]), 300)


@needs_cross_compiler
def test_an_emulated_core_counts_the_same_in_steps_that_are_proved(tmp_path):
    name, turns, board = "an int8 classifier", 60, load_board("mps2-an386")
    one = one_dump(on_this_machine(tmp_path / "host", name, turns), 3, turns)
    sources = sources_of(tmp_path, name, board.name, 7_000, turns)
    folders = {"work_folder": tmp_path / "objects", "include_folders": [tmp_path]}
    elf = build_program(board, sources, tmp_path / "app.elf", **folders)
    checked = aidge_build("check", elf, "--board", board.name)
    assert checked.exit_code == 0 and "steps of steps: " in checked.stdout and "instructions for any input" in checked.stdout
    dumped = tmp_path / "dumps.bin"
    assert aidge_build("run", elf, "--board", board.name, "--emulator", "unicorn", "--dump", f"dumps={dumped}").exit_code == 0
    assert one_dump(dumped.read_bytes(), 3, turns) == one
    judged = aidge_build("accuracy", tmp_path / "net.onnx", "--monitor-samples", tmp_path / "samples.npz", "--field", dumped)
    assert judged.stdout.count(f"({turns - 20} inferences") == 3, judged
