# SPDX-License-Identifier: MIT
"""Packets of GDB's remote protocol, as its manual writes them down."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.run.probe.packets import ACKNOWLEDGED, LARGEST_PACKET_BYTES, Arrived, Garbled, Reader, escaped, expanded, framed


def taken(data: bytes, step: int = 1) -> list[Arrived]:
    reader, found = Reader(), []
    for start in range(0, len(data), step):
        reader.add(data[start : start + step])
        while (packet := reader.take()) is not None:
            found.append(packet)
    return found


def test_a_packet_has_its_checksum_behind_it():
    assert framed(b"OK") == b"$OK#9a"
    assert framed(b"") == b"$#00"
    assert framed(b"m0,4") == b"$m0,4#fd"


def test_what_would_end_a_packet_is_escaped():
    assert escaped(b"a#b$c}d*e") == b"a}\x03b}\x04c}]d}\x0ae"
    assert expanded(b"a}\x03b}\x04c}]d}\x0ae") == b"a#b$c}d*e"


def test_a_run_repeats_the_character_before_it():
    assert expanded(b"0* ") == b"0000"  # the manual's own example: three more
    assert expanded(b"x0*~y") == b"x" + b"0" * 98 + b"y"


@pytest.mark.parametrize("body", [b"* ", b"ab}", b"ab*", b"a*\x1d"])
def test_a_body_that_means_nothing_is_refused(body):
    with pytest.raises(Garbled):
        expanded(body)


@given(st.binary(max_size=300), st.integers(1, 7))
@settings(max_examples=60)
def test_every_packet_arrives_as_it_was_sent_however_it_is_cut(data, step):
    assert taken(framed(data), step) == [Arrived(data)]


@pytest.mark.parametrize("step", [1, 2, 100])
def test_marks_notifications_and_noise_lie_between_packets(step):
    assert taken(b"+x%Stop:T05#00yyy$OK#9a-$OK#00", step) == [
        Arrived(None, b"+"),
        Arrived(b"OK"),
        Arrived(None, b"-"),
        Arrived(b"", is_sound=False),
    ]
    assert ACKNOWLEDGED == b"+"


def test_a_checksum_that_is_no_number_is_a_damaged_packet():
    assert taken(b"$OK#zz") == [Arrived(b"", is_sound=False)]


def test_a_stream_without_an_end_is_no_protocol():
    reader = Reader()
    reader.add(b"$" + b"x" * LARGEST_PACKET_BYTES)
    with pytest.raises(Garbled, match="more than"):
        reader.take()
