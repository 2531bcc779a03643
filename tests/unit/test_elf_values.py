# SPDX-License-Identifier: MIT
"""What is read of symbols and notes, from values: no program is linked."""

from __future__ import annotations

import struct
from dataclasses import replace
from types import SimpleNamespace

import pytest
from elftools.elf.enums import ENUM_SH_TYPE_BASE, ENUM_ST_INFO_BIND, ENUM_ST_INFO_TYPE, ENUM_ST_SHNDX

from aidge_build.prove.elf import stack, tables
from aidge_build.prove.elf.bind_proof import check_bind
from aidge_build.prove.elf.claim import Claim, ClaimedArena, ClaimedCode
from aidge_build.prove.elf.claims import read_claims
from aidge_build.prove.elf.code_memory import check_code_places
from aidge_build.prove.elf.code_proof import check_code
from aidge_build.prove.elf.debug_info import compiled_files
from aidge_build.prove.elf.decisions import decision
from aidge_build.prove.elf.destinations import BREAKPOINT, CUSTOM, is_misread, written_registers
from aidge_build.prove.elf.findings import some_of
from aidge_build.prove.elf.flash_files import hex_of
from aidge_build.prove.elf.image import Image, Section, Symbol, _notes, _section
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.stack_place import stack_begin
from aidge_build.prove.elf.vector_moves import _constants
from aidge_build.prove.elf.vectors import _is_table
from aidge_build.prove.elf.written_addresses import _move, writes_address
from tests.listings import TEXT, listed


def absolute(name: str, value: int) -> SimpleNamespace:
    return SimpleNamespace(name=name, address=value, kind="absolute")


def test_the_parts_of_an_arena_are_the_symbols_that_begin_and_end_as_theirs():
    symbols = [
        absolute("aidge_kws__arena_bytes", 0),
        absolute("aidge_kws__arena_SRAM1_bytes", 100),
        absolute("aidge_kws__arena_DTCM_bytes", 28),
        absolute("aidge_kws__arena_SRAM1_words", 7),
        absolute("aidge_kws__arena__bytes", 3),
        absolute("other_bytes", 9),
        SimpleNamespace(name="aidge_kws__arena_SRAM2_bytes", address=5, kind="data"),
    ]
    (claim,) = read_claims(SimpleNamespace(notes=(), symbols=symbols, path="app.elf"))
    assert claim.arenas == (ClaimedArena("kws_arena_SRAM1", 100), ClaimedArena("kws_arena_DTCM", 28))
    assert claim.arena_bytes == 128 and not claim.from_note
    assert (claim.state, claim.weights_bytes, claim.peak_bytes, claim.is_contradicted) == (None, 0, 0, False)
    assert [arena.alignment for arena in claim.arenas] == [1, 1], "nothing is known of it"
    assert (claim.max_step, claim.step_count, claim.dma_line, claim.unaligned) == (0, 0, 0, True)


@pytest.mark.parametrize(
    "opcode, number, register, encoded",
    [
        (0xF240, 0x0800, 3, "f640 0300"),
        (0xF240, 0x1000, 3, "f241 0300"),
        (0xF2C0, 0xF7FF, 12, "f2cf 7cff"),
        (0xF240, 0xABCD, 14, "f64a 3ecd"),
    ],
)
def test_a_move_of_16_bits_is_encoded_as_the_assembler_does(opcode, number, register, encoded):
    first, second = struct.unpack("<HH", _move(opcode, number, register))
    assert f"{first:04x} {second:04x}" == encoded


# lui a0, 0x12345; nop; addi a1, a0, -1; auipc a2, 1; addi a3, a2, 8; addi a4, gp, 4; c.lui a5, 3; c.addi a5, 2
OF_RISCV = bytes.fromhex("37553412 13000000 9305f5ff 17160000 93068600 13874100 8d67 8907")


@pytest.mark.parametrize("address", [0x12344FFF, 0x12345000, 0x1114, 0x110C, 0x804, 0x3002])
def test_an_address_that_risc_v_code_writes_is_found_and_no_other_one(address):
    text = Section(".text", 0x100, len(OF_RISCV), 0x100, False, True, OF_RISCV)
    pointer = Symbol("__global_pointer$", "__global_pointer$", 0x800, 0, "other", ".text")
    program = Image("a.elf", "RISCV", "", 0x100, (text,), (pointer,), (), (), {pointer.name: (pointer,)})
    assert writes_address(program, address) and not writes_address(program, address ^ 64)
    assert not writes_address(program, pointer.address - 1)  # the sum of another register
    other = replace(program, machine="XTENSA"), replace(program, has_64_bits=True)
    assert not any(writes_address(one, address) for one in other)


def test_custom_instructions_have_the_coprocessors_0_to_7_and_vector_instructions_the_others():
    assert [is_misread("mcr", (str(number), "0", "r1")) for number in (0, 7, 8, 15)] == [False, False, True, True]
    assert is_misread("ldc", ("3", "cr1", "[r2]"))


@pytest.mark.parametrize("name", sorted(CUSTOM))
def test_the_highest_bit_of_the_first_code_says_which_register_a_custom_instruction_writes(name):
    highest = 8 if name.startswith("cdp") else 4
    for code in range(2 * highest):
        written = written_registers(name, ("0", str(code), "cr1", "cr0", "cr5", "{2}"))
        assert written == {"0", str(code), "cr1", "cr0", "cr5"} | ({"r5", "r6"} if code & highest else {"r1", "r2"})


@pytest.mark.parametrize(
    "instruction, written",
    [
        ("mrc 0 0 sp cr0 cr0", ["lr", "sp"]),
        ("mrc 0 0 apsr_nzcv cr0 cr0", []),
        ("cdp 0 0 cr12 cr0 cr5 {0}", ["r12"]),
        ("cdp 0 0 cr14 cr0 cr5 {0}", ["lr"]),
        ("strex r0 r1 [r2]", ["r0"]),
        ("str r0 [r1]", []),
        ("stmia r0! {r1,r2}", []),
        ("ldmia r0! {r1-r3}", ["r1", "r2", "r3"]),
        ("smull r0 r1 r2 r3", ["r0", "r1"]),
        ("adds r0 r1 r2", ["r0"]),
        ("vadd.i8 q0 q1 r2", []),
        ("vaddv.u8 r0 q0", ["r0"]),
        ("unknown r0 r1 [r2]", ["r0", "r1"]),
        ("bkpt 0x00ab", sorted(BREAKPOINT)),
    ],
)
def test_core_registers_that_an_instruction_may_write(instruction, written):
    name, *operands = instruction.split()
    core = {*(f"r{number}" for number in range(13)), "sp", "lr", "pc"}
    assert sorted(written_registers(name, tuple(operands)) & core) == written


def note(name: bytes, text: bytes, kind: int = 1) -> bytes:
    padded = [part + bytes(-len(part) % 4) for part in (name, text)]
    return struct.pack("<III", len(name), len(text), kind) + b"".join(padded)


def read(content: bytes) -> list[bytes]:
    class Section(dict):
        def data(self):
            return content

    section = Section(sh_type="SHT_NOTE")
    return list(_notes(SimpleNamespace(get_section_by_name=lambda name: section if name == ".note.aidge" else None), "<"))


def test_notes_of_any_length_follow_each_other_at_multiples_of_four_bytes():
    texts = [b"", b"a", b"ab", b"abc", b"abcd", b"abcde"]
    assert read(b"".join(note(b"aidge\0", text) for text in texts)) == texts


def test_notes_of_others_are_passed_over_and_one_that_is_cut_off_is_its_rest():
    content = note(b"GNU\0", b"x") + note(b"four\0", b"y") + note(b"aidge\0", b"other kind", 2) + note(b"aidge\0", b"mine")
    assert read(content) == [b"mine"] and read(content[:-1]) == [b"min"] and read(content + b"\1" * 11) == [b"mine"]


def test_a_program_without_a_vector_table_begins_at_the_entry_of_the_elf_without_its_thumb_bit(monkeypatch):
    monkeypatch.setattr(stack, "bound_of", lambda walk, code, entry, is_root: entry)
    code = SimpleNamespace(tables=[], image=SimpleNamespace(entry=0x101), instructions={0x100: None})
    assert stack._program(code) == 0x100


def test_a_handler_at_the_end_of_a_section_is_not_in_it():
    table = SimpleNamespace(handlers=(0x100, 0x1FE, 0x200))
    code = SimpleNamespace(image=SimpleNamespace(sections=[Section(".text", 0x100, 0x100, None, False, True, b"")]))
    assert stack._handlers(code, [table], inside=True) == [0x100, 0x1FE]
    assert stack._handlers(code, [table], inside=False) == [0x200]


def test_a_file_that_cannot_be_read_names_no_sources(tmp_path):
    (tmp_path / "text.elf").write_text("no ELF file")
    assert compiled_files(str(tmp_path / "absent.elf")) == compiled_files(str(tmp_path / "text.elf")) == ()


def test_code_that_no_tool_reads_does_not_say_whether_weights_are_bound():
    claim = SimpleNamespace(update="weights", model="kws", computing=(), layers=(), arenas=(), functions=())
    image = SimpleNamespace(symbol=lambda name: SimpleNamespace(address=0x100))
    assert list(check_bind(image, [claim], lambda: None)) == []


def test_a_section_holds_its_first_byte_and_its_last():
    section = Section(".text", 0x100, 0x20, None, False, True, bytes(0x20))
    assert [section.holds(address) for address in (0xFF, 0x100, 0x11F, 0x120)] == [False, True, True, False]


def test_of_several_symbols_of_one_name_the_plain_global_one_counts():
    def named(*symbols: Symbol) -> Symbol | None:
        return Image("a.elf", "ARM", "", 0, (), symbols, (), (), {"kws": symbols}).symbol("kws")

    plain, other = Symbol("kws", "kws", 8, 4, "object", ".rodata"), Symbol("kws", "kws", 4, 4, "object", ".rodata", "", True)
    clones = [Symbol("kws", f"kws.isra.{at}", at, 4, "function", ".text") for at in (1, 0)]
    assert named(*clones, other, plain) is plain and named(*clones, other) is other and named(*clones) is clones[1]
    assert named() is None


class FileSection(dict):
    """A section of an ELF file as pyelftools has it."""

    name = ".rodata"

    def data(self) -> bytes:
        return bytes(self["sh_size"])


@pytest.mark.parametrize(
    "address, size, offset, place",
    [
        (0x100, 0, 0x40, (None, False)),
        (0x100, 1, 0x40, (0x8000, True)),
        (0x104, 12, 0x44, (0x8004, True)),
        (0x100, 16, 0x40, (0x8000, True)),
        (0x100, 16, 0x20, (0x9000, True)),
        (0x100, 16, 0x41, (0x8000, False)),
        (0x100, 17, 0x40, (0x100, False)),
        (0xFF, 4, 0x3F, (0xFF, False)),
    ],
)
def test_a_section_is_stored_where_the_segment_that_holds_its_bytes_is_loaded(address, size, offset, place):
    """Two segments run at the same address: an overlay."""
    section = FileSection(sh_type="SHT_PROGBITS", sh_flags=2, sh_addr=address, sh_size=size, sh_offset=offset)
    segments = [
        {"p_vaddr": 0x100, "p_paddr": place, "p_offset": begin, "p_filesz": 16}
        for place, begin in ((0x8000, 0x40), (0x9000, 0x20))
    ]
    found = _section(section, segments)
    assert (found.load_address, found.is_loaded) == place and len(found.content) == size
    assert (found.writable, found.executable) == (False, False)


def test_two_words_are_a_table_where_a_section_or_a_symbol_begins():
    pair = struct.pack("<II", 0x20010000, 0x201)
    flash = Section(".text", 0x100, 0x88, 0x100, False, True, pair + bytes(120) + pair)

    def is_table(position: int, *symbols: int, entry: int = 0x201) -> bool:
        named = [SimpleNamespace(address=address) for address in symbols]
        return _is_table(SimpleNamespace(sections=[flash], symbols=named, entry=entry), flash, position, {0x200})

    assert is_table(0x100) and is_table(0x180, 0x180)
    assert not is_table(0x180, 0x100) and not is_table(0x100, entry=0x211)


@pytest.mark.parametrize(
    "kind, address, entry, begins",
    [
        ("function", 0x200, 0, True),
        ("function", 0x204, 0, False),
        ("object", 0x200, 0, False),
        ("object", 0x200, 0x201, True),
    ],
)
def test_the_stack_begins_where_a_table_says_if_its_reset_handler_is_code_of_the_program(kind, address, entry, begins):
    table = Section(".vectors", 0x100, 8, 0x100, False, False, struct.pack("<II", 0x20010000, 0x201))
    symbol = Symbol("start", "start", address, 4, kind, ".text")
    program = Image("a.elf", "ARM", "v7E-M", entry, (table,), (symbol,), (), (), {"start": (symbol,)})
    assert stack_begin(program) == (0x20010000 if begins else None)
    assert stack_begin(replace(program, machine="RISC-V")) is None


@pytest.mark.parametrize(
    "words, targets",
    [
        ((TEXT + 4, TEXT + 9), {TEXT + 4, TEXT + 8}),
        ((0, TEXT + 5, 0), {TEXT + 4}),
        ((TEXT + 1, TEXT + 5), {TEXT, TEXT + 4}),
        ((TEXT + 1, 0), set()),
        ((TEXT + 5, 7), set()),
        ((TEXT + 5, TEXT + 2), set()),
        ((TEXT + 5, None), set()),
    ],
)
def test_labels_are_in_arrays_that_hold_nothing_but_addresses_of_code_and_zeros(words, targets):
    """None: a word that the program does not store."""
    stored = b"".join(word.to_bytes(4, "little") for word in words if word is not None)
    image, instructions = listed("f:\nnop\nnop\nbx lr", {"table": stored})
    table = Symbol("table", "table", TEXT + 12, 4 * len(words), "object", ".text")
    code = Code(replace(image, symbols=(*image.symbols, table)), instructions)
    assert code.labels == ({"f": targets} if targets else {})


def test_of_a_program_for_another_machine_no_code_counts_as_compared():
    proof = check_code(Image("a.elf", "RISC-V", "", 0, (), (), (), (), {}), {}, [], [SimpleNamespace(model="kws")])
    assert (proof.objects, proof.functions, proof.constants, proof.size_bytes) == ((), 0, 0, 0)
    assert proof.not_compared and not proof.findings and not proof.leaves_out("kws", "kws_run")


def test_of_many_names_the_first_are_named_and_the_others_are_counted():
    assert [some_of("abcd"[:count], 2) for count in range(5)] == ["", "a", "a, b", "a, b and 1 more", "a, b and 2 more"]
    assert (some_of(["f"], 1), some_of(["f", "g"], 1)) == ("f", "f and 1 more")
    assert (some_of("abc"), some_of("abcd")) == ("a, b, c", "a, b, c and 1 more")


def test_intel_hex_says_the_upper_half_of_each_address_also_of_the_first_one():
    def records(address: int, content: bytes) -> list[str]:
        section = Section(".text", address, len(content), address, False, True, content)
        return hex_of(Image("a.elf", "ARM", "", 0, (section,), (), (), (), {})).decode().split("\r\n")

    assert records(0, b"\1") == [":020000040000FA", ":0100000001FE", ":00000001FF", ""]
    lines = records(0x10A, bytes(40))[1:-2]
    assert [(line[3:7], len(line) // 2 - 5) for line in lines] == [("010A", 6), ("0110", 16), ("0120", 16), ("0130", 2)]
    assert records(0x103, b"\1")[1] == ":0101030001FA"
    assert records(0xFFFE, b"\1\2\3\4") == [
        ":020000040000FA",
        ":02FFFE000102FE",
        ":020000040001F9",
        ":020000000304F7",
        ":00000001FF",
        "",
    ]


@pytest.mark.parametrize(
    "address, size, is_inside",
    [(0x1000, 0x100, True), (0x1001, 0x100, True), (0xFFE, 2, False), (0x10F0, 0x10, True), (0x10F0, 0x12, False)],
)
def test_a_function_that_the_plan_moves_is_in_its_memory_from_the_first_byte_to_the_last(address, size, is_inside):
    symbol = Symbol("layer", "layer", address, size, "function", ".text")
    program = Image("a.elf", "ARM", "", 0, (), (symbol,), (), (), {"layer": (symbol,)})
    claim = Claim("kws", 0, (), True, code_in=(ClaimedCode("ITCM", (0x1000, 0x100), 0x100, ("layer",)),))
    found = [*check_code_places(program, claim, [claim])]
    assert [one.code for one in found] == ([] if is_inside else ["MEM02"])
    assert is_inside or f"function layer of model kws: at 0x{address:08x}" in found[0].text


@pytest.mark.parametrize(
    "addresses, other_memory, codes",
    [
        ((0x1000, 0x1010), (0x1000, 0x100), []),
        ((0x1000, 0x8010), (0x1000, 0x100), ["MEM02"]),
        ((0x1000, 0x8010), (0x8000, 0x100), []),
        ((0x8000, 0x8010), (0x8000, 0x100), ["MEM02"]),
    ],
)
def test_a_kernel_of_two_models_is_in_a_memory_as_often_as_models_move_it_there(addresses, other_memory, codes):
    symbols = tuple(Symbol("kernel", "kernel", address, 8, "function", ".text") for address in addresses)
    program = Image("a.elf", "ARM", "", 0, (), symbols, (), (), {"kernel": symbols})
    claims = [
        Claim(model, 0, (), True, code_in=(ClaimedCode("ITCM", memory, 0x100, ("kernel",)),))
        for model, memory in (("kws", (0x1000, 0x100)), ("vww", other_memory))
    ]
    assert [one.code for one in check_code_places(program, claims[0], claims)] == codes


def taken(text: str, begins_at: int = TEXT, word: int = 0) -> bool | None:
    """The decision of the instruction before the last one, which the constant `word` follows."""
    image, instructions = listed(f"f:\n{text}\n.out:\nbx lr", {"literal": word.to_bytes(4, "little")})
    *_, branch, _ = instructions.values()
    return decision(Code(image, instructions), branch, begins_at)


@pytest.mark.parametrize("number", [0, 1, 5, 200, 0xFFFF, 0x10000, 0x12345, 0x7FFFFFFF, 0x80000000, 0xFFFF0001, 0xFFFFFFFF])
def test_a_branch_on_a_number_is_decided_as_the_core_decides_it(number):
    signed = number - (1 << 32) if number >> 31 else number
    ways = [f"movw r0, #{number & 0xFFFF}\nmovt r0, #{number >> 16}\n", "ldr r0, [pc, #12]\n"]
    ways += [f"mov r0, #{number}\nadds r1, #1\n"] * (number <= 255)
    for other in (0, 1, 5, 200):
        expected = {
            "eq": number == other,
            "ne": number != other,
            "cs": number >= other,
            "hs": number >= other,
            "cc": number < other,
            "lo": number < other,
            "hi": number > other,
            "ls": number <= other,
            "ge": signed >= other,
            "lt": signed < other,
            "gt": signed > other,
            "le": signed <= other,
            "mi": None,
            "vs": None,
        }
        for way in ways:
            found = {name: taken(f"{way}cmp r0, #{other}\nb{name} .out", word=number) for name in expected}
            assert found == expected, (way, other)
    assert [taken(f"{ways[0]}{name} r0, .out") for name in ("cbz", "cbnz")] == [number == 0, number != 0]


@pytest.mark.parametrize(
    "text",
    [
        "cmp r0, #1\nbeq .out",
        "mov r0, #1\nadds r0, #1\ncmp r0, #1\nbeq .out",
        "mov r0, #1\nldr r2, [r0], #4\ncmp r0, #1\nbeq .out",
        "movt r0, #1\ncmp r0, #1\nbeq .out",
        "mov r0, #1\ntst r0, #1\nbeq .out",
        "mov r0, #1\ncmp r0, r1\nbeq .out",
        "mov r0, r1\ncbz r0, .out",
        "ldr r0, [r1, #4]\ncbz r0, .out",
    ],
)
def test_a_branch_on_a_number_that_no_constant_gives_is_not_decided(text):
    assert taken(text) is None


def test_code_before_the_begin_of_the_straight_line_decides_nothing():
    text = "mov r0, #1\ncmp r0, #1\nbeq .out"
    assert (taken(text), taken(text, TEXT + 4), taken(text, TEXT + 8)) == (True, None, None)


def test_numbers_of_the_elf_format_are_the_numbers_of_another_reader():
    kinds = {"object": "OBJECT", "function": "FUNC", "section": "SECTION", "file": "FILE"}
    assert {kind: number for number, kind in tables._KINDS.items()} == {
        kind: ENUM_ST_INFO_TYPE[f"STT_{word}"] for kind, word in kinds.items()
    }
    bindings = {kind: number for number, kind in tables._BINDINGS.items()}
    assert bindings == {kind: ENUM_ST_INFO_BIND[f"STB_{kind.upper()}"] for kind in ("local", "global", "weak")}
    types = [ENUM_SH_TYPE_BASE[f"SHT_{word}"] for word in ("SYMTAB", "RELA", "NOBITS", "REL")]
    assert [tables._SYMBOL_TABLE, tables.RELA, tables.NOBITS, tables.REL] == types
    assert [tables.UNDEFINED, tables.ABSOLUTE] == [ENUM_ST_SHNDX["SHN_UNDEF"], ENUM_ST_SHNDX["SHN_ABS"]]


@pytest.mark.parametrize("shift", range(4))
def test_words_of_constants_are_found_at_multiples_of_four_with_any_value_of_a_range(shift):
    image, instructions = listed("f:\nbx lr")
    words = (99, 100, 101, 104, 105, 200, 100)
    content = bytes(shift) + b"".join(word.to_bytes(4, "little") for word in words) + b"\x64\0\0"
    section = Section(".rodata", 0x9000 - shift, len(content), 0x9000 - shift, False, False, content)
    variable = replace(section, address=0xA000, writable=True)
    code = Code(replace(image, sections=(*image.sections, section, variable)), instructions)
    assert _constants(code, [range(100, 105)]) == [0x9004, 0x9008, 0x900C, 0x9018]
    assert _constants(code, [range(200, 201), range(99, 100)]) == [0x9014, 0x9000]
