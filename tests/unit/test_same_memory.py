# SPDX-License-Identifier: MIT
"""A memory that a core sees at two addresses."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from aidge_build.boards import Region, load_board
from aidge_build.prove.elf.code_memory import check_code_memory
from aidge_build.prove.elf.image import Image, Section, Symbol
from aidge_build.prove.elf.proof import check_image
from aidge_build.prove.elf.regions import region_use

CODE = Region("CODE", 0x42000000, 0x1000, "flash", ())
CONSTANTS = Region("CONSTANTS", 0x3C000000, 0x1000, "flash", (), same_as="CODE")


def used(*contents: tuple[int, int]) -> list[int]:
    """The used bytes of both regions, by address and size of the stored sections."""
    sections = tuple(
        Section(f".{at}", address, size, address, False, False, bytes(size)) for at, (address, size) in enumerate(contents)
    )
    image = Image("a.elf", "RISC-V", "", 0, sections, (), (), (), {})
    return [use.used_bytes for use in region_use(image, (CODE, CONSTANTS))[0]]


def test_the_bytes_of_both_regions_count_in_the_memory():
    assert used((0x42000000, 100), (0x3C000000, 30)) == [130, 30]
    assert used((0x42000000, 100), (0x3C000064, 30)) == [130, 130]
    assert used((0x42000000, 100)) == [100, 0]


def test_a_second_region_is_no_further_memory():
    board = load_board("esp32c3")
    assert "DROM" in {region.name for region in board.regions}
    assert sum(memory.length_bytes for memory in board.memories if memory.kind == "flash") == 4 << 20


def test_a_byte_of_ram_that_two_sections_use_at_two_addresses_is_found():
    data = Region("SRAM", 0x3FC80000, 0x1000, "ram", ())
    code = Region("IRAM", 0x40380000, 0x1000, "ram", (), same_as="SRAM")

    def found(address: int, content: bytes) -> list[str]:
        sections = (
            Section(".iram", 0x40380000, 64, 0x40380000, False, True, bytes(64)),
            Section(".data", address, 32, address, True, False, content),
        )
        image = Image("a.elf", "RISC-V", "", 0, sections, (), (), (), {})
        uses, homeless = region_use(image, (data, code))
        return [finding.code for finding in check_image(image, (), (), uses, homeless) if "same bytes" in finding.text]

    assert found(0x3FC80020, bytes(32)) == ["MEM01"]
    assert found(0x3FC80040, bytes(32)) == []
    assert found(0x3FC80020, b"") == []  # it keeps the bytes free


def test_a_boot_loader_fills_ram_with_what_is_stored_where_it_runs():
    ram = Region("IRAM", 0x40380000, 0x1000, "ram", ())
    section = Section(".iram", ram.origin, 64, ram.origin, False, True, bytes(64))
    image = Image("a.elf", "RISC-V", "", 0, (section,), (Symbol("f", "f", ram.origin, 8, "function", ".iram"),), (), (), {})
    claim = SimpleNamespace(model="m", functions=("f",), layers=(), code_in=())
    assert [finding.code for finding in check_code_memory(image, claim, (ram,))] == ["MEM03"]
    assert not list(check_code_memory(image, claim, (replace(ram, boot_loads=True),)))
