# SPDX-License-Identifier: MIT
"""A relaxed instruction is accepted if it leads where the object says, and if what it leaves out is in no other instruction."""

from __future__ import annotations

import pytest

from aidge_build.prove.elf.code_proof import CodeProof, check_code
from aidge_build.prove.elf.image import Image, Section, Symbol
from aidge_build.prove.elf.objects import LinkedName, ObjectFile, ObjectSymbol, Part, Relocation
from aidge_build.prove.elf.riscv_relaxation import Change, most_removed
from aidge_build.prove.elf.riscv_relocations import ALIGN, CALL, HI20, PCREL_HI20, RELAX, TPREL_ADD, TPREL_HI20

BASE, GP, NEAR, FAR, OF_THREAD = 0x1000, 0x20000800, 0x20000610, 0x20123456, 0x1234
PCREL_LO12_I, LO12_I, TPREL_LO12_I = 24, 27, 30
ZERO, RA, TP, T2, A2, A3 = 0, 1, 4, 7, 12, 13
RET = (0x8082).to_bytes(2, "little")
SYMBOLS = ("f", "number", "far", "of_thread")


def lui(register: int, number: int = 0) -> bytes:
    return (number & 0xFFFFF000 | register << 7 | 0x37).to_bytes(4, "little")


def auipc(register: int, number: int = 0) -> bytes:
    return (number & 0xFFFFF000 | register << 7 | 0x17).to_bytes(4, "little")


def short_lui(register: int, pages: int) -> bytes:
    return (0x6001 | register << 7 | pages << 2).to_bytes(2, "little")


def lw(register: int, base: int, number: int = 0) -> bytes:
    return ((number & 0xFFF) << 20 | base << 15 | 2 << 12 | register << 7 | 3).to_bytes(4, "little")


ADD_TP = (TP << 20 | T2 << 15 | T2 << 7 | 0x33).to_bytes(4, "little")
CALL_F = (0x97).to_bytes(4, "little") + (0x80E7).to_bytes(4, "little")
UPPER = FAR + 0x800  # lower bits are signed
OF_NEAR = lui(A2) + lw(A3, A2) + RET
OF_THREAD_LOADED = lui(T2) + ADD_TP + lw(A3, T2) + RET
OF_PC = auipc(A2) + lw(A3, A2) + RET
PC_FIELDS = ((0, PCREL_HI20, 1), (4, PCREL_LO12_I, 0))  # the second names the first by the label f
NEAR_FIELDS = ((0, HI20, 1), (4, LO12_I, 1))
FAR_FIELDS = ((0, HI20, 2), (4, LO12_I, 2))
THREAD_FIELDS = ((0, TPREL_HI20, 3), (4, TPREL_ADD, 3), (8, TPREL_LO12_I, 3))


def proof(content: bytes, fields: tuple, stored: bytes, relaxed: tuple[int, ...] | None = None, begin: int = 0) -> CodeProof:
    """`fields` are (offset, kind, number of the symbol); `relaxed` are the offsets that the linker may relax, by default all."""
    offsets = {at for at, _, _ in fields} if relaxed is None else relaxed
    relocations = [Relocation(at, kind, symbol, 0) for at, kind, symbol in fields]
    relocations += [Relocation(at, RELAX, 0, 0) for at in offsets]
    part = Part(1, ".text", len(content), content, tuple(sorted(relocations)), False, False, 0, False, False)
    size = len(content) - begin
    own = ObjectSymbol("f", 1, begin, size, "function", "global", False)
    others = (ObjectSymbol(name, None, 0, 0, "other", "global", False) for name in SYMBOLS[1:])
    objects = ObjectFile("net.o", {1: part}, (own, *others), machine="RISCV")
    end = BASE + len(stored) - size if begin else BASE
    addresses = {"f": end, "number": NEAR, "far": FAR, "of_thread": OF_THREAD}
    names = {name: (LinkedName(at, name == "f", False),) for name, at in addresses.items()}
    pointer = Symbol("__global_pointer$", "__global_pointer$", GP, 0, "absolute", "")
    code = Section(".text", BASE, len(stored), BASE, False, True, stored)
    image = Image("a.elf", "RISCV", "", BASE, (code,), (pointer,), (), (), {pointer.name: (pointer,)})
    return check_code(image, names, [objects], ())


@pytest.mark.parametrize(
    "content, fields, stored",
    [
        (OF_NEAR, NEAR_FIELDS, lui(A2, NEAR) + lw(A3, A2, NEAR) + RET),
        (OF_NEAR, NEAR_FIELDS, lw(A3, 3, NEAR - GP) + RET),
        (OF_NEAR, FAR_FIELDS, lui(A2, UPPER) + lw(A3, A2, FAR) + RET),
        (lui(A2) + RET, NEAR_FIELDS[:1], RET),
        (OF_PC, PC_FIELDS, auipc(A2, NEAR - BASE) + lw(A3, A2, NEAR - BASE) + RET),
        (OF_PC, PC_FIELDS, lui(A2, NEAR) + lw(A3, A2, NEAR) + RET),
        (OF_PC, PC_FIELDS, lw(A3, 3, NEAR - GP) + RET),
        (OF_THREAD_LOADED, THREAD_FIELDS, lui(T2, OF_THREAD) + ADD_TP + lw(A3, T2, OF_THREAD) + RET),
        (lui(T2) + RET, ((0, HI20, 3),), short_lui(T2, 1) + RET),
    ],
)
def test_an_honest_form_is_accepted(content, fields, stored):
    found = proof(content, fields, stored)
    assert (found.findings, found.not_compared, found.functions) == ((), (), 1) and found.size_bytes == len(stored)


@pytest.mark.parametrize(
    "content, fields, stored, relaxed",
    [
        pytest.param(OF_NEAR, NEAR_FIELDS, lw(A3, A2, NEAR) + RET, None, id="nothing has the upper bits"),
        pytest.param(OF_NEAR, NEAR_FIELDS, lw(A3, 3, NEAR - GP) + RET, (4,), id="upper bits that may not be taken out"),
        pytest.param(lui(A2) + RET, FAR_FIELDS[:1], RET, None, id="upper bits of a distant symbol are taken out"),
        pytest.param(lui(T2) + RET, ((0, HI20, 3),), short_lui(A2, 1) + RET, None, id="short upper bits in another register"),
        pytest.param(lui(T2) + RET, ((0, HI20, 3),), short_lui(T2, 2) + RET, None, id="other short upper bits"),
        pytest.param(
            OF_THREAD_LOADED, THREAD_FIELDS, lui(T2, OF_THREAD) + lw(A3, T2, OF_THREAD) + RET, None, id="tp is not added"
        ),
        pytest.param(OF_PC, PC_FIELDS, lw(A3, A2, NEAR - BASE) + RET, None, id="nothing has the upper bits relative to pc"),
        pytest.param(OF_PC, PC_FIELDS, lui(A2, NEAR) + lw(A3, A2, NEAR - 4) + RET, None, id="lower bits relative to pc"),
        pytest.param(OF_PC, PC_FIELDS, auipc(A2, NEAR) + lw(A3, A2, NEAR - BASE) + RET, None, id="upper bits relative to pc"),
        pytest.param(OF_NEAR, NEAR_FIELDS, lw(A3, TP, NEAR - GP) + RET, None, id="tp instead of gp"),
    ],
)
def test_a_form_that_loses_a_part_of_an_address_is_found(content, fields, stored, relaxed):
    assert proof(content, fields, stored, relaxed).findings


def test_the_begin_of_a_part_is_searched_without_a_symbol_before_relaxed_code():
    """c.jal leads 2 bytes on."""
    stored = (0x2009).to_bytes(2, "little") + RET
    found = proof(CALL_F + RET, ((0, CALL, 0),), stored, begin=8)
    assert (found.findings, found.functions, found.size_bytes) == ((), 1, 4)


@pytest.mark.parametrize("before, most", [(0, 0), (1, 6), (8, 6), (9, 8), (16, 8), (17, 12)])
def test_all_nops_before_an_aligned_place_may_be_gone_and_an_instruction_as_far_as_its_forms_say(before, most):
    changes = (Change(0, ALIGN, 6), Change(8, ALIGN, 2), Change(16, HI20, 4, (4, 2, 0)))
    assert most_removed(changes, before) == most
