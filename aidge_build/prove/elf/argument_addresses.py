# SPDX-License-Identifier: MIT
"""The addresses that a firmware passes to the functions of its models: inputs and outputs that the firmware owns."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.linear_sweep import linear_sweep
from aidge_build.prove.elf.program_code import Code

_ARGUMENTS = ("r0", "r1", "r2", "r3")  # Arm IHI 0042, section 6.4


def argument_addresses(code: Code | None, claims: Sequence[Claim]) -> frozenset[int]:
    """Returns the numbers in argument registers at direct calls of the models' functions, as far as straight-line code tells
    them; none without code."""
    if code is None:
        return frozenset()
    image = code.image
    functions = {symbol.address for claim in claims for symbol in map(image.symbol, claim.functions) if symbol}
    calls = {place for place, one in code.instructions.items() if one.mnemonic in ("bl", "b.w", "b") and one.target in functions}
    found = set[int]()
    for first in sorted({code.extent(place)[0] for place in calls}):
        for guess in linear_sweep(code, first):  # each is true until the next one
            if guess.instruction.address in calls:
                found |= {number for word in _ARGUMENTS if (number := guess.number(word)) is not None}
    return frozenset(found)
