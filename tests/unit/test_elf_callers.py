# SPDX-License-Identifier: MIT
"""Which functions may lead to a function, in random programs whose calls, pointers and ends are known."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from random import Random

import pytest

from aidge_build.prove.elf.callers import Callers
from aidge_build.prove.elf.program_code import Code
from tests.listings import TEXT, listed

NAMES = ("f", "g", "h", "i", "j", "k")
# What a line has of another function, and whether the function may lead to it.
LINES = (("bl {0}", True), ("cbz r0, {0}", True), ("ldr r1, [pc, #{0}]", True), ("movw r1, #{0}", True), ("adds r0, #1", False))
# The last lines of a function, whether they lead to another one, and whether what follows them may run.
ENDS = (
    ("bx lr", False, False),
    ("bx lr\nnop", False, False),
    ("pop {{r4, pc}}", False, False),
    ("b {0}", True, False),
    ("bl {0}", True, False),
    ("bne {0}", True, True),
    ("it eq\nbxeq lr", False, True),
    ("movs r0, #0", False, True),
    ("movs r0, #0\nnop\nnop", False, True),
)


def program(seed: int, begins_at: str, pointed: str, sized: bool) -> tuple[Code, dict[str, set[str]]]:
    """A program that begins at a function ("": nobody says where) and that has a pointer to one in its data ("": none); and for
    each function the ones that it may lead to."""
    random, leads, lines = Random(seed), defaultdict[str, set[str]](set), list[str]()
    before = ""
    for name in NAMES:
        leads[before] |= {name} if before else set()
        lines.append(f"{name}:")
        for text, leads_on in random.choices(LINES, k=random.randrange(4)):
            other = random.choice(NAMES)
            leads[name] |= {other} if leads_on else set()
            leads[NAMES[-1]] |= {other} if text.startswith("ldr") else set()  # which the words for loads are in
            lines.append(text.format(f"={other}" if "#" in text else other))
        (end, leads_on, goes_on), other = random.choice(ENDS), random.choice(NAMES)
        leads[name] |= {other} if leads_on else set()
        lines += end.format(other).split("\n")
        before = name if goes_on else ""
    return _linked(lines, begins_at, pointed, sized), leads


def _linked(lines: list[str], begins_at: str, pointed: str, sized: bool) -> Code:
    at, places = TEXT, dict[str, int]()
    for line in lines:
        places[line[:-1]] = at
        at += 4 * (not line.endswith(":"))
    words, end, place = b"", at, TEXT
    for number, line in enumerate(lines):
        name = re.search("#=(.)", line)
        if name is not None and line.startswith("ldr"):
            lines[number] = f"ldr r1, [pc, #{end + len(words) - place - 4}]"
            words += (places[name[1]] | 1).to_bytes(4, "little")
        elif name is not None:
            lines[number] = f"movw r1, #{places[name[1]] | 1}"
        place += 4 * (not line.endswith(":"))
    pointer = (places[pointed] | 1).to_bytes(4, "little") if pointed else b"\0\0\0\0"
    image, instructions = listed("\n".join(lines), {"words": words + pointer})
    following = dict(zip(NAMES, [*(places[name] for name in NAMES[1:]), end + len(words)]))
    symbols = [
        replace(one, size_bytes=(following[one.name] - one.address) * sized) if one.name in places else one
        for one in image.symbols
    ]
    symbols.append(replace(symbols[0], name="pointer", address=end + len(words), size_bytes=4, kind="object"))
    entry = places[begins_at] | 1 if begins_at else 0
    return Code(replace(image, symbols=tuple(symbols), entry=entry), instructions)


def leading_to(function: str, leads: dict[str, set[str]]) -> set[str]:
    """Every function from which a way leads to this one."""
    known, grown = {function}, True
    while grown:
        found = known | {name for name in NAMES if leads[name] & known}
        known, grown = found, found != known
    return known


@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_functions_that_no_way_leads_to_from_the_begin_or_from_a_pointer_are_dead(seed, sized):
    begins_at, pointed = Random(-seed).choice(("", *NAMES)), Random(seed).choice(("", *NAMES))
    code, leads = program(seed, begins_at, pointed, sized)
    callers = Callers(code)
    for name in NAMES:
        known = leading_to(name, leads)
        lives = known & {begins_at, pointed} or not begins_at and (known != {name} or leads[name] & {name})
        found = callers.dead(code.image.symbol(name).address)
        expected = None if lives else {code.image.symbol(one).address for one in known - {name}}
        assert found == expected, (name, known)
