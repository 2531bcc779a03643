# SPDX-License-Identifier: MIT
"""Firmware with one mistake each: the command that docs/howto-wrong-result.md names for it says the cause."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy
import pytest

from tests.bench_firmware import (
    F4,
    M7,
    MISTAKES,
    MPS2,
    WINDOWS,
    compiler,
    generate,
    link,
    link_command,
    write_project,
    write_project_by_rows,
)
from tests.command import aidge_build
from tests.probe_board import probed
from tests.programs import needs_cross_compiler, needs_qemu

pytestmark = needs_cross_compiler


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    write_project(folder)
    generate(folder, F4)
    generate(folder, F4, model="other", into="gen_other")
    return folder


def checked(elf: Path, *words: str, board: str = F4.board):
    plan = elf.parent / "gen" / "gesture.plan.json"
    return aidge_build("check", elf, "--board", board, *(words or ("--plan", plan)))


def ran(elf: Path, *words: str, board: str = F4.board):
    samples = elf.parent / "test.npz"
    return aidge_build("run", elf, "--board", board, "--inferences", WINDOWS, "--io-data", samples, *words)


def findings(result) -> list[str]:
    """The severity and code of each finding."""
    return [line.split(": ")[1] for line in result.stdout.splitlines() if ": error " in line or ": warning " in line]


def test_firmware_without_a_mistake_gets_no_finding(folder):
    elf = link(F4, folder / "gen", "right")
    check, run = checked(elf), ran(elf)
    assert (check.exit_code, findings(check)) == (0, []) == (run.exit_code, findings(run)), (check, run)
    stored = aidge_build("verify", folder / "gesture.onnx", *against(elf))
    assert stored.exit_code == 0 and "right.elf beside 'y': 0 of 160 values differ" in stored.stdout


def against(elf: Path) -> tuple:
    return "--board", F4.board, "--io-data", elf.parent / "vectors.npz", "--reference", "y", "--against", elf


@pytest.mark.requirement("RUN05")
def test_inputs_of_another_scale_and_zero_point_are_named_with_both_in_the_emulator_and_over_a_probe(folder):
    assert_only_another_scale_is_named(folder / "gen")


@pytest.mark.requirement("RUN05")
def test_inputs_beside_an_arena_of_the_caller_are_compared_too(folder):
    generated = generate(folder, F4, "--arena", "caller", into="gen_arena")
    assert_only_another_scale_is_named(generated, "-DOWN_ARENA=0")


@pytest.mark.requirement("RUN05")
@pytest.mark.parametrize("options, flags", [((), ()), (("--arena", "caller"), ("-DOWN_ARENA=0",))])
def test_inputs_of_an_inference_in_steps_are_compared_too(folder, options, flags):
    generated = generate(folder, F4, "--max-step", "5000", *options, into=f"gen_steps{len(options)}")
    right, probe = assert_only_another_scale_is_named(generated, "-DIN_STEPS", *flags)
    assert "7 steps per inference" in right.stdout
    assert "2 inferences on STM32F407 (over the probe); cycles not measured: the firmware runs other code" in probe.stdout


def test_a_run_of_a_model_in_steps_is_one_call(folder):
    """N_run calls N_begin, which gets the same inputs again."""
    run = ran(link(F4, generate(folder, F4, "--max-step", "5000", into="gen_steps0"), "run"))
    assert (run.exit_code, findings(run)) == (0, []) and "7 steps per inference" in run.stdout


@pytest.mark.requirement("RUN05")
def test_rows_that_are_pushed_are_compared_as_whole_inputs(tmp_path):
    write_project_by_rows(tmp_path)
    assert_only_another_scale_is_named(generate(tmp_path, F4, "--input", "rows"), "-DBY_ROWS")


def assert_only_another_scale_is_named(generated: Path, *flags: str):
    """The right firmware has no finding; the wrong one has another scale, in the emulator and over a probe. Returns the run of
    the right one, and the run of the wrong one over the probe."""
    right, wrong = ran(link(F4, generated, "right", *flags)), link(F4, generated, "scale", *flags, MISTAKES["scale"])
    assert (right.exit_code, findings(right)) == (0, []) and "RUN05" not in right.stdout, right
    with probed(wrong, F4.board, loaded=True) as (where, _):
        probe = ran(wrong, "--probe", where, "--inferences", 2)
    for run, calls in ((ran(wrong), WINDOWS), (probe, 2)):
        assert run.exit_code == 1 and findings(run) == ["error RUN05"], run
        assert f"of {calls} of {calls} calls: quantized with a scale of about 0.00782 and a zero point of about 0;" in run.stdout
    return right, probe


@pytest.mark.requirement("RUN05")
def test_inputs_with_axes_in_another_order_are_named_with_the_order(folder):
    run = ran(link(F4, folder / "gen", "order", MISTAKES["order"]))
    assert run.exit_code == 1 and findings(run) == ["error RUN05"]
    assert "like samples (correlation 1.00 instead of" in run.stdout
    assert "if they are read as [1, 32, 1, 3], the axes 0, 3, 2, 1 of the model's [1, 3, 1, 32]: write them in" in run.stdout


def test_a_stale_header_is_named_by_the_explanation_of_the_failed_link(folder):
    command = link_command(F4, folder / "gen", folder / "stale.elf", include=folder / "gen_other")
    explained = aidge_build("explain", "--link", "--", *command)
    assert explained.exit_code == 1 and "error LINK_HEADER: main.c includes " in explained.stdout
    assert "gen_other/gesture.h" in explained.stdout and "the first header is out of date" in explained.stdout


@pytest.mark.requirement("DMA04")
def test_a_cache_that_hides_what_dma_wrote_is_named_with_the_array(folder):
    generated, cached, words = generate(folder, M7, into="gen7"), ("-DDATA_CACHE", "-DINVALIDATED"), ("--dma-arrays", "frame")
    check = checked(link(M7, generated, "cache", "-DDATA_CACHE"), *words, board=M7.board)
    assert findings(check) == ["warning DMA04"] and "the core may read old bytes of frame" in check.stdout
    for name, flags in (("uncached", ()), ("invalidated", cached), ("small", (*cached, "-Os"))):
        assert findings(checked(link(M7, generated, name, *flags), *words, board=M7.board)) == [], name


@pytest.mark.requirement("RUN04")
def test_a_stack_that_is_too_small_is_named_with_the_path_and_its_fault_with_the_overflow(folder):
    elf = link(F4, folder / "gen", "stack", stack_bytes=96)
    check, run = checked(elf), ran(elf)
    assert check.exit_code == 1 and findings(check) == ["error MEM12", "warning STK01"]
    assert "> 96 B reserved by __StackLimit to __StackTop" in check.stdout and "gesture_run" in check.stdout
    assert run.exit_code == 1 and "Hint: the stack overflowed: its pointer is " in run.stderr
    nearly = ran(link(F4, folder / "gen", "nearly", stack_bytes=192))
    assert nearly.exit_code == 0 and "warning RUN04: the stack was used down to the last word of its 192 B" in nearly.stdout


@pytest.mark.requirement("RUN03")
def test_an_fpu_that_nobody_switches_on_is_named_with_its_user(folder):
    run = ran(link(F4, folder / "gen", "fpu", MISTAKES["fpu"]))
    assert run.exit_code == 1 and findings(run) == ["error RUN03"] and "main uses the FPU" in run.stdout


def test_flags_of_floats_that_do_not_fit_are_named(folder):
    generated = folder / "gen"
    command = link_command(F4, generated, folder / "abi.elf", "-mfloat-abi=softfp")
    explained = aidge_build("explain", "--link", "--", *command)
    assert explained.exit_code == 1 and "error LINK_ABI: " in explained.stdout
    soft = [*compiler(F4, "-mfloat-abi=soft"), "-fsyntax-only", generated / "gesture.c"]
    assert (
        '#error "gesture was generated for cortex-m4 with an FPU' in subprocess.run(soft, capture_output=True, text=True).stderr
    )


def test_another_numerical_contract_is_named_with_the_one_of_the_notebook(folder):
    generated = generate(folder, F4, "--rounding", "tflite", into="gen_tflite")
    stored = aidge_build("verify", folder / "gesture.onnx", *against(link(F4, generated, "contract")))
    assert stored.exit_code == 1 and "contract.elf beside 'y': 10 of 160 values differ (largest difference 1)" in stored.stdout
    assert (
        "with --rounding onnx, 0 of 160 values differ: the stored outputs have that contract, the code has tflite"
        in stored.stdout
    )
    words = ("--board", F4.board, "--io-data", folder / "vectors.npz", "--reference", "y", "--rounding", "tflite")
    alone = aidge_build("verify", folder / "gesture.onnx", *words)
    assert alone.exit_code == 1 and "with --rounding onnx, 0 of 160 values differ" in alone.stdout


def test_weights_of_another_training_are_named_with_their_file(folder):
    elf = link(F4, folder / "gen_other", "weights")
    check = checked(elf)
    assert check.exit_code == 1 and findings(check) == ["error MEM04"] and "gen_other/gesture_weights.c, not from" in check.stdout
    accuracy = aidge_build(
        "accuracy", folder / "gesture.onnx", "--board", F4.board, "--elf", elf, "--labels", folder / "test.npz"
    )
    assert accuracy.exit_code == 2 and "weights.elf: does not hold this model" in accuracy.stderr


@pytest.mark.requirement("RUN01")
def test_an_arena_that_is_not_aligned_is_named_with_the_call_and_its_code(folder):
    run = ran(link(F4, generate(folder, F4, "--arena", "caller", into="gen_arena"), "arena", "-DOWN_ARENA=2"))
    assert run.exit_code == 1 and "error RUN01: gesture_run(0x2" in run.stdout
    assert "returned 1 in 6 of 6 calls: a pointer is null, misaligned or overlaps another buffer" in run.stdout

    assert "note RUN05: inputs were not compared: each call returned a code. Hint: RUN01" in run.stdout


@pytest.mark.requirement("RUN02")
def test_two_callers_of_one_arena_are_named_before_they_meet_and_when_they_do(folder):
    elf = link(F4, folder / "gen", "callers", MISTAKES["callers"])
    check = checked(elf)
    assert findings(check) == ["warning RUN02"] and "SysTick_Handler, main call gesture_run, which has one arena" in check.stdout


@needs_qemu
def test_qemu_sees_when_callers_meet_who_is_refused_and_where_a_fault_occurs(folder):
    """QEMU has interrupts and faults; its plug-in sees no registers."""
    generated, own = generate(folder, MPS2, into="gen_mps2"), generate(folder, MPS2, "--arena", "caller", into="gen_own")
    words = ("--emulator", "qemu")
    met = ran(link(MPS2, generated, "met", MISTAKES["callers"]), *words, "--inferences", 300, board=MPS2.board)
    assert "RUN02: SysTick_Handler calls gesture_run while the call that returns to main has not ended" in met.stdout
    refused = ran(link(MPS2, own, "refused", "-DOWN_ARENA=2"), *words, board=MPS2.board)
    assert "RUN01: gesture_run returned before its first layer in 6 of 6 calls" in refused.stdout
    assert "RUN05: inputs were not compared: " in refused.stdout
    faulty = ran(link(MPS2, generated, "faulty", MISTAKES["fpu"]), *words, board=MPS2.board)
    assert faulty.exit_code == 1 and "which a fault or an interrupt entered from main (0x" in faulty.stderr
    assert "with instructions of the FPU: is it on (CPACR)" in faulty.stderr


@pytest.mark.requirement("RUN06")
def test_a_clock_that_was_never_raised_is_named_with_the_time_that_it_costs(folder):
    run = ran(link(F4, folder / "gen", "clock", MISTAKES["clock"]))
    assert findings(run) == ["warning RUN06"]
    assert "SystemCoreClock is 16 MHz after the run, the board's file says 168 MHz: 0.702 ms per inference" in run.stdout


def test_scores_that_the_firmware_reads_wrongly_are_right_in_its_memory(folder):
    elf = link(F4, folder / "gen", "answer", MISTAKES["answer"])
    run = ran(elf, "--inferences", 1, *(word for name in ("scores", "answers") for word in ("--dump", f"{name}={folder / name}")))
    assert (run.exit_code, findings(run)) == (0, [])
    scores, wanted = (folder / "scores").read_bytes(), numpy.load(folder / "vectors.npz")["y"][0]
    assert scores == wanted.tobytes() and (folder / "answers").read_bytes()[0] != wanted.argmax()


def test_a_record_of_a_device_is_compared_with_samples_too(folder):
    elf = link(F4, generate(folder, F4, "--record", "3", into="gen_record"), "record", "-DWRONG_SCALE")
    dump = folder / "ram.bin"
    assert aidge_build("run", elf, "--board", F4.board, "--inferences", 4, "--dump", f"gesture_record={dump}").exit_code == 0
    words = ("--board", F4.board, "--elf", elf, "--replay", dump, "--io-data", folder / "test.npz")
    replayed = aidge_build("verify", folder / "gesture.onnx", *words)
    assert replayed.exit_code == 1 and "of 3 of 3 calls: quantized with a scale of about 0.00782" in replayed.stdout
