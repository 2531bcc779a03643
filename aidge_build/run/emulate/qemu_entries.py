# SPDX-License-Identifier: MIT
"""Calls of the model and faults, as the plug-in of QEMU sees them (qemu_entries.h): its arguments, and its results in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.vectors import find_tables
from aidge_build.run.emulate.fpu_use import uses_fpu
from aidge_build.run.emulate.program import Program, Seen

_HARD_FAULT = 4 * 3  # bytes from the begin of the vector table


def entry_arguments(program: Program) -> list[str]:
    """The arguments of the plug-in; [] for what the program does not tell."""
    run, handler = program.image.symbol(program.run_symbol), _handler_of_faults(program.image)
    found = [f"run_end=0x{run.end:x}"] if run else []
    return [*found, *([f"fault=0x{handler[0]:x}:0x{handler[1]:x}"] if handler else [])]


def seen_by_plugin(program: Program, measured: Mapping[str, Sequence[int]]) -> Seen:
    """The facts about a run, without the registers and memory that only Unicorn shows."""
    again, before = (next(iter(measured.get(key, ())), 0) for key in ("entered_again", "entered_before"))
    names = (_place(program.image, again), _place(program.image, before)) if again else ("", "")
    refused = next(iter(measured.get("refused", ())), 0)
    return Seen(refused=refused, entered_again=names, faulted=_fault(program.image, measured.get("fault_from", ())))


def _place(image: Image, address: int) -> str:
    return image.describe(address).partition("+")[0] if address else "code that is not known"


def _fault(image: Image, block: Sequence[int]) -> str:
    """Returns where a fault occurred, and with FPU instructions there that the FPU may be off."""
    if not block:
        return ""
    begin, size = block
    place = f"{image.describe(begin)} (0x{begin:08x}, or up to {size} B later)"
    return f"{place}, with instructions of the FPU: is it on (CPACR)" if uses_fpu(_stored(image, begin, size)) else place


def _stored(image: Image, begin: int, size: int) -> bytes:
    section = next((one for one in image.sections if one.content and one.holds(begin)), None)
    return section.content[begin - section.address :][:size] if section else b""


def _handler_of_faults(image: Image) -> tuple[int, int] | None:
    """Returns the begin and end of the function that the vector table names for a HardFault."""
    for table in find_tables(image)[:1]:
        word = int.from_bytes(_stored(image, table.address + _HARD_FAULT, 4), "little") & ~1
        end = max((symbol.end for symbol in image.symbols if symbol.address == word and symbol.size_bytes), default=0)
        return (word, end) if end else None
    return None
