# SPDX-License-Identifier: MIT
"""Which code calls a model with one arena: interrupt handlers, tasks and main must not interrupt each other's calls.

Reads the branches of Thumb code without a disassembler, so that every check can afford it: data that look like a branch to the
first instruction of a function count as one. Encodings: Armv7-M Architecture Reference Manual, A7.7.12 (B) and A7.7.18 (BL).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy

from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.findings import NOTE, WARNING, Finding, some_of
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.vectors import VectorTable, find_tables
from aidge_build.prove.elf.written_addresses import writes_address


def check_concurrent(image: Image, claims: Sequence[Claim]) -> Iterator[Finding]:
    """Yields RUN02 for each model with one arena that several parts of the program call: a warning with an interrupt handler
    among them, a note for functions with addresses that code takes, such as tasks."""
    tables = find_tables(image)
    runs = [run for claim in claims if claim.arenas and (run := image.symbol(f"{claim.model}_run"))]
    callers = _callers(image) if tables and runs else {}
    for run in runs:
        begins = _begins(image, tables, _leading_to(callers, run.address & ~1))
        if len(begins) > 1:
            names = some_of(sorted(_name(image, tables, one) for one in begins))
            text = f"{names} call {run.name}, which has one arena: none of them may interrupt the call of another"
            yield Finding("RUN02", WARNING if any(begins.values()) else NOTE, text)


def _name(image: Image, tables: Sequence[VectorTable], function: int) -> str:
    is_reset = any(table.reset == function for table in tables)
    return "main" if is_reset and image.symbol("main") else image.describe(function)


def _callers(image: Image) -> Mapping[int, set[int]]:
    """Returns the functions with a branch to each function."""
    functions = {symbol.address: symbol.end for symbol in image.symbols if symbol.kind == "function" and symbol.size_bytes}
    starts, found = sorted(functions), defaultdict[int, set[int]](set)
    for section in image.sections:
        if section.executable and section.content:
            places, targets = _branches(section.content, section.address)
            is_called = numpy.isin(targets, starts)
            for place, target in zip(places[is_called].tolist(), targets[is_called].tolist(), strict=True):
                holder = starts[bisect_right(starts, place) - 1]
                if holder <= place < functions[holder]:
                    found[target].add(holder)
    return found


def _branches(code: bytes, address: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the addresses of all halfwords that may begin an unconditional branch, and where it leads."""
    halves = numpy.frombuffer(code[: len(code) // 2 * 2], "<u2").astype(numpy.int64)
    first, second = halves, numpy.append(halves[1:], 0)
    place = address + 2 * numpy.arange(len(halves))
    sign = first >> 10 & 1
    high, low = (~(second >> bit ^ sign) & 1 for bit in (13, 11))
    far = (first & 0x3FF) << 12 | (second & 0x7FF) << 1 | low << 22 | high << 23
    near = (first & 0x3FF) << 1
    is_far = (first & 0xF800 == 0xF000) & (second & 0x9000 == 0x9000)  # BL, or B.W
    is_near = first & 0xF800 == 0xE000
    offset = numpy.where(is_far, far - (sign << 24), near - (sign << 11))
    taken = is_far | is_near
    return place[taken], (place + 4 + offset)[taken]


def _leading_to(callers: Mapping[int, set[int]], function: int) -> set[int]:
    """Returns the functions that call a function, directly or by others."""
    known, pending = set[int](), [function]
    while pending:
        new = callers.get(pending.pop(), set()) - known - {function}
        known |= new
        pending += new
    return known


def _begins(image: Image, tables: Sequence[VectorTable], functions: set[int]) -> dict[int, bool]:
    """Returns the functions at which something else than a call begins: the reset, a handler, a task or callback. The value is
    whether it is an interrupt handler."""
    resets = {table.reset for table in tables}
    handlers = {handler for table in tables for handler in table.handlers}
    rest = functions - resets - handlers
    taken = {one for one in rest if any(image.places_of(one | 1)) or writes_address(image, one | 1)}
    return {one: one in handlers for one in functions if one in resets | handlers | taken}
