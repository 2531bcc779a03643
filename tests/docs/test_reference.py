# SPDX-License-Identifier: MIT
"""The pages that are written from the code are those that the code writes now."""

from __future__ import annotations

import functools
import inspect
import re
import shlex
import shutil
from pathlib import Path

import pytest

import aidge_build
from aidge_build.cli.parsing import parse, verb_parser
from aidge_build.cli.verbs import MODULES, chosen, module_of, typed
from aidge_build.prove.elf.findings import RULES
from tools.docs import reference
from tools.docs.python_api import plain
from tools.docs.reference import OPERATORS, PACKAGES, write_pages, written_pages

ROOT = Path(__file__).resolve().parents[2]
WRITE = "type: .venv/bin/python -m tools.docs --pages"


@functools.cache
def pages() -> dict[str, str]:
    return written_pages(ROOT)


def test_each_page_is_what_the_code_says_now():
    for name, text in pages().items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, WRITE


def test_every_verb_has_its_words_and_options():
    page = pages()["docs/reference-verbs.md"]
    for name in MODULES:
        _, _, text = page.partition(f"\n### {typed(name)}\n")
        shown = "\n".join(re.findall(r"^\| `([^`]*)`", text.partition("\n### ")[0], re.MULTILINE))
        options = [
            option for action in verb_parser(name)._actions for option in action.option_strings if option not in ("-h", "--help")
        ]
        assert [option for option in options if option not in re.split(r"[ ,\n]+", shown)] == [], name


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_verb_have_words_and_options_that_it_takes(name):
    examples = module_of(name).EXAMPLES
    assert examples
    for words, _ in examples:
        meant, others = chosen(shlex.split(words))
        assert (meant == name or name == "list") and parse(meant, others)


def test_every_code_and_every_public_name_is_there():
    codes = set(re.findall(r"^\| (\w+) \|", pages()["docs/reference-findings.md"], re.MULTILINE))
    assert set(RULES) < codes
    names = re.findall(r"^### (\w+)$", pages()["docs/reference-python.md"], re.MULTILINE)
    assert set(aidge_build.__all__) < set(names)
    assert f"load_onnx{str(inspect.signature(aidge_build.load_onnx))[:9]}".replace("'", "") in pages()[
        "docs/reference-python.md"
    ].replace("'", "")


def test_nothing_in_a_docstring_becomes_markup_but_its_words_in_backticks():
    assert plain("a * b < `c * <d>`") == r"a \* b \< `c * <d>`"


def test_pages_are_written_only_where_they_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "operator_page", lambda: "# Operators")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / PACKAGES, tmp_path / PACKAGES)
    (tmp_path / "aidge_build").symlink_to(ROOT / "aidge_build")
    write_pages(tmp_path)
    assert {f"docs/{path.name}" for path in (tmp_path / "docs").iterdir()} == {*pages(), OPERATORS}
    path = tmp_path / "docs" / "reference-verbs.md"
    path.chmod(0o444)
    before = path.stat().st_mtime_ns
    write_pages(tmp_path)
    assert path.stat().st_mtime_ns == before


def test_every_variable_that_the_product_reads_is_in_the_table():
    """What tests and tools read for themselves is none of a user's."""
    sources = [path for folder in ("aidge_build", "site_scons", "integrations") for path in (ROOT / folder).rglob("*.py")]
    pattern = re.compile(r"(?:environ(?:\.get\(|\[)|getenv\()\s*\"(AIDGE_\w+)\"|^_?[A-Z_]+ = \"(AIDGE_[A-Z_]+)\"", re.MULTILINE)
    read = {first or second for path in sources for first, second in pattern.findall(path.read_text(encoding="utf-8"))}
    table = (ROOT / "docs" / "options.md").read_text()
    assert "AIDGE_TOOLCHAIN_PREFIX" in read and [name for name in sorted(read) if f"| `{name}` |" not in table] == []
