# SPDX-License-Identifier: MIT
"""The table `measured` of a card, which this tool writes; all above it is written by hand."""

from __future__ import annotations

import hashlib

from aidge_build.base.zoo import Entry
from tools.zoo.measure import BOARD, STAGES, Measured

_HEAD = "\n[measured]  # written by `python -m tools.zoo {name}`\n"


def digest(model: bytes) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(model).hexdigest()


def with_measured(text: str, name: str, model: bytes, seed: int, seconds: float, found: Measured) -> str:
    """The card with this table in place of the table that it has."""
    above = text.partition("\n[measured]")[0].rstrip("\n")
    lines = [
        f'sha256 = "{digest(model)}"',
        f"seed = {seed}",
        f"seconds = {round(seconds, 1)}  # of training, one core",
        f'figure = "{found.figure}"',
        f"samples = {found.samples}",
        *(f"{stage} = {found.values[stage]:.4f}" for stage in STAGES if stage in found.values),
        f"instructions = {found.instructions}  # of an inference on the emulated board",
        f'on = "{BOARD}"',
    ]
    return above + "\n" + _HEAD.format(name=name) + "\n".join(lines) + "\n"


def trained_as(entry: Entry, model: bytes) -> bool:
    """Whether these are the bytes of the entry's file and the digest of its card."""
    return entry.model.read_bytes() == model and entry.card["measured"]["sha256"] == digest(model)
