# SPDX-License-Identifier: MIT
"""Memories without a board: the check takes those of the linker's map, if it is the map of this program."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from aidge_build.boards import Region
from aidge_build.cli import main
from aidge_build.prove.elf.claim import claim_from
from aidge_build.prove.elf.image import Image, Section, Symbol
from aidge_build.prove.elf.link_map import describes, memories_of, read_memories
from aidge_build.prove.elf.script_proof import check_script
from tests.command import aidge_build
from tests.elf.own_script import CPU, FLAGS, SCRIPT, link, program
from tests.programs import CLAIM, needs_cross_compiler

TABLE = """\
Archive member included

Memory Configuration

Name             Origin             Length             Attributes
FLASH            0x08000000         0x00010000         xr
DTCM             0x20000000         0x00001000         xrw
*default*        0x00000000         0xffffffff

Linker script and memory map

OUTPUT(app.elf elf32-littlearm)

.text           0x08000000       0x20
 *(.text*)
 .text          0x08000000       0x20 main.o
.data_of_a_long_name
                0x20000000        0x8 load address 0x08000020
.bss            0x20000008       0x10
.comment        0x00000000       0x4c
"""


def section(name: str, address: int, size: int, load: int | None) -> Section:
    return Section(name, address, size, load, load != address, False, b"")


TEXT = section(".text", 0x8000000, 0x20, 0x8000000)
DATA = section(".data_of_a_long_name", 0x20000000, 8, 0x8000020)
BSS = section(".bss", 0x20000008, 0x10, None)


def image(*sections: Section) -> Image:
    return Image("app.elf", "ARM", "v7E-M", sections=sections, symbols=(), by_name={}, notes=(), headers_at=(), entry=0)


def test_a_memory_of_no_bytes_is_none():
    none = "flash1           0x00000000         0x00000000         xr\n*default*"
    assert read_memories(TABLE.replace("*default*", none, 1)) == read_memories(TABLE)


@pytest.mark.parametrize(
    "changed, expected",
    [
        ((), True),
        ((section(".empty", 0x30000000, 0, None),), True),
        ((section(".gone", 0x8000020, 4, 0x8000020),), False),
        ((section(".text", 0x8000004, 0x20, 0x8000004),), False),
        ((section(".bss", 0x20000008, 0x14, None),), False),
        ((section(".comment", 0, 0x4C, 0),), True),
    ],
    ids=["itself", "an empty section", "a section more", "elsewhere", "larger", "one at 0"],
)
def test_a_map_is_that_of_a_program_whose_sections_are_where_and_as_large_as_it_says(changed, expected):
    assert describes(TABLE, image(TEXT, DATA, BSS, *changed)) is expected


def test_no_map_describes_a_program_without_sections_and_no_other_text_describes_one():
    assert not describes(TABLE, image()) and not describes(TABLE, image(section(".empty", 0, 0, None)))
    head = TABLE.partition("Linker script")[0]
    assert not describes(head + ".text 0x08000000 0x20\n", image(TEXT)) and not describes("", image(TEXT))


@pytest.mark.parametrize(
    "sections, kinds",
    [
        ((TEXT, DATA, BSS), ("flash", "ram")),
        ((), ("flash", "ram")),
        ((TEXT, section(".noinit", 0x8000FFF, 4, None)), ("", "ram")),
        ((TEXT, section(".copied", 0x8001000, 4, 0x8000020)), ("", "ram")),
        ((TEXT, section(".empty", 0x8001000, 0, None)), ("flash", "ram")),
        ((section(".text", 0x20000000, 4, 0x20000000), BSS), ("flash", "")),
        ((section(".text", 0x20000FFF, 4, 0x20000FFF), BSS), ("flash", "")),
        ((section(".text", 0x20001000, 4, 0x20001000), BSS), ("flash", "ram")),
        ((section(".text", 0x20000000, 0, 0x20000000), BSS), ("flash", "ram")),
    ],
)
def test_what_a_script_calls_a_memory_is_believed_where_the_program_agrees(sections, kinds):
    expected = (Region("FLASH", 0x8000000, 0x10000, kinds[0], ()), Region("DTCM", 0x20000000, 0x1000, kinds[1], ()))
    assert memories_of(TABLE, image(*sections)) == expected


def test_numbers_beyond_64_bits_are_no_addresses():
    assert len(read_memories(TABLE.replace("0x08000000 ", "0xfffffffffffffff0 "))) == 2
    assert [region.name for region in read_memories(TABLE.replace("0x08000000 ", f"0x1{0:016x} "))] == ["DTCM"]
    assert not describes(TABLE.replace("0x08000000       0x20\n *", f"0x08000000 0x{0x20:017x}\n *"), image(TEXT))


def test_a_script_without_memories_names_none():
    table = TABLE.replace("FLASH            0x08000000         0x00010000         xr\n", "")
    assert [region.name for region in read_memories(table)] == ["DTCM"]
    assert memories_of("", image(TEXT)) == () == read_memories(TABLE.replace("\nMemory Configuration", "\nMemory"))


@pytest.mark.parametrize(
    "line, found, text, hint",
    [
        (
            ".bss.kws_arena",
            ".bss.kws_arena",
            "names .bss.kws_arena in .fast, but kws_arena is in .bss",
            "put the line with .fast",
        ),
        (".bss.kws_arena*", ".bss", "names .bss.kws_arena in .fast, but kws_arena is in .bss", "the compiler put it into .bss"),
        (".fast .bss.kws_*", ".bss.kws_arena", "", ""),
    ],
)
def test_a_line_of_the_script_that_names_an_array_and_comes_too_late_is_told(line, found, text, hint):
    arena = Symbol("kws_arena", "kws_arena", 0x20000008, 16, "object", ".bss")
    program = replace(image(TEXT, DATA, BSS), symbols=(arena,), by_name={"kws_arena": (arena,)})
    table = TABLE.replace(
        ".comment ",
        f" *(.bss*)\n {found}\n{'':16}0x20000008 0x10 kws.o\n{'':16}0x20000008{'':16}kws_arena\n\n.fast\n *({line})\n\n.comment ",
    )
    told = [*check_script(table, program, [claim_from(CLAIM)])]
    assert [one.text for one in told] == ([f"the linker script {text}"] if text else [])
    assert all(one.code == "MEM02" and one.severity == "warning" and one.hint.startswith(hint) for one in told)
    without = replace(program, symbols=(), by_name={})  # nothing uses the array, so the linker omitted it
    assert not [*check_script(table, without, [claim_from(CLAIM)])]


# A program of the cross compiler.


def check(capsys, elf, *words: str) -> tuple[int, dict, str]:
    out = elf.parent / "check.json"
    code = main(["check", str(elf), "--out", str(out), *words])
    printed = capsys.readouterr()
    return code, json.loads(out.read_text()) if code < 2 else {}, printed.out + printed.err


@needs_cross_compiler
def test_the_check_prints_the_memories_of_the_map_beside_the_program(tmp_path, capsys):
    elf = link(tmp_path, program(), SCRIPT, f"-Wl,-Map={tmp_path / 'zz.map'}")
    (tmp_path / "a.map").write_text(TABLE)
    (tmp_path / "b.map").mkdir()
    code, result, text = check(capsys, elf, "--max-flash", "65536")
    assert code == 0 and result["memories_of"] == "zz.map", text
    assert [(region["name"], region["length_bytes"]) for region in result["regions"]] == [
        ("FLASH", 65536),
        ("DTCM", 65536),
        ("AXI", 524288),
    ]
    assert "AXI             512 /    524,288 B   0.1 %" in text and "memories not known" not in text
    code, _, text = check(capsys, elf, "--max-flash", "10")
    assert code == 1 and "the budget is 10 B" in text
    assert main(["report", str(elf)]) == 0 and "of 524,288 B" in capsys.readouterr().out


@pytest.mark.requirement("MAP")
@needs_cross_compiler
def test_a_map_of_yesterday_is_not_believed_and_the_check_says_how_memories_are_known(tmp_path, capsys):
    elf = link(tmp_path, program(), SCRIPT, f"-Wl,-Map={tmp_path / 'app.map'}")
    (tmp_path / "app.map").rename(tmp_path / "old.map")
    link(tmp_path, program("int more[4]; void extra(void) { more[1] = 2; }"))
    code, result, text = check(capsys, elf)
    assert code == 0 and result["regions"] == [] and result["memories_of"] == ""
    assert f"{elf}: memories not known: link with -Wl,-Map={elf.stem}.map, into the folder of the program" in text
    code, _, text = check(capsys, elf, "--map", str(tmp_path / "old.map"))
    assert code == 2 and "old.map: it is not the map of this program" in text and "Hint: link with -Wl,-Map=old.map" in text


@needs_cross_compiler
def test_what_a_script_puts_outside_of_its_memories_is_no_finding(tmp_path, capsys):
    script = SCRIPT.replace(".isr_vector :", ".shared 0x30000000 (NOLOAD) : { *(.shared) }\n    .isr_vector :")
    more = '__attribute__((section(".shared"), used)) int shared[2]; void extra(void) {}'
    elf = link(tmp_path, program(more), script, f"-Wl,-Map={tmp_path / 'app.map'}")
    code, result, text = check(capsys, elf)
    assert code == 0 and result["regions"] and "MEM01" not in text
    named = [f"--region={region['name']}=0x0,{region['length_bytes']}" for region in result["regions"]]
    assert check(capsys, elf, *named)[0] == 1


@pytest.mark.requirement("MEM01")
@needs_cross_compiler
def test_a_memory_that_the_script_does_not_declare_is_a_finding(tmp_path, capsys):
    more = '__attribute__((section(".fast"), used)) int fast[2]; void extra(void) {}'
    script = SCRIPT.replace(".isr_vector :", ".fast (NOLOAD) : { *(.fast) } > CCM\n    .isr_vector :")
    elf = link(tmp_path, program(more), script, f"-Wl,-Map={tmp_path / 'app.map'}")
    code, result, text = check(capsys, elf)
    assert code == 1 and [region["name"] for region in result["regions"]] == ["FLASH", "DTCM", "AXI"], text
    assert "error MEM01: the linker script puts sections into CCM, which its MEMORY does not declare: .fast (8 B at 0x0" in text
    assert "Declared: FLASH, DTCM, AXI" in text
    objects = [str(path) for path in sorted(tmp_path.glob("*.c"))]
    words = ["arm-none-eabi-gcc", *CPU, *FLAGS, *objects, "-T", str(tmp_path / "app.ld"), "-o", str(elf)]
    told = aidge_build("explain-link", "--", *words).stdout.splitlines()
    assert told[:2] == [
        "the link does not fail",
        f"{elf}: warning LINK_MEMORY: the linker script puts sections into CCM, which its MEMORY does not declare",
    ]
