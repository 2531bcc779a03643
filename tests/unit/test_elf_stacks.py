# SPDX-License-Identifier: MIT
"""Where a stack may be, how deep interrupts are, and what of a plan is compared, from values: no program is linked."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from aidge_build.boards import Region
from aidge_build.prove.elf.claim import Claim, ClaimedCode
from aidge_build.prove.elf.code_memory import check_code_places
from aidge_build.prove.elf.image import Symbol
from aidge_build.prove.elf.occupants import Span
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.proof import Plan, _check_plan
from aidge_build.prove.elf.stack import _interrupt, runs_use, stack_use
from aidge_build.prove.elf.stack_place import check_stack_place
from aidge_build.prove.elf.vectors import VectorTable
from tests.golden.test_findings import image, section
from tests.listings import TEXT, listed

RAM = 0x20000000
MEMORIES = (
    Region("FLASH", 0x8000000, 0x1000, "flash", ()),
    Region("LOW", RAM, 0x400, "ram", ()),
    Region("HIGH", RAM + 0x400, 0x400, "ram", ()),
    Region("FAR", RAM + 0x801, 0x400, "ram", ()),
)


@pytest.mark.parametrize(
    "begin, end, said",
    [
        (RAM, RAM + 0x400, ""),
        (RAM, RAM + 0x800, ""),
        (RAM + 0x400, RAM + 0x800, ""),
        (RAM - 1, RAM + 0x400, "may use 1,025 B, but LOW has 1,024 B below"),
        (RAM - 1, RAM + 0x800, "may use 2,049 B, but HIGH has 2,048 B below"),
        (RAM, RAM + 0x801, "in no RAM. RAM: LOW 0x20000000 to 0x200003ff, HIGH 0x20000400 to 0x200007ff, FAR"),
        (RAM + 0x801, RAM + 0xC01, ""),
        (RAM + 0x800, RAM + 0xC01, "may use 1,025 B, but FAR has 1,024 B below"),
        (0x8000000, 0x8000800, "in FLASH, which cannot be written"),
    ],
)
def test_a_stack_is_in_one_ram_or_in_rams_that_touch(begin, end, said):
    met = [Symbol("array", "array", begin + 8, 4, "object", ".bss")] if said else []  # one finding is enough
    found = [finding.text for finding in check_stack_place(image([], met), end, end - begin, MEMORIES)]
    assert len(found) == bool(said) and all(said in text for text in found)
    assert not [*check_stack_place(image([]), end, end - begin, ())]


@pytest.mark.parametrize(
    "name, address, size, kind, is_met",
    [
        ("array", RAM + 0x100, 4, "object", True),
        ("array", RAM + 0xFC, 4, "object", False),
        ("array", RAM + 0xFC, 5, "object", True),
        ("array", RAM + 0x1FF, 1, "object", False),
        ("array", RAM + 0x1E0, 0x20, "object", False),
        ("array", RAM + 0x1E0, 0x3F, "object", False),
        ("array", RAM + 0x1E0, 0x40, "object", True),
        ("my_stack", RAM + 0x1E0, 0x40, "object", False),
        ("my_stack", RAM + 0x1E0, 0x40, "function", True),
        ("array", RAM + 0x200, 4, "object", False),
        ("array", RAM + 0x100, 0, "object", False),
        ("array", RAM + 0x100, 4, "absolute", False),
        ("kws_arena", RAM + 0x100, 4, "object", False),
    ],
)
def test_an_array_that_ends_where_the_stack_begins_is_its_own_and_any_other_is_met(name, address, size, kind, is_met):
    """An array may end up to 31 bytes above."""
    program = image([], [Symbol(name, name, address, size, kind, ".bss")])
    found = [*check_stack_place(program, RAM + 0x200, 0x100, MEMORIES, ["kws_arena"])]
    assert len(found) == is_met and all(name in finding.text for finding in found)


@pytest.mark.parametrize("address, is_met", [(RAM + 0xF0, False), (RAM + 0xF1, True), (RAM + 0x1FF, True), (RAM + 0x200, False)])
def test_constants_where_the_stack_grows_are_met(address, is_met):
    for writable in (False, True):
        program = image([section(".code", address, bytes(16), writable=writable)])
        assert len([*check_stack_place(program, RAM + 0x200, 0x100, MEMORIES)]) == (is_met and not writable)


@pytest.mark.parametrize("vectors, frame", [("", 36), ("vmov s0, r0", 108)])
def test_an_interrupt_takes_its_frame_and_what_the_deepest_handler_takes(vectors, frame):
    text = f"flat:\nbx lr\ndeep:\npush {{r4, lr}}\npop {{r4, pc}}\nlosing:\nmovs r4, #0\nbx lr\n.other:\n{vectors}"
    code = Code(*listed(text))
    handlers = {name: code.image.symbol(name).address for name in ("flat", "deep", "losing")}

    def bound(*names: str):
        return _interrupt(code, [VectorTable(0, 0, 0, tuple(handlers[name] for name in names))])

    assert [(bound(*names).bytes, bound(*names).path) for names in ((), ("flat",), ("deep", "flat"))] == [
        (frame, ()),
        (frame, ()),
        (frame + 8, ("deep",)),
    ]
    assert bound("losing", "deep").reason == "losing does not hand back r4 as it found them"
    assert _interrupt(code, []).bytes is None
    assert _interrupt(code, [VectorTable(0, 0, 0, (TEXT - 4,))]).bytes == frame, "a handler outside of the program"


SAID = {"arena_bytes": 100, "weights_bytes": 200, "peak_bytes": 300, "layers": ("kws_conv",)}


@pytest.mark.parametrize("from_note", [True, False])
@pytest.mark.parametrize(
    "field, value, without_note",
    [("arena_bytes", 101, True), ("weights_bytes", 199, False), ("peak_bytes", 301, False), ("layers", ("kws_fc",), False)],
)
def test_of_a_claim_that_symbols_make_the_arena_alone_is_compared_with_the_plan(field, value, without_note, from_note):
    claim = Claim("kws", 100, (), from_note, model_sha256="ab", weights_bytes=200, peak_bytes=300, layers=("kws_conv",))
    for plan in (Plan("a.json", "kws", "ab", **SAID), Plan("a.json", "kws", "ab" if from_note else "cd", 100)):
        assert [*_check_plan(plan, claim)] == []
    (finding,) = [*_check_plan(Plan("a.json", "kws", "ab", **SAID | {field: value}), claim)] or [None]
    assert (finding is not None) == (from_note or without_note)
    assert finding is None or f"the {field.partition('_')[0]} of model kws" in finding.text
    stale = [*_check_plan(Plan("a.json", "kws", "cd", **SAID), claim)]
    assert [one.code for one in stale] == ["MEM04"] * from_note and all("has hash ab, a.json has cd" in one.text for one in stale)
    assert [one.code for one in _check_plan(Plan("a.json", "kws", "ab", **SAID), None)] == ["MEM04"]


@pytest.mark.parametrize("room, is_full", [(24, False), (23, True)])
def test_functions_take_what_is_planned_for_them_and_an_absent_one_takes_nothing(room, is_full):
    symbols = [
        Symbol(name, name, 0x1000 + at, size, "function", ".text")
        for name, at, size in (("a", 0, 8), ("b", 8, 16), ("b", 24, 20))
    ]
    claim = Claim("kws", 0, (), True, code_in=(ClaimedCode("ITCM", (0x1000, 0x100), room, ("a", "b", "c")),))
    found = [(finding.code, finding.text) for finding in check_code_places(image([], symbols), claim, [claim])]
    what = "functions of model kws take 24 B of ITCM, the plan gives them 23 B"
    assert found[:-1] == [("MEM02", what)] * is_full and found[-1][0] == "MEM07" and found[-1][1].endswith(": c")


def test_spans_overlap_if_they_have_a_byte_in_common():
    span = Span(16, 32)
    assert [span.meets(*other) for other in ((0, 16), (0, 17), (31, 40), (32, 40), (20, 24))] == [False, True, True, False, True]
    assert str(span) == "0x00000010 to 0x0000001f"


def test_start_up_code_that_sets_the_stack_pointer_to_its_first_value_has_used_no_stack():
    moved, loaded = "movw r0, #{0}\nmovt r0, #{1}\nmov sp, r0", "movw r1, #{2}\nldr sp, [r1], #4"
    for way, top, at, found in ((moved, 0x100, 0, 8), (moved, 0x104, 0, None), (loaded, 0, 0x100, 8), (loaded, 0, 0x104, None)):
        text = way.format(RAM + top & 0xFFFF, RAM + top >> 16, at)
        made, instructions = listed(f"start:\n{text}\npush {{r4, r5}}\nudf #0")
        table = section(".vectors", 0x100, struct.pack("<2I", RAM + 0x100, TEXT + 1))
        use = stack_use(replace(made, sections=(table, *made.sections), entry=TEXT + 1), instructions, ())
        assert use.program.bytes == found


def test_a_switch_of_libgcc_holds_what_its_function_holds():
    for held, found in (("", 4), ("push {r0, r1}\npop {r0, r1}\n", 12)):
        name = "__gnu_thumb1_case_uqi"
        made, instructions = listed(f"f:\npush {{lr}}\nbl {name}\nnop\n.to:\npop {{pc}}\n{name}:\n{held}bx lr")
        content = bytearray(made.sections[0].content)
        content[8:10] = b"\2\x7f"
        del instructions[TEXT + 8]
        switch = replace(made, sections=(replace(made.sections[0], content=bytes(content)), *made.sections[1:]))
        assert runs_use(switch, instructions, ("f",))["f"].bytes == found


def test_a_program_without_symbols_has_no_bound():
    use = stack_use(image([section(".text", TEXT, bytes(8))]), {}, ("f",))
    assert (use.program.reason, use.interrupt.reason, use.runs) == (
        "the program has no symbols",
        "the program has no symbols",
        {},
    )
    assert use.most_bytes is None and use.begin is None
