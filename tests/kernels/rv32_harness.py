# SPDX-License-Identifier: MIT
"""Cases of the library `rv32`, on an emulated RISC-V core."""

from __future__ import annotations

import itertools
import shutil

import cortexm_harness
import harness
import helium_harness
import pytest
from helium_harness import run

from aidge_build.run.toolchain.other_compiler import COMPILER_VARIABLE
from tests.programs import needs_riscv

BOARD, BOARD_OF_16 = "qemu_riscv32", "qemu_rv32e"
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
COMPILERS = ("gcc", "clang-14", "clang-19")
COMPILED = tuple(itertools.product(COMPILERS, LEVELS))


class Case(helium_harness.Case):
    library_name, features = "rv32", frozenset({"rv32m"})


class Case16(Case):
    """For a core with 16 registers."""

    features = Case.features | {"rv32e"}


def taken(entry: harness.Case) -> Case:
    """A case of another library's tests."""
    return Case(entry.view, entry.values)


def compile_with(compiler: str, board: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of the test are compiled with this one; the test is skipped where it is missing."""
    if (compiler, board) == ("clang-14", BOARD_OF_16):
        pytest.skip("clang-14 does not know the ABI ilp32e")
    if compiler != "gcc" and shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    monkeypatch.setenv(COMPILER_VARIABLE, "" if compiler == "gcc" else compiler)


accepted = cortexm_harness.accepted

__all__ = ["BOARD", "BOARD_OF_16", "COMPILED", "Case", "Case16", "accepted", "compile_with", "needs_riscv", "run", "taken"]
