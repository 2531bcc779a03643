# SPDX-License-Identifier: MIT
"""One model in several tasks that preempt each other at any instruction, and buffers that overlap."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.docs.project import image_network, mask_network, quantized, voice_network
from tests.models import model
from tests.preemption import Tasks
from tests.programs import needs_cross_compiler
from tests.sanitized import sanitized

STRESS = "AIDGE_STRESS" in os.environ
TASKS, FRAMES, STACK = 3, 2, 4096
# Each task has an arena, in the first program; `SHARED` is one arena for all, as nobody may do.
MAIN = """#include "net.h"
#include <string.h>
#ifndef NET_STATE_BYTES
#define NET_STATE_BYTES 0
#endif
static uint64_t arenas[3][NET_ARENA_BYTES / 8 + 2];
volatile uint64_t stacks[3][512];
NUMBER inputs[3][2][NET_INPUT_SIZE], outputs[3][2][NET_OUTPUT_SIZE];
#if INSTANCES
static uint64_t states[3][NET_STATE_BYTES / 8 + 1];
static net_instance instances[3];
#endif
__attribute__((noipa)) int start(int number);
__attribute__((noipa)) int task(int number);
static void *arena_of(int number)
{
    return (void *)(((uintptr_t)arenas[SHARED ? 0 : number] + 15u) & ~(uintptr_t)15);
}
int start(int number)
{
#if STATES
    return net_init(&instances[number], arena_of(number), states[number]);
#elif INSTANCES
    return net_init(&instances[number], arena_of(number));
#else
    return number - number;
#endif
}
int task(int number)
{
    int code = 0;
    for (int frame = 0; frame < 2; frame++) {
#if INSTANCES
        code |= net_run(&instances[number], inputs[number][frame], outputs[number][frame]);
#else
        code |= net_run(arena_of(number), inputs[number][frame], outputs[number][frame]);
#endif
    }
    return code;
}
int main(void)
{
    volatile int number = 0;
    return start(number) + task(number) + (int)stacks[0][0];
}
"""


def image_case() -> tuple[bytes, numpy.ndarray]:
    random = numpy.random.default_rng(5)
    samples = random.normal(size=(4, 1, 1, 8, 8)).astype(numpy.float32)
    file = quantized(image_network(8, 1, 4), samples)
    return file, random.integers(-128, 128, (TASKS, FRAMES, 64)).astype(numpy.int8)


def voice_case() -> tuple[bytes, numpy.ndarray]:
    return voice_network(), numpy.random.default_rng(6).normal(size=(TASKS, FRAMES, 8)).astype(numpy.float32)


# The case, its words, and whether the functions get an instance, and one with a state.
CASES = {
    "arena": (image_case, (), 0, 0),
    "state": (voice_case, ("--state", "h_out=h", "--state", "c_out=c"), 1, 1),
    "steps": (image_case, ("--max-step", "20000"), 1, 0),
    "weights": (image_case, ("--update", "weights"), 1, 0),
}
SAMPLE = [("arena", "stm32f4"), ("state", "stm32f4")]
BOARDS = ("stm32f4", "mps2-an385", "stm32f7", "stm32g071")


def built(case: str, board: str, folder: Path, shared: bool) -> tuple[Tasks, numpy.ndarray]:
    make, words, has_instances, has_states = CASES[case]
    file, inputs = make()
    (folder / "net.onnx").write_bytes(file)
    made = aidge_build("compile", folder / "net.onnx", "--out", folder, "--board", board, "--arena", "caller", *words)
    assert made.exit_code == 0, made
    text = MAIN
    if case == "weights":
        text = text.replace("net_init(&instances[number], arena_of(number))", "bound(number)").replace(
            "int start(int number)\n{",
            "static int bound(int number)\n{\n    int code = net_init(&instances[number], arena_of(number));\n"
            "    return code ? code : net_bind(&instances[number], net_weights, net_weights_bytes);\n}\nint start(int number)\n{",
        )
    (folder / "main.c").write_text(text)
    number = "float" if inputs.dtype == numpy.float32 else "int8_t"
    flags = (f"-DNUMBER={number}", f"-DINSTANCES={has_instances}", f"-DSTATES={has_states}", f"-DSHARED={int(shared)}")
    sources = [folder / name for name in ("net.c", "net_weights.c", "main.c")]
    elf = build_program(
        load_board(board),
        sources,
        folder / "app.elf",
        extra_flags=flags,
        work_folder=folder / "objects",
        include_folders=[folder],
    )
    return Tasks(elf, load_board(board)), inputs


def answers(tasks: Tasks, inputs: numpy.ndarray, seeds: list[int | None]) -> list[bytes]:
    """All outputs: of tasks that preempt each other by this seed, None: that run one after the other."""
    size = len(tasks.read("outputs", tasks.symbols("outputs").size_bytes))
    found = []
    for seed in seeds:
        tasks.write("inputs", inputs.tobytes())
        tasks.write("outputs", bytes(size))
        assert [tasks.call("start", number) for number in range(TASKS)] == [0] * TASKS
        if seed is None:
            assert [tasks.call("task", number) for number in range(TASKS)] == [0] * TASKS
        else:
            stacks = [tasks.address("stacks") + (number + 1) * STACK for number in range(TASKS)]
            codes, switches = tasks.take_turns("task", stacks, seed, 60 if seed % 2 else 1500)
            assert codes == [0] * TASKS and switches > 10
        found.append(tasks.read("outputs", size))
    return found


@pytest.mark.requirement("G17")
@needs_cross_compiler
@pytest.mark.parametrize("case, board", [(case, board) for case in CASES for board in BOARDS] if STRESS else SAMPLE)
def test_tasks_with_arenas_of_their_own_may_preempt_each_other_anywhere_in_one_model(case, board, tmp_path):
    tasks, inputs = built(case, board, tmp_path, shared=False)
    alone, *together = answers(tasks, inputs, [None, *range(40 if STRESS else 3)])
    each = numpy.frombuffer(alone, inputs.dtype).reshape(TASKS, FRAMES, -1)
    assert len(numpy.unique(each[:, 1], axis=0)) == TASKS  # other inputs, other answers
    assert together == [alone] * len(together)


@needs_cross_compiler
def test_the_emulated_tasks_really_interrupt_each_other(tmp_path):
    """With one arena for all of them answers are wrong: what the header forbids is what the test above would see."""
    tasks, inputs = built("arena", "stm32f4", tmp_path, shared=True)
    alone, *together = answers(tasks, inputs, [None, 0, 1])
    assert all(one != alone for one in together)


OVERLAPS = """#include "net.h"
#include <stdio.h>
static float room[40];
#if ARENA
static uint64_t arena[NET_ARENA_BYTES / 8 + 2];
#define PASSED (void *)(((uintptr_t)arena + 15u) & ~(uintptr_t)15),
#else
#define PASSED
#endif
int main(void)
{
    for (int from = 0; from <= 32; from++) { /* input at 16, output everywhere around it */
        for (int i = 0; i < 40; i++)
            room[i] = (float)(i - 18) / 4;
        int code = net_run(PASSED &room[16], &room[from]);
        printf("%d", code);
        for (int i = 0; i < 4; i++)
            printf(" %.6g", (double)room[from + i]);
        printf("\\n");
    }
    return 0;
}
"""
EDGES = {
    "read last in the first layer": ("a = Sigmoid(x) y = Neg(a)", True),
    "read by the last": ("a = Sigmoid(x) y = Add(a, x)", False),
}


def compiled(text: str, folder: Path, main: str, *words: str, outputs: str = "float[1,4] y") -> list[str]:
    """What a host program with this model and this main prints, under sanitizers."""
    (folder / "net.onnx").write_bytes(model(text, inputs="float[1,4] x", outputs=outputs))
    made = aidge_build("compile", folder / "net.onnx", "--out", folder, "--cpu", "host", *words)
    assert made.exit_code == 0, made
    (folder / "main.c").write_text(main)
    program = sanitized(folder, f"-DARENA={int('caller' in words)}")
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.requirement("G10")
@pytest.mark.parametrize("words", [(), ("--arena", "caller")], ids=["static", "caller"])
@pytest.mark.parametrize("edge", EDGES)
def test_an_output_may_lie_in_what_was_read_and_is_refused_in_what_is_read_still(edge, words, tmp_path):
    text, is_allowed = EDGES[edge]
    lines = compiled(text, tmp_path, OVERLAPS, *words)
    expected = lines[0]
    touching = range(13, 20)  # the places of an output of 4 that share a number with 16 to 19
    for place, line in enumerate(lines):
        if place in touching and not is_allowed:
            assert line.split()[0] == "1"
            assert [float(word) for word in line.split()[1:]] == [(place + i - 18) / 4 for i in range(4)]  # nothing was written
        else:
            assert line == expected and expected.startswith("0 ")
    header = (tmp_path / "net.h").read_text()
    assert ("may overlap" in header) == is_allowed and ("must not overlap" in header) != is_allowed


TWO_OUTPUTS = """#include "net.h"
#include <stdio.h>
int main(void)
{
    float x[4] = {1, 2, 3, 4}, room[12];
    for (int from = 0; from <= 8; from++)
        printf("%d\\n", net_run(x, &room[4], &room[from]));
    return 0;
}
"""


def test_two_outputs_are_never_one(tmp_path):
    lines = compiled("a = Sigmoid(x) y = Neg(a) z = Abs(a)", tmp_path, TWO_OUTPUTS, outputs="float[1,4] y, float[1,4] z")
    assert lines == ["0", *"1" * 7, "0"]
    assert "`z` must not overlap `y`." in (tmp_path / "net.h").read_text()


IN_THE_ARENA = """#include "net.h"
#include <stdio.h>
static uint64_t arena[NET_ARENA_BYTES / 8 + 8];
int main(void)
{
    char *start = (char *)(((uintptr_t)arena + 15u) & ~(uintptr_t)15);
    float other[4] = {1, 2, 3, 4};
    printf("%d\\n", net_run(start, (const float *)(const void *)start, other));
    printf("%d\\n", net_run(start, other, (float *)(void *)(start + NET_ARENA_BYTES - 4)));
    printf("%d\\n", net_run(start, other, (float *)(void *)(start + NET_ARENA_BYTES)));
    return 0;
}
"""


def test_an_arena_of_the_caller_holds_no_input_and_no_output(tmp_path):
    assert compiled("a = Sigmoid(x) y = Neg(a)", tmp_path, IN_THE_ARENA, "--arena", "caller") == ["1", "1", "0"]


def test_so_many_outputs_are_not_compared_and_the_header_says_so(tmp_path):
    names = [f"y{number}" for number in range(17)]
    text = " ".join(f"{name} = Neg(x)" if number else f"{name} = Abs(x)" for number, name in enumerate(names))
    (tmp_path / "net.onnx").write_bytes(
        model(text, inputs="float[1,4] x", outputs=", ".join(f"float[1,4] {name}" for name in names))
    )
    assert aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--cpu", "host").exit_code == 0
    assert "Buffers must not overlap; there are too many to compare." in (tmp_path / "net.h").read_text()
    assert "(uintptr_t)y0 - " not in (tmp_path / "net.c").read_text()


def test_the_layers_of_a_cascade_take_turns_so_that_its_output_is_no_place_for_its_input(tmp_path):
    samples = numpy.random.default_rng(3).normal(size=(2, 1, 32, 32, 2)).astype(numpy.float32)
    (tmp_path / "net.onnx").write_bytes(quantized(mask_network(32), samples))
    words = {}
    for memory in ("default", "cascade"):
        made = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--cpu", "host", "--memory-model", memory)
        assert made.exit_code == 0, made
        plan = json.loads((tmp_path / "net.plan.json").read_text())
        inside = [layer["name"] for cascade in plan["cascades"] for layer in cascade["layers"]]
        assert (inside == plan["order"]) == (memory == "cascade")
        words[memory] = (tmp_path / "net.h").read_text()
    assert "they may overlap." in words["default"] and "Buffers must not overlap." in words["cascade"]
