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
    at = 16 if kind == "table" else 8
    start, found = numpy.frombuffer(words[:at], numpy.uint8), []
    while at < len(words):
        others, turns, units = words[at], words[at + 3] + 1, int.from_bytes(words[at + 1 : at + 3], "little")
        at += 4
        size = (12 if kind == "3" else 4) * units
        for _ in range(turns):
            found.append(words[at : at + 4 * others])
            at += 4 * others
            if units:
                found.append(_bytes(kind, numpy.frombuffer(words, numpy.uint8, size, at), start))
            at += size
    return b"".join(found)


def _bytes(kind: str, units: numpy.ndarray, start: numpy.ndarray) -> bytes:
    """Returns the narrow words of the units of a turn."""
    bits = numpy.unpackbits(units, bitorder="little").reshape(-1, 8)  # of each byte
    if kind == "3":
        pairs = bits[: 2 * len(bits) // 3].reshape(2, -1, 4, 2).transpose(0, 2, 1, 3).reshape(8, -1, 2)
        fields = pairs @ [1, 2] + 4 * bits[2 * len(bits) // 3 :].T
    else:
        width = {"1": 1, "2": 2}.get(kind, 4)
        fields = (bits.reshape(len(bits), -1, width) @ (1 << numpy.arange(width))).T
    if kind == "table":
        return start[fields].tobytes()
    low, flip = (numpy.tile(start[first : first + 4], fields.shape[1] // 4).astype(int) for first in (0, 4))
    values = low ^ flip * fields if kind == "1" else (low + fields) ^ flip
    return values.astype(numpy.uint8).tobytes()
