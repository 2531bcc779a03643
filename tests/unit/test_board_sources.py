# SPDX-License-Identifier: MIT
"""The memories of boards are those of machine-readable data that others keep (tools/board_sources.py asks for them)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board, Region, list_boards, load_board

SOURCES = json.loads((Path(__file__).parents[1] / "board_sources.json").read_text(encoding="utf-8"))
BOARDS = [load_board(name) for name in list_boards()]
VERIFIED = [board for board in BOARDS if board.is_verified]
# Of these the chip says where they begin and the most that they can be; the board, or the chip's fuses, decide the rest.
DECIDED_ELSEWHERE = {
    ("rp2040", "FLASH"),
    ("rp2350", "FLASH"),
    ("mimxrt1062", "DTCM"),
    ("mimxrt1062", "OCRAM"),
    ("stm32n657", "DTCM"),
    ("stm32n657", "ITCM"),
    ("nrf54l15", "FLASH"),
    ("rp2350-riscv", "FLASH"),
    ("fe310", "FLASH"),
    ("ch32v203", "FLASH"),
    ("ch32v307", "FLASH"),
    ("esp32c3", "IROM"),
    ("esp32c3", "DROM"),
    ("esp32c6", "FLASH"),
    ("esp32p4", "FLASH"),
}
# Of these no collection knows that they are there: the board's file names the vendor's file.
IN_NO_COLLECTION = {("esp32c3", "RTC"), ("esp32c6", "RTC"), ("esp32p4", "RTC")}
# How probe-rs calls the architectures of cores; ELF's build attributes name none of RISC-V.
ARCHITECTURES = {
    "": "riscv",
    "v6-M": "armv6m",
    "v7-M": "armv7m",
    "v7E-M": "armv7em",
    "v8-M.mainline": "armv8m",
    "v8.1-M.mainline": "armv8m",
}


def memories(board: Board) -> list[list[tuple[int, int]]]:
    """(first address, end) of all memories, for each source of the board."""
    devices = [SOURCES[collection]["devices"][device] for collection, device in board.source]
    return [[(origin, origin + size) for _, origin, size, _ in device["memories"]] for device in devices]


def joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Memories that follow each other are one."""
    found: list[tuple[int, int]] = []
    for origin, end in sorted(spans):
        if found and origin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((origin, end))
    return found


def is_told(region: Region, spans: list[tuple[int, int]]) -> bool:
    return region.origin in {origin for origin, _ in spans} and region.end in {end for _, end in spans}


@pytest.mark.parametrize("board", VERIFIED, ids=lambda board: board.name)
def test_every_memory_of_a_board_begins_and_ends_where_a_source_says(board: Board) -> None:
    sources = memories(board)
    for region in board.regions:
        if (board.name, region.name) in IN_NO_COLLECTION:
            assert not any(origin <= region.origin < end for spans in sources for origin, end in spans)
            continue
        assert any(origin <= region.origin and region.end <= end for spans in sources for origin, end in joined(spans)), region
        if (board.name, region.name) not in DECIDED_ELSEWHERE:
            assert any(is_told(region, spans) for spans in sources), region


@pytest.mark.parametrize("board", VERIFIED, ids=lambda board: board.name)
def test_no_source_says_that_a_memory_of_a_board_ends_earlier(board: Board) -> None:
    for spans in memories(board):
        for region in board.regions:
            for origin, end in joined(spans):
                assert not origin <= region.origin < end < region.end, region


@pytest.mark.parametrize("board", VERIFIED, ids=lambda board: board.name)
def test_the_core_of_a_board_is_that_of_its_sources(board: Board) -> None:
    for collection, device in board.source:
        said = SOURCES[collection]["devices"][device]["core"]
        assert said in (board.cpu, ARCHITECTURES[board.core.architecture])


def test_at_least_thirty_boards_are_compared_with_a_source() -> None:
    assert len(VERIFIED) >= 30


def test_the_stored_answers_are_about_these_boards_and_no_others() -> None:
    asked = {pair for board in BOARDS for pair in board.source}
    assert asked == {(name, device) for name, said in SOURCES.items() for device in said["devices"]}


def test_a_verified_board_runs_at_a_clock_that_somebody_stated() -> None:
    assert not [board.name for board in VERIFIED if not 1_000_000 <= board.clock_hz <= 1_000_000_000]


def test_an_exact_size_is_asked_of_every_memory_that_is_not_decided_elsewhere() -> None:
    names = {(board.name, region.name) for board in VERIFIED for region in board.regions}
    assert DECIDED_ELSEWHERE <= names and 8 * len(DECIDED_ELSEWHERE) <= len(names)


def test_a_board_cannot_be_verified_without_a_source(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('extends = "stm32f103"\nverified = false\n')
    with pytest.raises(AidgeError, match="contradict each other"):
        load_board("mine", (tmp_path,))
    (tmp_path / "mine.toml").write_text('extends = "stm32f103"\nsource = {}\nverified = false\n')
    assert not load_board("mine", (tmp_path,)).is_verified


def test_a_board_that_extends_another_and_changes_a_memory_is_compared_anew(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'extends = "stm32f103"\n[regions.FLASH]\norigin = 0x08000000\nlength = "1M"\nkind = "flash"\n'
    )
    assert not load_board("mine", (tmp_path,)).is_verified
