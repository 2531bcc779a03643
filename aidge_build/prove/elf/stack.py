# SPDX-License-Identifier: MIT
"""An upper bound of a program's stack use, from its machine code alone; no number if none can be proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aidge_build.contract.thumb.instruction import Instruction
from aidge_build.prove.elf.call_walk import walk
from aidge_build.prove.elf.deepest import StackBound, bound_of
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.reservations import stack_reservation
from aidge_build.prove.elf.stack_place import stack_begin
from aidge_build.prove.elf.vector_moves import Move, vector_moves
from aidge_build.prove.elf.vectors import VectorTable, table_at, tables_in_ram

# The bytes that the core pushes for an interrupt, with up to 4 bytes of alignment: eight words; with the FPU's state 18 more.
_FRAME_BYTES, _VECTOR_FRAME_BYTES = 36, 108


@dataclass(frozen=True)
class StackUse:
    """The bounds of the program from reset, of each run function, and of one interrupt on top in the worst case.

    `tables` are the addresses of the vector tables with handlers that count; `unseen` says which handlers may be missing. `begin`
    is the address where the stack begins, None if no vector table gives it. `reserved_by` names the symbols that reserve the
    `reserved_bytes` in a foreign script: the stack may have more there. `is_read` is False if the analysis does not read code of
    the machine: this is no fault of the program. `executed` are the addresses of all instructions that may run from the start on,
    None if they are not known.
    """

    program: StackBound
    runs: dict[str, StackBound]
    interrupt: StackBound
    reserved_bytes: int | None
    tables: tuple[int, ...] = ()
    unseen: tuple[str, ...] = ()
    begin: int | None = None
    reserved_by: str = ""
    is_read: bool = True
    executed: frozenset[int] | None = None

    @property
    def most_bytes(self) -> int | None:
        """The bound of the program with one interrupt on top; None if the program has no bound."""
        return None if self.program.bytes is None else self.program.bytes + (self.interrupt.bytes or 0)


def stack_use(image: Image, instructions: dict[int, Instruction], run_symbols: tuple[str, ...]) -> StackUse:
    """Returns bounds for the program from reset on, and for each of `run_symbols`."""
    code = Code(image, instructions)
    if not code.starts:
        unknown = StackBound(None, (), "the program has no symbols")
        return StackUse(unknown, {}, unknown, None, begin=stack_begin(image))
    begin = stack_begin(image, code)
    kept, by = reserved(image, begin)
    moves = vector_moves(code)
    moved = {move.table: table_at(image, move.table) for move in moves if move.table is not None}
    tables = {table.address: table for table in (*code.tables, *moved.values()) if table}
    return StackUse(
        _program(code),
        _runs(code, run_symbols),
        _interrupt(code, list(tables.values())),
        kept,
        tuple(tables),
        tuple(_unseen(code, list(tables.values()), moves)),
        begin,
        by,
    )


def reserved(image: Image, begin: int | None) -> tuple[int | None, str]:
    """Returns how many bytes the linker script reserves, and in a foreign script the symbols that reserve them."""
    limit, top = (image.symbol(name) for name in ("__stack_limit", "__stack_top"))
    if limit and top:
        return top.address - limit.address, ""
    kept = None if begin is None else stack_reservation(image, begin)
    return (kept.end - kept.begin, kept.by) if kept else (None, "")


def runs_use(image: Image, instructions: dict[int, Instruction], run_symbols: tuple[str, ...]) -> dict[str, StackBound]:
    """Returns bounds for each of `run_symbols` alone."""
    return _runs(Code(image, instructions), run_symbols)


def _runs(code: Code, names: tuple[str, ...]) -> dict[str, StackBound]:
    return {name: _run(code, name) for name in names}


def _program(code: Code) -> StackBound:
    """Returns the bound from the reset handler of the vector table; without a table, from the ELF's entry."""
    starts = [*(table.reset for table in code.tables[:1]), code.image.entry & ~1]
    entry = next((start for start in starts if start in code.instructions), None)
    if entry is None:
        return StackBound(None, (), f"there is no code at the ELF's entry point 0x{code.image.entry:08x}")
    return bound_of(walk, code, entry, is_root=True)


def _run(code: Code, name: str) -> StackBound:
    symbol = code.image.symbol(name)
    return bound_of(walk, code, symbol.address) if symbol else StackBound(None, (), f"{name} is not in the program")


def _interrupt(code: Code, tables: Sequence[VectorTable]) -> StackBound:
    """Returns the bound of the deepest handler of the vector tables, with the frame that the core pushes."""
    if not tables:
        return StackBound(None, (), "there is no vector table in the program's constant memory")
    deepest = StackBound(0, ())
    for handler in _handlers(code, tables, inside=True):
        found = bound_of(walk, code, handler)
        if found.bytes is None:
            return StackBound(None, found.path, found.reason)
        if found.lost:
            reason = f"{code.name(handler)} does not hand back {', '.join(sorted(found.lost))} as it found them"
            return StackBound(None, found.path, reason)
        deepest = max(deepest, found, key=lambda bound: bound.bytes)
    return StackBound(frame_bytes(code) + deepest.bytes, deepest.path)


def uses_vectors(code: Code) -> bool:
    """Whether the program may use registers of the FPU or of vectors."""
    return any(name.startswith(("v", "f")) for name, _ in code.texts)


def frame_bytes(code: Code) -> int:
    """Returns the most bytes that the core pushes for an interrupt."""
    return _VECTOR_FRAME_BYTES if uses_vectors(code) else _FRAME_BYTES


def _handlers(code: Code, tables: Sequence[VectorTable], *, inside: bool) -> list[int]:
    """Returns the handlers in the vector tables, `inside` the program or outside; a reserved entry may hold a checksum."""
    named = sorted({handler for table in tables for handler in table.handlers})
    return [handler for handler in named if inside == any(part.holds(handler) for part in code.image.sections)]


def _place(code: Code, table: int | None) -> str:
    if table is None:
        return "an address that is not known"
    section = next((part for part in code.image.sections if part.holds(table)), None)
    return f"{code.image.describe(table)}, {'in RAM' if section else 'not in the program'}"


def _unseen(code: Code, tables: Sequence[VectorTable], moves: Sequence[Move]) -> Iterator[str]:
    """Yields the reasons why handlers may be missing in the tables; a writable table may name other handlers later."""
    sections = code.image.sections
    writable = {table.address for table in tables if any(part.writable and part.holds(table.address) for part in sections)}
    for move in moves:
        if move.instead:
            yield f"{move.where} {move.instead}"
        elif move.table not in {table.address for table in tables} - writable:
            yield f"{move.where} sets VTOR to {_place(code, move.table)}"
    for table in code.tables:
        if table.address in writable:
            yield f"{code.image.describe(table.address)}, a vector table, is among code and variables, and can be written"
    yield from (f"{name} in RAM looks like a vector table" for name in tables_in_ram(code.image))
    outside = _handlers(code, tables, inside=False)
    if outside:
        yield f"the vector table names {', '.join(f'0x{handler:08x}' for handler in outside)}, which is not in the program"
