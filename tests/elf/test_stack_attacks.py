# SPDX-License-Identifier: MIT
"""No program uses more stack than its bound, however it goes about it; where nothing can be proved, there is a reason.

A fixed sample; AIDGE_STRESS=1 (`./sconsw stress`) takes all.
"""

from __future__ import annotations

import os

import pytest

from aidge_build.boards import load_board
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import read_image, stack_use
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import disassemble
from tests.elf.independent_attacks import ONCE_BELOW, independent_attacks
from tests.elf.stack_attacks import Attack, attacks
from tests.programs import build, needs_cross_compiler, needs_qemu

ALL = (*attacks(), *independent_attacks())
# Each of them was once below what was used, or lost its bound.
SAMPLE = (
    "computed gotos of a table with a hole",
    "a table of halves with a hole",
    "a return address that is replaced through an index",
    "a register that the caller wants to keep",
    "a branch into an IT block",
    "a variable that an inner part changes",
    "registers in the old format",
    "vectors of a large core",
    "a handler with its attribute",
    "a table of handlers in RAM",
    "a table of handlers in RAM by a complement",
    "a table of handlers in RAM by a product",
    *(attack.name for attack in ONCE_BELOW),
)


def test_there_are_enough_attacks_and_each_has_its_name():
    names = [attack.name for attack in ALL]
    assert len(names) >= 120 and len(set(names)) == len(names) and set(SAMPLE) < set(names)


@pytest.mark.requirement("G8")
@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize(
    "attack", [one for one in ALL if os.environ.get("AIDGE_STRESS") or one.name in SAMPLE], ids=lambda one: one.name
)
def test_a_program_uses_no_more_than_its_bound_or_has_a_reason_for_none(tmp_path, attack: Attack):
    elf = build(attack.board, attack.text, tmp_path, flags=attack.flags)
    use = stack_use(read_image(elf), read_disassembly(disassemble(elf)), ())
    bounds = [use.program, *([use.interrupt] if attack.interrupt else [])]
    reason = " ".join([bound.reason for bound in bounds] + list(use.unseen))
    if attack.refusal:
        assert attack.refusal in reason and (use.unseen or None in [bound.bytes for bound in bounds])
        return
    assert reason.strip() == ""
    emulator = "qemu" if attack.interrupt else ""
    result = run_program(elf, load_board(attack.board), work_folder=tmp_path, emulator=emulator)
    assert result.exit_code == 0 and 0 < result.stack_high_water_bytes <= sum(bound.bytes for bound in bounds)
