# SPDX-License-Identifier: MIT
"""`check --task-stacks`: tasks of an operating system against the arrays that are their stacks."""

from __future__ import annotations

import pytest

from tests.command import aidge_build
from tests.programs import build, needs_cross_compiler

pytestmark = needs_cross_compiler
HELD = 400  # bytes that `listen` holds, besides saved registers
PROGRAM = f"""
#include <stdint.h>
volatile uint8_t sink;
__attribute__((aligned(8))) uint8_t large[1024], small[{HELD}];
__attribute__((noinline)) static void work(volatile uint8_t *data) {{ for (int at = 0; at < {HELD}; at++) sink += data[at]; }}
__attribute__((noinline, used)) static void listen(void) {{ volatile uint8_t data[{HELD}]; data[0] = 1; for (;;) work(data); }}
__attribute__((noinline, used)) int again(int depth) {{ return depth ? again(depth - 1) + again(depth - 2) : sink; }}
int main(void) {{ sink = large[0] + small[0]; if (sink) listen(); return sink ? again(sink) : 0; }}
"""


@pytest.fixture(scope="module")
def elf(tmp_path_factory):
    return build("stm32f4", PROGRAM, tmp_path_factory.mktemp("tasks"))


def checked(elf, words: str):
    return aidge_build("check", elf, "--board", "stm32f4", "--quiet", "STK02", "--task-stacks", words)


def test_a_task_is_bounded_with_a_switch_on_top(elf):
    result = checked(elf, "listen=large")
    assert result.exit_code == 0, result
    (line,) = [line for line in result.stdout.splitlines() if "stack of task" in line]
    words = line.replace(",", "").split()
    bound, switch, size = (int(words[at]) for at in (5, 8, 14))
    assert HELD <= bound <= HELD + 64 and size == 1024, line
    assert switch == 108 + 48 + 64  # the core pushes, the system saves; registers of the FPU count in both


def test_a_stack_that_is_too_small_fails_with_the_bytes_that_are_missing(elf):
    result = checked(elf, "listen=large,listen=small")
    assert result.exit_code == 1 and "error STK01: task listen may use" in result.stdout
    assert f"its stack small has {HELD} B" in result.stdout and "listen=large" not in result.stdout


def test_a_task_without_a_bound_is_an_error_although_stk02_is_quiet(elf):
    result = checked(elf, "again=large")
    assert result.exit_code == 1 and "error STK02: no stack bound of task again: recursion" in result.stdout


@pytest.mark.parametrize(("words", "missing"), [("listens=large", "function 'listens'"), ("listen=larger", "array 'larger'")])
def test_a_name_that_the_program_does_not_have_is_refused(elf, words, missing):
    result = checked(elf, words)
    assert result.exit_code == 2 and f"the program has no {missing}" in result.stderr
