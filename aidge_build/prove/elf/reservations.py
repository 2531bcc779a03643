# SPDX-License-Identifier: MIT
"""Memory that a linker script keeps for stack and heap by symbols alone: no section says that these bytes are taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from aidge_build.prove.elf.image import Image

# (is it the heap, symbols for its start, symbols for its end) in the scripts of CMSIS, GNU, ST, NXP, picolibc and our own
# scripts.
_SPANS = (
    (
        False,
        ("__stack_limit", "__StackBottom", "__StackLimit", "_sstack", "__stack_start__", "_stack_start"),
        ("__stack_top", "__StackTop", "_estack", "__stack_end__", "_stack_end"),
    ),
    (
        True,
        ("__heap_start", "__heap_start__", "__HeapBase", "__HeapStart", "_sheap", "_heap_start", "_pvHeapStart"),
        ("__heap_end", "__heap_end__", "__HeapLimit", "_eheap", "_heap_end", "_pvHeapLimit"),
    ),
)
HEAP_FIRSTS = ("end", "_end", "__end__")  # where newlib's malloc begins
# ST's scripts: the bytes below the top of the stack, and the bytes after the end of the variables.
_STACK_TOP, _STACK_BYTES, _HEAP_BYTES = "_estack", "_Min_Stack_Size", "_Min_Heap_Size"
# The number of bytes for the stack, in the scripts and start-up code of ST, NXP, GigaDevice, Microchip, picolibc and CMSIS.
_STACK_SIZES = (
    _STACK_BYTES,
    "__stack_size__",
    "__stack_size",
    "_stack_size",
    "__STACK_SIZE",
    "_STACK_SIZE",
    "STACK_SIZE",
    "__StackSize",
    "Stack_Size",
)


@dataclass(frozen=True)
class Reservation:
    """The bytes from `begin` to before `end`; `by` names the symbols that keep them."""

    by: str
    begin: int
    end: int
    is_heap: bool

    @property
    def what(self) -> str:
        """The reservation, for a message."""
        return f"the {'heap' if self.is_heap else 'stack'} ({self.by})"


def reservations(image: Image) -> Iterator[Reservation]:
    """Yields the bytes that symbols of a program reserve for stack and heap; of several start symbols the nearest one counts."""
    for is_heap, firsts, ends in _SPANS:
        begins = _addresses(image, firsts)
        for name, end in _addresses(image, ends).items():
            below = {begin: first for first, begin in begins.items() if begin < end}
            if below:
                yield Reservation(f"{below[max(below)]} to {name}", max(below), end, is_heap)
    sizes = _sizes(image, (_STACK_BYTES, _HEAP_BYTES))
    for name, top in _addresses(image, (_STACK_TOP,)).items():
        if sizes.get(_STACK_BYTES):
            yield Reservation(f"{_STACK_BYTES} below {name}", top - sizes[_STACK_BYTES], top, False)
    for name, first in list(_addresses(image, HEAP_FIRSTS).items())[:1]:
        if sizes.get(_HEAP_BYTES):
            yield Reservation(f"{_HEAP_BYTES} from {name}", first, first + sizes[_HEAP_BYTES], True)


def stack_reservation(image: Image, begin: int) -> Reservation | None:
    """Returns the bytes that symbols or an array reserve for the stack that begins at `begin`; None if nothing gives their
    number."""
    known = list(reservations(image))
    found = [item for item in known if not item.is_heap and item.end == begin]
    sizes = _sizes(image, _STACK_SIZES)
    found += [Reservation(name, begin - size, begin, False) for name, size in sizes.items() if 0 < size <= begin]
    found += [
        Reservation(symbol.linked_name, symbol.address, begin, False)
        for symbol in image.symbols
        if symbol.kind == "object" and "stack" in symbol.name.lower()
        if symbol.address < begin <= symbol.end
    ]
    if not found:
        return None
    heap_end = max((item.end for item in known if item.is_heap and found[0].begin < item.end < begin), default=None)
    return found[0] if heap_end is None else replace(found[0], by=f"{found[0].by}, but for the heap", begin=heap_end)


def _addresses(image: Image, names: tuple[str, ...]) -> dict[str, int]:
    found = ((name, image.symbol(name)) for name in names)
    return {name: symbol.address for name, symbol in found if symbol}


def _sizes(image: Image, names: tuple[str, ...]) -> dict[str, int]:
    """Returns the values of the absolute symbols with these names, as numbers of bytes; a variable of such a name does not
    count."""
    found = ((name, image.symbol(name)) for name in names)
    return {name: symbol.address for name, symbol in found if symbol and symbol.kind == "absolute"}
