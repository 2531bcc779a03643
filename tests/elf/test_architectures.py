# SPDX-License-Identifier: MIT
"""Which architecture a program is for, by the attributes that the compiler leaves in it."""

from __future__ import annotations

import pytest

from aidge_build.boards.cores import load_core
from aidge_build.prove.elf import read_image
from tests.elf.own_script import SCRIPT, link, program
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
CORES = {
    "cortex-m0": "v6-M",
    "cortex-m3": "v7-M",
    "cortex-m4": "v7E-M",
    "cortex-m23": "v8-M.baseline",
    "cortex-m33": "v8-M.mainline",
    "cortex-m55": "v8.1-M.mainline",
}


@pytest.mark.parametrize("core", CORES)
def test_a_program_says_its_architecture(tmp_path, core):
    elf = link(tmp_path, program(), SCRIPT, cpu=(f"-mcpu={core}", "-mthumb"))
    assert read_image(elf).architecture == CORES[core] == load_core(core).architecture
