# SPDX-License-Identifier: MIT
"""Reads the record of a model's last inferences out of a dump of RAM. The bytes are foreign, so that every field is checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.plan.schedule.recording import (
    BEGAN,
    BEGUN,
    EMPTY,
    ENDED,
    FIRST_SLOT,
    FORMAT,
    HEAD_WORDS,
    MAGIC,
    NEXT,
    SLOT_HEAD,
    WORD,
    Recording,
    sums_of,
    words_of,
)

_DIGEST_AT, _DIGEST_BYTES, _FORMAT_WORD = 12, 12, 2
_WRAP = 1 << 32
_FAULTS_SHOWN = 2


@dataclass(frozen=True)
class Kept:
    """One inference: its number, whether it ended, and the stored bytes of the state before it, its inputs, and its outputs (if
    it did not end, whatever was in the output buffers)."""

    number: int
    ended: bool
    state: bytes
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]


class _Damaged(Exception):
    """The reason why bytes are no record of the model."""


def read_dump(
    data: bytes, recording: Recording, digest: str, where: str, at: int | None = None, elf: str = ""
) -> tuple[Kept, ...]:
    """Returns the inferences, the oldest first. `digest` is the format of inputs, outputs and states. `at` is the offset of the
    record in the file if it is known; otherwise the record is searched for. `elf` is the program that the options were taken
    from.

    AidgeError (DUMP) for a file without a record of this model, with several, or with one that is damaged.
    """
    places = [match.start() for match in re.finditer(MAGIC, data)] if at is None else [at]
    if not places:
        raise AidgeError(
            f"holds no record: {MAGIC.decode()} is not among its {len(data):,} B",
            where=where,
            code="DUMP",
            hint="a dump of the memory that holds the model's N_record, byte by byte, from a build with --record; or no "
            "inference has run yet",
        )
    found, faults = [], []
    for place in places:
        try:
            found.append(_record(data, place, recording, digest))
        except _Damaged as reason:
            faults.append(f"at byte {place:,}: {reason}")
    if len(found) > 1:
        raise AidgeError(
            f"holds {len(found)} records of this model",
            where=where,
            code="DUMP",
            hint="name the linked program and the address of the dump's first byte: --elf app.elf --dump-base 0x20000000",
        )
    if not found:
        remedy = f"the model that {elf} was linked with" if elf else "these options: --elf APP.elf takes them from it"
        shown = "; ".join(faults[:_FAULTS_SHOWN])
        raise AidgeError(
            shown,
            where=where,
            code="DUMP",
            hint=f"the dump must be whole, and of a firmware with {'' if elf else 'this model and '}{remedy} "
            "(a float model that its build quantized: add --quantize SAMPLES.npz)",
        )
    (record,) = found
    return record


def _record(data: bytes, place: int, recording: Recording, digest: str) -> tuple[Kept, ...]:
    head = data[place : place + WORD * FIRST_SLOT]
    if place < 0 or len(head) < WORD * FIRST_SLOT:
        raise _Damaged("the file ends in the head of the record")
    words = [int.from_bytes(head[start : start + WORD], "little") for start in range(0, len(head), WORD)]
    if not head.startswith(MAGIC):
        raise _Damaged(f"no record begins there ({head[: len(MAGIC)].hex()}), or no inference has run yet")
    if words[_FORMAT_WORD] != FORMAT:
        raise _Damaged(f"the record has format {words[_FORMAT_WORD]}, this version reads {FORMAT}")
    other = head[_DIGEST_AT : _DIGEST_AT + _DIGEST_BYTES]
    if other != digest.encode("ascii"):
        raise _Damaged(f"the record is of other inputs, outputs or options: {ascii(other.decode('latin-1'))}, not {digest}")
    if tuple(words[:HEAD_WORDS]) != recording.head(digest):
        raise _Damaged("the head of the record is damaged")
    if words[NEXT] >= recording.slots:
        raise _Damaged(f"the next inference would be in slot {words[NEXT]} of {recording.slots}")
    missing = place + recording.size_bytes - len(data)
    if missing > 0:
        raise _Damaged(f"the file ends {missing:,} B before the record does")
    size = WORD * recording.slot_words
    starts = range(place + WORD * FIRST_SLOT, place + recording.size_bytes, size)
    kept = [one for number, start in enumerate(starts) if (one := _slot(data[start : start + size], recording, number))]
    return _in_order(kept, words[BEGAN])


def _slot(data: bytes, recording: Recording, position: int) -> Kept | None:
    """Returns the inference of a slot; None if the slot is empty."""
    head = [int.from_bytes(data[start : start + WORD], "little") for start in range(0, WORD * SLOT_HEAD, WORD)]
    number, state = head[:2]
    if state == EMPTY:
        return None
    if state not in (BEGUN, ENDED):
        raise _Damaged(f"slot {position} is damaged: inference {number} is in state 0x{state:08x}")
    middle = WORD * (SLOT_HEAD + recording.read_words)
    read, written = data[WORD * SLOT_HEAD : middle], data[middle:]
    for content, what, sums in ((read, "read", head[2:4]), (written, "wrote", head[4:])):
        if (what == "read" or state == ENDED) and sums_of(content) != tuple(sums):
            raise _Damaged(f"slot {position} is damaged: it does not hold what inference {number} {what}")
    before, *inputs = _parts(read, (recording.state, *recording.inputs))
    return Kept(number, state == ENDED, before, tuple(inputs), tuple(_parts(written, recording.outputs)))


def _parts(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    start = 0
    for size in sizes:
        yield data[start : start + size]
        start += WORD * words_of(size)


def _in_order(kept: Sequence[Kept], began: int) -> tuple[Kept, ...]:
    """Returns the inferences, the oldest first. Their numbers are consecutive and end with `began`."""
    by_age = sorted(kept, key=lambda one: (began - one.number) % _WRAP, reverse=True)
    numbers = [one.number for one in by_age]
    if not numbers:
        raise _Damaged("no inference has been recorded yet")
    if numbers != [(began - age) % _WRAP for age in reversed(range(len(numbers)))]:
        raise _Damaged(f"the record is damaged: of {began} inferences it holds the numbers {', '.join(map(str, numbers))}")
    return tuple(by_age)
