# SPDX-License-Identifier: MIT
"""Whether a program that switches the data cache on ever brings it up to date with memory that DMA wrote.

Registers: Armv7-M Architecture Reference Manual, B3.2.8 (CCR) and B2.2.7 (cache maintenance).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from aidge_build.boards import Region
from aidge_build.contract.thumb.instruction import immediate
from aidge_build.prove.elf.findings import WARNING, Finding, some_of
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.linear_sweep import Guess, linear_sweep
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.regions import region_at
from aidge_build.prove.elf.vector_moves import functions_near_system, stores

_CCR, _DATA_CACHE, _OTHER_STATE = 0xE000ED14, 1 << 16, 0x20000
_SPACE, _CONTROL_BLOCK = 0xE000E000, 0xE000ED00
_INVALIDATE = (0xE000EF5C, 0xE000EF70, 0xE000EF74)  # DCIMVAC, DCCIMVAC, DCCISW; DCISW discards everything, at start-up alone


def check_maintenance(
    image: Image, named: Sequence[str], regions: Sequence[Region], code: Callable[[], Code | None]
) -> Iterator[Finding]:
    """Yields DMA04 if `named` arrays in cached memories are written by DMA, and no code invalidates lines of the data cache,
    which code switches on. `code` reads the program, which takes a second; None without a tool that does."""
    cached = [name for name in named if _is_cached(image, name, regions)]
    if not cached or image.machine != "ARM":
        return
    read = code()
    written, switches_on = _system_registers(read) if read else (set[int](), False)
    if switches_on and written.isdisjoint(_INVALIDATE):
        text = (
            f"no code invalidates the data cache, which the program switches on: the core may read old bytes of {some_of(cached)}"
        )
        yield Finding("DMA04", WARNING, text)


def _is_cached(image: Image, name: str, regions: Sequence[Region]) -> bool:
    symbol = image.symbol(name)
    memory = region_at(symbol.address, regions) if symbol else None
    return memory is None or memory.cached


def _system_registers(code: Code) -> tuple[set[int], bool]:
    """Returns the registers of the system control space that code writes at known addresses, and whether one such store may
    switch the data cache on: its function has the bit in a number."""
    written, switches_on = set[int](), False
    for start in {code.extent(address)[0] for address in functions_near_system(code)}:
        here, has_bit = set[int](), False
        for guess in linear_sweep(code, start):
            here |= {place & ~_OTHER_STATE for place, _ in stores(guess)} | _perhaps(guess)
            number = next(map(immediate, guess.instruction.operands[-1:]), None)
            has_bit = has_bit or number is not None and bool(number & _DATA_CACHE)
        switches_on = switches_on or _CCR in here and has_bit
        written |= here
    return written, switches_on


def _perhaps(guess: Guess) -> set[int]:
    """Returns the register that a store at an unknown base has if the base is that of the system control space or block."""
    address = guess.address() if guess.name == "str" else None
    if address is None or address[1]:
        return set()
    return {place for place in _INVALIDATE if address[0] in (place - _SPACE, place - _CONTROL_BLOCK)}
