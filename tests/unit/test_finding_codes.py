# SPDX-License-Identifier: MIT
"""Each code of a finding is explained on the page about proofs, and each finding says what helps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aidge_build.prove.elf.findings import ERROR, RULES, WARNING, Finding, in_order

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    *sorted((ROOT / "aidge_build" / "prove" / "elf").glob("*.py")),
    *(ROOT / "aidge_build" / "cli" / name for name in ("cycles.py", "longest.py", "run.py", "run_seen.py", "steps.py")),
]


def test_the_page_explains_the_codes_in_the_words_of_the_tool():
    rows = re.findall(r"^\| ([A-Z]+\d*) \| (.+?) \| (.+?) \|$", (ROOT / "docs" / "proof.md").read_text(), re.MULTILINE)
    assert {code: (meaning, hint) for code, meaning, hint in rows} == {
        code: (rule.meaning, rule.hint) for code, rule in RULES.items()
    }


def test_the_codes_that_the_tool_uses_are_those_that_it_explains():
    used = set(re.findall(r"Finding\(\s*\"([A-Z]+\d*)\"|image,\s*\"(MEM\d\d)\"", "".join(path.read_text() for path in SOURCES)))
    assert {name for pair in used for name in pair if name} == set(RULES)


def test_a_finding_is_one_line_of_where_code_what_and_hint():
    plain, special = Finding("MEM06", WARNING, "memory FLASH is 99 % full"), Finding("MEM06", WARNING, "It is full.", "buy more")
    assert plain.line("a.elf") == f"a.elf: warning MEM06: memory FLASH is 99 % full. Hint: {RULES['MEM06'].hint}"
    assert special.line("a.elf") == "a.elf: warning MEM06: It is full. Hint: buy more"
    assert in_order([plain, Finding("STK01", ERROR, ""), Finding("MEM01", ERROR, "")])[2] is plain


def test_a_code_that_is_not_explained_has_no_line():
    with pytest.raises(KeyError):
        Finding("MEM99", ERROR, "").line("a.elf")
