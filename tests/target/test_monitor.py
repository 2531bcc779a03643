# SPDX-License-Identifier: MIT
"""--monitor: the counters of the generated C, on this machine and on an emulated core, are those of the table bit for bit."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program as program_for
from aidge_build.build.emit import emit
from aidge_build.build.emit.monitor import monitor_digest
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.plan.program import Program
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.compiled import request_of
from tests.models import model
from tests.monitored import Simulated
from tests.programs import ROOT, needs_cross_compiler
from tests.sanitized import sanitized

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
KINDS = model(
    "f = Cast<to=1>(b) g = Cast<to=1>(c) y = Concat<axis=1>(a, f, g) k = ArgMax<axis=1, keepdims=0>(y) "
    "v = ReduceMean<keepdims=1>(a)",
    inputs="float[1,6] a, uint8[1,5] b, int16[1,4] c",
    outputs="float[1,15] y, int64[1] k, float[1,1] v",
)
# Runs each inference of a file; the second instance every other one. Dumps each instance, resets the first and dumps it again.
MAIN = """
#include "net.h"
#include <stdio.h>
static struct { INPUTS } in;
static struct { OUTPUTS } out;
static union { uint8_t bytes[NET_ARENA_BYTES + 1]; uint64_t aligned; } arena __attribute__((aligned(16)));
static net_instance both[2];
static uint8_t dump[NET_MONITOR_BYTES];
int main(void)
{
    FILE *from = fopen("inputs.bin", "rb"), *to = fopen("dumps.bin", "wb");
    uint32_t number = 0u;
    if (net_init(&both[0], arena.bytes) != 0 || net_init(&both[1], arena.bytes) != 0)
        return 1;
    for (; fread(&in, sizeof in, 1, from) == 1; number++) {
        if (net_run(&both[0], PASSED) != 0 || (number % 2u != 0u && net_run(&both[1], PASSED) != 0))
            return 2;
    }
    for (number = 0u; number < 3u; number++) {
        if (net_monitor(&both[number % 2u], dump) != 0 || net_monitor(&both[0], 0) != 1)
            return 3;
        (void)fwrite(dump, sizeof dump, 1, to);
        net_monitor_reset(&both[0]);
    }
    return fclose(to);
}
"""


def program_with(data: bytes, folder: Path, samples: dict[str, numpy.ndarray], **options) -> Program:
    numpy.savez(folder / "samples.npz", **samples)
    request = request_of(data, "net.onnx", load_board("host"))
    chosen = replace(request.options, monitor="on", monitor_ranges=True, **options)
    return program_for(replace(request, options=chosen, monitor_samples=(folder / "samples.npz").read_bytes()))


def drawn(random: numpy.random.Generator, count: int, scale: float) -> dict[str, numpy.ndarray]:
    """Inputs of KINDS."""
    return {
        "a": (random.normal(size=(count, 1, 6)) * scale).astype(numpy.float32),
        "b": numpy.clip(random.normal(100, 60 * scale, (count, 1, 5)), 0, 255).astype(numpy.uint8),
        "c": numpy.clip(random.normal(0, 15000 * scale, (count, 1, 4)), -32768, 32767).astype(numpy.int16),
    }


def simulated(program: Program, vectors: dict[str, numpy.ndarray]) -> Simulated:
    counters = Simulated(program.monitoring, monitor_digest(program))
    outputs = run_in_order(program.view, vectors)
    for number in range(len(next(iter(vectors.values())))):
        inputs = [vectors[one.name][number].reshape(-1) for one in program.monitoring.inputs]
        counters.count(inputs, [outputs[one.name][number].reshape(-1) for one in program.monitoring.outputs])
    return counters


@pytest.mark.parametrize("max_step", [0, 6000], ids=["whole", "in steps"])
def test_each_instance_counts_what_the_table_says_and_a_reset_begins_anew(max_step, tmp_path):
    random = numpy.random.default_rng(5)
    program = program_with(KINDS, tmp_path, drawn(random, 40, 1.0), arena="caller", max_step=max_step)
    assert [one.steps for one in program.monitoring.inputs] == [int(max_step > 0)] * 3
    vectors = drawn(random, 1500, 1.2)
    for name, content in emit(program).files.items():
        (tmp_path / name).write_bytes(content)
    a, b, c = (vectors[name].reshape(1500, -1).view(numpy.uint8) for name in "abc")
    gap = numpy.zeros((1500, 2), numpy.uint8)  # in and after the struct: c has an alignment of 2 bytes, a of 4
    (tmp_path / "inputs.bin").write_bytes(numpy.concatenate([a, b, gap[:, :1], c, gap], axis=1).tobytes())
    fields = ("float a[6]; uint8_t b[5]; int16_t c[4];", "float y[15]; int64_t k[1]; float v[1];")
    main = MAIN.replace("INPUTS", fields[0]).replace("OUTPUTS", fields[1])
    (tmp_path / "main.c").write_text(main.replace("PASSED", "in.a, in.b, in.c, out.y, out.k, out.v"))
    subprocess.run([str(sanitized(tmp_path))], cwd=tmp_path, check=True)
    all_of_them, every_other = simulated(program, vectors), simulated(program, {n: v[1::2] for n, v in vectors.items()})
    assert all_of_them.halved >= 2 and all(all_of_them.saturated[1:]) and all(all_of_them.beyond)
    none = Simulated(program.monitoring, monitor_digest(program))
    assert (tmp_path / "dumps.bin").read_bytes() == all_of_them.dump() + every_other.dump() + none.dump()


FIRMWARE = """
#include "net.h"
static int8_t frame[NET_INPUT_SIZE], scores[NET_OUTPUT_SIZE];
uint8_t dump[NET_MONITOR_BYTES];
int main(void)
{
    uint32_t number, index;
    for (number = 0; number < 300u; number++) {
        for (index = 0; index < NET_INPUT_SIZE; index++)
            frame[index] = (int8_t)(number * 31u + index * index);
        if (net_run(frame, scores) != 0)
            return 1;
    }
    return net_monitor(dump);
}
"""


@needs_cross_compiler
def test_an_emulated_core_counts_the_same_and_check_knows_the_counters(tmp_path):
    board, usual = load_board("mps2-an386"), numpy.random.default_rng(1).integers(-100, 100, (50, 1, 1, 8, 8)).astype(numpy.int8)
    numpy.savez(tmp_path / "samples.npz", x=usual)
    words = ["--monitor", "on", "--monitor-samples", tmp_path / "samples.npz", "--name", "net"]
    made = aidge_build("compile", DIGITS, "--out", tmp_path, "--board", board.name, *words)
    assert made.exit_code == 0 and "monitor 48 B, weights" in made.stdout, made
    (tmp_path / "main.c").write_text(FIRMWARE)
    sources = [tmp_path / name for name in ("net.c", "net_weights.c", "main.c")]
    elf = build_program(board, sources, tmp_path / "app.elf", work_folder=tmp_path / "objects", include_folders=[tmp_path])
    assert ", monitor 48 B = plan" in aidge_build("check", elf, "--board", board.name).stdout
    dumped = tmp_path / "dump.bin"
    assert aidge_build("run", elf, "--board", board.name, "--emulator", "unicorn", "--dump", f"dump={dumped}").exit_code == 0
    program = program_with(DIGITS.read_bytes(), tmp_path, {"x": usual})
    numbers, index = numpy.arange(300)[:, None], numpy.arange(64)[None]
    frames = (numbers * 31 + index * index).astype(numpy.uint8).view(numpy.int8).reshape(300, 1, 1, 8, 8)
    counters = simulated(program, {program.view.given[0]: frames})
    assert counters.halved >= 1 and dumped.read_bytes() == counters.dump()
    judged = aidge_build("accuracy", DIGITS, "--monitor-samples", tmp_path / "samples.npz", "--field", dumped)
    assert judged.exit_code == 1 and "CHANGED: " in judged.stdout, judged


ROWS = model("y = Relu(x)", inputs="float[1,1,10,1] x", outputs="float[1,1,10,1] y")
MANY = model("y = Max(x, x)", inputs="int8[1,64] x", outputs="int8[1,64] y")


@pytest.mark.parametrize(
    ("data", "words", "reason"),
    [
        (ROWS, ("--monitor-samples", "x.npz"), "works only with --monitor"),
        (ROWS, ("--monitor", "on", "--output", "rows"), "--monitor: output 'y' is counted as a whole, and by rows it never is"),
        (
            MANY,
            ("--monitor", "on", "--max-step", "1500"),
            "--monitor: counting answers takes about 2,560 instructions, in one step",
        ),
    ],
)
def test_options_that_exclude_a_monitor_are_refused(data, words, reason, tmp_path):
    (tmp_path / "net.onnx").write_bytes(data)
    refused = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path, "--cpu", "cortex-m4", *words)
    assert refused.exit_code == 2 and reason in refused.stderr and refused.stderr.count("\n") == 1, refused


@pytest.mark.requirement("MONITOR")
def test_without_samples_saturation_and_answers_are_counted_and_the_build_says_so(tmp_path):
    made = aidge_build("compile", DIGITS, "--out", tmp_path, "--cpu", "cortex-m4", "--monitor", "on")
    assert made.exit_code == 0 and "has counters of saturation only: add --monitor-samples F.npz" in made.stdout, made
    assert "monitor 36 B" in made.stdout and "beyond++" not in (tmp_path / "digits.c").read_text()
    numpy.savez(tmp_path / "few.npz", x=numpy.zeros((19, 1, 1, 8, 8), numpy.int8))
    few = aidge_build("compile", DIGITS, "--out", tmp_path, "--monitor", "on", "--monitor-samples", tmp_path / "few.npz")
    assert few.exit_code == 2 and "has 19 samples, 20 or more say what is usual" in few.stderr, few
    (tmp_path / "wide.onnx").write_bytes(model("y = Neg(x)", inputs="float[1,70] x", outputs="float[1,70] y"))
    nothing = aidge_build("compile", tmp_path / "wide.onnx", "--out", tmp_path, "--monitor", "on")
    assert nothing.exit_code == 2 and "counts nothing of this model" in nothing.stderr, nothing
