# SPDX-License-Identifier: MIT
"""What `check` costs behind the link of a firmware of many functions, and that it overlooks none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from aidge_build.cli import main
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import call_walk, deepest, read_image
from aidge_build.prove.elf.linear_sweep import linear_sweep
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.vector_moves import _in_data, _in_function, vector_moves
from aidge_build.run.toolchain import disassemble
from tests.effort import counted
from tests.many_functions import BOARD, linked
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
FUNCTIONS = 120
# Of Python and C functions, in a firmware of any size and more for each instruction; 110 where numbers are followed through every
# function.
CALLS, CALLS_OF_AN_INSTRUCTION = 90_000, 51


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked(tmp_path_factory.mktemp("many"), FUNCTIONS)


def test_a_check_costs_a_few_calls_for_each_instruction_of_the_firmware(firmware: Path) -> None:
    objects = sorted(map(str, (firmware.parent / "objects").glob("*.o")))
    arguments = ["check", str(firmware), "--board", BOARD, "--objects", *objects]
    assert main(arguments) == 0
    code, calls = counted(lambda: main(arguments))
    instructions = len(read_disassembly(disassemble(firmware)))
    assert code == 0 and calls <= CALLS + CALLS_OF_AN_INSTRUCTION * instructions, (calls, instructions)


def test_functions_that_are_not_read_for_vtor_say_nothing_of_it(firmware: Path) -> None:
    code = Code(read_image(firmware), read_disassembly(disassemble(firmware)))
    literals = set[int]()
    starts = sorted({code.extent(address)[0] for address in code.addresses})
    moves = [move for start in starts for move in _in_function(code, linear_sweep(code, start), literals)]
    assert vector_moves(code) == (*moves, *_in_data(code, literals)) and len(moves) == 1


def test_a_function_has_the_bound_that_it_has_where_numbers_are_followed_through_all_of_it(firmware, monkeypatch) -> None:
    class Thorough(call_walk._ThumbWalker):
        def __init__(self, code: Code, entry: int, is_root: bool, *, has_numbers: bool):
            super().__init__(code, entry, is_root, has_numbers=True)
            followed.append(has_numbers)

    def bounds() -> list[object]:
        search = deepest._Search(call_walk.walk, code, None)
        return [search.bound(start) for start in code.starts if start not in search._refused]

    followed = list[bool]()
    code = Code(read_image(firmware), read_disassembly(disassemble(firmware)))
    found = bounds()
    monkeypatch.setattr(call_walk, "_ThumbWalker", Thorough)
    assert bounds() == found
    assert followed.count(False) > 0.9 * len(followed)  # of the program as it is, few functions need numbers
