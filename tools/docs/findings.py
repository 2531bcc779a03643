# SPDX-License-Identifier: MIT
"""The page of the codes, from the tables that the tool itself reads."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.base.errors import HINTS
from aidge_build.prove.elf.findings import RULES
from tools.docs.markdown import cell


def finding_page() -> Iterator[str]:
    yield from (
        "# Findings and refusals",
        "",
        "## Findings of a check",
        "",
        "`check`, `run` and the builds print findings about a linked program: `file: severity CODE: what. Hint: what helps`. An",
        "error ends with exit code 1. [proof.md](proof.md) describes the proofs.",
        "",
        "| code | says | what helps, unless the line is more specific |",
        "|---|---|---|",
    )
    yield from (f"| {name} | {cell(rule.meaning)} | {cell(rule.hint)} |" for name, rule in RULES.items())
    yield from (
        "",
        "## Refusals",
        "",
        "A refusal is one line (where, what, what was tried, a hint) and exit code 2, or 3 if something is missing on this",
        "machine. With `--json` the object `error` has a `code`, so that programs can tell refusals apart:",
        "",
        "| code | what helps, unless the line is more specific |",
        "|---|---|",
    )
    yield from (f"| {name} | {cell(hint)} |" for name, hint in sorted(HINTS.items()))
