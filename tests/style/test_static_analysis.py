# SPDX-License-Identifier: MIT
"""What `./sconsw misra` judges by, and a small model that it reads; the whole takes minutes."""

from __future__ import annotations

import re
import shutil

import pytest

from aidge_build.emit.kernels import KernelFile, KernelText
from tools.static_analysis import page
from tools.static_analysis.findings import Deviation, Finding, deviations, sort_out
from tools.static_analysis.rules import ADVISORY, MANDATORY, is_binding
from tools.static_analysis.texts import CORES, ROOT, Text, library_text, texts_of_model

needs_cppcheck = pytest.mark.skipif(shutil.which("cppcheck") is None, reason="needs cppcheck")
SHIFT = Deviation("D1", ("10.1",), re.compile("<<|>>"), ("kit/*",), "shifts", "why")


def test_a_finding_is_covered_by_rule_place_and_line_together():
    findings = [
        Finding("misra", "10.1", "kit/a.h", "x >> n;"),
        Finding("misra", "10.1", "kit/a.h", "x += y < z;"),
        Finding("misra", "10.3", "kit/a.h", "x >> n;"),
        Finding("misra", "10.1", "ref/a.h", "x >> n;"),
    ]
    assert sort_out(findings, (SHIFT,)) == (findings[1:], {"D1": 1})


def test_every_deviation_says_rules_where_and_why_and_none_is_of_a_mandatory_rule():
    known = deviations()
    assert [deviation.name for deviation in known] == [f"D{number}" for number in range(1, len(known) + 1)]
    assert all(deviation.rules and deviation.where and deviation.reason.endswith((".", ")")) for deviation in known)
    assert not MANDATORY & {rule for deviation in known for rule in deviation.rules}


def test_required_and_mandatory_rules_bind_and_advisory_ones_do_not():
    assert is_binding("9.1") and is_binding("17.7") and not is_binding("15.5") and not ADVISORY & MANDATORY


def test_the_published_page_has_every_deviation_and_no_finding_outside():
    text = page.PAGE.read_text()
    for deviation in deviations():
        (row,) = re.findall(rf"^\| {deviation.name} \|.*$", text, re.MULTILINE)
        assert f"| {deviation.where} |" in row and row.endswith(f"| {deviation.reason} |")
    cells = re.findall(r" (\d+) \(\d+\) ", text)
    assert len(cells) > 60 and set(cells) == {"0"}


def test_a_line_of_a_library_is_found_in_its_file():
    made = library_text(
        KernelText(("<math.h>",), (KernelFile("kit/a.h", "int a;"), KernelFile("ref/b.h", "int b;"))), "ref", ("int c;",)
    )
    text, lines = Text("t", "t.c", made, CORES["ref"]), made.split("\n")
    assert [text.place_of(lines.index(f"int {name};") + 1) for name in "abc"] == ["kit/a.h", "ref/b.h", "ref/generated.c"]


@needs_cppcheck
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
def test_the_code_of_a_small_model_has_no_finding_outside_the_table_and_a_fault_in_it_is_one(tmp_path):
    from tools.static_analysis.programs import misra

    code, _ = texts_of_model("hello", ROOT / "examples" / "hello" / "hello.onnx", ())
    broken = Text(code.name, code.place, code.text.replace("(void)mem", "mem"), code.core, code.beside)
    assert sort_out(misra(code, tmp_path), deviations())[0] == []
    assert {finding.rule for finding in sort_out(misra(broken, tmp_path), deviations())[0]} == {"17.7"}
