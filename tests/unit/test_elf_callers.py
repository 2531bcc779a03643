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


FIRST, PLACE = TEXT + 0x1000, TEXT + 0x1008  # an array, and a word behind it
FAR = 0x1000  # the first distance that is too far
G = TEXT + 64
CODE = "f:\nbx lr\n" + 15 * "nop\n" + "g:\nbl f\nbx lr\nmain:\n{0}\nb main"


def may_compute(text: str, content: dict[int, int], dead: tuple[str, ...] = ("g",), numbers: tuple[str, ...] = ()) -> str:
    """What is said of `f` in a program with these lines in `main`, and with these words at their addresses."""
    code = CODE.format(text)
    begin = TEXT + 4 * sum(not line.endswith(":") for line in filter(None, code.split("\n")))
    data = bytearray(b"U" * (PLACE + 8 - begin))  # words that are no offsets
    for at, word in content.items():
        data[at - begin : at - begin + 4] = (word & 0xFFFFFFFF).to_bytes(4, "little")
    image, instructions = listed(code, {"data": bytes(data)})
    section = replace(image.sections[0], content=image.sections[0].content + b"\1\1", size_bytes=image.sections[0].size_bytes + 2)
    arrays = (
        ("uneven", FIRST - 46, 8),
        ("odd", FIRST - 31, 8),
        ("before", FIRST - 16, 12),
        ("array", FIRST, 8),
        ("rest", PLACE, 8),
    )
    named = [replace(image.symbols[0], name=name, address=at, size_bytes=size, kind="object") for name, at, size in arrays]
    image = replace(image, entry=0, symbols=(*image.symbols, *named), sections=(section, *image.sections[1:]))
    found = Callers(Code(image, instructions))
    return found.may_compute(TEXT, [image.symbol(name).address for name in dead], numbers)


@pytest.mark.parametrize(
    "base, place, text, is_offset",
    [
        (PLACE, PLACE, "", True),  # from its own place
        (PLACE + 1, PLACE, "", True),
        (PLACE + 4, PLACE, "", False),
        (PLACE - 4, PLACE, "", False),
        (FIRST, FIRST + 4, "", True),  # from the array that it is in
        (FIRST - 16, FIRST - 8, "", True),
        (FIRST - 16, FIRST, "", False),
        (FIRST - 31, FIRST - 28, "", True),
        (FIRST - 46, FIRST - 44, "", True),
        (FIRST - 4, PLACE, f"movw r1, #{FIRST - 4}", True),  # from what code names
        (FIRST - 4, PLACE, f"movw r1, #{FIRST - 3}", True),
        (FIRST - 4, PLACE, f"movw r1, #{FIRST - 2}", False),
        (FIRST - 4, PLACE, f"movw r1, #{FIRST - 7}", False),
        (FIRST - 4, PLACE, f"movw r1, #{FIRST - 8}\nadd r1, r1, #4", True),
        (PLACE - FAR + 4, PLACE, f"movw r1, #{PLACE - FAR + 4}", True),
        (PLACE - FAR, PLACE, f"movw r1, #{PLACE - FAR}", False),
    ],
)
def test_a_word_may_be_an_offset_from_its_place_its_array_or_what_code_names_shortly_before_it(base, place, text, is_offset):
    for function, name in ((TEXT, "f"), (G, "g")):
        expected = f"a table may hold the offset of {name}" if is_offset else ""
        assert may_compute(text, {place: function - base}) == expected
        assert may_compute(text, {place: (function | 1) - base}) == expected
    assert may_compute(text, {place: G - base}, dead=()) == ""
    assert may_compute(text, {place + 2: TEXT - base - 2}) == ""  # no word of a table


def test_numbers_of_arrays_without_addresses_are_no_offsets():
    own = {at: TEXT - at for at in (FIRST - 16, FIRST, FIRST + 4, PLACE)}
    for at, array in ((FIRST - 16, "before"), (FIRST, "array"), (FIRST + 4, "array"), (PLACE, "rest")):
        for names in (("before",), ("array",), ("rest",), ("array", "before"), ("array", "rest"), ()):
            assert bool(may_compute("", {at: own[at]}, numbers=names)) == (array not in names)
    assert may_compute("", {PLACE: TEXT + 1}, dead=()) == ""  # a pointer, which is followed as one


@pytest.mark.parametrize(
    "text, computes",
    [
        ("add r3, r1, r2\nblx r3", True),
        ("add r3, r1, r2\nmov r4, r3\nbx r4", True),
        ("add r3, r1, r2\nmov pc, r3", True),
        ("orr r3, r3, #1\nadds r0, #1\nblx r3", True),
        ("add r3, r1, r2\nldr r3, [r0]\nblx r3", False),
        ("add r3, r1, r2\nmov r3, r5\nblx r3", False),
        ("add r3, r1, r2\nmov r0, r3\nblx r5", False),
        ("add r3, r1, r2\n.to:\nblx r3\nb .to", False),
        ("add lr, r1, r2\nbx lr", False),
        ("ldr r3, [r0]\nblx r3\nadd r3, r1, r2", False),
        ("movw r1, #32768", True),  # the address itself
        ("movw r1, #32769", True),
        ("movw r1, #32833", True),
        ("movw r1, #32770", False),
    ],
)
def test_code_computes_what_it_calls_if_it_jumps_to_a_sum_or_names_a_function(text, computes):
    assert may_compute(text, {}) == ("code of the program computes addresses of functions" if computes else "")
    assert may_compute("", {}, dead=("g", "main")) == may_compute(text, {}, dead=("g", "main")) == ""


def test_functions_that_are_not_executable_leave_open_what_they_call_and_tables_for_unwinding_hold_no_offsets():
    code = Code(*listed("f:\nbx lr\ng:\nbx lr"))
    image = code.image
    for size, reason in ((4, "in a section that is not executable"), (0, "")):
        other = replace(image.symbols[0], name="other", address=0x20000000, size_bytes=size)
        found = Callers(Code(replace(image, symbols=(*image.symbols, other)), code.instructions)).may_compute(TEXT, (), ())
        assert reason in found and bool(found) == bool(reason)
    place = image.sections[0].end
    for name, is_offset in ((".rodata", True), (".ARM.exidx", False)):
        table = replace(
            image.sections[0], name=name, address=place, size_bytes=4, content=(TEXT - place & 0xFFFFFFFF).to_bytes(4, "little")
        )
        found = Callers(Code(replace(image, sections=(*image.sections, table)), code.instructions)).may_compute(TEXT, (), ())
        assert bool(found) == is_offset
