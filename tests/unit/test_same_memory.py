# SPDX-License-Identifier: MIT
"""A memory that a core sees at two addresses."""

from __future__ import annotations

from aidge_build.boards import Region, load_board
from aidge_build.prove.elf.image import Image, Section
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
