# SPDX-License-Identifier: MIT
"""Every function and file is within the budgets of `budgets.py`; the exceptions are listed here and get no company."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.style.budgets import FILE_LINES, complexity, excesses, excesses_of, functions, parameters

ROOT = Path(__file__).resolve().parents[2]
TOP_ENTRIES = 17  # of the package
MOST_ARGUED = 10

# Places that would be harder to read within the budgets, each with the reason.
ARGUED = {
    "aidge_build/compat/export_folder.py scheduler_export": "the parameters of the inherited call, then those of `compile`",
    "aidge_build/compat/mem_info.py generate_optimized_memory_info": "the parameters of the inherited call",
    "aidge_build/operators/integer.py QLinearConv.forward": "one parameter for each input in ONNX, whose names `net` shows",
    "aidge_build/operators/qlinear.py QGemm.forward": "one parameter for each input in ONNX, whose names `net` shows",
    "site_scons/site_tools/aidge.py": "projects copy the SCons tool: it is one file that imports SCons alone",
}


def test_functions_and_files_are_within_the_budgets_and_the_exceptions_are_none_without_need():
    found = excesses_of(ROOT)
    assert {place: shown for place, shown in found.items() if place not in ARGUED} == {}, "give its parts names, or split it"
    assert [place for place in ARGUED if place not in found] == [], "they are within the budgets: take them off the list"


def test_few_exceptions_are_for_good():
    assert len(ARGUED) <= MOST_ARGUED and all(ARGUED.values())


def test_the_top_of_the_package_stays_readable():
    names = sorted(path.name for path in (ROOT / "aidge_build").iterdir() if path.name != "__pycache__")
    assert len(names) <= TOP_ENTRIES, names


@pytest.mark.parametrize(
    "body, paths",
    [
        ("pass", 1),
        ("if a and b or c: pass\nelif d: pass\nelse: pass", 5),
        ("x = [i if a else b for i in c if d if e]", 5),
        ("for i in a: pass\nelse: pass", 3),
        ("while a:\n  assert b", 3),
        ("try: pass\nexcept A: pass\nexcept B: pass\nelse: pass\nfinally: pass", 4),
        ("match a:\n  case 1: pass\n  case 2 if b and c: pass\n  case _: pass", 4),
        ("def g():\n  if a: pass\nx = lambda: a if b else c", 2),
    ],
)
def test_the_complexity_is_the_number_of_paths(body, paths):
    (function,) = ast.parse("def f():\n" + "\n".join(f"  {line}" for line in body.split("\n"))).body
    assert complexity(function) == paths


def test_an_excess_of_each_kind_is_found():
    conditions = " and ".join(f"a{index}" for index in range(16))
    names = ", ".join(f"a{index}" for index in range(9))
    text = f"class A:\n  async def f(self, {names}):\n    def g(x):\n      return {conditions}\n"
    text += "def long():\n" + "  pass\n" * 60
    assert excesses(text) == {"A.f": "parameters 9", "A.f.g": "complexity 16", "long": "lines 61"}
    assert excesses("\n" * (FILE_LINES + 1)) == {"": "401 lines"} and excesses("\n" * FILE_LINES) == {}


def test_functions_inside_of_conditions_are_found_and_self_is_no_parameter():
    tree = ast.parse("if a:\n  class A:\n    @classmethod\n    def f(cls, x, /, y, *z, w, **v): pass\nelse:\n  def g(): pass\n")
    assert [(name, parameters(function)) for name, function in functions(tree.body)] == [("A.f", 3), ("g", 0)]
