# SPDX-License-Identifier: MIT
"""The record of the last inferences in a dump of RAM: found wherever it lies, and refused when a byte of it is another one."""

from __future__ import annotations

import struct

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.plan.schedule.recording import BEGUN, EMPTY, ENDED, Recording, slots_of, sums_of, words_of
from aidge_build.run.verify.dump import Kept, read_dump

DIGEST = "0123456789ab"
SMALL = Recording(3, 5, (7, 4), (2,))
HEAD_BYTES, SLOT_BYTES = 44, 24 + 8 + 8 + 4 + 4


def inference(number: int, ended: bool = True) -> Kept:
    return Kept(number, ended, bytes([number] * 5), (bytes(range(number, number + 7)), b"four"), (b"%c!" % number,))


def filled(parts) -> bytes:
    return b"".join(part + b"\xee" * (-len(part) % 4) for part in parts)


def slot(one: Kept) -> bytes:
    read, written = filled((one.state, *one.inputs)), filled(one.outputs)
    sums = sums_of(written) if one.ended else (99, 98)
    return struct.pack("<6I", one.number % 2**32, ENDED if one.ended else BEGUN, *sums_of(read), *sums) + read + written


def record(*kept: Kept, following: int, began: int, recording: Recording = SMALL) -> bytes:
    """As the firmware stores it; kept are the slots from the first one on."""
    head = struct.pack("<8sI12s3I2I", b"AIDGEREC", 1, DIGEST.encode(), recording.size_bytes, 3, SLOT_BYTES, following, began)
    slots = b"".join(map(slot, kept))
    return head + slots + bytes(recording.size_bytes - len(head) - len(slots))


FULL = record(inference(4), inference(5, ended=False), inference(3), following=2, began=5)


def read(data: bytes, at: int | None = None) -> tuple[Kept, ...]:
    return read_dump(data, SMALL, DIGEST, "ram.bin", at)


def refused(data: bytes, at: int | None = None) -> str:
    with pytest.raises(AidgeError) as caught:
        read(data, at)
    assert caught.value.code == "DUMP" and "\n" not in str(caught.value)
    return str(caught.value)


def test_a_record_takes_a_head_and_so_many_slots_of_whole_words():
    assert (SMALL.size_bytes, len(FULL)) == (HEAD_BYTES + 3 * SLOT_BYTES, HEAD_BYTES + 3 * SLOT_BYTES)
    assert [words_of(size) for size in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_the_sums_are_those_of_the_generated_code():
    first, second = 1, 0
    words = (5, 0xFFFFFFFF, 7, 0x80000000, 0x80000000)
    for word in words:
        first = (first + word) % 2**32
        second = (second + first) % 2**32
    assert sums_of(struct.pack("<5I", *words)) == (first, second)
    assert sums_of(b"") == (1, 0)


@pytest.mark.parametrize("before", [0, 1, 4097])
def test_the_inferences_come_out_the_oldest_first_wherever_the_record_lies(before):
    dump = b"\x5a" * before + FULL + b"behind"
    found = [inference(3), inference(4), inference(5, ended=False)]
    assert list(read(dump)) == found and list(read(dump, before)) == found


def test_fewer_inferences_than_slots_and_one_that_was_not_yet_stored_as_a_whole():
    assert read(record(inference(1), following=1, began=1)) == (inference(1),)
    torn = bytearray(FULL)
    start = HEAD_BYTES + 2 * SLOT_BYTES  # the oldest is just being overwritten
    struct.pack_into("<I", torn, start + 4, EMPTY)
    torn[start + 30] ^= 1
    assert read(bytes(torn)) == (inference(4), inference(5, ended=False))


def test_numbers_go_on_behind_the_largest_one():
    one, two = (Kept(number, True, b"state", (b"7 bytes", b"four"), (b"hi",)) for number in (2**32 - 1, 0))
    assert read(record(one, two, following=2, began=0)) == (one, two)


@pytest.mark.parametrize("flipped", [1, 0x80, 0xFF])
def test_every_byte_that_changed_is_noticed_or_belongs_to_nothing(flipped):
    """What may change are the outputs of an inference that never wrote them, and their sums."""
    unused = {*range(HEAD_BYTES + SLOT_BYTES + 16, HEAD_BYTES + SLOT_BYTES + 24)}
    unused |= set(range(HEAD_BYTES + 2 * SLOT_BYTES - 4, HEAD_BYTES + 2 * SLOT_BYTES))
    for position in range(len(FULL)):
        damaged = FULL[:position] + bytes([FULL[position] ^ flipped]) + FULL[position + 1 :]
        if position in unused:
            assert [one.number for one in read(damaged)] == [3, 4, 5], position
        else:
            refused(damaged)


@pytest.mark.requirement("DUMP")
def test_a_dump_that_ends_before_the_record_does_is_refused_wherever_it_ends():
    for size in range(len(FULL)):
        refused(FULL[:size])
    assert "the file ends 1 B before the record does" in refused(FULL[:-1])
    assert "ends in the head" in refused(FULL[:20])
    assert "is not among its 0 B" in refused(b"")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((12, b"ba9876543210"), "is of other inputs, outputs or options: 'ba9876543210', not 0123456789ab"),
        ((12, b"\xff\n*/\0 \x1b[3"), "is of other inputs, outputs or options: '\\xff\\n*/"),
        ((8, b"\x02"), "format 2, this version reads 1"),
        ((24, b"\x00\x01"), "the head of the record is damaged"),
        ((36, b"\x03"), "would be in slot 3 of 3"),
        ((40, b"\x06"), "of 6 inferences it holds the numbers 3, 4, 5"),
        ((HEAD_BYTES, b"\x07"), "it holds the numbers"),
        ((HEAD_BYTES + 4, b"X"), "slot 0 is damaged: inference 4 is in state 0x44444e58"),
        ((HEAD_BYTES + SLOT_BYTES + 24, b"X"), "slot 1 is damaged: it does not hold what inference 5 read"),
        ((HEAD_BYTES + 3 * SLOT_BYTES - 4, b"X"), "slot 2 is damaged: it does not hold what inference 3 wrote"),
    ],
)
def test_the_refusal_says_what_is_wrong(change, reason):
    place, text = change
    assert reason in refused(FULL[:place] + text + FULL[place + len(text) :])


@pytest.mark.requirement("DUMP")
def test_an_empty_record_one_of_another_place_and_two_are_refused():
    assert "no inference has been recorded yet" in refused(record(following=0, began=0))
    assert "no record begins there (4944" in refused(FULL + FULL, 1)
    assert "or no inference has run yet" in refused(bytes(len(FULL)), 0) and "; or no inference has run yet" in refused(bytes(99))
    assert "the file ends in the head" in refused(FULL, -4) and "the file ends in the head" in refused(FULL, len(FULL))
    assert "holds 2 records of this model" in refused(FULL + b"x" + FULL)
    assert len(read(FULL + b"x" + FULL, len(FULL) + 1)) == 3


def test_the_head_alone_as_it_lies_among_the_constants_is_no_second_record():
    assert len(read(FULL[:36] + bytes(500) + FULL)) == 3


@pytest.mark.parametrize(("text", "slots"), [(None, 0), ("0", 0), ("1", 1), ("65536", 65536)])
def test_so_many_inferences_are_kept(text, slots):
    assert slots_of(text, "static", "whole") == slots


@pytest.mark.parametrize(
    ("text", "arena", "arriving", "reason"),
    [
        ("four", "static", "whole", "wants a number of inferences up to 65,536, got 'four'"),
        ("-1", "static", "whole", "wants a number"),
        ("00", "static", "whole", "wants a number"),
        ("65537", "static", "whole", "wants a number"),
        ("4", "caller", "whole", "for all instances"),
        ("4", "static", "rows", "never there as a whole"),
    ],
)
def test_what_cannot_be_kept_is_refused(text, arena, arriving, reason):
    with pytest.raises(AidgeError, match=reason):
        slots_of(text, arena, arriving)
    assert slots_of("0", arena, arriving) == 0


def test_a_record_is_no_part_of_a_step():
    with pytest.raises(AidgeError, match="no bound of a step"):
        slots_of("4", "static", "whole", 50000)
    with pytest.raises(AidgeError, match="an output by rows is never there as a whole"):
        slots_of("4", "static", "whole", None, "rows")
    assert slots_of("4", "static", "whole", 0) == 4
