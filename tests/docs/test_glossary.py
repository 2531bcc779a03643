# SPDX-License-Identifier: MIT
"""docs/glossary.md: each term has one sentence and a place in the code that exists, and pages link to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `(.+?)` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("term, meaning, place", ROWS, ids=[row[0] for row in ROWS])
def test_the_term_has_one_sentence_and_a_place_that_exists(term, meaning, place):
    path, _, name = place.partition(":")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert not name or re.search(rf"^(?:class|def) {name}\b|^[^#\n]*\b{name}\([^;]*$", text, re.MULTILINE), place
    assert meaning.endswith(".") and not re.search(r"\. [A-Z]", meaning), "one sentence"


def test_there_are_the_terms_of_the_field_each_once():
    terms = [term for term, _, _ in ROWS]
    wanted = (
        "peak, lower bound, lifetime, alias, in-place, spill, stride, tile, band, halo, epilogue, requantize, scale, zero point"
    )
    more = "saturate, clamp, tail, packed weights, scratch, arena, region, claim, plan, contract"
    assert len(terms) == len(set(terms)) >= 60 and set(f"{wanted}, {more}".split(", ")) <= set(terms)


def test_the_index_and_the_pages_of_a_first_reader_link_to_it():
    pages = ("index", "tutorial", "howto-shrink", "howto-linker-script", "c-api", "proof")
    assert [page for page in pages if "(glossary.md)" not in (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")] == []
