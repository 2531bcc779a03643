# SPDX-License-Identifier: MIT
"""--constants-in: constants of the layers that read theirs most often in a memory of their own, copied, run, and proved."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.plan.constant_arrays import arrays_of
from aidge_build.plan.constant_regions import places_of_constants, reads_of, rooms_of
from aidge_build.plan.options import Options
from aidge_build.prove.elf.image import read_image
from tests.command import Result, aidge_build
from tests.compiled import request_of
from tests.programs import ROOT, needs_cross_compiler, needs_qemu

STRESS = "AIDGE_STRESS" in os.environ
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
F7 = load_board("stm32f7")


def verified(folder: Path, *words) -> Result:
    numpy.savez(folder / "io.npz", x=numpy.random.default_rng(1).integers(-128, 128, (2, 1, 1, 8, 8)).astype(numpy.int8))
    return aidge_build("verify", DIGITS, "--io-data", folder / "io.npz", "--keep", folder / "kept", *words)


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize(
    ("board", "rooms"), [("stm32f7", ("DTCM=4K", "SRAM2=6K")), ("mps3-an547", ("ITCM=6K",))][: 2 if STRESS else 1]
)
def test_constants_lie_in_the_memories_of_the_plan_and_are_there_when_layers_read_them(board, rooms, tmp_path):
    words = [word for room in rooms for word in ("--constants-in", room)]
    result = verified(tmp_path, "--board", board, *words)
    assert result.exit_code == 0, result
    elf, plan = tmp_path / "kept" / "model.elf", json.loads((tmp_path / "kept" / "model.plan.json").read_text())
    regions = {region.name: region for region in load_board(board).regions}
    sections = {section.name: section for section in read_image(elf).sections}
    for memory in plan["constants_in"]:
        region, section = regions[memory["region"]], sections[f".aidge_constants_{memory['region']}"]
        assert 0 < memory["size_bytes"] <= section.size_bytes <= memory["room_bytes"] and memory["layers"]
        assert region.origin <= section.address and section.end <= region.end
        assert (section.load_address == section.address) == (region.kind == "flash")
    checked = aidge_build("check", elf, "--board", board)
    assert checked.exit_code == 0 and "MEM" not in checked.stdout, checked
    plain = verified(tmp_path, "--board", board) if STRESS else result
    assert [line for line in plain.stdout.splitlines() if "instructions per inference" in line] == [
        line for line in result.stdout.splitlines() if "instructions per inference" in line
    ]


@needs_cross_compiler
def test_a_linker_script_that_knows_nothing_of_them_is_found(tmp_path):
    script = (ROOT / "boards" / "link.ld.j2").read_text()
    (tmp_path / "mine.ld.j2").write_text(
        "\n".join(
            line for line in script.splitlines() if " .aidge_constants_" not in f" {line.split(':')[0]}" and "PROVIDE" not in line
        )
    )
    (tmp_path / "mine.toml").write_text('extends = "stm32f7"\nlink_script = "mine.ld.j2"\n')
    result = verified(tmp_path, "--board", "mine", "--board-path", tmp_path, "--constants-in", "DTCM=4K")
    assert result.exit_code == 0, result  # they lie in flash with the others: slower, and not as planned
    checked = aidge_build("check", tmp_path / "kept" / "model.elf", "--board", "stm32f7")
    assert checked.exit_code == 1 and "the plan says DTCM (0x20000000 to 0x2000ffff)" in checked.stdout, checked
    assert ".aidge_constants_DTCM : { *(.rodata.aidge_DTCM .rodata.aidge_DTCM.*) } > DTCM" in checked.stdout


def digits(rooms: tuple[tuple[str, int], ...]):
    request = request_of(DIGITS.read_bytes(), "digits.onnx", F7)
    return build_program(replace(request, options=Options(constants_in=rooms)))


def with_rooms(program, *rooms: tuple[str, int]):
    return replace(program, options=Options(constants_in=rooms))


def test_the_layers_with_the_most_reads_for_each_byte_come_first_and_stay_whole():
    program = digits((("DTCM", 1 << 20),))
    arrays = arrays_of(program)
    owner = {array.symbol: number for number, read in reversed(list(enumerate(arrays.of_layer))) for array in read.values()}
    size = {array.symbol: len(array.data) for array in arrays.all}
    whole = {number: sum(-(-size[name] // 8) * 8 for name in owner if owner[name] == number) for number in set(owner.values())}
    order = sorted(whole, key=lambda number: -reads_of(program.layers[number]) / whole[number])
    assert set(places_of_constants(program, size, owner)) == set(size) and len(order) > 2
    reached = 0
    for position, number in enumerate(order):
        reached += whole[number]
        for room, count in ((reached, position + 1), (reached - 1, position)):
            found = places_of_constants(with_rooms(program, ("DTCM", room)), size, owner)
            assert {number for name, number in owner.items() if name in found} >= set(order[:count])
            assert (number in {owner[name] for name in found}) == (room == reached)
            assert all((name in found) == (owner[name] in {owner[other] for other in found}) for name in size)
    first, second = (whole[number] for number in order[:2])
    both = places_of_constants(with_rooms(program, ("DTCM", first), ("SRAM2", second)), size, owner)
    assert {both[name] for name in both if owner[name] == order[0]} == {"DTCM"}
    assert {both[name] for name in both if owner[name] == order[1]} == {"SRAM2"}


PLAIN = argparse.Namespace(weights="c", update="none", assembly="on")


def test_memories_are_taken_in_the_order_of_their_costs_and_arenas_leave_room():
    assert rooms_of(["SRAM2=1K", "DTCM=4096"], F7, PLAIN) == (("DTCM", 4096), ("SRAM2", 1024))
    assert rooms_of([], None, PLAIN) == ()
    assert digits(()).memory.region == "DTCM" and digits((("DTCM", 62 << 10),)).memory.region == "DTCM"
    assert digits((("DTCM", 63 << 10),)).memory.region == "SRAM1"


@pytest.mark.parametrize(
    ("texts", "board", "others", "reason"),
    [
        (["DTCM"], F7, {}, "wants MEMORY=BYTES"),
        (["DTCM=0"], F7, {}, "wants MEMORY=BYTES"),
        (["DTCM=4K", "DTCM=1K"], F7, {}, "each memory once"),
        (["DTCM=4K"], None, {}, "only a board"),
        (["DTCM=4K"], F7, {"weights": "incbin"}, "included binary"),
        (["DTCM=4K"], F7, {"update": "weights"}, "one block"),
        (["DTCM=4K"], F7, {"assembly": "off"}, "said in assembly"),
        (["CCM=4K"], F7, {}, "CCM of board stm32f7 is no memory. Hint: memories for constants: FLASH, DTCM, SRAM1, SRAM2"),
        (["ITCM=4K"], F7, {}, "begins at address 0"),
        (["DTCM=65537"], F7, {}, "has 65,536 B, not 65,537"),
    ],
)
def test_what_is_no_memory_for_constants_is_refused(texts, board, others, reason):
    with pytest.raises(AidgeError) as caught:
        rooms_of(texts, board, argparse.Namespace(**{**vars(PLAIN), **others}))
    assert reason in str(caught.value)


def test_the_plan_lists_them():
    result = aidge_build("plan", DIGITS, "--board", "stm32f7", "--constants-in", "DTCM=6K", "--constants-in", "SRAM2=8")
    assert "constants in DTCM: " in result.stdout and "constants in SRAM2: 0 of 8 B, of no layer" in result.stdout, result
