# SPDX-License-Identifier: MIT
"""The text: six novels of Jane Austen (1811 to 1817, in the public domain) as numbers of 64 characters.

Debian's package r-cran-janeaustenr holds plain texts of Project Gutenberg (books 105, 121, 141, 158, 161 and 1342) in one file.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy

PACKAGED = Path("/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb")
SHA256 = "8fb5198960d0da724b1562f96e4221e5c1b41ff455000280b02c55980c3d8f21"
CHARACTERS = "\n abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,;:!?'\"-_"
STRINGS = struct.pack(">I", 16)  # the type of a list of strings in a file of R
HELD_OUT = 0.03  # of each novel: its last pages, and as many before them for choices


@dataclass(frozen=True)
class Text:
    """Numbers of characters: int64 [length]. `choice` was used to choose sizes and rates, `held_out` for nothing."""

    training: numpy.ndarray
    choice: numpy.ndarray
    held_out: numpy.ndarray


def read(path: Path = PACKAGED, sha256: str = SHA256) -> Text:
    """The novels of `path`: a file of the package, or plain text. Refuses a file with another digest than `sha256`."""
    if not path.is_file():
        raise SystemExit(f"there is no file {path}: get it as README.md says, and name it with --text FILE")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise SystemExit(f"{path} has the SHA-256 {found}, expected {sha256}: add --sha256 {found} to train on another text")
    novels = [content.decode()] if path.suffix == ".txt" else [*novels_of(content)]
    parts: list[list[numpy.ndarray]] = [[], [], []]
    for novel in novels:
        numbers = numbers_of(novel)
        ends = [int(len(numbers) * (1 - 2 * HELD_OUT)), int(len(numbers) * (1 - HELD_OUT))]
        for part, piece in zip(parts, numpy.split(numbers, ends), strict=True):
            part.append(piece)
    return Text(*map(numpy.concatenate, parts))


def novels_of(content: bytes):
    """The texts in a file of R: each is a length, then compressed lists, of which the first are the lines."""
    while len(content) > 4:
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(content[4:])
        content = unpacking.unused_data
        at = data.index(STRINGS, 14) + 4
        (count,) = struct.unpack_from(">I", data, at)
        at += 4
        lines = []
        for _ in range(count):
            (length,) = struct.unpack_from(">I", data, at + 4)  # after the type
            lines.append(data[at + 8 : at + 8 + length].decode())
            at += 8 + length
        yield "\n".join(lines)


def numbers_of(text: str) -> numpy.ndarray:
    """One line for each paragraph, without characters that are not in CHARACTERS."""
    number = {character: index for index, character in enumerate(CHARACTERS)}
    lines, paragraph = [], []
    for line in [*text.splitlines(), ""]:
        words = "".join(character for character in line if character in number).split()
        paragraph += words
        if not line.strip() and paragraph:
            lines.append(" ".join(paragraph) + "\n")
            paragraph = []
    return numpy.array([number[character] for character in "".join(lines)])


def text_of(numbers) -> str:
    """Characters again."""
    return "".join(CHARACTERS[number] for number in numbers)
