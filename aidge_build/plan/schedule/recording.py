# SPDX-License-Identifier: MIT
"""N_record: the array that keeps the last inferences for the reader of a RAM dump, in words of 32 bits.

| part | words | content |
|---|---|---|
| head | 2 | MAGIC (8 characters) |
| | 1 | FORMAT |
| | 3 | digest of the meaning of inputs, outputs and states (12 characters) |
| | 3 | bytes of N_record, number of slots, bytes of a slot |
| | 2 | slot of the next inference, number of inferences that began |
| each slot | 1 | number of its inference, from 1 |
| | 1 | how far the inference came: EMPTY, BEGUN, ENDED |
| | 2 | two sums of the state and the inputs |
| | 2 | two sums of the outputs |
| | rest | the state before the inference, each input, each output; each is filled up to whole words |

Sums: a = 1, b = 0; for each word w: a += w, b += a (modulo 2^32).

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.view import GraphView
from aidge_build.plan.schedule.stores import StateMemory

WORD = 4
MAGIC = b"AIDGEREC"
FORMAT = 1
HEAD_WORDS, NEXT, BEGAN = 9, 9, 10  # words that never change; the positions of the two words after them
FIRST_SLOT = 11
SLOT_HEAD = 6  # number, how far it came, two sums of what was read, two of what was written
EMPTY, BEGUN, ENDED = (int.from_bytes(word, "little") for word in (b"\0\0\0\0", b"BEGN", b"ENDD"))
MOST_SLOTS = 1 << 16


@dataclass(frozen=True)
class Recording:
    """The bytes of what a slot holds: of the `state`, of each of the `inputs` and `outputs`."""

    slots: int
    state: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @staticmethod
    def of(view: GraphView, states: StateMemory, slots: int) -> Recording | None:
        """Returns the record; None if nothing is kept."""
        if not slots:
            return None
        inputs, outputs = (tuple(view.tensor(name).size_bytes for name in side) for side in (view.given, view.handed_out))
        return Recording(slots, states.size_bytes, inputs, outputs)

    @property
    def read_words(self) -> int:
        """The words of the state and the inputs."""
        return sum(map(words_of, (self.state, *self.inputs)))

    @property
    def written_words(self) -> int:
        """The words of the outputs."""
        return sum(map(words_of, self.outputs))

    @property
    def slot_words(self) -> int:
        """The words of one inference."""
        return SLOT_HEAD + self.read_words + self.written_words

    @property
    def size_bytes(self) -> int:
        """The bytes of N_record."""
        return WORD * (FIRST_SLOT + self.slots * self.slot_words)

    def head(self, digest: str) -> tuple[int, ...]:
        """Returns the words that never change, on a little-endian core."""
        numbers = (self.size_bytes, self.slots, WORD * self.slot_words)
        return (*_words(MAGIC), FORMAT, *_words(digest.encode("ascii")), *numbers)


def words_of(size_bytes: int) -> int:
    """Returns how many words hold so many bytes."""
    return -(-size_bytes // WORD)


def sums_of(data: bytes) -> tuple[int, int]:
    """Returns the two sums of whole words."""
    words = numpy.frombuffer(data, "<u4").astype(numpy.uint64)
    first = (numpy.concatenate([[numpy.uint64(1)], words]).cumsum(dtype=numpy.uint64)) & numpy.uint64(0xFFFFFFFF)
    return int(first[-1]), int(first[1:].sum(dtype=numpy.uint64)) & 0xFFFFFFFF


def slots_of(text: str | None, arena: str, arriving: str, max_step: int | None = None, departing: str = "whole") -> int:
    """Returns the inferences that --record asks for, 0 for none; AidgeError (USAGE) if the other options exclude it."""
    if not text or text == "0":
        return 0
    if not text.isdecimal() or not 0 < int(text) <= MOST_SLOTS:
        raise _error(f"wants a number of inferences up to {MOST_SLOTS:,}, got '{text[:20]}'", "--record 4")
    if arena == "caller":
        raise _error("one array of the model is kept for all instances, which may run at once", "--arena static")
    if arriving == "rows":
        raise _error("an input by rows is never there as a whole, and a copy of all its rows is", "--input whole")
    if departing == "rows":
        raise _error("an output by rows is never there as a whole, and a copy of all its rows is", "--output whole")
    if max_step:
        raise _error("the copy of the inputs is one piece, which no bound of a step covers", "one of --record and --max-step")
    return int(text)


def _words(data: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(data[at : at + WORD], "little") for at in range(0, len(data), WORD))


def _error(what: str, hint: str) -> AidgeError:
    return AidgeError(what, where="--record", hint=hint, code="USAGE")
