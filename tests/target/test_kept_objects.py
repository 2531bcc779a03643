# SPDX-License-Identifier: MIT
"""The objects that programs of the tests share: taken again only where compiling would make the same."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

from aidge_build.run.toolchain import build, find_host_compiler
from aidge_build.run.toolchain.compiler import Compiler
from tests.kept_objects import keep_objects_in

SOURCE = '#include "number.h"\n#include <stdint.h>\nint32_t kept_objects_number(void) { return NUMBER + %s; }\n'
LOOP = "int kept_objects_sum(const int *x, int n) { int s = 0; for (int i = 0; i < n; i++) s += x[i] / 3; return s; }\n"


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Compiles a source beside a header; returns the object, and whether a compiler ran. Nothing is kept at first."""
    monkeypatch.setattr(build, "_compile", inspect.unwrap(build._compile))
    keep_objects_in(tmp_path / "objects", monkeypatch)
    started, run = [], Compiler.run
    monkeypatch.setattr(Compiler, "run", lambda self, command, where: (started.append(command), run(self, command, where)))

    def in_folder(name: str, source: str, header: str, *flags: str) -> tuple[bytes, bool]:
        folder: Path = tmp_path / name
        (folder / "headers").mkdir(parents=True)
        (folder / "number.c").write_text(source)
        (folder / "headers/number.h").write_text(header)
        started.clear()
        build._compile(
            find_host_compiler(), folder / "number.c", folder / "number.o", [f"-I{folder / 'headers'}", "-DSTEP=1", *flags]
        )
        return (folder / "number.o").read_bytes(), bool(started)

    return in_folder


def test_the_same_text_under_the_same_flags_is_compiled_once_whatever_the_folder(compiled):
    first, ran = compiled("first", SOURCE % "STEP", "#define NUMBER 41\n")
    assert ran and compiled("second", SOURCE % "STEP", "#define NUMBER 41\n") == (first, False)


@pytest.mark.parametrize(
    "source, header, flags",
    [
        (SOURCE % "2", "#define NUMBER 42\n", ()),
        (SOURCE % "STEP", "#define NUMBER 43\n", ()),
        (SOURCE % "STEP", "#define NUMBER 42\n", ("-USTEP", "-DSTEP=7")),
    ],
    ids=["source", "header", "flags"],
)
def test_another_source_header_or_flag_makes_another_object(compiled, source, header, flags):
    first, _ = compiled("first", SOURCE % "STEP", "#define NUMBER 42\n")
    second, ran = compiled("second", source, header, *flags)
    assert ran and second != first


@pytest.mark.parametrize(
    "source, header, flags",
    [
        (SOURCE % "(int)sizeof __FILE__", "#define NUMBER 44\n", ()),
        (SOURCE % "STEP", "#define OTHER <limits.h>\n#include OTHER\n#define NUMBER 44\n", ()),
        (SOURCE % "STEP", "#define NUMBER 45\n", ("-g",)),
    ],
    ids=["its path", "an include behind a macro", "debug information"],
)
def test_a_source_whose_object_may_depend_on_more_than_its_text_is_always_compiled(compiled, source, header, flags):
    assert compiled("first", source, header, *flags)[1] and compiled("second", source, header, *flags)[1]


def test_what_this_machine_runs_is_compiled_with_less_optimization_unless_the_test_says_how(compiled, monkeypatch):
    monkeypatch.setenv("AIDGE_STRESS", "1")
    as_on_boards, _ = compiled("stress", LOOP, "", "-O2")
    monkeypatch.delenv("AIDGE_STRESS")
    usual, _ = compiled("usual", LOOP, "", "-O2")
    assert usual != as_on_boards == compiled("said", LOOP, "", "-O2", "-O2")[0]


def test_the_next_run_finds_the_objects_but_those_that_nobody_used_for_two_weeks(compiled, tmp_path, monkeypatch):
    assert compiled("first", SOURCE % "STEP", "#define NUMBER 47\n")[1]
    keep_objects_in(tmp_path / "objects", monkeypatch)
    assert not compiled("second", SOURCE % "STEP", "#define NUMBER 47\n")[1]
    (kept,) = (tmp_path / "objects").iterdir()
    os.utime(kept, (0, 0))
    keep_objects_in(tmp_path / "objects", monkeypatch)
    assert not kept.exists() and compiled("third", SOURCE % "STEP", "#define NUMBER 47\n")[1]


def test_start_up_code_has_the_optimization_of_its_board_whatever_a_test_asks_for(compiled, tmp_path, monkeypatch):
    board, other = ("-O1",), ("-O1", "-O3", "-flto")
    usual, _ = compiled("usual", LOOP, "", *board)
    assert compiled("others", LOOP, "", *other)[0] != usual
    monkeypatch.setattr("tests.kept_objects.BOARDS", tmp_path / "boards")
    assert compiled("boards", LOOP, "", *other) == (usual, False)
