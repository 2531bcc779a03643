# SPDX-License-Identifier: MIT
"""The sentences of a text without its code, and the words in them that docs/glossary.md has better terms for."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Private words, each with what to write instead. The words are regular expressions and match in any case.
OUT = {
    "fullest moment|largest moment": "peak",
    "tak(e|es|en|ing) over|(take|takes|taking|took) the place of": "reuses the buffer of, replaces",
    "wish(es)? for neighbours": "adjacency constraint",
    "nobody foresaw": "internal error",
    "(give|gives|giving|gave) way": "falls back to a smaller kernel",
    "bent lines?|sloped cells?|staircases?": "piecewise linear approximation, lookup table",
    "quicker": "faster",
    "trained again|training again": "retrained",
    "for want of": "without, because there is no",
    "of (yours|ours|theirs)|anybody's|nobody's|somebody's": "your, our, their; the owner by name",
    "anew": "again",
    "of (a|an|the) kernel's numbers": "constants",
}
# Pronouns in place of nouns, and verbs of place in place of `is`: each page has a limit, which only goes down.
PRONOUNS = r"that of|those|of which|of whose|whose"
PLACES = r"stands?|stood|lies?|beside|behind"
OPENINGS = ("What", "Of", "Where", "Than")

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.MULTILINE)


def _passages(markdown: str) -> Iterator[str]:
    """Paragraphs, items and cells of a table; headings are no sentences."""
    text = _COMMENT.sub("", _FENCE.sub("\n\n", markdown))
    text = re.sub(r"`[^`]*`", "CODE", _LINK.sub(r"\1", text)).replace("**", "")
    for block in re.split(r"\n\s*\n", _ITEM.sub("\n\n", text)):
        for line in [block] if not block.lstrip().startswith("|") else block.split("|"):
            if not line.lstrip().startswith("#"):
                yield " ".join(line.split())


def sentences(markdown: str) -> list[str]:
    """Returns the sentences of a page or a plain text, without code, addresses and headings."""
    parts = (part for passage in _passages(markdown) for part in re.split(r"(?<=[.!?:;])\s+(?=[A-Z(])", passage))
    return [part for part in parts if re.search(r"[A-Za-z]", part)]


def inverted(markdown: str) -> list[str]:
    """Returns the sentences that begin with the object or a relative clause. A question may."""
    return [one for one in sentences(markdown) if one.lstrip("*_(").split(" ")[0] in OPENINGS and not one.endswith("?")]


def private(markdown: str) -> list[tuple[str, str]]:
    """Returns each private word that is found, with what to write instead."""
    text = "\n".join(sentences(markdown))
    return [(found[0], term) for words, term in OUT.items() for found in re.finditer(rf"\b(?:{words})\b", text, re.IGNORECASE)]


def count(words: str, markdown: str) -> int:
    """Returns how often one of these words is found."""
    return len(re.findall(rf"\b(?:{words})\b", "\n".join(sentences(markdown)), re.IGNORECASE))
