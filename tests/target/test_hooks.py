# SPDX-License-Identifier: MIT
"""N_before_input and N_after_output: called with the ranges of inputs and outputs, the firmware's where it defines them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy
import pytest

from tests.command import aidge_build
from tests.models import model
from tests.row_networks import chain

STRICT = ["gcc", "-std=c11", "-O0", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
TWO_SIDED = dict(
    inputs="float[1,4] x, float[1,4] z",
    outputs="float[1,4] y, float[1,4] rest",
    constants={"w": numpy.float32([3, 1, 4, 1])},
)
BOTH = "y = Add(x, z) rest = Mul(z, w)"
HOOKS = """
static const void *seen[16];
static uint32_t sizes[16], calls;
static char kinds[17];
static void noted(char kind, const void *data, uint32_t bytes)
{
    seen[calls] = data;
    sizes[calls] = bytes;
    kinds[calls++] = kind;
}
void net_before_input(const void *data, uint32_t bytes) { noted('i', data, bytes); }
void net_after_output(void *data, uint32_t bytes) { noted('o', data, bytes); }
"""
CALLED = """
static float x[4] = {1, 2, 3, 4}, z[4] = {5, 6, 7, 8}, y[4], rest[4];
int main(void)
{
    if (net_run(x, z, y, rest) != 0 || y[0] != 6.0f || rest[0] != 15.0f)
        return 1;
    if (net_run(x, z, y, (float *)0) != 1)
        return 2;
    if (strcmp(kinds, "iioo") != 0 || sizes[0] != 16 || sizes[1] != 16 || sizes[2] != 16 || sizes[3] != 16)
        return 3;
    return seen[0] != x || seen[1] != z || seen[2] != y || seen[3] != rest;
}
"""
IN_ARENA = """
static float *places[4];
int main(void)
{
    static const float x[4] = {1, 2, 3, 4}, z[4] = {5, 6, 7, 8};
    float *const all[4] = {NET_X, NET_Z, NET_Y, NET_REST};
    memcpy(places, all, sizeof all);
    memcpy(places[0], x, sizeof x);
    memcpy(places[1], z, sizeof z);
    if (net_run(PASSED) != 0 || places[2][0] != 6.0f || places[3][0] != 15.0f || strcmp(kinds, "iioo") != 0)
        return 1;
    for (calls = 0; calls < 4; calls++)
        if (seen[calls] != places[calls] || sizes[calls] != 16)
            return 2;
    return 0;
}
"""
ROWS = """
static int8_t image[400], scores[8], wanted[8];
int main(void)
{
    int32_t i;
    for (i = 0; i < 400; i++)
        image[i] = (int8_t)(i * 7);
    if (net_run(image, wanted) != 0 || strcmp(kinds, "io") != 0 || seen[0] != image || sizes[0] != 400 || sizes[1] != 8)
        return 1;
    calls = 0;
    if (net_begin(scores) != 0 || net_push_input(image, 0) != 0 || net_push_input(image, 3) != 0 || net_end() != 3 || calls != 1)
        return 2;
    if (net_push_input(image + 60, 18) != 3 || calls != 1 || net_push_input(image + 60, 17) != 0 || net_end() != 0)
        return 3;
    if (calls != 3 || seen[0] != image || sizes[0] != 60 || seen[1] != image + 60 || sizes[1] != 340 || seen[2] != scores)
        return 4;
    return memcmp(scores, wanted, 8) != 0;
}
"""


def generated(folder: Path, file: bytes, *words: str) -> None:
    (folder / "net.onnx").write_bytes(file)
    made = aidge_build("compile", folder / "net.onnx", "--out", folder, "--cpu", "host", *words)
    assert made.exit_code == 0, made


def linked(folder: Path, *texts: str, command: list[str] = STRICT) -> subprocess.CompletedProcess:
    """A program of the model and these files."""
    names = [f"part{number}.c" for number in range(len(texts))]
    for name, text in zip(names, texts):
        (folder / name).write_text(text)
    whole = [*command, "net.c", "net_weights.c", *names, "-lm", "-o", "app"]
    return subprocess.run(whole, cwd=folder, capture_output=True, text=True)


def exit_code(folder: Path, *texts: str, command: list[str] = STRICT) -> int:
    done = linked(folder, *texts, command=command)
    assert done.returncode == 0, done.stderr
    return subprocess.run([str(folder / "app")]).returncode


INCLUDES = '#include "net.h"\n#include <string.h>\n'


def test_hooks_get_each_input_and_output_once_and_none_where_pointers_are_refused(tmp_path):
    generated(tmp_path, model(BOTH, **TWO_SIDED), "--dma", "hooks")
    assert exit_code(tmp_path, INCLUDES + HOOKS + CALLED) == 0


@pytest.mark.parametrize(("owner", "more"), [("static", ()), ("caller", ()), ("caller", ("--max-step", "1000000"))])
def test_hooks_get_the_places_in_the_arena(owner, more, tmp_path):
    generated(tmp_path, model(BOTH, **TWO_SIDED), "--dma", "hooks", "--io", "arena", "--arena", owner, *more)
    main = IN_ARENA.replace("PASSED", "" if owner == "static" else "arena")
    if owner == "caller":
        if more:  # the instance owns the arena then
            main = main.replace("net_run(arena)", "net_init(&self, arena) != 0 || net_run(&self)")
            main = "static net_instance self;\n" + main
        main = "static _Alignas(NET_ARENA_ALIGNMENT) uint8_t arena[NET_ARENA_BYTES];\n" + re.sub(
            r"NET_(X|Z|Y|REST)\b", r"NET_\1(arena)", main
        )
    assert exit_code(tmp_path, INCLUDES + HOOKS + main) == 0


def test_by_rows_a_hook_gets_the_rows_of_each_push(tmp_path):
    generated(tmp_path, chain(), "--dma", "hooks", "--input", "rows", "--lib", "ref")
    assert exit_code(tmp_path, INCLUDES + HOOKS + ROWS) == 0


STEPS = """
static int8_t image[400], scores[8], wanted[8];
int main(void)
{
    int32_t i;
    int code;
    for (i = 0; i < 400; i++)
        image[i] = (int8_t)(i * 7);
    if (net_run(image, wanted) != 0 || strcmp(kinds, "io") != 0)
        return 1;
    if (net_begin(image, (int8_t *)0) != 1 || calls != 2 || net_begin(image, scores) != 0 || net_begin(image, scores) != 3)
        return 2;
    for (i = 0; (code = net_step()) == 2; i++)
        if (calls != 3)
            return 3;
    if (code != 0 || i < 2 || strcmp(kinds, "ioio") != 0 || seen[2] != image || sizes[2] != 400 || seen[3] != scores)
        return 4;
    return sizes[3] != 8 || memcmp(scores, wanted, 8) != 0;
}
"""


@pytest.mark.parametrize("words", [("--memory-model", "cascade")])
def test_in_steps_hooks_are_called_when_an_inference_begins_and_in_its_last_step(words, tmp_path):
    generated(tmp_path, chain(), "--dma", "hooks", "--max-step", "100000000", "--lib", "ref", *words)
    assert exit_code(tmp_path, INCLUDES + HOOKS + STEPS) == 0


PLAIN = """
static const float x[4], z[4];
static float y[4], rest[4];
int main(void)
{
    return net_run(x, z, y, rest);
}
"""
BY_HAND = "#include <stdint.h>\nvoid net_before_input(const void *data, uint32_t bytes);\n" + (
    "int hook_calls;\nvoid net_before_input(const void *data, uint32_t bytes)\n{\n    hook_calls += data && bytes == 16u;\n}\n"
)
COUNTED = "extern int hook_calls;\n" + PLAIN.replace(
    "return net_run(x, z, y, rest);", "(void)net_run(x, z, y, rest);\n    return hook_calls;"
)


def test_hooks_that_nobody_defines_are_empty(tmp_path):
    generated(tmp_path, model(BOTH, **TWO_SIDED), "--dma", "hooks")
    assert exit_code(tmp_path, INCLUDES + PLAIN) == 0


@pytest.mark.parametrize(
    ("flags", "header"),
    [
        (["-O2"], '#include "net.h"\n'),
        (["-O2", "-flto"], ""),
        (["-Os", "-ffunction-sections", "-Wl,--gc-sections"], ""),
    ],
    ids=["with the header", "by hand", "sections"],
)
def test_a_definition_of_the_firmware_replaces_the_empty_one_whatever_header_it_saw(flags, header, tmp_path):
    generated(tmp_path, model(BOTH, **TWO_SIDED), "--dma", "hooks")
    assert exit_code(tmp_path, INCLUDES + COUNTED, header + BY_HAND, command=["gcc", "-std=c11", *flags]) == 2


def test_a_compiler_without_weak_functions_asks_the_firmware_for_both(tmp_path):
    generated(tmp_path, chain(), "--dma", "hooks", "--lib", "ref")
    command = ["gcc", "-std=c11", "-U__GNUC__", "-D__extension__=", "-D__attribute__(x)="]
    main = "static int8_t image[400], scores[8];\nint main(void)\n{\n    return net_run(image, scores)"
    without = linked(tmp_path, INCLUDES + main + ";\n}\n", command=command)
    assert without.returncode != 0 and "`net_before_input'" in without.stderr and "`net_after_output'" in without.stderr
    assert exit_code(tmp_path, INCLUDES + HOOKS + main + ' != 0 || strcmp(kinds, "io") != 0;\n}\n', command=command) == 0


def test_a_model_without_hooks_knows_none(tmp_path):
    generated(tmp_path, model(BOTH, **TWO_SIDED))
    assert not any("before_input" in (tmp_path / name).read_text() for name in ("net.h", "net.c"))
