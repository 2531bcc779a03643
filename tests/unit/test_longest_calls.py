# SPDX-License-Identifier: MIT
"""What a caller hands over: arguments, arrays, a stack; and which memory of the program counts as objects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.prove.elf.image import Section
from aidge_build.prove.longest.calls import GIVEN, GIVEN_BYTES, Calls
from aidge_build.prove.longest.values import Span
from tests.listings import DATA, DATA_BYTES, TEXT, followed, listed, longest


def test_the_first_four_arguments_are_in_registers_and_the_others_on_the_stack() -> None:
    loads = "".join(f"ldr r{4 + at}, [sp, #{4 * at}]\n" for at in range(6))
    values = followed(f"f:\n{loads}ldrb r10, [sp, #20]\nbx lr", *range(9)).registers.values
    assert values[:11] == [*range(9), None, None] and followed("f:\nbx lr", 1).registers.values[:5] == [1, None, None, None, None]


def test_all_arguments_are_apart_from_errno_and_the_stack_is_aligned() -> None:
    count = len(GIVEN)
    text = f"f:\nmov r6, lr\nmov r4, #7\nbl __errno\nstr r4, [r0]\nldr r0, [sp, #{4 * (count - 5)}]\nbx r6\n__errno:\nbx lr"
    registers = followed(text, *range(count)).registers
    assert registers.values[0] == count - 1 and registers.values[13] % 8 == 0


def test_a_function_of_the_library_may_set_errno_and_keep_words_on_its_stack() -> None:
    rounds = "mov r2, #3\ncmp r0, r1\nbls .round\nmov r2, #4\n.round:\nsub r2, r2, #1\ncmp r2, #0\nbne .round\n"
    own = f"__aeabi_fdiv:\npush {{r4, lr}}\n{rounds}bl __errno\nmov r1, #33\nstr r1, [r0]\npop {{r4, pc}}\n"
    text = f"f:\npush {{r4, lr}}\nbl __aeabi_fdiv\npop {{r4, pc}}\n{own}__errno:\nbx lr"
    assert longest(text, None, None) == 3 + 1 + 4 + 4 * 3 + 5


@pytest.mark.parametrize("index", [0, 1, len(GIVEN) - 1])
def test_an_array_that_is_read_or_written_is_touched_from_its_first_to_its_last_word(index: int) -> None:
    first = GIVEN[index]
    for at in (first, first + GIVEN_BYTES - 4):
        for text in ("ldr r1, [r0]", "str r1, [r0]", "ldr r2, [r1]\nldr r1, [r0, r2]"):
            assert followed(f"f:\n{text}\nbx lr", at).memory.touched == {first}
    assert followed("f:\nldr r1, [sp, #-4]\nldr r1, [r0]\nbx lr", DATA).memory.touched == set()
    assert first % 8 == 0


def test_a_vector_that_is_stored_in_part_touches_no_array_behind_its_last_byte() -> None:
    text = "f:\nmov r6, lr\nmov r2, #1\ndlstp.32 lr, r2 | e001f022\nvstrw.32 q0, [r0] | 1f00ed80\nbx r6"
    assert followed(text, GIVEN[1] - 4).memory.touched == {GIVEN[0]}


def test_the_objects_are_the_variables_the_arrays_of_the_caller_and_its_stack() -> None:
    image, instructions = listed("f:\nbx lr")
    code, ram = image.sections
    function, array = image.symbols
    more = (
        replace(array, name="constant", address=TEXT),
        replace(array, name="behind", address=DATA + DATA_BYTES),
        replace(array, name="empty", address=DATA + 8, size_bytes=0),
        replace(function, name="moved", address=DATA + 12),
        replace(array, name="last", address=DATA + DATA_BYTES - 4, size_bytes=4),
    )
    calls = Calls(replace(image, symbols=(*image.symbols, *more)), instructions)
    variables = [Span(DATA, DATA + DATA_BYTES), Span(DATA + DATA_BYTES - 4, DATA + DATA_BYTES)]
    stack = Span(GIVEN[0] - GIVEN_BYTES, GIVEN[0])
    assert calls.objects.spans == [*variables, stack, *(Span(first, first + GIVEN_BYTES) for first in GIVEN)]


def test_only_memory_that_the_program_cannot_write_holds_constants() -> None:
    image, instructions = listed("f:\nldr r1, [r0]\nbx lr")
    code, ram = image.sections
    tables = [Section(".fixed", 0x9000, 4, 0x9000, writable, False, b"abcd") for writable in (False, True)]
    for table, known in zip(tables, (int.from_bytes(b"abcd", "little"), None), strict=True):
        calls = Calls(replace(image, sections=(code, ram, table)), instructions)
        assert calls.call(TEXT, (0x9000,), calls.memory(), 100).registers.values[1] == known
