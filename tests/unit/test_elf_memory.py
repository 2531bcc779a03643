# SPDX-License-Identifier: MIT
"""What is said of a model's arena and constants, each limit from both sides, from values: no program is linked."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace

import pytest

from aidge_build.boards import Region
from aidge_build.prove.elf.arena_proof import check_buffers, check_reach
from aidge_build.prove.elf.claim import Claim, ClaimedArena, ClaimedConstant
from aidge_build.prove.elf.data_proof import check_constants
from aidge_build.prove.elf.image import Symbol
from aidge_build.prove.elf.reservations import reservations, stack_reservation
from aidge_build.prove.elf.waivers import NO_WAIVERS, Waivers
from tests.golden.test_findings import image, section

FLASH, RAM = 0x8000000, 0x20000000
REGIONS = (Region("FLASH", FLASH, 0x1000, "flash", ()), Region("RAM", RAM, 0x1000, "ram", ()))
BYTES = bytes(range(16))
SHA256 = hashlib.sha256(BYTES).hexdigest()
ARENA = Symbol("kws_arena", "kws_arena", RAM + 0x100, 64, "object", ".bss")
WEIGHTS = Symbol("kws_w", "kws_w", FLASH + 0x110, 16, "object", ".rodata")
BSS = section(".bss", RAM + 0x80, 0x100, writable=True)
RODATA = section(".rodata", FLASH + 0x100, bytes(16) + BYTES + bytes(8))
CLAIM = Claim(
    "kws",
    64,
    (ClaimedArena("kws_arena", 64, "RAM", 16, (RAM, 0x1000)),),
    True,
    constants=(ClaimedConstant("kws_w", 16, 8, SHA256),),
    weights_bytes=16,
)


def label(name: str, address: int, size: int = 0, kind: str = "object", where: str = ".bss") -> Symbol:
    return Symbol(name, name, address, size, kind, where)


def absolute(name: str, value: int) -> Symbol:
    return label(name, value, 0, "absolute", "")


def said_of_arena(symbol=ARENA, others=(), sections=(BSS,), part=None, regions=REGIONS) -> list[str]:
    claim = replace(CLAIM, arenas=(replace(CLAIM.arenas[0], **part),)) if part else CLAIM
    program = image([*sections, RODATA], [symbol, *others] if symbol else others)
    return [f"{one.code} {one.text}" for one in check_buffers(program, claim, [claim], regions, NO_WAIVERS)]


@pytest.mark.parametrize(
    "changes, said",
    [
        ({}, []),
        ({"symbol": None}, ["MEM02 arena kws_arena of model kws is not in the program"]),
        ({"symbol": replace(ARENA, size_bytes=65)}, ["MEM02 arena kws_arena is 65 B, the plan says 64 B (+1 B)"]),
        ({"symbol": replace(ARENA, size_bytes=63)}, ["MEM02 arena kws_arena is 63 B, the plan says 64 B (-1 B)"]),
        ({"symbol": replace(ARENA, address=RAM + 0x108)}, ["MEM02 arena kws_arena is at 0x20000108, which is no multiple of 16"]),
        ({"symbol": replace(ARENA, address=RAM + 0x140)}, []),
        ({"part": {"size_bytes": 0}}, []),
        ({"part": {"memory": (RAM + 0x100, 64)}}, []),
        ({"part": {"memory": (RAM + 0x101, 64)}}, ["MEM02 arena kws_arena is at 0x20000100, the plan says RAM"]),
        ({"part": {"memory": (RAM + 0x100, 63)}}, ["MEM02 arena kws_arena is at 0x20000100, the plan says RAM"]),
        ({"part": {"region": "DTCM", "memory": (0x10000000, 64)}}, ["MEM02 arena kws_arena is in RAM, the plan says DTCM"]),
        ({"part": {"region": "", "memory": None}}, []),
        ({"part": {"memory": None}, "regions": (REGIONS[0], replace(REGIONS[1], length_bytes=0x140))}, []),
        (
            {"part": {"memory": None}, "regions": (REGIONS[0], replace(REGIONS[1], length_bytes=0x13F))},
            ["MEM02 arena kws_arena is in RAM and beyond its end, the plan says RAM (0x20000000 to 0x2000013e)"],
        ),
        ({"regions": REGIONS[:1]}, []),
        ({"regions": ()}, []),
        ({"sections": ()}, ["MEM02 arena kws_arena is a number without a section"]),
        ({"sections": (section(".bss", RAM + 0x100, 64, writable=True),)}, []),
        (
            {"sections": (section(".bss", RAM + 0x101, 64, writable=True),)},
            ["MEM02 arena kws_arena (0x20000100 to 0x2000013f) is not"],
        ),
        (
            {"sections": (section(".bss", RAM + 0x100, 63, writable=True),)},
            ["MEM02 arena kws_arena (0x20000100 to 0x2000013f) is not"],
        ),
        (
            {"sections": (section(".bss", RAM + 0x100, bytes(64), FLASH + 0x800, writable=True),)},
            ["MEM02 arena kws_arena is in .bss, and the ELF file stores its bytes: 64 zeros cost flash"],
        ),
        ({"others": [label("before", RAM + 0xF0, 16), label("after", RAM + 0x140, 4)]}, []),
        (
            {"others": [label("before", RAM + 0xF0, 17)]},
            ["MEM12 arena kws_arena shares its bytes with before (17 B at 0x200000f0)"],
        ),
        ({"others": [label("after", RAM + 0x13F, 1)]}, ["MEM12 arena kws_arena shares its bytes with after (1 B at 0x2000013f)"]),
        ({"others": [label("nothing", RAM + 0x110, 0), label("alias", RAM + 0x100, 64)]}, []),
        ({"others": [label("no_alias", RAM + 0x100, 63)]}, ["MEM12 arena kws_arena shares its bytes with no_alias"]),
        ({"others": [absolute("__heap_start", RAM + 0x140), absolute("__heap_end", RAM + 0x200)]}, []),
        (
            {"others": [absolute("__heap_start", RAM + 0x13F), absolute("__heap_end", RAM + 0x200)]},
            ["MEM12 arena kws_arena shares its bytes with the heap (__heap_start to __heap_end)"],
        ),
        ({"others": [absolute("end", RAM + 0x80)]}, []),
        (
            {"others": [absolute("end", RAM + 0x100), absolute("_sbrk", FLASH)]},
            ["MEM12 arena kws_arena is above 0x20000100 (end)"],
        ),
        ({"others": [absolute("end", RAM + 0x101), absolute("_sbrk", FLASH)]}, []),
        ({"others": [absolute("end", RAM), absolute("_sbrk", FLASH)]}, ["MEM12 arena kws_arena is above 0x20000000 (end)"]),
        ({"others": [absolute("end", RAM - 1), absolute("_sbrk", FLASH)]}, []),
        (
            {
                "others": [
                    absolute(*one) for one in (("end", RAM), ("_sbrk", FLASH), ("__heap_start", RAM), ("__heap_end", RAM + 0x100))
                ]
            },
            [],
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_arena_is_as_planned_or_a_finding_says_how_it_is_not(changes, said):
    found = said_of_arena(**changes)
    assert len(found) == len(said) and all(text in line for text, line in zip(said, found, strict=True)), found


@pytest.mark.parametrize("top, is_met", [(RAM + 0x100, False), (RAM + 0x101, True), (RAM + 0x140, True), (RAM + 0x141, False)])
def test_a_stack_that_begins_in_an_arena_shares_its_bytes(top, is_met):
    table = section(".isr_vector", FLASH, struct.pack("<2I", top, FLASH + 0x301))
    start = label("start", FLASH + 0x300, 4, "function", ".text")
    found = said_of_arena(others=[start], sections=(BSS, table))
    assert len(found) == is_met and all(f"the stack, which grows down from 0x{top:08x}" in line for line in found)


@pytest.mark.parametrize(
    "top, size, is_reached",
    [
        (RAM + 0x180, 64, False),
        (RAM + 0x180, 65, True),
        (RAM + 0x141, 1, False),
        (RAM + 0x141, 2, True),
        (RAM + 0x140, 99, False),
    ],
)
def test_a_stack_reaches_an_arena_below_it_if_it_needs_more_than_is_between_them(top, size, is_reached):
    """A stack that begins in the arena is another finding."""
    table = section(".isr_vector", FLASH, struct.pack("<2I", top, FLASH + 0x301))
    program = image([BSS, table], [ARENA, label("start", FLASH + 0x300, 4, "function", ".text")])
    found = [*check_reach(program, [CLAIM], None, size)]
    assert len(found) == is_reached
    assert all(f"arena kws_arena ends {top - ARENA.end:,} B below 0x{top:08x}" in finding.text for finding in found)


def said_of_constants(symbols=(WEIGHTS,), sections=(RODATA,), waivers=NO_WAIVERS, regions=REGIONS, **constant) -> list[str]:
    claim = replace(CLAIM, constants=(replace(CLAIM.constants[0], **constant),))
    text = section(".text", FLASH + 0x400, bytes(64))
    program = image([text, *sections], symbols, entry=FLASH + 0x401)
    return [f"{one.code} {one.severity} {one.text}" for one in check_constants(program, claim, regions, waivers)]


IN_RAM = replace(WEIGHTS, address=RAM + 0x10, section=".data")
DATA = section(".data", RAM, bytes(16) + BYTES, FLASH + 0x200, writable=True)
COPIED = Waivers(weights_in=frozenset({"RAM"}))


@pytest.mark.parametrize(
    "changes, said",
    [
        ({}, []),
        (
            {"symbols": (replace(WEIGHTS, size_bytes=15),)},
            ["MEM02 error weights kws_w (15 B) of model kws: the claim says 16 B (-1 B)"],
        ),
        (
            {"symbols": (replace(WEIGHTS, size_bytes=17),)},
            ["MEM02 error weights kws_w (17 B) of model kws: the claim says 16 B (+1 B)"],
        ),
        ({"alignment": 16}, []),
        ({"alignment": 32}, ["MEM02 error weights kws_w (16 B) are at 0x08000110, which is no multiple of 32"]),
        (
            {"sha256": "ab" * 32},
            ["MEM14 error weights kws_w (16 B) of model kws are not what was generated: their SHA-256 differs"],
        ),
        (
            {"symbols": (replace(WEIGHTS, address=FLASH + 0x100),)},
            ["MEM14 error weights kws_w (16 B) of model kws are not what was generated: each byte is 0x00"],
        ),
        ({"symbols": ()}, ["MEM07 note model kws: weights planned but absent, merged by the compiler or not used: kws_w"]),
        ({"symbols": (replace(WEIGHTS, name="other"),)}, []),
        ({"sections": (replace(RODATA, content=RODATA.content[:32]),)}, []),
        (
            {"sections": (replace(RODATA, content=RODATA.content[:31]),)},
            ["MEM03 error weights kws_w (16 B) are not stored: no section holds them"],
        ),
        (
            {"sections": (section(".rodata", FLASH + 0x100, 64),)},
            ["MEM03 error weights kws_w (16 B) are not stored: no contents fill"],
        ),
        ({"memory": (FLASH + 0x110, 16), "region": "FLASH"}, []),
        (
            {"memory": (FLASH + 0x111, 16), "region": "QSPI"},
            ["MEM02 error weights kws_w (16 B) are at 0x08000110, the plan says QSPI"],
        ),
        (
            {"memory": (FLASH + 0x110, 15), "region": "QSPI"},
            ["MEM02 error weights kws_w (16 B) are at 0x08000110, the plan says QSPI"],
        ),
        ({"sections": (replace(RODATA, is_loaded=False),)}, ["MEM03 error weights kws_w (16 B) are not loaded"]),
        (
            {"symbols": (IN_RAM,), "sections": (DATA,)},
            ["MEM03 error weights kws_w (16 B) are in writable .data: they cost flash and RAM"],
        ),
        ({"symbols": (IN_RAM,), "sections": (DATA,), "waivers": COPIED}, []),
        (
            {"symbols": (IN_RAM,), "sections": (replace(DATA, writable=False),)},
            ["MEM03 error weights kws_w (16 B) are in RAM, which is RAM"],
        ),
        (
            {"symbols": (IN_RAM,), "sections": (replace(DATA, load_address=RAM + 0x200),), "waivers": COPIED},
            ["MEM03 error weights kws_w (16 B) are stored in RAM, which is RAM: no code copies them there"],
        ),
        (
            {"sections": (replace(RODATA, load_address=FLASH + 0x800),)},
            ["MEM03 error weights kws_w (16 B) are read at 0x08000110 in FLASH, but stored at 0x08000810 there"],
        ),
        (
            {"sections": (replace(DATA, executable=True),), "symbols": (IN_RAM,), "regions": ()},
            ["MEM03 warning weights kws_w (16 B) are in .data, which holds code and variables, too"],
        ),
        ({"sections": (DATA,), "symbols": (IN_RAM,), "regions": ()}, ["MEM03 error weights kws_w (16 B) are in writable .data"]),
        ({"sections": (RODATA, section(".x", FLASH + 0x100, 16))}, []),
        ({"sections": (RODATA, section(".x", FLASH + 0x120, 16))}, []),
        (
            {"sections": (RODATA, section(".x", FLASH + 0x100, 17))},
            ["MEM12 error weights kws_w (16 B) share their bytes at 0x08000110 to 0x0800011f with section .x"],
        ),
        (
            {"sections": (RODATA, section(".x", FLASH + 0x11F, 16))},
            ["MEM12 error weights kws_w (16 B) share their bytes at 0x08000110 to 0x0800011f with section .x"],
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_constants_are_as_generated_or_a_finding_says_how_they_are_not(changes, said):
    found = said_of_constants(**changes)
    assert len(found) == len(said) and all(text in line for text, line in zip(said, found, strict=True)), found


def test_arrays_that_differ_in_the_same_way_are_one_finding():
    symbols = [replace(WEIGHTS, name=name, linked_name=name) for name in ("kws_w", "kws_v")]
    claim = replace(CLAIM, constants=tuple(ClaimedConstant(one.name, 16, 8, "ab" * 32) for one in symbols))
    program = image([RODATA], symbols)
    (finding,) = check_constants(program, claim, REGIONS, NO_WAIVERS)
    assert finding.text.startswith("weights kws_w and 1 more, 32 B in all, of model kws are not what was generated")


@pytest.mark.parametrize(
    "symbols, expected",
    [
        ({"__stack_limit": 100, "__stack_top": 200}, [("the stack (__stack_limit to __stack_top)", 100, 200)]),
        ({"__stack_limit": 200, "__stack_top": 200}, []),
        (
            {"__stack_limit": 100, "__StackLimit": 150, "__stack_top": 200},
            [("the stack (__StackLimit to __stack_top)", 150, 200)],
        ),
        ({"__heap_start": 7, "__heap_end": 8}, [("the heap (__heap_start to __heap_end)", 7, 8)]),
        ({"_estack": 200, "_Min_Stack_Size": 50}, [("the stack (_Min_Stack_Size below _estack)", 150, 200)]),
        ({"_estack": 200, "_Min_Stack_Size": 0}, []),
        ({"end": 100, "_end": 90, "_Min_Heap_Size": 50}, [("the heap (_Min_Heap_Size from end)", 100, 150)]),
        ({"end": 100, "_Min_Heap_Size": 0}, []),
    ],
)
def test_symbols_of_linker_scripts_reserve_bytes_for_stack_and_heap(symbols, expected):
    program = image([], [absolute(name, value) for name, value in symbols.items()])
    assert [(one.what, one.begin, one.end) for one in reservations(program)] == expected


@pytest.mark.parametrize(
    "symbols, array, expected",
    [
        ({"__stack_size__": 1}, None, (199, 200, "__stack_size__")),
        ({"__stack_size__": 0}, None, None),
        ({"__stack_size__": 200}, None, (0, 200, "__stack_size__")),
        ({"__stack_size__": 201}, None, None),
        ({"__stack_limit": 100, "__stack_top": 199}, None, None),
        ({"__stack_limit": 100, "__stack_top": 200, "__heap_start": 90, "__heap_end": 101}, None, (101, 200, "but for the heap")),
        ({"__stack_limit": 100, "__stack_top": 200, "__heap_start": 90, "__heap_end": 100}, None, (100, 200, "__stack_limit to")),
        ({"__stack_limit": 100, "__stack_top": 200, "__heap_start": 90, "__heap_end": 200}, None, (100, 200, "__stack_limit to")),
        ({}, ("my_stack", 100, 100), (100, 200, "my_stack")),
        ({}, ("my_stack", 199, 1), (199, 200, "my_stack")),
        ({}, ("my_stack", 100, 99), None),
        ({}, ("my_stack", 200, 10), None),
        ({}, ("array", 100, 100), None),
    ],
)
def test_the_bytes_of_a_stack_that_begins_at_200_follow_from_symbols_or_an_array(symbols, array, expected):
    arrays = [label(*array)] if array else []
    found = stack_reservation(image([], [*(absolute(name, value) for name, value in symbols.items()), *arrays]), 200)
    assert (found is None) == (expected is None)
    assert found is None or ((found.begin, found.end) == expected[:2] and expected[2] in found.by)
    assert found is None or not found.is_heap


def test_a_function_in_a_stack_s_place_reserves_nothing():
    program = image(
        [], [label("my_stack", 100, 100, "function"), Symbol("__stack_size__", "__stack_size__", 8, 4, "object", ".bss")]
    )
    assert stack_reservation(program, 200) is None
