# SPDX-License-Identifier: MIT
"""The pages that are written from the code and from pinned data: verbs, findings, operators, files, packages and others."""

from __future__ import annotations

from pathlib import Path

from aidge_build.cli.ops import operator_page
from tools.docs.comparison import comparison_page
from tools.docs.files import file_pages
from tools.docs.findings import finding_page
from tools.docs.python_api import python_page
from tools.docs.removed import removed_page
from tools.docs.targets import with_targets
from tools.docs.verbs import verb_page

OPERATORS, PACKAGES = "docs/operators.md", "docs/packages.md"
HEAD = "<!-- SPDX-License-Identifier: MIT -->\n<!-- Written by `./sconsw docs`: do not edit. -->\n"


def written_pages(root: Path) -> dict[str, str]:
    """Path in the checkout -> text of each page but OPERATORS, which takes seconds."""
    pages = {
        "reference-verbs": verb_page(),
        "reference-findings": finding_page(),
        "reference-files": file_pages(root),
        "reference-python": python_page(),
        "comparison": comparison_page(),
        "removed-kernels": removed_page(root),
    }
    texts = {f"docs/{name}.md": HEAD + "\n".join(lines).rstrip("\n") + "\n" for name, lines in pages.items()}
    return texts | {PACKAGES: with_targets((root / PACKAGES).read_text(encoding="utf-8"))}


def write_pages(root: Path) -> None:
    """Only what came out different is written."""
    for name, text in {**written_pages(root), OPERATORS: operator_page() + "\n"}.items():
        path = root / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
