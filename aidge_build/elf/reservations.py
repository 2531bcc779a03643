# SPDX-License-Identifier: MIT
"""Memory that a linker script keeps for stack and heap by symbols alone: no section says that these bytes are taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aidge_build.elf.image import Image

# (what, symbols of the first byte, symbols of the byte behind the last): of CMSIS, GNU, ST, NXP, picolibc and our own scripts.
_SPANS = (
    (
        "the stack",
        ("__stack_limit", "__StackBottom", "__StackLimit", "_sstack", "__stack_start__", "_stack_start"),
        ("__stack_top", "__StackTop", "_estack", "__stack_end__", "_stack_end"),
    ),
    (
        "the heap",
        ("__heap_start", "__heap_start__", "__HeapBase", "__HeapStart", "_sheap", "_heap_start", "_pvHeapStart"),
        ("__heap_end", "__heap_end__", "__HeapLimit", "_eheap", "_heap_end", "_pvHeapLimit"),
    ),
)
HEAP_FIRSTS = ("end", "_end", "__end__")  # where newlib's malloc begins
# ST's scripts: so many bytes below the top of the stack, and from the end of the variables on.
_STACK_TOP, _STACK_BYTES, _HEAP_BYTES = "_estack", "_Min_Stack_Size", "_Min_Heap_Size"


@dataclass(frozen=True)
class Reservation:
    """The bytes from `begin` to before `end`; `what` names them for a message."""

    what: str
    begin: int
    end: int
    is_heap: bool


def reservations(image: Image) -> Iterator[Reservation]:
    """What the symbols of a program keep free, the narrowest reading of them."""
    for what, firsts, ends in _SPANS:
        begins = _addresses(image, firsts)
        for name, end in _addresses(image, ends).items():
            below = {begin: first for first, begin in begins.items() if begin < end}
            if below:
                yield Reservation(f"{what} ({below[max(below)]} to {name})", max(below), end, "heap" in what)
    sizes = _addresses(image, (_STACK_BYTES, _HEAP_BYTES))
    for name, top in _addresses(image, (_STACK_TOP,)).items():
        if sizes.get(_STACK_BYTES):
            yield Reservation(f"the stack ({_STACK_BYTES} below {name})", top - sizes[_STACK_BYTES], top, False)
    for name, first in list(_addresses(image, HEAP_FIRSTS).items())[:1]:
        if sizes.get(_HEAP_BYTES):
            yield Reservation(f"the heap ({_HEAP_BYTES} from {name})", first, first + sizes[_HEAP_BYTES], True)


def _addresses(image: Image, names: tuple[str, ...]) -> dict[str, int]:
    found = ((name, image.symbol(name)) for name in names)
    return {name: symbol.address for name, symbol in found if symbol}
