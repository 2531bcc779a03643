# SPDX-License-Identifier: MIT
"""`./sconsw --install test` installs what the tests call: the two lists are compared, and neither is trusted to be whole."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
from pathlib import Path

import pytest

from aidge_build.base import machine
from aidge_build.base.errors import MissingTool
from aidge_build.boards import load_board
from aidge_build.run.toolchain import build_program
from tests.called_programs import INSTALLED, OPTIONAL, PRESENT, complaint
from tests.programs import needs_cross_compiler

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = {machine.NEWLIB, machine.PICOLIBC}  # tools that are no program


def test_the_packages_that_install_names_are_those_whose_programs_tests_call():
    assert {*INSTALLED.values(), *LIBRARIES} == {*machine.TOOLS, *machine.FOR_TESTS, *machine.FOR_RISCV, machine.GDB}


def looked_for(path: Path) -> set[str]:
    """The names that a source hands to shutil.which as they stand."""
    text = path.read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(text)) if ".which" in text else ()
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.args]
    which = [node.args[0] for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "which"]
    return {name.value for name in which if isinstance(name, ast.Constant)}


def test_every_program_that_a_test_looks_for_is_listed():
    names = set().union(*map(looked_for, (ROOT / "tests").rglob("*.py"))) - {"apt-get"}
    assert {"cc", "cmake", "arm-none-eabi-gcc", "unshare"} <= names
    assert [complaint(name) for name in sorted(names) if complaint(name)] == []


def test_no_program_is_listed_twice():
    assert not PRESENT & set(INSTALLED) and not set(OPTIONAL) & {*PRESENT, *INSTALLED}


@pytest.mark.parametrize("program", ["id", "/usr/bin/id"])
def test_a_test_cannot_start_a_program_that_is_not_listed(program):
    with pytest.raises(pytest.fail.Exception, match="a test started 'id', which .* does not list"):
        subprocess.run([program], check=True)


@needs_cross_compiler
def test_a_cplusplus_program_for_a_board_names_the_package_of_a_missing_library(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "CROSS_CPLUSPLUS", dataclasses.replace(machine.CROSS_CPLUSPLUS, version=lambda: None))
    source = tmp_path / "main.cpp"
    source.write_text("#include <no_such_header>\nint main() { return 0; }\n")
    with pytest.raises(MissingTool) as caught:
        build_program(load_board("microbit"), [source], tmp_path / "app.elf", work_folder=tmp_path)
    message = str(caught.value).removeprefix(f"{caught.value.where}: ")
    assert message == "the C++ library of the cross compiler is missing. Hint: apt install libstdc++-arm-none-eabi-newlib"
