# SPDX-License-Identifier: MIT
"""Kernels of a build without unaligned access, on cores that trap it: no word lies at an address that is no multiple of its size,
and the values are the same. AIDGE_STRESS=1 (`./sconsw stress`) takes all candidates of the other tests, and gcc -O3."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import cortexm_harness
import helium_harness
import pytest
import test_drawn_layers
import test_stack

from aidge_build.boards.cores import ALIGNED_ONLY
from aidge_build.build.emit import template
from aidge_build.contract.spec import tensors_that_move

STRESS = "AIDGE_STRESS" in os.environ
STEP = 1 if STRESS else 30  # of the candidates
FEW = tuple(  # whose candidates are made quickly
    f"test_{name}"
    for name in (
        *("armv7m_linear", "channel_lines", "cortexm_dynamic", "cortexm_grouped", "cortexm_int16", "cortexm_linear"),
        *("helium_dynamic", "moves", "products"),
    )
)
TOGETHER = 150  # cases in a program
BOARDS = {"cortexm": "mps2-an386", "armv7m": "mps2-an385", "helium": "mps3-an547"}
FLAGS = ("-O3",) if STRESS else ("-O2",)
pytestmark = [
    helium_harness.needs_emulator,
    pytest.mark.skipif(not shutil.which("qemu-system-arm"), reason="needs qemu-system-arm"),
]
STAND_IN = Path(template.__file__).parents[2] / "base/templates/model/aligned_copies.c.j2"


def aligned(entry: helium_harness.Case) -> helium_harness.Case:
    """The case as a build without unaligned access has it."""
    own = type("AlignedCase", (type(entry),), {"features": entry.features | {ALIGNED_ONLY}})
    return own(entry.view, entry.values)


def candidates_of(library: str) -> list[helium_harness.Case]:
    """Of other tests, every STEPth one."""
    found = []
    for name in [path.stem for path in sorted(Path(__file__).parent.glob("test_*.py"))] if STRESS else FEW:
        mine = [entry for entry in test_stack.candidates_in(name) if entry.library_name == library][::STEP]
        found += [entry for entry in mine if len(tensors_that_move(entry.view.inputs)) <= helium_harness.INPUTS]
    return found


@pytest.mark.parametrize("library, board", BOARDS.items() if STRESS else [("cortexm", "mps2-an386")])
def test_no_kernel_reads_or_writes_a_word_at_an_address_that_is_no_multiple_of_4(library, board, tmp_path):
    wanted = [aligned(entry) for entry in candidates_of(library)]
    cases = [*cortexm_harness.accepted(wanted), *test_drawn_layers.drawn(library, frozenset({ALIGNED_ONLY}))]
    assert len(cases) > 10
    stand_in = tmp_path / "copies.h"
    text = re.sub(r"\{#.*?#\}", "", STAND_IN.read_text(encoding="utf-8"))
    stand_in.write_text(f"#include <stdint.h>\n#include <string.h>\n{text}", encoding="utf-8")
    flags = ("-mno-unaligned-access", "-include", str(stand_in), *FLAGS)
    for first in range(0, len(cases), TOGETHER):
        assert helium_harness.run(cases[first : first + TOGETHER], *flags, board=board, traps=True) == []
