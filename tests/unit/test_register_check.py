# SPDX-License-Identifier: MIT
"""The check of chosen registers finds faults of each kind; it is given the right texts and wrong ones."""

from __future__ import annotations

import re
from contextlib import nullcontext

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.kernel_kit.registers.check import check
from aidge_build.contract.kernel_kit.registers.choice import choose
from aidge_build.contract.kernel_kit.registers.named import read
from aidge_build.contract.kernel_kit.registers.texts import assigned
from aidge_build.contract.kernel_kit.registers.webs import webs_of

PARAMETERS = ("first", "second", "output", "numbers", "count")

# (kind, lines of the text, what stands in the printed instruction, what stands there instead)
FAULTS = (
    (
        "a value of a loop is overwritten in it",
        "mov %left, #4\n%turn:\nldr %a, [%first]\nstr %a, [%second]\nsubs %left, %left, #1\nbne %turn",
        r"ldr r\d+, \[r0\]",
        "ldr {left}, [r0]",
    ),
    (
        "a pointer is overwritten before its last use",
        "ldr %a, [%first]\nldr %b, [%second]\nstr %a, [%first]\nstr %b, [%first]",
        r"ldr r\d+, \[r1\]",
        "ldr r0, [r1]",
    ),
    (
        "the halves of a pair change places",
        "ldrd %a, %b, [%first]\nstr %a, [%second]\nstr %b, [%output]",
        r"ldrd (r\d+), (r\d+), (.*)",
        r"ldrd \2, \1, \3",
    ),
    (
        "a list is read in another order",
        "ldm %first, {%a, %b}\nstr %a, [%second]\nstr %b, [%output]",
        r"ldm r0, \{(r\d+), (r\d+)\}",
        r"ldm r0, {\2, \1}",
    ),
    (
        "values that wait change places",
        "put %first, %second\nget %first, %second\nstr %first, [%second]",
        r"ldrd (r\d+), (r\d+), (.*)",
        r"ldrd \2, \1, \3",
    ),
    (
        "a value comes from a place where nothing waits",
        "put %first, %second\nget %second\nstr %second, [%output]",
        r"ldr (r\d+), \[sp, #4\]",
        r"ldr \1, [sp, #0]",
    ),
    (
        "a conditional move goes to another register",
        "mov %a, #1\ncmp %first, %second\nit lt\nmovlt %a, %second\nstr %a, [%output]",
        r"movlt r\d+",
        "movlt r12",
    ),
    (
        "a sum across vectors goes on in another register",
        "vldrb.u8 %q.a, [%first]\nmov %t, #0\nvmladava.s8 %t, %q.a, %q.a\nstr %t, [%output]",
        r"vmladava.s8 r\d+",
        "vmladava.s8 r12",
    ),
    ("a vector of the caller is overwritten", "\n".join(["vldrb.u8 %q.a, [%first]", "vstrb.8 %q.a, [%second]"]), r"q0", "q5"),
    ("a float of the caller is overwritten", "vldr %s.a, [%first]\nvstr %s.a, [%second]", r"s0", "s20"),
    (
        "a register of the caller is overwritten",
        "ldr %a, [%first]\nstr %a, [%second]",
        r"(ldr|str) r\d+, \[r([01])\]",
        r"\1 r9, [r\2]",
    ),
    ("the return address is overwritten", "ldr %a, [%first]\nstr %a, [%second]", r"(ldr|str) r\d+, \[r([01])\]", r"\1 lr, [r\2]"),
    (
        "a value is lost in a call",
        "ldr %a, [%first]\ncall told(%first, %second) %b\nstr %a, [%b]",
        r"(ldr|str) r\d+, (.*)",
        r"\1 r3, \2",
    ),
    (
        "an argument is in another register than its own",
        "ldr %a, [%first]\ncall told(%a, %second) %b\nstr %b, [%b]",
        "ldr r0",
        "ldr r2",
    ),
    (
        "a move changes flags that are read",
        "cmp %first, %second\nmov %a, #1\nite lt\nstrlt %a, [%first]\nstrge %a, [%second]",
        "mov",
        "movs",
    ),
    (
        "a value takes the place of a loop's counter",
        "dls lr, %second\n%turn:\nldr %a, [%first]\nstr %a, [%output]\nle lr, %turn",
        r"(ldr|str) r\d+, (.*)",
        r"\1 lr, \2",
    ),
    (
        "the lanes of a vector are forgotten",
        "vmov.i32 %q.a, #0\nvctp.8 %second\nvpst\nvldrbt.u8 %q.a, [%first]\nvstrb.8 %q.a, [%output]",
        "vldrbt",
        "vldrb",
    ),
    (
        "an instruction loses its condition",
        "ldr %a, [%first]\ncmp %a, %second\nit lt\nmovlt %a, %second\nstr %a, [%first]",
        "movlt",
        "mov",
    ),
    (
        "the places of a pair are no neighbours",
        "put %first, %second\nmov %first, #0\nget %first, %second\nstr %first, [%second]",
        r"ldrd (.*), #0",
        r"ldrd \1, #4",
    ),
)


@pytest.mark.parametrize("branches", (False, True), ids=("always", "in a branch"))
@pytest.mark.parametrize(("kind", "text", "right", "wrong"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_faults_of_each_kind_are_found(kind, text, right, wrong, branches):
    before, behind = (["cbz %numbers, %passed"], ["%passed:"]) if branches else ([], [])
    lines = ["%enter", *before, *text.split("\n"), *behind, "%leave"]
    function = read(lines, PARAMETERS)
    webs = webs_of(function.steps)
    chosen = choose(function.steps, webs, False, PARAMETERS)
    assert chosen is not None
    texts, frame = assigned(function, webs, chosen)
    check(function, texts, PARAMETERS, frame.save, "kernel")
    registers = {webs.values[web].name: register for web, register in chosen.items()}
    changed = [re.sub(right, wrong.format(**registers) if "{" in wrong and "\\" not in wrong else wrong, text) for text in texts]
    assert changed != texts
    with pytest.raises(AidgeError, match="kernel"):
        check(function, changed, PARAMETERS, frame.save, "kernel")


def test_a_list_whose_registers_do_not_rise_is_found():
    function = read(["%enter", "ldm %first, {%a, %b}", "str %a, [%second]", "str %b, [%output]", "%leave"], PARAMETERS)
    for low, high, is_right in (("r3", "r12", True), ("r12", "r3", False), ("lr", "r3", False)):
        texts = ["", f"ldm r0, {{{low}, {high}}}", f"str {low}, [r1]", f"str {high}, [r2]", "%leave"]
        with nullcontext() if is_right else pytest.raises(AidgeError, match="does not rise"):
            check(function, texts, PARAMETERS, ["push {lr}"], "kernel")


@pytest.mark.parametrize("block", ("it lt", "vpst", "vptt.s32 lt, %q.a, %second"))
def test_a_value_that_moves_inside_of_a_conditional_block_is_found(block):
    lines = ["%enter", "vmov.i32 %q.a, #0", "put %first", block, "get %first", "str %first, [%second]", "%leave"]
    texts = [
        "",
        "vmov.i32 q0, #0",
        "str r0, [sp, #0]",
        block.replace("%q.a, %second", "q0, r1"),
        "ldr r0, [sp, #0]",
        "str r0, [r1]",
    ]
    with pytest.raises(AidgeError, match="is in the block"):
        check(read(lines, PARAMETERS), [*texts, "%leave"], PARAMETERS, [], "kernel")


def test_a_wrong_register_of_a_call_is_found():
    names = "first", "second"
    function = read(["%enter", "mov %kept, %second", "call rounded(%first) %level", "str %kept, [%level]", "%leave"], names)
    right = ["", "mov r4, r1", "call rounded", "str r4, [r0]", "%leave"]
    check(function, right, names, ["push {r4, lr}"], "kernel")
    for wrong, save in (
        (["", "mov r12, r1", "call rounded", "str r12, [r0]", "%leave"], ["push {lr}"]),
        (["", "mov r4, r1", "call rounded", "str r4, [r1]", "%leave"], ["push {r4, lr}"]),
        (right, ["push {r4}"]),
    ):
        with pytest.raises(AidgeError):
            check(function, wrong, names, save, "kernel")
