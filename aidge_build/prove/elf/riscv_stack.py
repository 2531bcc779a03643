# SPDX-License-Identifier: MIT
"""An upper bound of the stack use of a program for RISC-V of 32 bits, from its bytes alone; no number if none can be proved."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from aidge_build.boards.instruction_sets import instruction_set
from aidge_build.contract.riscv.instruction import TRAP, Operation
from aidge_build.prove.elf.deepest import StackBound, bound_of
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.riscv_walk import RiscvCode, walk
from aidge_build.prove.elf.stack import StackUse, reserved
from aidge_build.prove.elf.state import Refusal

# The lowest bits of mtvec (RISC-V Instruction Set Manual, volume II, 3.1.7): a handler for all traps, or a jump for each
# interrupt.
_DIRECT, _VECTORED = 0, 1
_LEAST_VECTORS = 12  # the last interrupt of a core alone is number 11
# Extensions with other instructions in encodings that are read: floats in registers of the core, loads of two registers, loads of
# bytes in compressed instructions of WCH.
_OTHERS = {"zfinx", "zclsd", "xw"}
_FILLERS = (Operation(TRAP), Operation("addi", "zero"))  # zeros and nops


def riscv_stack_use(image: Image, run_symbols: tuple[str, ...]) -> StackUse:
    """Returns bounds for the program from its entry on, and for each of `run_symbols`."""
    code = RiscvCode(image)
    refused = _refused(image, code)
    if refused:
        unknown = StackBound(None, (), refused)
        return StackUse(unknown, {}, unknown, None)
    program = bound_of(walk, code, image.entry, is_root=True)
    interrupt = _interrupt(code, program)
    if interrupt.bytes is None and code.resuming:  # the program goes on where no walk has followed it
        program = interrupt
    executed = None if interrupt.bytes is None else frozenset(code.executed)
    runs = {name: _run(code, name) for name in run_symbols}
    kept, by = reserved(image, code.initial_stack)
    return StackUse(program, runs, interrupt, kept, begin=code.initial_stack, reserved_by=by, executed=executed)


def _refused(image: Image, code: RiscvCode) -> str:
    if image.has_64_bits or image.is_big_endian:
        return "the program is for another RISC-V than one of 32 bits that is little-endian"
    known = instruction_set(image.extensions)
    others = sorted(_OTHERS & known.extensions) if known else []
    if others:
        return f"the program has instructions of {others[0].capitalize()}, which are not read"
    return "" if code.starts else "the program has no symbols"


def _run(code: RiscvCode, name: str) -> StackBound:
    symbol = code.image.symbol(name)
    return bound_of(walk, code, symbol.address) if symbol else StackBound(None, (), f"{name} is not in the program")


def _interrupt(code: RiscvCode, program: StackBound) -> StackBound:
    """Returns the bound of the deepest handler that the program writes to mtvec. The core itself pushes nothing.

    A handler that never returns may begin the stack at its start again; it counts as if it were below the program's."""
    if program.bytes is None:
        return StackBound(None, (), "the code that writes mtvec has no bound")
    if code.enabling and not code.vectors:
        where = code.image.describe(min(code.enabling))
        return StackBound(None, (), f"{where} may let interrupts in, and no code writes the address of their handler to mtvec")
    deepest, done = StackBound(0, ()), set[int]()
    try:
        while entries := sorted({*_entries(code)} - done):
            code.handlers.update(entries)
            for entry in entries:
                found = _handler(code, entry)
                if found.bytes is None:
                    return found
                deepest = max(deepest, found, key=lambda bound: bound.bytes or 0)
            done.update(entries)
    except Refusal as refusal:
        return StackBound(None, (), str(refusal))
    return deepest


def _handler(code: RiscvCode, entry: int) -> StackBound:
    """Returns the bound of a handler, without a number if it does more than to return to the code that it interrupted."""
    code.enabling.clear()
    code.resuming.clear()
    found = bound_of(walk, code, entry)
    reason = found.reason
    if found.bytes is not None and code.resuming:
        reason = f"{code.image.describe(min(code.resuming))} may make a trap return elsewhere"
    elif found.bytes is not None and code.enabling:
        reason = f"{code.image.describe(min(code.enabling))} may let interrupts in while one is handled"
    elif found.lost:
        reason = f"{code.name(entry)} does not hand back {', '.join(sorted(found.lost))} as it found them"
    return StackBound(None, found.path, reason) if reason else found


def _entries(code: RiscvCode) -> Iterator[int]:
    """Yields the addresses at which the core may begin for a trap."""
    for place, number in code.vectors:
        where = code.image.describe(place)
        if number is None:
            raise Refusal(f"{where} lets traps lead to an address that is not known")
        base, mode = number & ~3, number & 3
        if mode == _DIRECT:
            yield base
        elif mode == _VECTORED:
            yield from _vectored(code, base)
        else:
            raise Refusal(f"{where} gives mtvec a mode of its core alone")


def _vectored(code: RiscvCode, base: int) -> Iterator[int]:
    """Yields the entries of a table of jumps: up to the end of its symbol, or without a size up to the next symbol, or to what
    aligns it."""
    sized = max((symbol.size_bytes for symbol in code.image.symbols if symbol.address == base), default=0) // 4
    begins = {symbol.address for symbol in code.image.symbols}
    for index in range(max(sized, _LEAST_VECTORS)) if sized else count():
        place = base + 4 * index
        entry = code.instructions.get(place)
        if entry is None or entry.operation[:2] != ("jal", "zero"):
            is_end = place in begins or entry is None or entry.operation in _FILLERS
            if sized or index < _LEAST_VECTORS or not is_end:
                raise Refusal(f"the entry {index} of the table in mtvec at {code.image.describe(base)} is no jump")
            return
        yield place
