# SPDX-License-Identifier: MIT
"""Digests of generated C by which parts of a program recognise each other: of what the compiler sees, never of comments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from aidge_build.base.naming import DIGEST_DIGITS
from aidge_build.build.emit.definitions import without_comments


def digest_of(*texts: str) -> str:
    """Returns the first digits of the SHA-256 of all texts, in hexadecimal."""
    return hashlib.sha256("\0".join(texts).encode("utf-8")).hexdigest()[:DIGEST_DIGITS]


def facts_of(facts: object) -> str:
    """Returns numbers, texts, lists and tables of them as text that is the same on every machine."""
    return json.dumps(facts, sort_keys=True, default=int)  # int: whole numbers of numpy


def code_of_text(text: str) -> str:
    """Returns C without comments, empty lines and spacing: what a change of words or of layout leaves as it is."""
    return "\n".join(_lines(text))


def declarations_of(text: str) -> str:
    """Returns the same of a header, without the directives that include files or choose between compilers."""
    return "\n".join(line for line in _lines(text) if not line.startswith("#") or line.startswith("#define"))


def _lines(text: str) -> Iterator[str]:
    for line in without_comments(text).splitlines():
        words = line.split()
        if words:
            yield " ".join(words)
