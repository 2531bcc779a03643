# SPDX-License-Identifier: MIT
"""DMA01 to DMA03: lines of the data cache that something else has a byte of, hooks that nobody defines, and half of a pair."""

from __future__ import annotations

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Region
from aidge_build.prove.elf.claim import Claim, ClaimedPort
from aidge_build.prove.elf.dma_proof import check_dma
from aidge_build.prove.elf.image import Image, Section, Symbol

RAM = Region("RAM", 0x20000000, 0x1000, "ram", ())
TCM = Region("TCM", 0x20000000, 0x1000, "ram", (), cached=False)


def section(name: str, address: int, size: int) -> Section:
    return Section(name, address, size, None, True, False, b"")


def variable(name: str, address: int, size: int, kind: str = "object", **more) -> Symbol:
    return Symbol(name, name, address, size, kind, more.pop("section", ".bss"), **more)


def image(*symbols: Symbol, sections: tuple[Section, ...] = (section(".bss", 0x20000000, 0x800),)) -> Image:
    by_name: dict[str, tuple[Symbol, ...]] = {}
    for symbol in symbols:
        by_name[symbol.name] = (*by_name.get(symbol.name, ()), symbol)
    return Image("a.elf", "ARM", "v7E-M", 0x101, sections, symbols, (), (), by_name)


def claim(*ports: ClaimedPort, line: int = 32, hooks: tuple[str, ...] = (), copy_hooks: tuple[str, ...] = ()) -> Claim:
    return Claim("kws", 512, (), True, dma_line=line, hooks=hooks, ports=ports, copy_hooks=copy_hooks)


def found(program: Image, *names: str, claims: tuple[Claim, ...] = (), line: int = 32, regions=(RAM,)) -> list[str]:
    return [f"{one.severity} {one.code}: {one.text}" for one in check_dma(program, claims, names, line, regions)]


FRAME = variable("frame", 0x20000020, 40)  # lines from 0x20 to 0x5f


@pytest.mark.parametrize(
    ("address", "size", "shares"),
    [(0x20000010, 16, False), (0x20000048, 1, True), (0x2000005F, 1, True), (0x20000060, 4, False), (0x20000040, 0, False)],
)
def test_a_variable_behind_an_array_shares_its_last_line(address, size, shares):
    said = found(image(FRAME, variable("counter", address, size)), "frame")
    wanted = f"error DMA01: array frame (40 B) shares a line of the data cache with counter ({size} B at 0x{address:08x})"
    assert said == ([wanted] if shares else [])


@pytest.mark.requirement("DMA01")
def test_an_array_that_begins_within_a_line_shares_it_with_what_lies_before():
    moved = variable("frame", 0x20000024, 60)
    assert found(image(variable("before", 0x20000000, 0x20), moved), "frame") == []
    assert len(found(image(variable("before", 0x20000000, 0x21), moved), "frame")) == 1
    assert len(found(image(moved, variable("behind", 0x20000060, 4)), "frame")) == 0


def test_lines_have_the_length_of_the_board_or_else_of_the_claim():
    program = image(FRAME, variable("counter", 0x20000060, 4))
    assert found(program, "frame", line=32) == [] and len(found(program, "frame", line=64)) == 1
    assert found(program, "frame", line=None, claims=(claim(line=32),)) == []
    assert len(found(program, "frame", line=None, claims=(claim(line=64), claim(line=32)))) == 1
    assert found(program, "frame", line=32, claims=(claim(line=64),)) == []


def test_two_arrays_of_dma_do_not_share_a_line_either_and_many_are_counted():
    program = image(FRAME, *(variable(f"v{number}", 0x20000048 + 4 * number, 4) for number in range(6)))
    (said,) = found(program, "frame")
    assert "with v0 (4 B" in said and said.endswith("v2 (4 B at 0x20000050) and 3 more")
    (said,) = found(image(FRAME, *(variable(f"v{number}", 0x20000048 + 4 * number, 4) for number in range(3))), "frame")
    assert said.endswith("v2 (4 B at 0x20000050)")
    both = found(image(FRAME, variable("scores", 0x20000048, 8)), "frame", "scores")
    assert [text.split(" shares")[0] for text in both] == ["error DMA01: array frame (40 B)", "error DMA01: array scores (8 B)"]


def test_second_names_numbers_and_what_has_no_bytes_share_nothing():
    alias = variable("frame_0123456789ab", FRAME.address, FRAME.size_bytes)
    number = variable("count", 0x20000050, 4, "absolute")
    assert found(image(FRAME, alias, number, variable("label", 0x20000050, 0)), "frame") == []


@pytest.mark.requirement("DMA01")
def test_a_section_without_variables_and_the_stack_share_lines_too():
    bss, other = section(".bss", 0x20000000, 0x48), section(".other", 0x20000048, 16)
    (said,) = found(image(FRAME, sections=(bss, other)), "frame")
    assert "with section .other (0x20000048 to 0x20000057)" in said
    names = (variable("__StackLimit", 0x20000050, 0, "other"), variable("__StackTop", 0x20000150, 0, "other"))
    (said,) = found(image(FRAME, *names, sections=(bss,)), "frame")
    assert "stack" in said


def test_memories_that_the_cache_does_not_hold_have_no_lines():
    program = image(FRAME, variable("counter", 0x20000048, 4))
    assert found(program, "frame", regions=(TCM,)) == [] and len(found(program, "frame", regions=())) == 1


@pytest.mark.requirement("DMA01")
def test_inputs_and_outputs_in_an_arena_share_its_lines_with_nothing_outside():
    arena, port = variable("kws_arena", 0x20000040, 80), ClaimedPort("output 1", "kws_arena", 64, 10)
    alone = image(arena, variable("counter", 0x200000A0, 4))
    shared = image(arena, variable("counter", 0x20000090, 4))
    assert found(alone, claims=(claim(port),)) == [] and found(shared, claims=(claim(),)) == []
    assert found(shared, claims=(claim(port),)) == [
        "error DMA01: output 1 of model kws shares a line of the data cache with counter (4 B at 0x20000090)"
    ]
    inside = ClaimedPort("input 0", "kws_arena", 32, 10)
    assert found(shared, claims=(claim(inside),)) == []
    assert found(image(), claims=(claim(port),)) == []


@pytest.mark.requirement("DMA02")
def test_an_empty_hook_is_told_and_one_of_the_firmware_or_one_that_is_gone_is_not():
    weak = variable("kws_before_input", 0x100, 2, "function", section=".text", is_weak=True)
    strong = variable("kws_after_output", 0x102, 2, "function", section=".text")
    hooks = ("kws_before_input", "kws_after_output", "kws_gone")
    assert found(image(weak, strong), claims=(claim(hooks=hooks),)) == [
        "warning DMA02: hook kws_before_input is the empty one of model kws: no object defines another"
    ]


@pytest.mark.requirement("DMA03")
@pytest.mark.parametrize(("start", "wait", "other"), [(False, True, "start"), (True, False, "wait")])
def test_hooks_that_copy_constants_are_both_the_firmwares_or_none(start, wait, other):
    hooks = ("kws_copy_start", "kws_copy_wait")

    def said(*are_weak: bool) -> list[str]:
        symbols = (
            variable(name, 0x100, 2, "function", section=".text", is_weak=is_weak) for name, is_weak in zip(hooks, are_weak)
        )
        return found(image(*symbols), claims=(claim(copy_hooks=hooks),))

    own = {"start": "wait", "wait": "start"}[other]
    assert said(start, wait) == [f"error DMA03: hook kws_copy_{other} is the firmware's, but kws_copy_{own} the one of model kws"]
    assert said(True, True) == said(False, False) == said(False) == said() == []


@pytest.mark.parametrize(
    ("names", "line", "reason"),
    [
        (("frames",), 32, "no array 'frames'"),
        (("nothing",), 32, "no array 'nothing'"),
        (("frame",), None, "the length of a line"),
    ],
)
def test_a_name_of_nothing_and_a_line_that_nobody_knows_are_refused(names, line, reason):
    with pytest.raises(AidgeError, match=reason) as caught:
        found(image(FRAME, variable("nothing", 0x20000100, 0)), *names, line=line)
    assert caught.value.code == "USAGE"
