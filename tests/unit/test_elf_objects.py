# SPDX-License-Identifier: MIT
"""What is read of names and objects, from values: nothing is compiled."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf import image
from aidge_build.prove.elf.claim import Claim, ClaimedArena
from aidge_build.prove.elf.code_places import find_places
from aidge_build.prove.elf.contents import check_contents
from aidge_build.prove.elf.decisions import _names
from aidge_build.prove.elf.objects import ObjectFile, ObjectSymbol, Part, Relocation, _read
from aidge_build.prove.elf.program_code import Code, _shared
from aidge_build.prove.elf.proof import measure
from aidge_build.prove.elf.stack import runs_use
from aidge_build.prove.elf.tables import Entry
from tests.golden.test_findings import image as made_of
from tests.golden.test_findings import section
from tests.listings import TEXT, listed


@pytest.mark.parametrize(
    "linked, name",
    [
        ("kws_run", "kws_run"),
        ("kws_run.constprop.0", "kws_run"),
        ("kws_run.part.0.cold", "kws_run"),
        ("kws_run.0", "kws_run.0"),
        ("_Z7kws_runPKa", "kws_run"),
        ("_ZL7kws_runv", "kws_run"),
        ("_ZL7kws_runPKaPa.isra.0", "kws_run"),
        ("_Z7kws_run", "kws_run"),
        ("_Z8kws_run", "_Z8kws_run"),
        ("_Z0kws_run", "_Z0kws_run"),
        ("_Z12aidge_kernelv", "aidge_kernel"),
        ("_Z99999" + 99_999 * "a" + "v", 99_999 * "a"),
    ],
)
def test_a_function_is_called_as_in_the_source(linked, name):
    assert image.source_name(linked) == name


class Header(dict):
    """The head of an ELF file as pyelftools has it."""

    def __init__(self, machine: str, little_endian: bool = True, kind: str = "ET_REL", sections=(), size: int = 100):
        super().__init__(e_type=kind, e_machine=machine)
        self.little_endian, self.stream_len, self._sections = little_endian, size, sections

    def iter_sections(self):
        yield from self._sections


class Head(dict):
    """The head of a section as pyelftools has it."""

    def __init__(self, name: str, **fields):
        super().__init__({"sh_type": "SHT_PROGBITS", "sh_offset": 60, "sh_size": 40, "sh_flags": 0} | fields)
        self.name = name


@pytest.mark.parametrize(
    "kind, section, words",
    [
        ("ET_EXEC", Head(".text"), ""),
        ("ET_DYN", Head(".text"), ""),
        ("ET_REL", Head(".text"), "is not a linked program"),
        ("ET_EXEC", Head(".text", sh_size=41), "section .text ends beyond the end of the file"),
        ("ET_EXEC", Head(".bss", sh_size=41, sh_type="SHT_NOBITS"), ""),
        ("ET_EXEC", Head(".data", sh_flags=0x800), "section .data is compressed"),
        ("ET_EXEC", Head(".debug_info", sh_flags=0x800), ""),
        ("ET_EXEC", Head(".data", sh_flags=0x3), ""),
    ],
)
def test_a_file_that_is_no_whole_program_is_refused(kind, section, words):
    elf = Header("EM_ARM", kind=kind, sections=[section])
    with pytest.raises(AidgeError, match=words) if words else nullcontext():
        image._refuse_unread(elf, "a.elf")


def of_program(name: str, kind: str = "function", address: int = 0x100) -> image.Symbol:
    return image.Symbol(name, name, address, 4, kind, ".text")


def test_second_names_of_functions_hold_digests_and_are_no_symbols_of_their_own():
    first, second = of_program("kws_run"), of_program("kws_run_0123456789ab")
    others = [of_program("kws_run_ba9876543210", address=0x200), of_program("kws_weights_0123456789ab", "object")]
    assert image._digests([first, second, *others]) == {"kws_run": ("0123456789ab", "ba9876543210")}
    assert [*image._without_second_names([first, second, *others])] == [first, *others]
    for change in ({"kind": "object"}, {"address": 0x104}, {"size_bytes": 8}):
        other = replace(second, **change)
        assert other in image._without_second_names([first, other])


def test_a_local_symbol_is_of_the_file_before_it(monkeypatch):
    rows = [
        Entry("", 0, 0, "other", "local", 0),
        Entry("a.c", 0, 0, "file", "local", 0xFFF1),
        Entry("$t", 0x100, 0, "other", "local", 1),
        Entry("one", 0x101, 8, "function", "local", 1),
        Entry("two", 0x201, 4, "object", "local", 1),
        Entry("", 0x300, 0, "section", "local", 1),
        Entry("three", 5, 0, "other", "local", 0xFFF1),
        Entry("", 0, 0, "other", "local", 0),
        Entry("four", 0x300, 0, "other", "local", 1),
        Entry("b.c", 0, 0, "file", "local", 0xFFF1),
        Entry("five", 0x400, 4, "object", "global", 1),
        Entry("six", 0x500, 4, "object", "weak", 1),
        Entry("gone", 0, 0, "function", "global", 0),
    ]
    monkeypatch.setattr(image, "sections_of", lambda elf: [SimpleNamespace(name=""), SimpleNamespace(name=".text")])
    monkeypatch.setattr(image, "symbol_entries", lambda elf, sections: iter(rows))
    found = [*image._symbols(Header("EM_ARM"))]
    assert [(one.name, one.address, one.kind, one.section, one.file) for one in found] == [
        ("a.c", 0, "absolute", "", "a.c"),
        ("one", 0x100, "function", ".text", "a.c"),
        ("two", 0x201, "object", ".text", "a.c"),
        ("three", 5, "absolute", "", "a.c"),
        ("four", 0x300, "other", ".text", ""),
        ("b.c", 0, "absolute", "", "b.c"),
        ("five", 0x400, "object", ".text", ""),
        ("six", 0x500, "object", ".text", ""),
    ]
    assert [one.name for one in found if one.is_weak] == ["six"] and not any(one.is_local for one in found[-2:])
    assert [one.address for one in image._symbols(Header("EM_386"))][1] == 0x101, "the Thumb bit is one of Arm"


@pytest.mark.parametrize(
    "words, of_f, of_g",
    [
        ((TEXT + 4, 4), {4}, set()),
        ((TEXT + 9, TEXT + 4, 7), {4, 8}, {8}),
        ((TEXT + 9, 7), set(), {8}),
        ((TEXT + 8, TEXT + 5), {4}, {8}),
        ((7, 9), set(), set()),
    ],
)
def test_a_table_that_may_hold_numbers_leads_into_its_function_and_to_other_functions(words, of_f, of_g):
    """`f` has two instructions, `g` one; a pointer to another function has the Thumb bit."""
    stored = b"".join(word.to_bytes(4, "little") for word in words)
    code, begin = Code(*listed("f:\nnop\nbx lr\ng:\nbx lr", {"table": stored})), TEXT + 12
    for name, places in (("f", of_f), ("g", of_g)):
        assert code.targets_in(begin, begin + len(stored), name) == {TEXT + at for at in places}


@pytest.mark.parametrize("machine, is_little", [("EM_ARM", False), ("EM_386", True), ("EM_PPC", False)])
def test_objects_for_other_machines_and_big_endian_ones_are_not_compared(machine, is_little):
    read = _read(Header(machine, is_little), SimpleNamespace(name="net.o"))
    assert read.refusal == f"it is for {machine[3:]}, code is read for Cortex-M alone" and not read.parts


def symbol(name: str, value: int = 0, kind: str = "function", part: int | None = 1, binding: str = "global") -> ObjectSymbol:
    return ObjectSymbol(name, part, value, 4, kind, binding, False)


def test_the_names_of_a_part_are_its_functions_and_objects_in_order():
    one, two = symbol("one", 4), symbol("two", 0, "object")
    others = [symbol("", 0, "object"), symbol(".text", 0, "section"), symbol("net.c", 0, "file"), symbol("$t", 0, "label")]
    found = ObjectFile("net.o", {}, (*others, one, two, symbol("other", part=2)))
    assert found.names_of(1) == [two, one] and found.names_of(3) == []


@pytest.mark.parametrize(
    "of_a, stored_at, base",
    [(0x100, None, 0x100), (0x100, 0x200, 0x200), (0x100, 0x100, 0x100), (0x100, 0x300, 0x100), (0x300, None, 0x100)],
)
def test_a_part_is_where_its_bytes_are_or_where_most_of_its_symbols_say(of_a, stored_at, base):
    """Several objects define the names; of as many symbols, the lowest address counts."""
    part = Part(1, ".text", 12, b"instructions", (), False, False, 0, False, False)
    objects = ObjectFile("net.o", {1: part}, tuple(symbol(name, 4 * at) for at, name in enumerate("abc")))
    places = {"a": of_a, "b": 0x104, "c": 0x208}

    def named(name: str, binding: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(address=places[name])] if binding == "global" else []

    def read(address: int, count: int) -> bytes:
        return (b"instructions" if address == stored_at else b"other bytes ")[:count]

    assert find_places(objects, SimpleNamespace(named=named, read=read)).bases == {1: base}


def test_bytes_that_two_sections_share_are_those_of_both():
    """Overlays: one section may also hold a whole other one."""
    parts = [section("a", 0x100, 0x20), section("b", 0x110, 0x20), section("c", 0x130, 0x10), section("d", 0x118, 4)]
    assert _shared(parts) == ((0x110, 0x120), (0x118, 0x11C), (0x118, 0x11C))


@pytest.mark.parametrize("loop, held_bytes", [("le lr, .again", 16), ("le .again", 0), ("letp lr, .again", 16), ("b .again", 0)])
def test_a_loop_that_counts_ends_and_one_that_does_not_count_never_does(loop, held_bytes):
    made, instructions = listed(f"f:\n.again:\nnop\n{loop}\npush {{r0-r3}}\nadd sp, #16\nbx r12")
    bound = runs_use(made, instructions, ("f",))["f"]
    assert (bound.bytes, bound.reason[:16]) == ((0, "") if not held_bytes else (None, "an indirect jump"))


def test_code_that_jumps_back_to_the_address_that_a_call_left_in_lr_goes_on_there():
    """Hand-written code; the address has the Thumb bit."""
    made, instructions = listed("f:\npush {lr}\nbl .inner\npop {pc}\n.inner:\nsub lr, lr, #1\nmov pc, lr")
    assert runs_use(made, instructions, ("f",))["f"].bytes == 4


@pytest.mark.parametrize("at, before", [(0x8000000, 0), (0x7FFFFF0, 16), (0x8000001, 255), (0x8000101, 0)])
def test_headers_that_a_segment_loads_are_said_to_be_before_the_next_section(at, before):
    parts = [section(".text", 0x8000000, bytes(8)), section(".rodata", 0x8000100, bytes(8)), section(".bss", 0x8000002, 4)]
    (finding,) = [one for one in check_contents(made_of(parts, headers_at=(at,)), (), None) if one.code == "MEM11"]
    assert f"loads at 0x{at:08x}, {before} B before the first section" in finding.text


def test_a_register_is_named_as_a_whole_word():
    assert _names("r1", ("r0", "[r2, r1]")) and _names("r1", ("{r1, r2}",)) and not _names("r1", ("r10", "[r11, #1]"))


@pytest.mark.parametrize(
    "content, has_relocation, is_writable", [*product((b"", bytes(4), b"\0\1"), (False, True), (False, True))]
)
def test_a_part_is_of_zeroed_variables_if_it_is_writable_and_holds_neither_numbers_nor_addresses(
    content, has_relocation, is_writable
):
    part = Part(1, ".bss", 4, content, (Relocation(0, 2, 1),) * has_relocation, False, False, 0, False, is_writable)
    assert part.is_zero == (is_writable and not has_relocation and content != b"\0\1")


def test_a_label_without_a_size_is_the_name_of_its_own_address_alone():
    program = made_of([], [replace(of_program("label", "other"), size_bytes=0), of_program("array", "object", 0x200)])
    assert [program.describe(at) for at in (0x100, 0x101, 0x203, 0x204)] == ["label", "0x00000101", "array+0x3", "0x00000204"]


def test_the_arena_of_a_model_is_as_large_as_all_its_linked_parts():
    parts = tuple(ClaimedArena(name, 4) for name in ("kws_arena", "kws_arena_DTCM"))
    program = made_of([], [of_program("kws_arena", "object"), of_program("kws_arena_DTCM", "object", 0x200)])
    assert measure(program, Claim("kws", 8, parts, True)) == 8
    assert measure(program, Claim("kws", 8, (), True)) is None
    assert measure(made_of([], program.symbols[:1]), Claim("kws", 8, parts, True)) is None
