# SPDX-License-Identifier: MIT
"""How text reads: no private words, no inverted sentences, and few pronouns or verbs of place instead of nouns and `is`.

All texts are under these rules: every page, also the pages that are written from code, and every string, docstring and comment of
the package.
"""

from __future__ import annotations

import pytest

from tests.style.prose import PLACES, PRONOUNS, count, inverted, private, sentences
from tests.style.texts import ROOT, comments_in, comments_of_kernels, texts

MOST = 3  # of each text: a few read well ("layers whose rows are a multiple of 4")
IN_LONG = 500  # in a long text one in so many sentences
TEXTS = texts()


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_has_terms_of_the_field_and_sentences_that_begin_with_who_acts(name):
    text = TEXTS[name]()
    assert sentences(text)
    assert [f"{found!r}: write {term}" for found, term in private(text)] == []
    assert inverted(text) == []


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_repeats_its_nouns_and_says_is(name):
    text = TEXTS[name]()
    most = max(MOST, len(sentences(text)) // IN_LONG)
    assert count(PRONOUNS, text) <= most and count(PLACES, text) <= most, [
        one for one in sentences(text) if count(PRONOUNS, one) or count(PLACES, one)
    ]


def test_sentences_in_comments_of_kernels_begin_with_who_acts():
    comments = comments_of_kernels()
    assert {"kernels/kit/mean.h", "kernels/ref/int8/conv2d_int8.py"} <= set(comments)
    assert {path: found for path, text in comments.items() if (found := inverted(text))} == {}


def test_every_page_and_each_kind_of_text_is_read():
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    rooms = {f"comments of {path.parent.name}" for path in (ROOT / "aidge_build").glob("*/__init__.py")}
    assert pages | {"README.md", "options", "help", "findings", "messages", "generated C"} <= set(TEXTS) and len(pages) > 40
    assert rooms <= set(TEXTS) and len(rooms) > 10


def test_docstrings_and_comments_of_a_file_are_read_and_its_other_strings_are_not():
    python = '''# A page.
"""Of a file."""
TEXT = "none # none"  # at the end
LONG = """
"""
def f():  # why
    r"""A function."""
    return """none"""
# One comment
# of two lines: region `FLASH' overflowed.
'''
    found = [" ".join(text.split()) for text in comments_in(python)]
    assert found == [
        *("A page.", "Of a file.", "at the end", "why", "A function."),
        "One comment of two lines: region FLASH' overflowed.",
    ]


@pytest.mark.parametrize(
    "text, faults",
    [
        ("What is known is printed. Of two the newer one. Where it ends, a line says so.", 3),
        ("| a | What helps |\n|---|---|\n| Of words | none |", 2),
        ("- **What it costs.** Nothing.\n- `x`: Than that, no.", 2),
        ("What does it cost?\n\n## What runs when\n\n```c\n/* What */\n```\n<!-- Of. -->", 0),
        ("The cost follows. You see what it is where it is.", 0),
    ],
)
def test_an_inverted_sentence_is_found_and_code_headings_and_questions_are_left_alone(text, faults):
    assert len(inverted(text)) == faults


def test_private_words_and_pronouns_are_found_in_any_case_and_not_in_code():
    assert private("Fullest moment; it gives way. `gives way`") == [
        ("Fullest moment", "peak"),
        ("gives way", "falls back to a smaller kernel"),
    ]
    assert count(PRONOUNS, "That of those, of which `those` lie.") == 3 and count(PLACES, "It lies beside [it](behind.md).") == 2
