# SPDX-License-Identifier: MIT
"""RISC-V instructions as their bytes say them."""

from __future__ import annotations

import pytest

from aidge_build.contract.riscv.instruction import (
    MOST_VECTOR_BYTES,
    OTHER,
    STORE,
    TRAP,
    UNKNOWN,
    Instructions,
    Operation,
    instruction_at,
)

# As GNU as 2.40 writes them.
WRITTEN = {
    "addi sp, sp, -2032": (0x81010113, Operation("addi", "sp", "sp", number=-2032)),
    "lui t0, 0xffffe": (0xFFFFE2B7, Operation("lui", "t0", number=0xFFFFE000)),
    "auipc ra, 0x10": (0x00010097, Operation("auipc", "ra", number=0x10000)),
    "sub sp, sp, t1": (0x40610133, Operation("sub", "sp", "sp", "t1")),
    "sh2add a5, a5, a4": (0x20E7C7B3, Operation("sh2add", "a5", "a5", "a4")),
    "lw ra, 44(sp)": (0x02C12083, Operation("lw", "ra", "sp", number=44)),
    "sw s11, -4(s0)": (0xFFB42E23, Operation("sw", "", "s0", "s11", -4, 4)),
    "sb a0, 13(a1)": (0x00A586A3, Operation(STORE, "", "a1", "a0", 13, 1)),
    "fsw fs0, 12(sp)": (0x00812627, Operation(STORE, "", "sp", "", 12, 4)),
    "flt.s a0, fa0, fa1": (0xA0B51553, Operation(OTHER, "a0")),
    "fadd.s ft2, ft2, ft2": (0x00217153, Operation(OTHER)),
    "jal t0, . - 4": (0xFFDFF2EF, Operation("jal", "t0", number=-4)),
    "jalr zero, 8(t1)": (0x00830067, Operation("jalr", "zero", "t1", number=8)),
    "bgeu a0, a1, . + 2046": (0x7EB57F63, Operation("bgeu", "", "a0", "a1", 2046)),
    "amoadd.w a0, a1, (a2)": (0x00B6252F, Operation("amo", "a0", "a2", width=4)),
    "csrw mtvec, t0": (0x30529073, Operation("csrrw", "zero", "t0", number=0x305)),
    "csrsi mtvec, 1": (0x3050E073, Operation("csrrs", "zero", "", number=0x305)),
    "mret": (0x30200073, Operation("mret")),
    "custom-0": (0x0000000B, Operation(UNKNOWN)),
    "vsetvli t0, a0, e8": (0x000572D7, Operation("vsetvli", "t0", "a0")),
    "vle8.v v1, (a0)": (0x02050087, Operation(OTHER)),
    "vse8.v v1, (sp)": (0x020100A7, Operation("vse8", "", "sp", "", width=MOST_VECTOR_BYTES)),
    "vsetvli t0, a0, e32, m8, ta, ma": (0x0D3572D7, Operation("vsetvli", "t0", "a0", number=0xD3)),
    "vsetivli t0, 5, e8, m1, ta, ma": (0xCC02F2D7, Operation("vsetvl", "t0")),
    "vsetvl t0, a0, a1": (0x80B572D7, Operation("vsetvl", "t0")),
    "vse16.v v1, (a0)": (0x020550A7, Operation("vse16", "", "a0", "", width=MOST_VECTOR_BYTES)),
    "vse32.v v1, (a0), v0.t": (0x000560A7, Operation("vse32", "", "a0", "", width=MOST_VECTOR_BYTES)),
    "vs2r.v v2, (a0)": (0x22850127, Operation(STORE, "", "a0", "", width=MOST_VECTOR_BYTES)),
    "vsm.v v1, (a0)": (0x02B500A7, Operation(STORE, "", "a0", "", width=MOST_VECTOR_BYTES)),
    "vsseg2e8.v v2, (a0)": (0x22050127, Operation(STORE, "", "a0", "", width=MOST_VECTOR_BYTES)),
    "vsse8.v v1, (a0), a1": (0x0AB500A7, Operation(UNKNOWN)),
    "vwmacc.vx v8, a0, v0": (0xF6056457, Operation(OTHER)),
    "vmv.x.s a0, v1": (0x42102557, Operation(OTHER, "a0")),
    "c.addi sp, -32": (0x1101, Operation("addi", "sp", "sp", number=-32)),
    "c.addi16sp sp, -496": (0x7141, Operation("addi", "sp", "sp", number=-496)),
    "c.lui a0, 0xfffe1": (0x7505, Operation("lui", "a0", number=0xFFFE1000)),
    "c.j . - 2": (0xBFFD, Operation("jal", "zero", number=-2)),
    "c.jal . + 2046": (0x2FFD, Operation("jal", "ra", number=2046)),
    "c.beqz a0, . - 6": (0xDD6D, Operation("beq", "", "a0", "zero", -6)),
    "c.bnez s1, . + 254": (0xECFD, Operation("bne", "", "s1", "zero", 254)),
    "c.fswsp fs0, 12(sp)": (0xE622, Operation(STORE, "", "sp", "", 12, 4)),
    "c.sw a5, 124(a4)": (0xDF7C, Operation("sw", "", "a4", "a5", 124, 4)),
    "c.slli a5, 2": (0x078A, Operation("slli", "a5", "a5", number=2)),
    "c.andi a5, -1": (0x9BFD, Operation("andi", "a5", "a5", number=-1)),
    "c.addi4spn s0, sp, 16": (0x0800, Operation("addi", "s0", "sp", number=16)),
    "c.swsp ra, 28(sp)": (0xCE06, Operation("sw", "", "sp", "ra", 28, 4)),
    "c.lwsp ra, 28(sp)": (0x40F2, Operation("lw", "ra", "sp", number=28)),
    "c.jr ra": (0x8082, Operation("jalr", "zero", "ra")),
    "c.jalr a5": (0x9782, Operation("jalr", "ra", "a5")),
    "c.mv s0, a0": (0x842A, Operation("add", "s0", "zero", "a0")),
    "c.ebreak": (0x9002, Operation("ebreak")),
    "c.unimp": (0x0000, Operation(TRAP)),
    "cm.push {ra}, -16": (0xB842, Operation(UNKNOWN)),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_the_bytes_of_an_instruction_say_what_it_is(text):
    encoding, wanted = WRITTEN[text]
    size_bytes = 4 if encoding & 3 == 3 else 2
    found = instruction_at(0x100, encoding.to_bytes(size_bytes, "little") + b"\x93\x00")
    assert found is not None and (found.size_bytes, found.operation) == (size_bytes, wanted)
    assert found.next == 0x100 + size_bytes


def test_bytes_that_end_within_an_instruction_are_none():
    assert instruction_at(0, b"\x13\x01\x01") is None and instruction_at(0, b"\x82") is None


def test_a_branch_leads_to_its_own_address_and_a_distance():
    found = instruction_at(0x80000000, (0xBFFD).to_bytes(2, "little"))
    assert found is not None and found.target == 0x7FFFFFFE


def test_each_even_address_of_executable_bytes_may_hold_an_instruction():
    known = Instructions(((0x100, bytes.fromhex("01018280")),))
    assert sorted(known) == [0x100, 0x102] and len(known) == 2
    assert 0x101 not in known and 0x104 not in known and known[0x102].operation.name == "jalr"
