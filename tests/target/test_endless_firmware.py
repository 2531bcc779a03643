# SPDX-License-Identifier: MIT
"""Firmware that never returns is run until somebody has seen enough, and what was measured until then is told."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from aidge_build.base import terminal
from aidge_build.cli.run_stops import end_lines
from aidge_build.run.emulate import End, RunResult, Stops, block_counter
from tests.command import aidge_build
from tests.programs import CLAIM, build, model, needs_cross_compiler, needs_qemu, note

pytestmark = [needs_cross_compiler, needs_qemu]
BOARD = "mps2-an386"
EMULATORS = ("unicorn", "qemu")
# Prints a line per inference, which take more and more instructions; every third one is announced.
ENDLESS = """int main(void) {
    for (int round = 0;; round++) {
        semihosting_write_integer(kws_run());
        semihosting_write0("\\n");
        if (round % 3 == 2) announce();
    }
}
"""
ANNOUNCE = '__attribute__((noinline)) void announce(void) { __asm__ volatile(""); }\n'


@pytest.fixture(scope="module")
def elf(tmp_path_factory):
    return firmware(tmp_path_factory.mktemp("endless"))


def look_first_at(monkeypatch, instructions):
    """Both counters look for a wait so early."""
    for counter in ("block_counter", "python_counter"):
        monkeypatch.setattr(f"aidge_build.run.emulate.{counter}.FIRST_LOOK", instructions)


def firmware(tmp_path, main: str = ENDLESS, name: str = "app"):
    text = model().split("int main(void)", 1)[0]
    slower = text.replace(
        "{ kws_conv(); return", "{ static int n; for (volatile int i = 0; i < n; i++) {} n++; kws_conv(); return"
    )
    assert slower != text
    return build(BOARD, slower + ANNOUNCE + main, tmp_path, name=name)


def run(elf, *words, emulator: str = "unicorn"):
    return aidge_build("run", elf, "--board", BOARD, "--emulator", emulator, *words, "--json")


def run_text(elf, *words) -> str:
    return aidge_build("run", elf, "--board", BOARD, "--emulator", "unicorn", *words).stdout


@pytest.mark.parametrize("emulator", EMULATORS)
def test_a_run_ends_after_the_inferences_that_were_asked_for(elf, emulator):
    two, three = (run(elf, "--inferences", count, emulator=emulator) for count in ("2", "3"))
    assert (two.exit_code, three.exit_code) == (0, 0), three.stderr
    found = three.json
    assert (found["runs"], found["ended_by"], found["exit_code"]) == (3, "inferences", None)
    # The third returned; the program is stopped before it prints what it says.
    assert found["stdout"] == "192\n192\n" and two.json["run_instructions"] < found["run_instructions"] < found["instructions"]
    layers = [layer["instructions"] for layer in found["layers"]]
    assert 2 * layers[0] == 3 * two.json["layers"][0]["instructions"] > 0


def test_both_emulators_stop_at_the_same_instruction(elf):
    for words in (("--inferences", "4"), ("--until", "announce"), ("--until", "announce", "--inferences", "2")):
        first, second = (run(elf, *words, emulator=emulator).json for emulator in EMULATORS)
        for key in ("runs", "instructions", "run_instructions", "stdout", "ended_by", "stack_high_water_bytes"):
            assert first[key] == second[key], (words, key)
    assert first["ended_by"] == "inferences" and first["runs"] == 2


@pytest.mark.parametrize("emulator", EMULATORS)
def test_of_the_inference_in_which_a_program_is_stopped_nothing_is_counted(elf, emulator):
    whole = run(elf, "--inferences", "2", emulator=emulator).json
    stopped = run(elf, "--instructions", str(whole["instructions"] + 700), emulator=emulator)
    found = stopped.json
    assert stopped.exit_code == 0 and found["ended_by"] == "instructions" and found["ended_at"].startswith(("kws_", "kernel"))
    for key in ("runs", "run_instructions", "run_cycles_estimated", "run_flash_lines", "layers"):
        assert found[key] == whole[key], key
    assert 700 <= found["instructions"] - whole["instructions"] < 760


def test_a_machine_without_a_compiler_stops_at_the_same_instruction(elf, monkeypatch):
    words = [("--inferences", "3"), ("--until", "announce"), ("--instructions", "9000")]
    counted = [run(elf, *each).json for each in words]
    monkeypatch.setattr(block_counter, "shared_library", lambda *_: None)
    for each, with_compiler in zip(words, counted, strict=True):
        found = run(elf, *each).json
        cycles = ("run_cycles_estimated", "run_code_stalls", "run_data_stalls")
        for key in ("runs", "instructions", "run_instructions", "ended_by", "ended_at", *cycles):
            assert found[key] == with_compiler[key], (each, key)
        assert found["layers"] == with_compiler["layers"]


def test_lines_say_why_a_run_ended_and_how_far_inferences_differ(elf):
    said = aidge_build("run", elf, "--board", BOARD, "--until", "announce").stdout
    assert said.startswith("192\n192\n192\n") and "\nended at announce\n" in said
    assert "3 inferences" not in said and " per inference (" in said and " to " in said
    one = aidge_build("run", elf, "--board", BOARD, "--inferences", "1").stdout
    assert " per inference on" in one


@pytest.mark.parametrize("emulator", EMULATORS)
def test_a_run_ends_when_its_seconds_have_passed(elf, emulator):
    began = time.monotonic()
    result = run(elf, "--seconds", "0.5", emulator=emulator)
    assert 0.5 <= time.monotonic() - began < 10
    assert result.exit_code == 0 and result.json["ended_by"] == "seconds" and result.json["runs"] > 0


@pytest.mark.parametrize("emulator", EMULATORS)
def test_an_interrupted_run_says_at_once_what_was_measured(elf, emulator):
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(1.0, interrupt)
    timer.start()
    result = run(elf, emulator=emulator)
    assert result.exit_code == 130 and time.monotonic() - sent[0] < 2
    assert result.json["ended_by"] == "interrupt" and result.json["runs"] > 0
    assert result.json["stdout"].startswith("192\n192\n")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_qemu_ends_with_a_command_that_was_killed(elf):
    def runs(process: Path) -> bool:
        with contextlib.suppress(OSError):  # it has ended
            return str(elf) in (process / "cmdline").read_text() and "qemu_plugin-" in (process / "maps").read_text()
        return False

    def any_runs() -> bool:
        return any(map(runs, Path("/proc").glob("[0-9]*")))

    def wait_until(holds) -> bool:
        return any(holds() or time.sleep(0.05) for _ in range(400))

    words = ("run", str(elf), "--board", BOARD, "--emulator", "qemu")
    command = subprocess.Popen(
        [sys.executable, "-m", "aidge_build", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert wait_until(any_runs)
    time.sleep(0.1)  # the plug-in is loaded and begins
    command.kill()
    command.wait()
    assert wait_until(lambda: not any_runs())


@pytest.mark.parametrize("emulator", EMULATORS)
def test_what_was_asked_for_and_did_not_come_is_a_failure(tmp_path, emulator):
    elf = firmware(tmp_path, "int main(void) { if (kws_run() == 7) announce(); return 0; }", "ends")
    result = run(elf, "--inferences", "2", emulator=emulator)
    assert result.exit_code == 1 and result.json["ended_by"] == "exit" and result.json["runs"] == 1
    said = aidge_build("run", elf, "--board", BOARD, "--emulator", emulator, "--inferences", "2").stdout
    assert "an inference number 2 (there were 1) was asked for and did not come" in said
    waited = aidge_build("run", elf, "--board", BOARD, "--emulator", emulator, "--until", "announce").stdout
    assert "announce was asked for and did not come" in waited


@pytest.mark.parametrize("emulator", EMULATORS)
def test_main_may_end_in_a_loop_and_a_fault_handler_may_not(tmp_path, emulator):
    waits = firmware(tmp_path, "int main(void) { kws_run(); announce(); for (;;) {} }", "waits")
    result = run(waits, emulator=emulator)
    assert result.exit_code == 0 and result.json["ended_by"] == "endless loop" and result.json["runs"] == 1
    stuck = '__attribute__((noinline)) void stuck(void) { for (;;) __asm__ volatile(""); }\n'
    result = run(firmware(tmp_path, stuck + "int main(void) { kws_run(); stuck(); return 0; }", "stuck"), emulator=emulator)
    assert result.exit_code == 1 and "stops in an endless loop at stuck" in result.stderr


def test_a_run_that_was_stopped_in_a_wait_for_an_interrupt_names_the_function_and_what_ends_the_run_before(tmp_path):
    delay = """volatile unsigned tick;
    __attribute__((noinline)) unsigned get_tick(void) { return tick; }
    __attribute__((noinline)) void delay(unsigned wait) {
        unsigned begin = get_tick();
        while (get_tick() - begin < wait) {}
    }
    """
    waits = firmware(tmp_path, delay + "int main(void) { for (;;) { kws_run(); delay(5); } }", "waits")
    said = run_text(waits, "--inferences", "3", "--instructions", "20000")
    assert (
        "\ndelay waits for an interrupt or a timer, which the emulator does not have: --inferences 1 ends the run before\n"
        in said
    )
    assert " instructions with the wait in delay, " in said
    counts = firmware(tmp_path, delay + "int main(void) { kws_run(); for (;;) tick++; }", "counts")
    assert "waits for" not in run_text(counts, "--instructions", "20000")
    works = firmware(tmp_path, "int main(void) { for (;;) kws_run(); }", "works")
    assert "waits for" not in run_text(works, "--instructions", "20000")


DELAY = """volatile unsigned tick;
__attribute__((noinline)) void delay(unsigned wait) { for (unsigned begin = tick; tick - begin < wait;) {} }
"""


@pytest.mark.parametrize("has_compiler", [True, False])
def test_a_run_ends_by_itself_in_a_wait_that_only_an_interrupt_would_end(tmp_path, monkeypatch, has_compiler):
    look_first_at(monkeypatch, 30_000)
    if not has_compiler:
        monkeypatch.setattr(block_counter, "shared_library", lambda *_: None)
    kept = "volatile unsigned sum; int main(void) { for (;;) { kws_run(); for (int i = 0; i < 9; i++) sum += i; delay(5); } }"
    waits = firmware(tmp_path, DELAY + kept, "waits")
    found = run(waits)
    assert (found.exit_code, found.json["runs"], found.json["ended_by"]) == (0, 1, "endless loop")
    assert 30_000 <= found.json["instructions"] < 30_010 and found.json["ended_at"].startswith("delay")
    wanted = run(waits, "--inferences", "2")
    assert wanted.exit_code == 1 and wanted.json["runs"] == 1
    early = aidge_build(
        "run", firmware(tmp_path, DELAY + "int main(void) { delay(5); return kws_run(); }", "early"), "--board", BOARD
    )
    assert early.exit_code == 1 and "delay waits for an interrupt or a timer" in early.stdout
    assert "no inference ended before" in early.stdout
    second = note({**CLAIM, "model": "second"})
    several = aidge_build("run", firmware(tmp_path, DELAY + second + kept, "several"), "--board", BOARD)
    assert several.exit_code == 0 and "an unknown number of inferences ended before" in several.stdout


def test_what_a_look_for_waits_tries_leaves_the_program_as_it_is(tmp_path, monkeypatch):
    rounds = "for (int i = 0; i < 3; i++) { kws_run(); n++; } while (n < 900) n++;"
    elf = firmware(tmp_path, f"volatile unsigned n; int main(void) {{ {rounds} return n - 900; }}", "counts")
    usual = run(elf)
    look_first_at(monkeypatch, 900)
    assert usual.exit_code == 0 and run(elf).json == usual.json


@pytest.mark.parametrize("word", ["wfi", "wfe", "wfi.w", "wfe.w"])
def test_a_wait_for_an_interrupt_ends_at_once_and_a_loop_around_it_is_named(tmp_path, monkeypatch, word):
    """As a core may do, so the inferences after it are counted."""
    sleep = f'__attribute__((noinline)) void sleep(void) {{ __asm__ volatile("{word}"); }}\n'
    found = run(firmware(tmp_path, sleep + "int main(void) { for (;;) { kws_run(); sleep(); } }", "sleeps"), "--inferences", "3")
    assert (found.exit_code, found.json["runs"]) == (0, 3)
    look_first_at(monkeypatch, 30_000)
    flag = f'volatile int flag; int main(void) {{ kws_run(); while (!flag) __asm__ volatile("{word}"); return 0; }}'
    assert "\nmain waits for an interrupt or a timer" in run_text(firmware(tmp_path, flag, "flag"))


@pytest.mark.parametrize("word", ["wfi", "wfe"])
def test_an_invalid_instruction_after_a_wait_stops_the_run_and_rounds_of_waits_do_not(tmp_path, word):
    rounds = f'for (int i = 0; i < 3; i++) __asm__ volatile("{word}");'
    assert run(firmware(tmp_path, f"int main(void) {{ {rounds} kws_run(); return 0; }}", "rounds")).exit_code == 0
    trap = f'int main(void) {{ kws_run(); __asm__ volatile("{word}"); __builtin_trap(); }}'
    stopped = run(firmware(tmp_path, trap, "trap"))
    assert stopped.exit_code == 1 and "stops with 'Invalid instruction" in stopped.stderr and "at main+" in stopped.stderr


def test_a_loop_that_reads_no_variable_is_no_wait_for_an_interrupt_but_the_end_of_a_fault_handler(tmp_path, monkeypatch):
    look_first_at(monkeypatch, 30_000)
    handler = '__attribute__((noinline)) void failed(void) { for (;;) __asm__ volatile("nop"); }\n'
    found = run(firmware(tmp_path, handler + "int main(void) { kws_run(); failed(); }", "failed"))
    assert found.exit_code == 1 and "stops in an endless loop at failed" in found.stderr


@pytest.mark.parametrize(
    "words, reason",
    [
        (("--until", "nowhere"), "the program has no symbol nowhere"),
        (("--inferences", "0"), "'0' is no number from 1 to"),
        (("--seconds", "nan"), "'nan' is no number from 0.001 to"),
        (("--instructions", "1e9"), "'1e9' is no number from 1 to"),
    ],
)
def test_an_end_that_cannot_come_is_refused(elf, words, reason):
    result = run(elf, *words)
    assert result.exit_code == 2 and reason in result.stderr


def test_inferences_of_a_program_without_a_model_are_refused(tmp_path):
    elf = build(BOARD, "int main(void) { for (;;) {} }", tmp_path)
    result = run(elf, "--inferences", "2")
    assert result.exit_code == 2 and "of a program with one model, and this one has 0" in result.stderr


def test_inferences_in_steps_are_refused_in_qemu(tmp_path):
    functions = ["kws_run", "kws_begin", "kws_step", "kws_end"]
    text = (
        model(claim={"functions": functions, "steps": {"max_step": 1000, "count": 2}})
        .split("int main(void)", 1)[0]
        .replace("kws_run(void)", "kws_step(void)")
    )
    result = run(
        build(BOARD, f"{text} int main(void) {{ for (;;) kws_step(); }}", tmp_path), "--inferences", "2", emulator="qemu"
    )
    assert result.exit_code == 2 and "counts calls of kws_run, and this program calls kws_step instead" in result.stderr


def test_long_work_says_how_far_it_is_where_nobody_sees_stderr_even_if_it_keeps_no_lines():
    """Quantizing takes a minute with many samples; before the first seconds are over it says nothing."""
    with terminal.counting("QUANT", is_kept=False) as progress:
        progress("samples", 3, 300)
        assert terminal._waiting.how_far() == "3/300  samples"
    assert terminal._waiting is None


@pytest.mark.parametrize("is_kept", [False, True])
def test_the_line_of_a_long_run_says_how_far_it_is(monkeypatch, is_kept):
    class Stream:
        text = ""

        def write(self, text):
            self.text += text
            told.set()

        def flush(self): ...

    told, stream = threading.Event(), Stream()
    for seconds in ("_PATIENCE_SECONDS", "_KEPT_SECONDS"):
        monkeypatch.setattr(terminal, seconds, 0.01)
    monkeypatch.setattr(terminal.sys, "stderr", stream)
    line = terminal.Waiting("RUN", is_kept)
    monkeypatch.setattr(terminal, "_waiting", line)
    with terminal.telling(lambda: "1,234 instructions, 5 inferences"):
        line.start()
        assert told.wait(5)
    line.end()
    assert "RUN    0 s, 1,234 instructions, 5 inferences" in stream.text and ("\x1b" not in stream.text) == is_kept


def test_a_run_at_its_limit_says_what_was_executed_and_what_to_type():
    counts = dict(instructions=20_000_000_000, run_instructions=3, runs=1, layers=(), stack_high_water_bytes=None)
    result = RunResult(None, "", **counts, emulator="unicorn", ended=End.LIMIT, ended_at="main+0x8 (0x08000100)")
    (line,) = end_lines(result, Stops())
    assert line.startswith(
        "not ended after 20,000,000,000 instructions and 1 inference, at main+0x8 (0x08000100). Hint: firmware "
    )
    assert "run with --inferences N, --until SYMBOL, --instructions N or --seconds S" in line


def test_the_stack_of_an_inference_is_measured_where_nothing_says_which_memory_the_stack_is(tmp_path):
    """As in most firmware: its linker script has other names. What lies between two depths is what a larger array adds."""
    used = []
    for size in (400, 1000):
        array = f"{{ volatile char big[{size}]; for (int i = 0; i < {size}; i++) big[i] = 1; kws_conv(); return"
        text = model().split("int main(void)", 1)[0].replace("{ kws_conv(); return", array)
        elf = build(BOARD, text + "int main(void) { for (;;) kws_run(); }", tmp_path, name=f"array{size}")
        known = run(elf, "--inferences", "2").json
        subprocess.run(["arm-none-eabi-objcopy", "--strip-symbol=__stack_limit", str(elf)], check=True)
        found = [run(elf, "--inferences", "2", emulator=emulator).json for emulator in EMULATORS]
        used += [each["inference_stack_bytes"] for each in found]
        assert known["inference_stack_bytes"] is None and found[0]["stack_high_water_bytes"] is None
        assert size < used[-1] < size + 48 and used[-1] <= known["stack_high_water_bytes"] < used[-1] + 40
    assert used[0] == used[1] and used[2] == used[3] == used[0] + 600
    said = aidge_build("run", elf, "--board", BOARD, "--inferences", "2").stdout
    assert f"stack {used[2]:,} B used by an inference, arena 64 of 512 B written" in said
