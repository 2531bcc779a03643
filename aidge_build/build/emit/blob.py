# SPDX-License-Identifier: MIT
"""A set of weights that can be replaced in the field: all constants of a model in one block of bytes, at any address.

Words are little-endian and 32 bits wide; W is the number of a word from the start.

    W 0        magic "AIDW"
    W 1        format of this header
    W 2        length of the block in bytes
    W 3        version, which its maker gives: the larger one is the newer one
    W 4, 5     digest of what inputs, outputs and states mean (48 bits)
    W 6, 7     digest of the code that reads it (48 bits)
    W 8 to 15  SHA-256 of all from W 18 on
    W 16       arrays
    W 17       CRC-32 (IEEE 802.3, as in zlib) of all but this word
    W 18 ...   where each array begins, in bytes from the start; then the arrays, each at a multiple of its alignment
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.plan.constant_arrays import Array

MAGIC = int.from_bytes(b"AIDW", "little")
FORMAT = 1
ALIGNMENT = 8  # bytes: of the block, enough for every array in it
HEAD_BYTES = 18 * 4
SIZE_BYTE, CRC_BYTE = 2 * 4, 17 * 4
LARGEST_VERSION = (1 << 32) - 1
LARGEST_BLOCK_BYTES = 256 << 20


def digest_words(digest: str) -> tuple[int, int]:
    """The two words of a digest of at most 16 hexadecimal digits."""
    first, second = struct.unpack("<II", bytes.fromhex(digest).ljust(8, b"\0"))
    return first, second


def make_blob(arrays: Sequence[Array], interface: str, layout: str, version: int) -> bytes:
    """The block; `interface` and `layout` are the digests that the code compares."""
    offsets, data = [], bytearray()
    start = HEAD_BYTES + 4 * len(arrays)
    for array in arrays:
        data += bytes(-(start + len(data)) % array.alignment)
        offsets.append(start + len(data))
        data += array.data
    data += bytes(-(start + len(data)) % 4)
    body = b"".join(_word(offset) for offset in offsets) + bytes(data)
    words = (MAGIC, FORMAT, HEAD_BYTES + len(body), version, *digest_words(interface), *digest_words(layout))
    head = b"".join(map(_word, words)) + hashlib.sha256(body).digest() + _word(len(arrays))
    return head + _word(zlib.crc32(body, zlib.crc32(head))) + body


@dataclass(frozen=True)
class BlobHead:
    """The facts in the head of a block."""

    size_bytes: int
    version: int
    interface: str
    layout: str


def read_blob(data: bytes, where: str) -> BlobHead:
    """Returns the head of a whole and undamaged block; AidgeError (WEIGHTS) for any other."""
    if len(data) < HEAD_BYTES or _at(data, 0) != MAGIC:
        raise _refused("is no set of weights", where)
    if _at(data, 1) != FORMAT:
        raise _refused(f"is a set of weights of format {_at(data, 1)}, this version reads {FORMAT}", where)
    size = _at(data, 2)
    if not HEAD_BYTES + 4 * _at(data, 16) <= size <= len(data):
        raise _refused(f"has {len(data):,} of its {size:,} bytes", where)
    body = data[HEAD_BYTES:size]
    if zlib.crc32(body, zlib.crc32(data[:CRC_BYTE])) != _at(data, 17) or hashlib.sha256(body).digest() != data[32:64]:
        raise _refused("is damaged: its check sums do not match its bytes", where)
    begins = [_at(body, index) for index in range(_at(data, 16))]
    if begins != sorted(begins) or not all(HEAD_BYTES + 4 * len(begins) <= begin < size for begin in begins):
        raise _refused("is damaged: an array begins outside of it", where)
    return BlobHead(size, _at(data, 3), data[16:22].hex(), data[24:30].hex())


def _refused(what: str, where: str) -> AidgeError:
    return AidgeError(
        what, where=where, code="WEIGHTS", hint="`aidge-build weights MODEL --against app.elf --out F.bin` makes one"
    )


def _word(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _at(data: bytes, word: int) -> int:
    return int.from_bytes(data[4 * word : 4 * word + 4], "little")
