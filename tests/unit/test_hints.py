# SPDX-License-Identifier: MIT
"""Every refusal says what to do next: in its own words, or in those of its kind."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from aidge_build.base.errors import HINTS, AidgeError, CheckFailed, MissingTool

ROOT = Path(__file__).resolve().parents[2]
REFUSALS = {"AidgeError", "CheckFailed", "MissingTool"}


def _has_words(hint: ast.expr | None) -> bool:
    """Whether the hint is a text that is never empty."""
    if isinstance(hint, ast.IfExp):
        return _has_words(hint.body) and _has_words(hint.orelse)
    if isinstance(hint, ast.BoolOp):
        return _has_words(hint.values[-1])
    return isinstance(hint, ast.JoinedStr) or isinstance(hint, ast.Constant) and bool(hint.value)


@functools.cache
def refusals() -> list[tuple[str, str | None, bool]]:
    """(place, code or None where it is computed, whether it has words of its own) of each refusal in the sources."""
    found = []
    for path in sorted([*(ROOT / "aidge_build").rglob("*.py"), *(ROOT / "kernels").rglob("*.py")]):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in REFUSALS) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REFUSALS:
                words = {keyword.arg: keyword.value for keyword in node.keywords}
                code = words.get("code", ast.Constant("INPUT"))
                known = code.value if isinstance(code, ast.Constant) else None
                found.append((f"{path.relative_to(ROOT)}:{node.lineno}", known, _has_words(words.get("hint"))))
    return found


def test_every_refusal_in_the_sources_has_a_hint():
    assert len(refusals()) > 300
    assert [place for place, code, has_own in refusals() if not has_own and code not in (None, *HINTS)] == []


def test_a_hint_of_a_kind_is_one_sentence_and_every_kind_is_in_use():
    used = {code for _, code, has_own in refusals() if not has_own}
    assert sorted(HINTS.keys() - used) == []
    for code, hint in HINTS.items():
        assert hint.isprintable() and 20 < len(hint) < 160 and not hint.endswith("."), code


@pytest.mark.parametrize("kind", [AidgeError, CheckFailed, MissingTool])
def test_what_knows_no_better_gets_the_hint_of_its_kind(kind):
    assert str(kind("no", code="GRAPH")) == f"no. Hint: {HINTS['GRAPH']}"
    assert str(kind("no", code="GRAPH", hint="do this")) == "no. Hint: do this"
    assert kind("no", code="GRAPH").as_json()["hint"] == HINTS["GRAPH"]
