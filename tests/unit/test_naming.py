# SPDX-License-Identifier: MIT
"""Names of a model as C identifiers and as comment text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import Namer, check_model_name, comment_text, counted, layer_symbols, public_symbols
from aidge_build.base.shortening import shortened_identifier

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


@settings(max_examples=30)
@given(st.lists(st.text(max_size=40), max_size=12), st.text("abcdefgh", min_size=2, max_size=40))
def test_symbols_are_distinct_identifiers_that_depend_on_the_names_alone(names, prefix):
    nodes = [(name, "Conv2D") for name in names]
    symbols = layer_symbols(prefix, nodes)
    assert symbols == layer_symbols(prefix, nodes)
    assert len({*symbols, *public_symbols(prefix)}) == len(names) + len(public_symbols(prefix))
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


@pytest.mark.parametrize(
    "prefix, text, name",
    [
        ("kws", "identity_prequant_exponentials", "kws_identity_exponentials"),
        ("m", "globalaveragepooling_1_multipliers", "m_globalaveragepo_1_multipliers"),
        ("mobilenet_v2_050_128", "convdepthwise2d_1", "mobilenet_v2_050_128_convdepthwise2d_1"),
        ("kws", "features.0/block/branch/conv_weights", "kws_features_0_conv_weights"),
        ("kws", "stage_1_block_2_conv_3_multipliers", "kws_stage_1_conv_3_multipliers"),
        ("", "model/conv2d/Conv2D/ReadVariableOp:0", "model_conv2d_readvariableop_0"),
        ("kws", "x" * 40, "kws_" + "x" * 27),
    ],
)
def test_a_long_name_is_cut_in_the_middle_at_whole_words(prefix, text, name):
    assert Namer(prefix).take(text) == name


WORDS = st.lists(st.text("abcdefgxyz", min_size=1, max_size=9) | st.integers(0, 9999).map(str), min_size=1, max_size=12)


@given(WORDS, st.integers(12, 40))
def test_a_shortened_identifier_keeps_its_first_and_last_word_and_the_order(words, room):
    name = "_".join(words)
    short = shortened_identifier(name, room)
    assert len(short) <= room and re.fullmatch("[a-z0-9]+(_[a-z0-9]+)*", short)
    assert short == name or len(name) > room
    kept, last = short.split("_"), words[-1]
    numbers = 2 * len("_9999")  # that go with the words
    if len(words) > 1 and len(f"{words[0]}_{words[-2]}_{last}") <= room - numbers:
        assert (kept[0], kept[-1]) == (words[0], last)
        rest = iter(words)
        assert all(word in rest for word in kept)
    assert words[0].startswith(kept[0]) and (last.startswith(kept[-1]) or len(kept) == 1 or kept[-1] in words)


@given(st.lists(st.text("ab_", min_size=1, max_size=60), min_size=1, max_size=30), st.sampled_from(["", "kws", "a" * 40]))
def test_shortened_names_are_distinct_and_what_fits_is_kept(names, prefix):
    namer = Namer(prefix)
    taken = [namer.take(name) for name in names]
    assert len(set(taken)) == len(names) and all(re.fullmatch(r"[a-z]\w{0,62}", name, re.ASCII) for name in taken)
    for name, found in zip(names, taken, strict=True):
        words = re.sub("_+", "_", name.strip("_"))
        if words and len(words) <= 16 and names.count(name) == 1 and not re.search(r"_\d+$", found):
            assert found == (f"{prefix}_{words}" if prefix else words)


def test_endings_are_taken_together():
    namer = Namer("kws")
    assert namer.take("x_size", ("", "_size")) == "kws_x_size"
    assert namer.take("x", ("", "_size")) == "kws_x_2"


def test_twenty_thousand_equal_names_take_linear_time():
    assert len(set(layer_symbols("kws", [("same", "Add")] * 20_000))) == 20_000


@pytest.mark.requirement("NAME")
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
    assert comment_text("a" * 61) == "a" * 29 + "..." + "a" * 28


def test_comment_text_is_cut_in_the_middle_at_whole_words():
    name = "model/functional_1/block_13_expand_relu/Relu6;model/block_13_depthwise/FusedBatchNormV3"
    assert comment_text(name) == "model/functional_1/block_13_...13_depthwise/FusedBatchNormV3"


@given(st.text(max_size=300), st.integers(4, 80))
def test_comment_text_keeps_both_ends_and_its_limit(text, limit):
    shown = comment_text(text, limit)
    assert len(shown) <= limit and shown.isascii() and (shown.isprintable() or not shown)
    assert not re.search(r"\\u[0-9a-f]{0,3}(?![0-9a-f])", shown.replace("\\\\", ""))  # no half of an escaped character
    if len(shown) > 3 and "..." in shown and "." not in text:
        head, tail = shown.split("...", 1)
        whole = comment_text(text, 10_000)
        assert whole.startswith(head) and whole.endswith(tail)


def test_a_number_has_its_noun_and_its_verb():
    assert [counted(count, "layer", "takes") for count in (0, 1, 2)] == ["0 layers take", "1 layer takes", "2 layers take"]
    assert [counted(count, "entry", "has") for count in (1, 1234)] == ["1 entry has", "1,234 entries have"]
    assert counted(1, "vector") == "1 vector"
