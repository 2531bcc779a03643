# SPDX-License-Identifier: MIT
"""The array of a packed list, read bit by bit as `packed_words` describes the list: what the C code of a model computes. Shares
no code with the packing, which it checks."""

from __future__ import annotations

import numpy

from aidge_build.base.errors import CheckFailed


def require_exact(kind: str, words: bytes, data: bytes, owner: str) -> None:
    """Raises CheckFailed if the packed words are not those of the array."""
    if expanded(kind, words)[: len(data)] != data:
        raise CheckFailed(
            f"the packed constants of {owner} are other ones", hint="this is a fault of the compiler: --pack-weights off"
        )


def expanded(kind: str, words: bytes) -> bytes:
    """Returns the words of the array."""
    list_of_words, found, at, start = numpy.frombuffer(words, "<u4"), [], 0, numpy.zeros(0, numpy.uint8)
    while at < len(list_of_words):
        head, narrow = (int(word) for word in list_of_words[at : at + 2])
        others, turns = head & 255, head >> 8 & 0x7FFFFF
        at += 2
        if head >> 31:
            size = 4 if kind == "table" else 2
            start = list_of_words[at : at + size].view(numpy.uint8)
            at += size
        turn = numpy.zeros((turns, others + narrow), "<u4")
        turn[:, :others] = list_of_words[at : at + turns * others].reshape(turns, others)
        at += turns * others
        in_unit, size = {"4": (2, 1), "3": (8, 3), "2": (4, 1), "1": (8, 1), "table": (2, 1)}[kind]
        units = -(-turns * narrow // in_unit) * size
        if units:
            values = _bytes(kind, list_of_words[at : at + units].view(numpy.uint8), start)
            turn[:, others:] = values.view("<u4")[: turns * narrow].reshape(turns, narrow)
        at += units
        found.append(turn.tobytes())
    return b"".join(found)


def _bytes(kind: str, units: numpy.ndarray, start: numpy.ndarray) -> numpy.ndarray:
    """Returns the narrow words of the units of a segment."""
    bits = numpy.unpackbits(units, bitorder="little").reshape(-1, 8)  # of each byte
    if kind == "3":
        pairs = bits[: 2 * len(bits) // 3].reshape(2, -1, 4, 2).transpose(0, 2, 1, 3).reshape(8, -1, 2)
        fields = pairs @ [1, 2] + 4 * bits[2 * len(bits) // 3 :].T
    else:
        width = {"1": 1, "2": 2}.get(kind, 4)
        fields = (bits.reshape(len(bits), -1, width) @ (1 << numpy.arange(width))).T
    if kind == "table":
        return start[fields].reshape(-1)
    low, flip = (numpy.tile(start[first : first + 4], fields.shape[1] // 4).astype(int) for first in (0, 4))
    values = low ^ flip * fields if kind == "1" else (low + fields) ^ flip
    return values.astype(numpy.uint8).reshape(-1)
