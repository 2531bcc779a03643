# SPDX-License-Identifier: MIT
"""What is read of names and objects, from values: nothing is compiled."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from aidge_build.prove.elf.code_places import find_places
from aidge_build.prove.elf.image import source_name
from aidge_build.prove.elf.objects import ObjectFile, ObjectSymbol, Part, _read
from aidge_build.prove.elf.program_code import _shared
from aidge_build.prove.elf.stack import runs_use
from tests.golden.test_findings import section
from tests.listings import listed


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
    assert source_name(linked) == name


class Header(dict):
    """The head of an ELF file as pyelftools has it."""

    def __init__(self, machine: str, little_endian: bool):
        super().__init__(e_type="ET_REL", e_machine=machine)
        self.little_endian = little_endian


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


@pytest.mark.parametrize("stored_at, base", [(None, 0x100), (0x200, 0x200), (0x100, 0x100), (0x300, 0x100)])
def test_a_part_is_where_its_bytes_are_or_where_most_of_its_symbols_say(stored_at, base):
    """Several objects define the names."""
    part = Part(1, ".text", 12, b"instructions", (), False, False, 0, False, False)
    objects = ObjectFile("net.o", {1: part}, tuple(symbol(name, 4 * at) for at, name in enumerate("abc")))
    places = {"a": 0x100, "b": 0x104, "c": 0x208}

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
