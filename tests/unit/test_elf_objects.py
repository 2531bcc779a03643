# SPDX-License-Identifier: MIT
"""What is read of names and objects, from values: nothing is compiled."""

from __future__ import annotations

import re
import struct
from contextlib import nullcontext
from dataclasses import replace
from io import BytesIO
from itertools import product
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf import image
from aidge_build.prove.elf.attributes import Units, _architecture, _units
from aidge_build.prove.elf.bind_proof import check_bind
from aidge_build.prove.elf.claim import Claim, ClaimedArena, ClaimedCode, ClaimedUpdate, claim_from
from aidge_build.prove.elf.code_places import find_places
from aidge_build.prove.elf.code_proof import _Comparison
from aidge_build.prove.elf.contents import check_contents
from aidge_build.prove.elf.copies import Copies, _index_of, _is_same
from aidge_build.prove.elf.debug_info import _definitions
from aidge_build.prove.elf.decisions import _names
from aidge_build.prove.elf.flash_files import binary_of
from aidge_build.prove.elf.linked_code import _shared
from aidge_build.prove.elf.objects import (
    LinkedName,
    ObjectFile,
    ObjectSymbol,
    Part,
    Relocation,
    _object_symbol,
    _part,
    _read,
    _refuse_damaged,
    read_names,
    read_object,
)
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.proof import measure
from aidge_build.prove.elf.references import ThumbObject, references
from aidge_build.prove.elf.stack import runs_use
from aidge_build.prove.elf.tables import Entry, sections_of, symbol_entries
from aidge_build.prove.elf.tables import Section as FileSection
from tests.golden.test_findings import image as made_of
from tests.golden.test_findings import section
from tests.listings import TEXT, listed
from tests.programs import CLAIM


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


def test_big_endian_objects_and_objects_for_another_machine_than_the_program_are_not_compared():
    read = _read(Header("EM_ARM", little_endian=False), SimpleNamespace(name="net.o"))
    assert read.refusal == "it is big-endian" and not read.parts
    linked = SimpleNamespace(image=SimpleNamespace(machine="ARM"))
    for machine, refusal in (("RISCV", "it is for RISCV, the program is for ARM"), ("ARM", "")):
        other = ObjectFile("net.o", {}, (), machine=machine)
        assert _Comparison(ThumbObject(other, linked), "net").refusal == refusal


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

    one = ThumbObject(objects, SimpleNamespace(named=named, read=read, names={}))
    find_places(one)
    assert {index: placement.base for index, placement in one.placements.items()} == {1: base}


def test_a_weak_part_that_another_object_defines_is_named_by_its_first_symbol():
    part = Part(1, ".text", 12, b"instructions", (), False, False, 0, False, False)
    objects = ObjectFile("net.o", {1: part}, tuple(symbol(name, at, binding="weak") for at, name in enumerate("ab")))

    def named(name: str, binding: str = "global") -> list[SimpleNamespace]:
        return [SimpleNamespace(address=0x100 + "ab".index(name))]

    for stored, bases, others in ((b"other bytes ", {}, ["a"]), (b"instructions", {1: 0x100}, [])):
        read = SimpleNamespace(named=named, read=lambda address, count, stored=stored: stored, names={})
        one = ThumbObject(objects, read)
        assert find_places(one) == others
        assert {index: placement.base for index, placement in one.placements.items()} == bases


def test_an_instruction_that_the_linker_replaced_for_an_erratum_is_a_branch_to_its_veneer():
    """b.w leads 8 bytes on, from the first byte of the part to its last four."""
    branch = bytes.fromhex("00f002b8")
    veneers = {0x104: 0x108, 0x108: 0x10C, 0x10C: 0x999, 0x110: 0x114, 0x114: 0x118}  # by the address after the instruction
    names = {}
    for number, (after, veneer) in enumerate(veneers.items()):
        names |= {f"__stm32l4xx_veneer_{number}": [LinkedName(veneer, False, True)]}
        names |= {f"__stm32l4xx_veneer_{number}_r": [LinkedName(after, False, True)]}

    def replaced(base: int, stored: bytes) -> tuple[tuple[int, int], ...]:
        part = Part(1, ".text", len(stored), stored, (), False, False, 0, False, False)
        linked = SimpleNamespace(names=names, read=lambda address, count: stored)
        return ThumbObject(ObjectFile("net.o", {1: part}, ()), linked).place(part, base).replaced

    assert replaced(0x100, 4 * branch) == ((0, 4), (4, 4), (12, 4))
    assert replaced(0x104, 2 * branch + branch[:2]) == ((0, 4),) and replaced(0x112, branch) == ()


@pytest.mark.parametrize(
    "file, is_same",
    [
        ("obj/net.o", True),
        ("net.o", True),
        ("other/net.o", False),
        ("sub/../obj/net.o", True),
        ("../elsewhere/obj/net.o", False),
        ("libnet.a(net.o)", True),
        ("libnet.a(other.o)", False),
        ("absent.a(net.o)", True),
        ("libother.a(net.o)", False),
    ],
)
def test_a_file_of_a_map_is_the_given_object_by_its_path_or_as_a_member_of_an_archive_with_its_bytes(file, is_same, tmp_path):
    (tmp_path / "obj").mkdir()
    (tmp_path / "obj" / "net.o").write_bytes(b"the object")
    (tmp_path / "libnet.a").write_bytes(b"head, the object, tail")
    (tmp_path / "libother.a").write_bytes(b"head, another object")
    assert _is_same(file, tmp_path / "obj" / "net.o", [tmp_path], is_exact=True) == is_same
    assert _is_same(file, tmp_path / "obj" / "net.o", [tmp_path], is_exact=False) == (is_same or file == "libother.a(net.o)")


def test_a_file_beside_the_program_is_the_given_object_whatever_the_map_calls_its_folder(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "net.o").write_bytes(b"the object")
    assert _is_same("link/net.o", tmp_path / "net.o", [tmp_path], is_exact=True)


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


@pytest.mark.parametrize(
    "tags, architecture, units",
    [
        ({}, "", None),
        ({"TAG_FP_ARCH": 6}, "", None),
        ({"TAG_CPU_ARCH": 10}, "", Units()),
        ({"TAG_CPU_ARCH": 10, "TAG_CPU_ARCH_PROFILE": ord("M")}, "v7-M", Units()),
        ({"TAG_CPU_ARCH": 10, "TAG_CPU_ARCH_PROFILE": ord("A")}, "", Units()),
        ({"TAG_CPU_ARCH": 12}, "v6-M", Units()),
        ({"TAG_CPU_ARCH": 13, "TAG_FP_ARCH": 6}, "v7E-M", Units(4, True)),
        ({"TAG_CPU_ARCH": 13, "TAG_FP_ARCH": 6, "TAG_ABI_HARDFP_USE": 1}, "v7E-M", Units(4, False)),
        ({"TAG_CPU_ARCH": 13, "TAG_FP_ARCH": 6, "TAG_ABI_HARDFP_USE": 3}, "v7E-M", Units(4, True)),
        ({"TAG_CPU_ARCH": 17, "TAG_FP_ARCH": 99}, "v8-M.mainline", Units()),
        ({"TAG_CPU_ARCH": 21, "TAG_FP_ARCH": 8, "TAG_MVE_ARCH": 2}, "v8.1-M.mainline", Units(5, True, True)),
        ({"TAG_CPU_ARCH": 21, "TAG_MVE_ARCH": 0}, "v8.1-M.mainline", Units()),
    ],
)
def test_build_attributes_name_the_core_and_its_units(tags, architecture, units):
    assert (_architecture(tags), _units(tags)) == (architecture, units)


def test_build_attributes_have_the_numbers_of_the_format():
    """Arm IHI 0045: Tag_CPU_arch and Tag_FP_arch."""
    names = {number: _architecture({"TAG_CPU_ARCH": number}) for number in range(32)}
    assert {number: name for number, name in names.items() if name} == {
        11: "v6-M",
        12: "v6-M",
        13: "v7E-M",
        16: "v8-M.baseline",
        17: "v8-M.mainline",
        21: "v8.1-M.mainline",
    }
    versions = [_units({"TAG_CPU_ARCH": 13, "TAG_FP_ARCH": number}).fpu_version for number in range(10)]
    assert versions == [0, 1, 2, 3, 3, 4, 4, 5, 5, 0]


@pytest.mark.parametrize(
    "text, reason",
    [
        ("nop\nit eq", "the IT block at .* is cut off"),
        ("cmp r0, #3\nbhi .out\ntbb [r3, r0]\n.out:\nbx lr", "a jump table elsewhere at"),
        ("bl r5\nbx lr", "the call at f.* leads nowhere"),
        ("movw r1, =table\nldr pc, [r1, r0, lsl #2]", "a jump through a table at 0x.*, which leads nowhere in its function"),
        ("bl __gnu_thumb1_case_uqi\nnop\n__gnu_thumb1_case_uqi:\nbl f", "a switch that is not libgcc's at"),
        ("bx r3", "an indirect jump at"),
        ("vstmia sp!, {d8}\nbx lr", "the stack pointer changes by an unknown amount, at"),
        ("svc #0", "a supervisor call, with a handler that uses the stack, too, at"),
    ],
)
def test_code_that_may_lead_anywhere_has_no_bound(text, reason):
    bound = runs_use(*listed(f"f:\n{text}", {"table": bytes(8)}), ("f",))["f"]
    assert bound.bytes is None and re.match(reason, bound.reason), bound.reason


def test_an_inner_call_of_hand_written_code_may_change_every_register_and_slot():
    inner = ".inner:\nadds r0, #1\nbx lr"
    for text, without_call in (
        ("movw r4, #8\npush {lr}\nbl .inner\nsub sp, sp, r4\nudf #0\n", 12),
        ("movw r4, #8\npush {r4, lr}\nbl .inner\nldr r5, [sp]\nsub sp, sp, r5\nudf #0\n", 16),
    ):
        for lines, found in ((text, None), (text.replace("bl .inner", "nop"), without_call)):
            assert runs_use(*listed(f"f:\n{lines}{inner}"), ("f",))["f"].bytes == found


def test_an_undefined_instruction_ends_the_way_and_what_is_not_in_the_program_has_no_bound():
    made, instructions = listed("f:\npush {r4}\nudf #0")
    assert runs_use(made, instructions, ("f", "g"))["f"].bytes == 4
    assert runs_use(made, instructions, ("g",))["g"].reason == "g is not in the program"


def test_files_of_strangers_are_refused(tmp_path):
    (tmp_path / "text").write_text("no ELF file at all, but long enough for a header of one")
    with pytest.raises(AidgeError, match="not a readable ELF file"):
        read_names(tmp_path / "text")
    with pytest.raises(AidgeError, match="not a readable object file"):
        read_object(tmp_path / "text")


class Elf(dict):
    """An ELF file of 32 bits with these headers of sections."""

    elfclass, little_endian = 32, True

    def __init__(self, rows: list[tuple[int, ...]], names: bytes, row_bytes: int = 40, cut: int = 0):
        whole = names + b"".join(struct.pack("<10I", *row) for row in rows)
        super().__init__(e_shentsize=row_bytes, e_shoff=len(names))
        self.stream, self._count = BytesIO(whole[: len(whole) - cut]), len(rows)

    def num_sections(self) -> int:
        return self._count

    def get_shstrndx(self) -> int:
        return 0


def test_sections_of_a_file_are_read_with_their_bytes_or_the_file_is_damaged():
    names = b"\0.text\0.bss\0"
    text, bss = (1, 1, 6, 0, 2, 4, 7, 8, 0, 9), (7, 8, 3, 0, 2, 4000, 0, 0, 0, 0)
    strings = (0, 3, 0, 0, 0, len(names), 0, 0, 0, 0)
    found = [*sections_of(Elf([strings, text, bss], names))]
    assert [(one.name, one.type, one.flags, one.size_bytes, one.content) for one in found[1:]] == [
        (".text", 1, 6, 4, names[2:6]),
        (".bss", 8, 3, 4000, b""),
    ]
    assert (found[1].link, found[1].info, found[1].entry_bytes) == (7, 8, 9) and [*sections_of(Elf([], b""))] == []
    whole = len(names) + 80
    assert [*sections_of(Elf([strings, (1, 1, 6, 0, whole - 4, 4, 0, 0, 0, 0)], names))]
    for damaged, words in (
        (Elf([strings], names, row_bytes=39), "headers of sections have 39 bytes"),
        (Elf([strings, text], names, cut=1), "the headers of sections are beyond the end of the file"),
        (Elf([strings, (1, 1, 6, 0, whole - 4, 5, 0, 0, 0, 0)], names), "section .text ends beyond the end of the file"),
    ):
        with pytest.raises(ValueError, match=words):
            [*sections_of(damaged)]


def test_a_table_of_symbols_has_whole_entries():
    table, elf = FileSection(".symtab", 2, 0, 32, 0, 0, 16, bytes(32)), Elf([], b"")
    assert len([*symbol_entries(elf, [table])]) == 2
    for damaged, words in (
        (table._replace(entry_bytes=15), "entries of section .symtab have 15 bytes"),
        (table._replace(content=bytes(31)), "section .symtab ends within an entry"),
    ):
        with pytest.raises(ValueError, match=words):
            [*symbol_entries(elf, [damaged])]


def test_an_image_of_a_program_is_its_stored_bytes_with_erased_flash_between_them():
    parts = [section(".data", 0x20000000, b"ab", 0x8000006), section(".text", 0x8000001, b"xyz"), section(".bss", 0x20000010, 9)]
    assert binary_of(made_of(parts)) == b"xyz\xff\xffab" and binary_of(made_of([])) == b""


def test_the_index_of_an_archive_is_read_from_its_first_member(tmp_path):
    def archive(magic: bytes = b"!<arch>\n", name: str = "/", end: str = "`\n") -> frozenset[str]:
        index = struct.pack(">3I", 2, 8, 8) + b"kws_run\0kws_w\0"
        (tmp_path / "lib.a").write_bytes(magic + f"{name:48}{len(index):<10}{end}".encode() + index + b"other_name\0")
        return _index_of(tmp_path / "lib.a")

    assert archive() == archive(b"!<thin>\n") == {"kws_run", "kws_w", ""}
    assert (
        archive(b"!<bigaf>") == archive(name="//") == archive(end="!\n") == _index_of(None) == _index_of(tmp_path) == frozenset()
    )
    assert Copies("kws", ("a.o",), ("b.o",)).as_json() == {"model": "kws", "linked": ["a.o"], "others": ["b.o"]}


def test_a_unit_without_a_table_of_lines_defines_nothing_that_is_named():
    dwarf = SimpleNamespace(iter_CUs=lambda: [object()], line_program_for_CU=lambda unit: None)
    assert [*_definitions(dwarf)] == []


def comparison(**fields) -> _Comparison:
    found = _Comparison.__new__(_Comparison)
    vars(found).update(fields)
    return found


def test_an_absolute_symbol_means_its_number_and_a_place_behind_merged_constants_is_not_known():
    found = comparison(
        _unknown=set(), objects=ObjectFile("net.o", {1: Part(1, ".rodata.str", 4, b"abc\0", (), True, True, 1, False, False)}, ())
    )
    one = ThumbObject(found.objects, SimpleNamespace())
    assert one.targets(ObjectSymbol("limit", None, 77, 0, "absolute", "global", False)) == [(77, 0)]
    for value, addend, is_known in ((4, 0, False), (3, 1, False), (0, -1, False), (3, 0, True), (0, 3, True)):
        found._unknown.clear()
        place = ObjectSymbol("", 1, value, 0, "section", "local", False)
        reference = SimpleNamespace(symbol=place, addend=addend, leads_to=None, is_partial=True)
        assert [*found._astray(None, reference)] == []
        assert found._unknown == (set() if is_known else {".rodata.str"})


BOUND = "toy_bind:\nbx lr\nmain:\nbl toy_run\nbx lr\ntoy_run:\nbx lr"


def test_weights_are_not_said_to_be_unbound_in_a_program_that_is_not_read_or_has_no_begin():
    update = ClaimedUpdate("0" * 12, 1, (), ())
    claim = Claim("toy", 0, (), True, functions=("toy_run", "toy_bind"), update=update)
    made, instructions = listed(BOUND)
    code = Code(replace(made, entry=0), instructions)
    assert [*check_bind(code.image, [claim], lambda: None)] == [*check_bind(made_of([]), [claim], lambda: code)] == []
    (finding,) = check_bind(code.image, [claim], lambda: code)
    assert "it has neither a vector table nor an entry point" in finding.text and finding.severity == "note"
    (finding,) = check_bind(made, [claim], lambda: Code(replace(made, entry=TEXT + 5), instructions))
    assert "nothing calls toy_bind, so toy_run returns TOY_WEIGHTS (4)" in finding.text and finding.severity == "error"


IN_ITCM = {"region": "ITCM", "memory": {"origin": 0, "length_bytes": 64}, "room_bytes": 32, "functions": ["kws_conv"]}


def test_functions_that_a_plan_moves_are_read_from_a_claim_that_names_them():
    (code,) = claim_from({**CLAIM, "code_in": [IN_ITCM]}).code_in
    assert code == ClaimedCode("ITCM", (0, 64), 32, ("kws_conv",))
    for wrong in ({"functions": ["a b"]}, {"functions": "kws_conv"}, {"room_bytes": -1}, {"region": "a b"}, {"memory": None}):
        with pytest.raises(ValueError):
            claim_from({**CLAIM, "code_in": [{**IN_ITCM, **wrong}]})
    with pytest.raises(ValueError, match="unaligned is 5"):
        claim_from({**CLAIM, "unaligned": 5})


@pytest.mark.parametrize(
    "entry, found",
    [
        (Entry("f", 0x101, 4, "function", "global", 1), ObjectSymbol("f", 1, 0x100, 4, "function", "global", True)),
        (Entry("f", 0x100, 4, "function", "local", 1), ObjectSymbol("f", 1, 0x100, 4, "function", "local", False)),
        (Entry("x", 0x101, 4, "object", "", 2), ObjectSymbol("x", 2, 0x101, 4, "object", "global", False)),
        (Entry("n", 5, 0, "other", "global", 0xFFF1), ObjectSymbol("n", None, 5, 0, "absolute", "global", False)),
        (Entry("g", 0, 0, "other", "weak", 0), ObjectSymbol("g", None, 0, 0, "other", "weak", False)),
        (Entry("$t", 0, 0, "other", "local", 1), ObjectSymbol("$t", 1, 0, 0, "label", "local", False)),
        (Entry("last", 0, 0, "object", "weak", 0xFEFF), ObjectSymbol("last", 0xFEFF, 0, 0, "object", "weak", False)),
        (Entry("common", 4, 8, "object", "weak", 0xFFF2), ObjectSymbol("common", None, 4, 8, "object", "weak", False)),
    ],
)
def test_a_symbol_of_an_object_is_in_its_part_without_the_thumb_bit(entry, found):
    assert _object_symbol(entry) == found


@pytest.mark.parametrize(
    "flags, relocations, facts",
    [
        (0x2, (), (False, False, False, False)),
        (0x3, (), (False, False, False, True)),
        (0x12, (), (True, False, False, False)),
        (0x32, (), (True, True, False, False)),
        (0x12, (Relocation(0, 2, 1),), (False, False, False, False)),
        (0x202, (), (False, False, True, False)),
    ],
)
def test_a_part_has_the_properties_of_its_section(flags, relocations, facts):
    part = _part(3, FileSection(".x", 1, flags, 4, 0, 0, 7, b"abcd"), relocations)
    assert (part.is_merged, part.is_text, part.is_shared, part.is_writable) == facts
    assert (part.index, part.name, part.size_bytes, part.content, part.entry_bytes) == (3, ".x", 4, b"abcd", 7)


def test_a_part_with_a_relocation_of_no_symbol_or_place_or_with_constants_of_no_size_is_damaged():
    part = Part(1, ".x", 4, b"abcd", (Relocation(3, 8, 1),), False, False, 0, False, False)
    _refuse_damaged(part, 2)
    _refuse_damaged(replace(part, is_merged=True, entry_bytes=1), 2)
    for damaged, symbols in (
        (part, 1),
        (replace(part, relocations=(Relocation(4, 8, 1),)), 2),
        (replace(part, is_merged=True), 2),
    ):
        with pytest.raises(ValueError, match="section .x has constants of no size|a relocation of .x is of no symbol"):
            _refuse_damaged(damaged, symbols)


def referred(content: bytes, stored: bytes, *relocations: Relocation) -> list[tuple[int | None, int | None]]:
    """Where references of a part at 0x100 lead, and where its branches do."""
    part = Part(1, ".text", len(content), content, relocations, False, False, 0, False, False)
    objects = ObjectFile("net.o", {1: part}, (symbol("f"), symbol("g", part=None)))
    return [(one.leads_to, one.branch_to) for one in references(objects, part, 0x100, stored)]


def test_a_reference_leads_where_its_fields_say_if_they_are_complete_and_inside_of_the_part():
    word = (0x20000040).to_bytes(4, "little")
    assert referred(bytes(4), word, Relocation(0, 2, 1)) == [(0x20000040, None)]
    assert referred(bytes(4), word, Relocation(0, 3, 1)) == [(0x20000140, None)], "relative to its place"
    assert referred(bytes(4), word, Relocation(1, 2, 1)) == referred(bytes(4), word[:3], Relocation(0, 2, 1)) == []
    assert referred(bytes(4), word, Relocation(0, 41, 1)) == [], "a field that is not compared"
    branch = bytes.fromhex("00f002b8")  # 4 bytes behind the next instruction
    assert referred(bytes(4), branch, Relocation(0, 30, 1)) == [(0x104, 0x108)]
    moves = bytes.fromhex("40f24100c2f20000")  # movw r0, #0x41; movt r0, #0x2000
    both = (Relocation(0, 47, 1), Relocation(4, 48, 1))
    assert referred(bytes(8), moves, *both) == [(None, None), (0x20000041, None)]
    assert referred(bytes(8), moves, both[0], both[1]._replace(symbol=0)) == [(None, None), (None, None)], "of two symbols"


def test_fields_that_a_linker_fills_in_and_spared_bytes_are_not_compared():
    part = Part(1, ".text", 8, bytes(8), (Relocation(0, 8, 1), Relocation(2, 102, 1)), False, False, 0, False, False)
    one = ThumbObject(ObjectFile("net.o", {1: part}, ()), SimpleNamespace())
    assert one.without_fields(part, b"\xff" * 8) == bytes.fromhex("00ff00f8ffffffff")
    assert one.without_fields(part, b"\xff" * 8, [(4, 4)]) == bytes.fromhex("00ff00f800000000")
    assert one.without_fields(part, b"\xff" * 3) == bytes.fromhex("00ffff"), "a field that is cut off stays"
