# SPDX-License-Identifier: MIT
"""The page of the codes, from the tables that the tool itself reads."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.elf.findings import RULES
from aidge_build.errors import HINTS
from tools.docs.markdown import cell


def finding_page() -> Iterator[str]:
    yield from (
        "# Findings and refusals",
        "",
        "## Findings of a check",
        "",
        "What `check`, `run` and the builds say of a linked program: `file: severity CODE: what. Hint: what helps`. An error",
        "ends with exit code 1. What is proved, and how: [proof.md](proof.md).",
        "",
        "| code | says | what helps where the line says nothing more special |",
        "|---|---|---|",
    )
    yield from (f"| {name} | {cell(rule.meaning)} | {cell(rule.hint)} |" for name, rule in RULES.items())
    yield from (
        "",
        "## Refusals",
        "",
        "What is refused ends with exit code 2 (3 where something is missing on this machine), and one line: where, what, what",
        "was tried, a hint. With `--json` the object `error` has a `code`, so that programs can tell refusals apart:",
        "",
        "| code | what helps where the line says nothing more special |",
        "|---|---|",
    )
    yield from (f"| {name} | {cell(hint)} |" for name, hint in sorted(HINTS.items()))
