# SPDX-License-Identifier: MIT
"""The tables of docs/c-api.md that describe formats are those of the code that writes them."""

from __future__ import annotations

import re
from pathlib import Path

from aidge_build.build.emit import blob
from aidge_build.plan.schedule import recording

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "c-api.md").read_text(encoding="utf-8")


def rows(head: str) -> dict[str, str]:
    """The cells of the table whose first row begins so."""
    table = re.search(rf"^\| {head} \|.*\n\|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert table, head
    return dict(re.findall(r"^\| (.+?) \| (.+?) \|$", table[1], re.MULTILINE))


def test_the_words_of_a_record_are_at_their_places():
    head, slot = rows("word of the record"), rows("word of a slot")
    assert head[str(recording.NEXT)] == "the slot of the next inference"
    assert head[str(recording.BEGAN)] == "inferences that have begun" and f"from {recording.FIRST_SLOT}" in head
    assert recording.MAGIC.decode() in head["0, 1"] and head["2"] == f"format, {recording.FORMAT}"
    assert f"from {recording.SLOT_HEAD}" in slot


def test_the_words_of_a_block_of_weights_are_those_of_the_code():
    words = re.findall(r"^    W (\d+(?:, \d+| to \d+| \.\.\.)?) ", blob.__doc__, re.MULTILINE)
    assert len(words) == 10
    assert list(rows("word")) == [f"from {word.split()[0]}" if word.endswith("...") else word for word in words]
