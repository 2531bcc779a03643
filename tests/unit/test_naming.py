# SPDX-License-Identifier: MIT
"""Names of a model as C identifiers and as comment text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.errors import AidgeError
from aidge_build.naming import Namer, check_model_name, comment_text, layer_symbols, public_symbols

HOSTILE = [
    "a.b",
    "a/b",
    "a_b",
    "a:b",
    "A",
    "a",
    "w*/ int injected = 42; /*",
    'say "hi"',
    "line\nbreak",
    "back\\\nslash",
    "??/",
    "%s",
    "{{7*7}}",
    "$(touch x)",
    "`id`",
    ";",
    "nul\0",
    "\U0001f600",
    "e\u0301",
    "\udc80",
    "x" * 100_000,
    "int",
    "INT8_MIN",
    "errno",
    "main",
    "memcpy",
    "_Reserved",
    "__x",
    "7up",
    "",
    "../../evil",
    "/etc/passwd",
    "CON",
    "\u202e",
    "#include <x>",
    "linux",
]


def test_hostile_names_become_distinct_short_ascii_symbols():
    symbols = layer_symbols("kws", [(name, "Conv2D") for name in HOSTILE])
    assert len({symbol.lower() for symbol in symbols}) == len(HOSTILE)
    assert all(re.fullmatch(r"kws_[a-z0-9_]+", symbol) and len(symbol) <= 31 for symbol in symbols)


@settings(deadline=None)
@given(st.lists(st.text(max_size=80), max_size=40), st.text("abcdefgh", min_size=2, max_size=40))
def test_symbols_are_distinct_identifiers_that_depend_on_the_names_alone(names, prefix):
    nodes = [(name, "Conv2D") for name in names]
    symbols = layer_symbols(prefix, nodes)
    assert symbols == layer_symbols(prefix, nodes)
    assert len({*symbols, *public_symbols(prefix)}) == len(names) + 4
    assert all(re.fullmatch(r"[a-z][a-z0-9_]{0,62}", symbol) for symbol in symbols)


def test_a_readable_name_is_kept_and_one_too_long_gives_way_to_the_operator_type():
    nodes = [
        ("Conv_3", "Conv2D"),
        ("model/activation/Relu;model/batch_normalization/Fused", "Conv2D"),
        ("", "Softmax"),
        ("a" * 99, "Conv2D"),
        ("conv2d_1", "Conv2D"),
    ]
    assert layer_symbols("kws", nodes) == ("kws_conv_3", "kws_conv2d_1", "kws_softmax_1", "kws_conv2d_2", "kws_conv2d_1_2")


def test_a_layer_never_takes_a_symbol_of_the_model_itself():
    assert layer_symbols("kws", [("run", "X"), ("Arena", "X")]) == ("kws_run_2", "kws_arena_2")


def test_names_without_a_prefix_keep_clear_of_c():
    namer = Namer()
    assert [namer.take(name) for name in ("int", "INT8_MIN", "errno", "7", "Image", "")] == [
        "tensor_int",
        "tensor_int8_min",
        "tensor_errno",
        "tensor_7",
        "image",
        "unnamed",
    ]


def test_the_end_of_a_long_name_is_kept():
    assert Namer("kws").take("features.0/block/branch/conv_weights") == "kws_0_block_branch_conv_weights"


def test_endings_are_taken_together():
    namer = Namer("kws")
    assert namer.take("x_size", ("", "_size")) == "kws_x_size"
    assert namer.take("x", ("", "_size")) == "kws_x_2"


def test_twenty_thousand_equal_names_take_linear_time():
    assert len(set(layer_symbols("kws", [("same", "Add")] * 20_000))) == 20_000


@pytest.mark.parametrize(
    "name",
    [
        "",
        "7up",
        "a b",
        "../evil",
        "int",
        "Class",
        "main",
        "string",
        "math",
        "CON",
        "aidge",
        "aidge_ref",
        "_kws",
        "käse",
        "a" * 41,
        "kws\n",
    ],
)
def test_a_model_name_that_cannot_be_a_prefix_is_refused_with_a_hint(name):
    with pytest.raises(AidgeError) as refusal:
        check_model_name(name)
    assert "--name" in refusal.value.hint and "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["kws", "KWS", "vww_96_int8", "a" * 40])
def test_an_ordinary_model_name_is_accepted(name):
    check_model_name(name)


@pytest.mark.parametrize("name", HOSTILE)
def test_comment_text_can_neither_end_nor_continue_a_comment(name):
    text = comment_text(name)
    assert text.isascii() and text.isprintable() and len(text) <= 60
    assert not any(part in text for part in ("*/", "/*", "??"))


def test_comment_text_shows_what_it_escapes():
    assert comment_text("é*/\n\\") == "\\u00e9\\u002a/\\u000a\\\\"
    assert comment_text("a" * 61) == "a" * 57 + "..."
