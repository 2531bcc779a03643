# SPDX-License-Identifier: MIT
"""Messages of refusals as tests compare them."""

from __future__ import annotations

from aidge_build.base.errors import HINTS, AidgeError


def own_words(error: AidgeError) -> str:
    """The whole message, without the hint where that is the one of all refusals of its kind; every message has one."""
    text = str(error)
    assert ". Hint: " in text and "\n" not in text
    return text.removesuffix(f". Hint: {HINTS.get(error.code)}")
