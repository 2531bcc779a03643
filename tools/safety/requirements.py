# SPDX-License-Identifier: MIT
"""The requirements on the tool: the guarantees of docs/safety.md, the findings of a check, and the refusals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import HINTS
from aidge_build.prove.elf.findings import RULES

PAGE = "docs/safety.md"
GUARANTEES, FINDINGS, REFUSALS = "Guarantees", "Findings of a check", "Refusals"
_GUARANTEE = re.compile(r"^\| (G\d+) \| (.+?) \|", re.MULTILINE)
_CODE = re.compile(r"\bcode=\"([A-Z][A-Z_0-9]+)\"")


@dataclass(frozen=True)
class Requirement:
    """A fact that tests must show: its name (`G3`, `MEM02`, `GRAPH`), its words and its family."""

    name: str
    text: str
    family: str


def requirements(root: Path) -> list[Requirement]:
    """Returns all requirements of a checkout, family by family. A refusal is a code that the package raises or has a hint for."""
    guarantees = _GUARANTEE.findall((root / PAGE).read_text(encoding="utf-8"))
    sources = (path.read_text(encoding="utf-8") for path in sorted((root / "aidge_build").rglob("*.py")))
    refusals = {code for text in sources for code in _CODE.findall(text)} | set(HINTS)
    return [
        *(Requirement(name, text, GUARANTEES) for name, text in guarantees),
        *(Requirement(name, rule.meaning, FINDINGS) for name, rule in RULES.items()),
        *(Requirement(name, HINTS.get(name, ""), REFUSALS) for name in sorted(refusals - set(RULES))),
    ]
