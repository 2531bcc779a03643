# SPDX-License-Identifier: MIT
"""The fenced blocks of the documentation, and what a page says of how they are run.

A comment in the line above a block says what is special about it:

    <!-- run: slow -->              only by `./sconsw conformance docs`
    <!-- run: needs=torch -->       the same, with these Python packages installed
    <!-- run: file=SConstruct -->   the block is this file of the project; append=FILE: its end; replace=FILE: statements of it
    <!-- run: as=vad -->            C: with the header of this model
    <!-- run: near=5 -->            a console's numbers may be 5 % away: what was trained is not the same on every machine
    <!-- run: exit=1 -->            the last command ends with this code
    <!-- not run: why -->           nothing is run
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(
    r"(?:^<!-- (?P<mark>(?:not )?run: [^\n]*?) -->\n)?^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
EVERYTHING = "AIDGE_DOCS" in os.environ  # set by `./sconsw conformance docs`
MENU = "{toctree}"


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, its language, its text, and the words of the comment above it."""

    page: str
    line: int
    language: str
    text: str
    mark: str = ""

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_left_out(self) -> bool:
        return self.mark.startswith("not run: ")

    @property
    def words(self) -> dict[str, str]:
        """`slow` and NAME=VALUE."""
        if self.is_left_out:
            return {}
        pairs = [word.partition("=") for word in self.mark.removeprefix("run: ").split()]
        return {name: value for name, _, value in pairs}

    @property
    def is_file(self) -> bool:
        """Whether it is a file of the project, or lines of one."""
        return not self.words.keys().isdisjoint({"file", "append", "replace"})

    @property
    def is_slow(self) -> bool:
        return not self.words.keys().isdisjoint({"slow", "needs"})


def pages() -> list[str]:
    """The pages whose blocks are run: README, all of docs/, the guide to boards, and what coding agents read."""
    docs = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
    return ["README.md", *docs, "boards/README.md", "skills/aidge-build/SKILL.md"]


def blocks(page: str, text: str | None = None) -> list[Block]:
    """Those of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8") if text is None else text
    found = [
        Block(page, text.count("\n", 0, match.start("language")) + 1, match["language"], match["text"], match["mark"] or "")
        for match in FENCE.finditer(text)
    ]
    return [block for block in found if block.language != MENU]
