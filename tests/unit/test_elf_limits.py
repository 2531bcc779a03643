# SPDX-License-Identifier: MIT
"""What is read of a program at its limits, from both sides, from values: no program is linked."""

from __future__ import annotations

import struct
from dataclasses import replace
from types import SimpleNamespace

import pytest
from elftools.elf.constants import P_FLAGS

from aidge_build.boards import Region
from aidge_build.prove.elf.argument_addresses import argument_addresses
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.code_memory import _holds, check_code_memory, not_copied
from aidge_build.prove.elf.code_proof import _Comparison
from aidge_build.prove.elf.deepest import StackBound, chain_of
from aidge_build.prove.elf.device_proof import _in_device
from aidge_build.prove.elf.image import Symbol, _loads_headers
from aidge_build.prove.elf.linked_object import Placement
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.stack import StackUse
from aidge_build.prove.elf.vector_moves import _up_to
from aidge_build.prove.elf.vectors import find_tables, table_at, tables_in_ram
from aidge_build.prove.elf.written_addresses import _move
from tests.golden.test_findings import image, section
from tests.listings import TEXT, listed

RAM = 0x20000000


def variable(name: str, address: int, size: int, kind: str = "object", where: str = ".bss") -> Symbol:
    return Symbol(name, name, address, size, kind, where)


def test_a_symbol_holds_its_first_byte_and_its_last_and_its_content_is_what_its_section_stores():
    symbol = variable("weights", 0x104, 4, where=".rodata")
    assert [symbol.holds(address) for address in (0x103, 0x104, 0x107, 0x108)] == [False, True, True, False]
    program = image([section(".rodata", 0x100, b"0123456789")], [symbol])
    assert program.content(symbol) == b"4567"
    assert program.content(variable("before", 0xFF, 4, where=".rodata")) == program.content(variable("lost", 0x104, 4)) == b""
    assert program.content(variable("first", 0x100, 1, where=".rodata")) == b"0"


def test_a_word_is_found_wherever_it_is_stored():
    """Equal bytes may be several words."""
    program = image([section(".text", 0x100, b"\1\1\1\1\1\2"), section(".bss", 0x200, 8), section(".data", 0x300, b"\1\1\1\1")])
    assert [*program.places_of(0x01010101)] == [0x100, 0x101, 0x300] and [*program.places_of(0x02010101)] == [0x102]


@pytest.mark.parametrize("address", [0x08001235, 0x0800FFFF, 0x20010000])
@pytest.mark.parametrize("register", [0, 7, 14, 15])
def test_code_holds_an_address_as_a_word_or_in_two_moves_to_one_register(address, register):
    """Nothing moves numbers to pc."""
    first, second = _move(0xF240, address & 0xFFFF, register), _move(0xF2C0, address >> 16, register)
    other = _move(0xF2C0, address >> 16, register ^ 1)

    def holds(content: bytes, is_code: bool = True) -> bool:
        part = section(".text", 0x100, content)
        return bool(_holds(image([replace(part, executable=is_code)]), address))

    is_moved = register < 15
    assert holds(b"\0" + address.to_bytes(4, "little"), is_code=False)
    assert holds(first + second) == holds(first + bytes(32) + second) == is_moved
    assert not holds(first + second, is_code=False) and not holds(first + other) and not holds(second + first)
    assert not holds(first + bytes(33) + second) and not holds(_move(0xF240, address - 1 & 0xFFFF, register) + second)


def test_the_functions_of_a_section_that_nothing_stores_are_named_by_the_first():
    functions = [replace(variable(name, 0x100, 4, "function"), section=".itcm") for name in ("kws_run", "kws_fc")]
    part = replace(section(".itcm", 0x100, 16), is_loaded=False)
    claim = Claim("kws", 0, (), True, functions=("kws_run", "kws_fc"))
    (finding,) = check_code_memory(image([part], functions), claim, ())
    assert "code of model kws (kws_run and 1 more in .itcm) is not stored: no contents fill the section" in finding.text


def test_the_first_and_the_last_ten_calls_of_a_chain_are_named():
    names = [f"f{number}" for number in range(22)]
    assert chain_of(names[:21]) == " > ".join(names[:21])
    assert chain_of(names) == " > ".join([*names[:10], "... 2 calls ...", *names[-10:]])


@pytest.mark.parametrize("program, interrupt, most", [(120, 36, 156), (120, None, 120), (None, 36, None), (0, 36, 36)])
def test_the_most_bytes_of_a_program_are_its_own_and_those_of_one_interrupt(program, interrupt, most):
    use = StackUse(StackBound(program, ()), {}, StackBound(interrupt, ()), None)
    assert use.most_bytes == most


def test_a_load_reaches_less_than_4096_bytes_and_ranges_that_touch_are_one():
    assert _up_to([10_000]) == [range(5905, 10_001)]
    assert _up_to([10_000, 14_096]) == [range(5905, 14_097)]
    assert _up_to([10_000, 14_097]) == [range(5905, 10_001), range(10_002, 14_098)]


@pytest.mark.parametrize(
    "segment, is_loaded",
    [
        ((0, 116, P_FLAGS.PF_W), False),
        ((0, 117, P_FLAGS.PF_W), True),
        ((0, 116, P_FLAGS.PF_R), True),
        ((0, 1, P_FLAGS.PF_R), True),
        ((0, 0, P_FLAGS.PF_R), False),
        ((1, 200, P_FLAGS.PF_R), False),
    ],
)
def test_a_segment_from_the_begin_of_the_file_loads_its_headers_unless_it_holds_zeroed_variables(segment, is_loaded):
    offset, size, flags = segment
    elf = {"e_phoff": 52, "e_phnum": 2, "e_phentsize": 32}
    assert _loads_headers(elf, {"p_offset": offset, "p_filesz": size, "p_flags": flags}) == is_loaded


@pytest.mark.parametrize(
    "address, size, is_device",
    [(0xF0, 16, False), (0xF0, 17, True), (0x1FF, 1, True), (0x200, 1, False), (0x180, 0, False), (0x300, 4, False)],
)
def test_an_array_is_in_a_device_range_if_one_byte_is_and_no_region_is_said_to_be_normal(address, size, is_device):
    unaligned, array = SimpleNamespace(device=((0x100, 0x1FF),)), variable("array", address, size)
    for normal in (False, True):
        region = Region("EXT", 0, 0x1000, "ram", (), normal=normal)
        found = _in_device([array], unaligned, [region])
        assert found == ({"EXT": [array]} if is_device and not normal else {})
    assert _in_device([array], unaligned, []) == ({"": [array]} if is_device else {})


def test_a_place_in_an_object_counts_from_the_symbol_before_it_or_from_the_section():
    names = {3: [SimpleNamespace(name="one", value=4), SimpleNamespace(name="two", value=8)]}
    found, part = _Comparison.__new__(_Comparison), SimpleNamespace(index=3, name=".text")
    found._names = names
    places = [found._place(Placement(part, b"", ((0, 0x8000),)), offset) for offset in (0, 3, 4, 7, 8, 20)]
    expected = [".text+0x0", ".text+0x3", "one+0x0", "one+0x3", "two+0x0", "two+0xc"]
    assert places == [f"{place} (0x{0x8000 + at:08x})" for place, at in zip(expected, (0, 3, 4, 7, 8, 20), strict=True)]


@pytest.mark.parametrize(
    "lines, entries",
    [
        ("cmp r0, #4\nbhi .out\ntbb [pc, r0]\n.out:", 5),
        ("cmp r0, #0\nbhi .out\ntbb [pc, r0]\n.out:", 1),
        ("cmp r0, r1\nbhi .out\ntbb [pc, r0]\n.out:", 0),
        ("cmp r0, #4\nbcs .out\ntbb [pc, r0]\n.out:", 4),
        ("cmp r0, #4\nbhs .out\ntbb [pc, r0]\n.out:", 4),
        ("cmp r0, #4\nbne .out\ntbb [pc, r0]\n.out:", 0),
        ("cmp r1, #4\nbhi .out\ntbb [pc, r0]\n.out:", 0),
        ("cmp r1, #4\nbhi .out\ntbb [pc, r10]\n.out:", 0),
        ("adds r0, #4\nbhi .out\ntbb [pc, r0]\n.out:", 0),
        ("cbz r1, .over\ncmp r0, #4\n.over:\nbhi .out\ntbb [pc, r0]\nTABLE\n.out:", 7),
        ("cbz r1, .over\ncmp r0, #4\nbhi .out\n.over:\ntbh [pc, r0, lsl #1]\nTABLE\n.out:", 3),
    ],
)
def test_a_table_of_a_switch_has_the_entries_of_its_comparison_or_fills_the_space_to_the_next_code(lines, entries):
    """The last entry of a table that fills the space may be alignment; every line is 4 bytes, the table 8."""
    before, has_table, after = lines.partition("TABLE\n")
    made, instructions = listed(f"f:\n{before}{'nop' + chr(10) + 'nop' + chr(10) if has_table else ''}{after}\nbx lr")
    switch = next(one for one in instructions.values() if one.mnemonic.startswith("tb"))
    for place in (switch.next, switch.next + 4) if has_table else ():
        del instructions[place]
    assert Code(made, instructions).compared_with(switch) == entries


STACK = RAM + 0x1000
FUNCTIONS = [Symbol(f"f{at:x}", f"f{at:x}", TEXT + at, 16, "function", ".text") for at in (0, 16, 32)]
TABLE = (STACK, TEXT + 1, TEXT + 17, TEXT + 33)


def with_table(words, begin: int = 0x10080, **changes):
    """A program whose constants from 0x10000 on hold these words at `begin`."""
    content = bytes(begin - 0x10000) + struct.pack(f"<{len(words)}I", *words)
    fields = {"name": ".rodata", "size": None, "symbols": ()} | changes
    parts = [section(fields["name"], 0x10000, content[: fields["size"]]), section(".text", TEXT, bytes(64))]
    return image([*parts, section(".bss", RAM, 0x1000, writable=True)], [*FUNCTIONS, *fields["symbols"]], entry=TEXT + 1)


@pytest.mark.parametrize(
    "words, changes, is_table",
    [
        (TABLE, {}, True),
        (TABLE, {"begin": 0x10000}, True),
        (TABLE, {"begin": 0x10040}, False),
        ((0, *TABLE[1:]), {}, False),
        ((STACK + 2, *TABLE[1:]), {}, False),
        ((STACK + 4, *TABLE[1:]), {}, True),
        ((TEXT, *TABLE[1:]), {}, False),
        ((TEXT + 64, *TABLE[1:]), {}, True),
        ((RAM, *TABLE[1:]), {}, True),
        ((STACK, TEXT, *TABLE[2:]), {}, False),
        ((*TABLE[:2], TEXT + 16, TABLE[3]), {}, False),
        ((*TABLE[:3], TEXT + 35), {}, False),
        (TABLE[:3], {}, False),
        (TABLE[:2], {"begin": 0x10000}, True),
        (TABLE[:2], {"symbols": [variable("table", 0x10080, 8, where=".rodata")]}, True),
        (TABLE[:2], {"begin": 0x10000, "size": 7}, False),
        (TABLE[:2], {"begin": 0x10000, "size": 7, "name": ".vectors"}, False),
        (TABLE[:2], {"begin": 0x10000, "name": ".vectors"}, True),
    ],
)
def test_words_are_a_table_if_they_are_a_place_for_a_stack_and_handlers(words, changes, is_table):
    assert len(find_tables(with_table(words, **changes))) == is_table


@pytest.mark.parametrize(
    "size, handlers", [(0, 2), (4, 2), (7, 2), (8, 0), (11, 0), (12, 1), (16, 2), (20, 2)], ids=lambda value: str(value)
)
def test_a_table_is_as_long_as_its_symbol_says_if_that_is_two_words_or_more(size, handlers):
    (table,) = find_tables(with_table(TABLE, symbols=[variable("table", 0x10080, size, where=".rodata")]))
    assert len(table.handlers) == handlers


def test_a_table_of_no_known_size_has_512_words_at_most():
    words = [STACK, TEXT + 1, *510 * [TEXT + 17]]
    for more in ((TEXT + 33,), ()):
        (table,) = find_tables(with_table([*words, *more]))
        assert (table.stack, table.reset, table.handlers) == (STACK, TEXT, (TEXT + 16,))
    (table,) = find_tables(with_table([*words[:-1], TEXT + 33]))
    assert table.handlers == (TEXT + 16, TEXT + 32)


@pytest.mark.parametrize(
    "address, is_stored", [(0x1007F, True), (0x1008C, False), (0x10088, True), (0xFFFF, False), (0x10000, True)]
)
def test_a_table_that_the_core_is_given_has_two_stored_words(address, is_stored):
    assert (table_at(with_table(TABLE), address) is not None) == is_stored


@pytest.mark.parametrize(
    "name, size, kind, where, is_table",
    [
        ("ram_vectors", 64, "object", ".bss", True),
        ("ram_vectors", 63, "object", ".bss", False),
        ("ram_vectors", 0, "other", ".bss", True),
        ("ram_vectors", 4, "other", ".bss", False),
        ("ram_vectors", 0, "object", ".bss", False),
        ("ram_vectors", 64, "object", ".rodata", False),
        ("samples", 64, "object", ".bss", False),
    ],
)
def test_a_variable_as_large_as_a_table_with_the_name_of_one_is_one(name, size, kind, where, is_table):
    program = with_table(TABLE, symbols=[variable(name, RAM, size, kind, where)])
    assert tables_in_ram(program) == ((name,) if is_table else ())


@pytest.mark.parametrize("size, is_table", [(63, False), (64, True)])
def test_a_section_as_large_as_a_table_with_the_name_of_one_is_one(size, is_table):
    program = image([section(".ram_vectors", RAM, size, writable=True)], FUNCTIONS)
    assert tables_in_ram(program) == (("ram_vectors",) if is_table else ())


@pytest.mark.parametrize("machine", ["ARM", "RISCV", "XTENSA"])
@pytest.mark.parametrize("planned", [True, False])
def test_code_that_nothing_copies_is_an_error_if_the_plan_names_its_place_and_its_instructions_are_read(planned, machine):
    part = section(".aidge_code_ITCM", 0x100, bytes(4), 0x8000)
    found = not_copied(image([part], machine=machine), "code", part, "code", planned)
    assert (
        found.severity == ("error" if planned and machine != "XTENSA" else "note")
        and "copies from 0x00008000 to there" in found.text
    )
    assert found.hint.startswith("PROVIDE(aidge_code_ITCM_load = LOADADDR(.aidge_code_ITCM)), aidge_code_ITCM_first and")
    assert not_copied(image([part]), "code", part, "constants", planned).hint.startswith("start-up code must copy it")


def test_without_code_no_argument_of_a_call_is_known():
    """A branch passes what is in the registers, too."""
    made, instructions = listed(
        "main:\nmovw r0, #4096\nmovw r1, #8192\nb kws_run\nother:\nmovw r0, #77\nbl main\nkws_run:\nbx lr"
    )
    claim = Claim("kws", 0, (), True, functions=("kws_run", "kws_gone"))
    assert argument_addresses(None, [claim]) == frozenset()
    assert argument_addresses(Code(made, instructions), [claim]) == {4096, 8192}
    assert argument_addresses(Code(made, instructions), []) == frozenset()
