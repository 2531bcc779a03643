# SPDX-License-Identifier: MIT
"""Which functions may know the address of VTOR, and which stores reach it, from texts of instructions."""

from __future__ import annotations

import pytest

from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.vector_moves import Move, functions_near_system, vector_moves
from tests.listings import TEXT, listed

VTOR = 0xE000ED08
LARGE = 1 << 16  # the smallest number that is more than an offset


def code_of(text: str, data: dict[str, bytes] | None = None) -> Code:
    return Code(*listed(f"f:\n{text}\nbx lr\ng:\nnop\nbx lr", data))


@pytest.mark.parametrize(
    "text, is_read",
    [
        (f"orr r0, r1, #{0xE0000000}", True),
        (f"orr r0, r1, #{0xE0FFFFFF}", True),
        (f"orr r0, r1, #{0xE1000000}", False),
        (f"orr r0, r1, #{0xDFFFFFFF}", False),
        (f"bic r0, r1, #{0x1F000000}", True),
        (f"bic r0, r1, #{0x1FFFFFFF}", True),
        (f"bic r0, r1, #{0x20000000}", False),
        (f"bic r0, r1, #{0x1EFFFFFF}", False),
        ("movt r0, #57344", True),
        ("movt r0, #57599", True),
        ("movt r0, #57600", False),
        ("movt r0, #57343", False),
        ("cmp r0, #0", False),
        (f"mov r0, #{0xDFFF0000}", True),
        (f"mov r0, #{0xDFFEFFFF}", False),
        (f"mov r0, #{0xE1000000}", False),
        (f"mvn r0, #{~VTOR & 0xFFFFFFFF}", True),
        (f"mov r0, #{0xDFFE0000}\nadd r0, r0, #{LARGE}", True),
        (f"mov r0, #{0xDFFE0000}\nadd r0, r0, #{LARGE - 1}", False),
        (f"mov r1, #{LARGE}\nadd r0, r0, r1\nadd r0, r0, r1", True),
        (f"mov r1, #{LARGE - 1}\nadd r0, r0, r1\nadd r0, r0, r1", False),
        (f"mov r1, #{LARGE}\nadd r0, r0, r1\nadd r0, r0, r2", False),
        (f"mov r1, #{LARGE}\nadd r0, r1\nsub r0, r1", True),
        (f"mov r1, #{LARGE}\nmov r0, #{LARGE}\nadd r0, r2, r1", False),
        (f"mov r1, #{LARGE}\nadd r0, r0, r1\nmov r0, r5\nadd r0, r0, r1", False),
        (f"mov r1, #{LARGE}\nadd r4, r4, r1\nadd r5, r6, r4\nadd r7, r4, r1", True),
        (f"mov r1, #{LARGE}\nadd r4, r4, r1\numull r5, r4, r2, r3\nadd r7, r4, r1", False),
        (f"mov r1, #{LARGE}\nadd r0, r0, r1\nbl g\nadd r4, r4, r1", False),
        (f"mov r1, #{LARGE}\nadd r4, r4, r1\nblx r5\nadd r4, r4, r1", False),
        (f"mov r6, #{LARGE}\nadd r4, r4, r6\nblx r5\nadd r4, r4, r6", True),
    ],
)
def test_a_function_is_read_if_its_numbers_may_become_an_address_of_the_system_control_space(text, is_read):
    code = code_of(text)
    assert {code.name(address) for address in functions_near_system(code)} == ({"f"} if is_read else set())


def test_functions_that_may_load_such_an_address_or_a_pointer_to_it_are_read():
    """A load reaches words less than 4096 bytes after it."""
    far = 1100 * "nop\n"
    for word, names in ((VTOR, {"near"}), (0xDFFF0000, {"near"}), (0xDFFEFFFF, set()), (0xE1000000, set())):
        code = Code(*listed(f"f:\n{far}bx lr\nnear:\nnop\nbx lr", {"word": word.to_bytes(4, "little")}))
        assert {code.name(address) for address in functions_near_system(code)} - {"f"} == names


ADDRESS = f"movw r0, #{VTOR & 0xFFFF}\nmovt r0, #{VTOR >> 16}\nmovw r1, #256\nmovw r2, #512\n"


@pytest.mark.parametrize(
    "text, moves",
    [
        ("str r1, [r0]", [(0x10, 256)]),
        ("str r3, [r0]", [(0x10, None)]),
        ("sub r0, #8\nstr r1, [r0, #8]", [(0x14, 256)]),
        ("sub r0, #4\nstrd r1, r2, [r0]", [(0x14, 512)]),
        ("strd r1, r2, [r0]", [(0x10, 256)]),
        ("sub r0, #4\nstm r0, {r1, r2}", [(0x14, 512)]),
        ("stmia r0!, {r1, r2}", [(0x10, 256)]),
        ("add r0, #4\nstmdb r0!, {r1}", [(0x14, 256)]),
        ("add r0, #8\nstmdb r0!, {r1, r2}", [(0x14, 256)]),
        ("add r0, #4\nstmdb r0!, {r1, r2}", [(0x14, 512)]),
        ("strb r1, [r0]", [(0x4, "takes VTOR's address")]),
        ("ldr r3, [r0]", []),
        ("bl g", [(0x10, "gives VTOR's address to g")]),
        ("blx r5", [(0x10, "gives VTOR's address to another function")]),
        ("b g", [(0x10, "gives VTOR's address to g")]),
        ("mov r4, r0\nmovs r0, #0\nbl g", [(0x4, "takes VTOR's address")]),
        ("sub r0, #8\nbl g", [(0x14, "gives VTOR's address to g")]),
        ("mov r3, r0\nmovs r0, #0\nbl g", [(0x18, "gives VTOR's address to g")]),
        ("str r0, [r5]", [(0x10, "keeps VTOR's address")]),
        ("str r0, [sp, #4]", [(0x4, "takes VTOR's address")]),
        ("str r1, [r0, r5]", [(0x10, "stores at an index that is not known, which VTOR may have")]),
    ],
)
def test_each_use_of_the_address_of_vtor_is_named(text, moves):
    found = vector_moves(code_of(ADDRESS + text))
    expected = [(place, None, said) if isinstance(said, str) else (place, said, "") for place, said in moves]
    assert [(int(move.where, 16) - TEXT, move.table, move.instead) for move in found] == expected


@pytest.mark.parametrize("before, is_named", [(0, True), (4, True), (1, False), (2, False)])
def test_a_word_of_data_with_the_address_of_vtor_is_named(before, is_named):
    code = code_of("nop", {"array": bytes(before) + VTOR.to_bytes(4, "little")})
    where = code.image.describe(code.image.sections[0].end - 4 - -before % 4)
    assert vector_moves(code) == ((Move(where, None, "holds VTOR's address"),) if is_named else ())


@pytest.mark.parametrize("state", [0, 0x20000])
@pytest.mark.parametrize(
    "base, may_reach",
    [(0xE000DFFC, False), (0xE000E000, True), (0xE000E00C, True), (0xE000E010, False), (0xE000E5EC, False), (0xE000E5F0, True)]
    + [(0xE000ED08, True), (0xE000ED0C, False)],
)
def test_a_store_at_an_unknown_index_may_reach_vtor_from_where_no_array_of_registers_begins(base, may_reach, state):
    """The non-secure state has its own addresses."""
    text = f"movw r0, #{base & 0xFFFF}\nmovt r0, #{base + state >> 16}\nstr r1, [r0, r5]"
    assert any("an index" in move.instead for move in vector_moves(code_of(text))) == may_reach


@pytest.mark.parametrize(
    "begin, is_given", [(0xE000ED00, True), (0xE002ED00, True), (0xE000ED04, False), (0xE000ED08, True), (0xE002ED08, True)]
)
def test_a_function_that_gets_the_begin_of_the_control_block_may_store_to_vtor(begin, is_given):
    moves = vector_moves(code_of(f"movw r0, #{begin & 0xFFFF}\nmovt r0, #{begin >> 16}\nbl g"))
    assert any(move.instead == "gives VTOR's address to g" for move in moves) == is_given
