# SPDX-License-Identifier: MIT
"""N_record: where the last inferences are kept, in words of 32 bits, for whoever reads a dump of RAM.

Head: MAGIC (8 characters), format, digest of what inputs, outputs and states mean (12 characters), bytes of all, slots, bytes of
a slot; then the slot of the next inference, and how many began. Each slot: the number of its inference (from 1), how far it came
(EMPTY, BEGUN, ENDED), two sums of the state and the inputs, two sums of the outputs; then the bytes of the state before the
inference, of each input and of each output, each filled up to whole words. Sums: a = 1, b = 0; for each word w: a += w, b += a
(modulo 2^32).
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
HEAD_WORDS, NEXT, BEGAN = 9, 9, 10  # of what never changes; the places of the two numbers behind it
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
        """None where nothing is kept."""
        if not slots:
            return None
        inputs, outputs = (tuple(view.tensor(name).size_bytes for name in side) for side in (view.given, view.handed_out))
        return Recording(slots, states.size_bytes, inputs, outputs)

    @property
    def read_words(self) -> int:
        """Of the state and the inputs."""
        return sum(map(words_of, (self.state, *self.inputs)))

    @property
    def written_words(self) -> int:
        """Of the outputs."""
        return sum(map(words_of, self.outputs))

    @property
    def slot_words(self) -> int:
        """Of one inference."""
        return SLOT_HEAD + self.read_words + self.written_words

    @property
    def size_bytes(self) -> int:
        """Of N_record."""
        return WORD * (FIRST_SLOT + self.slots * self.slot_words)

    def head(self, digest: str) -> tuple[int, ...]:
        """The words that never change, on a little-endian core."""
        numbers = (self.size_bytes, self.slots, WORD * self.slot_words)
        return (*_words(MAGIC), FORMAT, *_words(digest.encode("ascii")), *numbers)


def words_of(size_bytes: int) -> int:
    """How many words hold so many bytes."""
    return -(-size_bytes // WORD)


def sums_of(data: bytes) -> tuple[int, int]:
    """The two sums of whole words."""
    words = numpy.frombuffer(data, "<u4").astype(numpy.uint64)
    first = (numpy.concatenate([[numpy.uint64(1)], words]).cumsum(dtype=numpy.uint64)) & numpy.uint64(0xFFFFFFFF)
    return int(first[-1]), int(first[1:].sum(dtype=numpy.uint64)) & 0xFFFFFFFF


def slots_of(text: str | None, arena: str, arriving: str, max_step: int | None = None, departing: str = "whole") -> int:
    """The inferences that --record asks for, 0 for none; AidgeError (USAGE) where the other options leave no place for them."""
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
