# SPDX-License-Identifier: MIT
"""QEMU's timers follow the executed instructions: a program with interrupts is measured alike each time, and sleep takes none."""

from __future__ import annotations

import pytest

from aidge_build.run.emulate import supervision
from tests.command import aidge_build
from tests.programs import build, model, needs_cross_compiler, needs_qemu, needs_riscv

pytestmark = [needs_cross_compiler, needs_qemu]
BOARDS = ["mps2-an386", pytest.param("qemu_riscv32", marks=needs_riscv)]
TIMER = "((volatile uint32_t *)0xE000E010u)"
INTERRUPTED = f"""
static volatile uint32_t turns;
void SysTick_Handler(void) {{ turns++; }}
int main(void) {{
    {TIMER}[1] = 400u; /* 500 instructions */
    {TIMER}[2] = 0u;
    {TIMER}[0] = 7u;
    while (turns < %s)
        kws_run();
    return 0;
}}
"""
SLEEPS = f"""
static volatile uint32_t turns;
void SysTick_Handler(void) {{ turns++; }}
int main(void) {{
    kws_run();
    {TIMER}[1] = 0xFFFFFFu; /* 0.67 s */
    {TIMER}[2] = 0u;
    {TIMER}[0] = 7u;
    while (turns < 300u)
        __asm__ volatile("wfi");
    return 0;
}}
"""
# Each store to ICSR calls a handler of one instruction before the rest of its block is executed.
PENDS = """
__attribute__((naked)) void PendSV_Handler(void) { __asm__ volatile("bx lr"); }
static uint32_t ram[4];
int main(void) {
    for (uint32_t count = 0u; count < 100u; count++) {
        ram[0] += count;
        *(volatile uint32_t *)%s = 1u << 28;
        ram[1] += ram[0];
        ram[2] ^= ram[1];
    }
    return kws_run() == 0;
}
"""
# Reads and writes of one word in the middle of a block, before and after stores to RAM.
ACCESSES = """
static uint32_t ram[4];
static void access(volatile uint32_t *word) {
    for (uint32_t count = 0u; count < 100u; count++) {
        ram[0] += count;
        *word = ram[0] & 0xFFFFu;
        ram[1] += *word;
        ram[2] ^= ram[1];
        *word = ram[2] & 0xFFFFu;
        ram[3] += ram[2];
    }
}
int main(void) {
    access((volatile uint32_t *)%s);
    return kws_run() == 0;
}
"""
# SysTick calls a handler of 11 instructions 40 times, at any instruction of blocks that read and write peripherals.
TICKS = """
__attribute__((used)) static int turns;
__attribute__((naked)) void SysTick_Handler(void) {
    __asm__ volatile("ldr r0, =turns\\n ldr r1, [r0]\\n add r1, #1\\n str r1, [r0]\\n"
                     "sub r1, #40\\n asr r1, #31\\n and r1, #7\\n" /* 0 after 40 turns */
                     "ldr r0, =0xE000E010\\n str r1, [r0]\\n nop\\n bx lr");
}
static uint32_t ram[4];
int main(void) {
    volatile uint32_t *timer = (volatile uint32_t *)0x40000000;
    timer[0] = 1u;
    ((volatile uint32_t *)0xE000E010u)[1] = 37u;
    ((volatile uint32_t *)0xE000E010u)[0] = %s;
    for (uint32_t count = 0u; count < 1000u; count++) {
        ram[0] += count;
        timer[1] = (count & 15u) + 12u; /* before it is 0, mostly: QEMU ends a block where a timer would be 0 */
        ram[1] += timer[1];
        ram[2] ^= ram[1];
        ram[3] += ram[2];
    }
    return kws_run() == 0;
}
"""
PLACES = {"mps2-an386": ("0xE000E014u", "0x20000100u"), "qemu_riscv32": ("0x02004000u", "0x80010000u")}


def measured(text: str, folder, board: str = "mps2-an386", name: str = "app") -> dict:
    elf = build(board, model().split("int main(void)", 1)[0] + text, folder, name=name)
    return measure(elf, board)


def measure(elf, board: str) -> dict:
    done = aidge_build("run", elf, "--board", board, "--emulator", "qemu", "--json")
    assert done.exit_code == 0, done
    return done.json


def test_a_program_with_interrupts_is_measured_alike_each_time(tmp_path):
    first = measured(INTERRUPTED % 50, tmp_path)
    second = measure(tmp_path / "app.elf", "mps2-an386")
    assert first == second and first["runs"] > 10


def test_an_interrupt_between_a_call_and_the_run_function_hides_no_count(tmp_path):
    """One of 3000 interrupts comes there."""
    found = measured(INTERRUPTED % 3000, tmp_path)
    assert found["run_instructions"] is not None and found["runs"] > 300


def test_a_core_that_sleeps_skips_the_time_until_its_interrupt(tmp_path):
    """200 seconds of the board, of which the emulator needs a moment."""
    assert measured(SLEEPS, tmp_path)["instructions"] < 20_000


def test_an_interrupt_in_the_middle_of_a_block_adds_only_its_handler(tmp_path):
    pended, stored = (
        measured(PENDS % place, tmp_path, name=name)["instructions"]
        for place, name in (("0xE000ED04u", "pended"), ("0x20000100u", "stored"))
    )
    assert pended - stored == 100


def test_interrupts_between_accesses_to_peripherals_add_only_their_handlers(tmp_path):
    ticks, none = (measured(TICKS % control, tmp_path, name=f"ticks{control}")["instructions"] for control in (7, 5))
    assert ticks - none == 40 * 11


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("runs, code", [(2, 0), (0, 1)])
def test_a_program_that_sleeps_without_end_is_ended_and_its_function_named(tmp_path, monkeypatch, board, runs, code):
    monkeypatch.setattr(supervision, "_LOOK", 0.05)
    rest = '__attribute__((noinline)) void rest(void) { for (;;) __asm__ volatile("wfi"); }\n'
    text = f"{rest} int main(void) {{ for (int n = 0; n < {runs}; n++) kws_run(); rest(); }}"
    elf = build(board, model().split("int main(void)", 1)[0] + text, tmp_path)
    done = aidge_build("run", elf, "--board", board, "--emulator", "qemu", "--seconds", "60")
    ends = f"--inferences {runs} ends the run before" if runs else "no inference ended before"
    assert f"\nrest waits for an interrupt or a timer, which the emulator does not have: {ends}" in done.stdout
    assert done.exit_code == code


@pytest.mark.parametrize("board", BOARDS)
def test_an_instruction_that_reads_or_writes_a_peripheral_counts_once(tmp_path, board):
    peripheral, memory = (
        measured(ACCESSES % place, tmp_path, board, name)["instructions"]
        for place, name in zip(PLACES[board], ("peripheral", "memory"), strict=True)
    )
    assert peripheral == memory
