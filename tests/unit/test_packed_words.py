# SPDX-License-Identifier: MIT
"""Packed constants: every array comes back, and arrays of narrow words become as short as their bits allow."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.base.errors import CheckFailed
from aidge_build.plan.expanded_words import expanded, require_exact
from aidge_build.plan.packed_words import KINDS, TABLE, packed
from tests.packed_networks import BYTES, packed_array

PIECES = st.lists(
    st.tuples(st.sampled_from(sorted(map(str, BYTES))), st.integers(1, 90), st.integers(1, 5)), min_size=1, max_size=5
)


@pytest.mark.parametrize("kind", [*KINDS, TABLE])
@settings(max_examples=12, deadline=None)
@given(pieces=PIECES, seed=st.integers(0, 99))
def test_every_array_comes_back(kind, pieces, seed):
    data = packed_array(pieces, seed)
    found = packed(data, kind)
    assert found.size_bytes == len(data) and len(found.words) % 4 == 0
    again = expanded(kind, found.words)
    assert again[: len(data)] == data and not any(again[len(data) :]) and len(again) < len(data) + 4


@pytest.mark.parametrize(("bits", "share"), [(1, 1 / 8), (2, 1 / 4), (3, 3 / 8), (4, 1 / 2)])
def test_weights_take_their_bits_and_four_words(bits, share):
    data = packed_array([(str(bits), 6400, 1)], 3)
    assert len(packed(data, str(bits)).words) == 6400 * share + 16


def test_a_stream_of_groups_has_one_head():
    groups = [
        (numpy.full(4, 100_000 + number, numpy.int32).tobytes(), packed_array([("4", 72, 1)], number)) for number in range(200)
    ]
    found = packed(b"".join(part for group in groups for part in group), "4")
    assert len(found.words) == 16 + 200 * (16 + 36)


def test_a_bias_that_happens_to_be_narrow_interrupts_no_row_of_turns():
    groups = [
        (numpy.int32([100_000, 3 if number % 5 == 0 else 200_000]).tobytes(), packed_array([("4", 36, 1)], number))
        for number in range(200)
    ]
    assert len(packed(b"".join(part for group in groups for part in group), "4").words) == 16 + 200 * (8 + 18)


def test_each_byte_of_a_word_may_have_an_offset():
    data = numpy.frombuffer(packed_array([("4", 6400, 1)], 3), numpy.int8).reshape(-1, 4) + numpy.array(
        [128, 0, 250, 7], numpy.uint8
    ).view(numpy.int8)
    found = packed(data.tobytes(), "4")
    assert len(found.words) == 3200 + 16 and expanded("4", found.words) == data.tobytes()


def test_few_values_of_any_size_take_a_table():
    data = packed_array([("table", 6400, 1)], 3)
    assert packed(data, "4").saved_bytes <= 0 and len(packed(data, TABLE).words) == 3200 + 8 + 16


def test_each_channel_may_have_a_table_of_its_own():
    random = numpy.random.default_rng(7)
    channels = [random.choice(random.choice(256, 16, False), 320) for _ in range(30)]
    data = (
        numpy.concatenate([random.integers(0, 256, 40), *channels, random.integers(0, 256, 1200)]).astype(numpy.uint8).tobytes()
    )
    found = packed(data, TABLE)
    assert expanded(TABLE, found.words) == data and len(found.words) < 40 + 1200 + 30 * (160 + 24 + 8) + 40


@pytest.mark.parametrize("words", [300, 140_000])
def test_numbers_that_do_not_fit_a_head_take_several(words):
    data = numpy.random.default_rng(6).bytes(4 * words) + packed_array([("4", 4 * words, 1)], 4)
    found = packed(data, "4")
    require_exact(found.kind, found.words, data, "a layer")
    assert len(found.words) < len(data) * 0.77


def test_a_packed_array_of_other_constants_is_found():
    data = packed_array([("4", 640, 1)], 5)
    found = packed(data, "4")
    with pytest.raises(CheckFailed, match="the packed constants of a layer are other ones"):
        require_exact(found.kind, found.words, data[:-1] + b"\x09", "a layer")
