# SPDX-License-Identifier: MIT
"""Constants that are copied or expanded into the arena: the statements before a layer's call; N_copy_start and N_copy_wait.

Like the other hooks, each of the two has one name, and its ranges are arguments. The model's own versions copy at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aidge_build.build.emit.places import Places
from aidge_build.plan.constant_arrays import Array, Arrays
from aidge_build.plan.program import CopiedTo, Layer, Program


@dataclass(frozen=True)
class CopyHook:
    """A function that the firmware may define, and its default body."""

    symbol: str
    signature: str
    comment: tuple[str, ...]
    body: tuple[str, ...]


def copies_by_hooks(program: Program) -> bool:
    """Whether the model calls them."""
    return program.options.copy_constants == "hook" and any(is_copied(layer) for layer in program.layers)


def is_copied(layer: Layer) -> bool:
    """Whether constants of the layer are copied as they are in flash."""
    return layer.copied is not None and not layer.copied.copy.is_packed


def copy_hook_symbols(model: str) -> tuple[str, str]:
    """Returns the names of the two hooks, in the order in which they are called."""
    return f"{model}_copy_start", f"{model}_copy_wait"


def copy_hooks_of(program: Program) -> tuple[CopyHook, ...]:
    """Returns both hooks; none for a model that calls none."""
    if not copies_by_hooks(program):
        return ()
    start, wait = copy_hook_symbols(program.name)
    return (
        CopyHook(
            start,
            "void *to, const void *from, uint32_t bytes",
            (
                "Begins to copy constants. A layer reads them after the next call of the other function for the same bytes;",
                "another layer runs meanwhile. The default copies at once. It may wait for the previous transfer.",
            ),
            ("(void)memcpy(to, from, bytes);",),
        ),
        CopyHook(
            wait,
            "void *to, uint32_t bytes",
            ("Returns when the core can read the `bytes` at `to`: with a data cache, invalidate their lines here.",),
            ("(void)to;", "(void)bytes;"),
        ),
    )


def statements_of(program: Program, places: Places, arrays: Arrays) -> list[tuple[str, ...]]:
    """Returns the statements before each layer's call. With hooks a layer waits for its own constants, and begins the copy of the
    next layer's constants: one transfer at a time, but for constants of several arrays."""
    start, wait = copy_hook_symbols(program.name)
    by_hooks = program.options.copy_constants == "hook"
    own, waits, later = ([list[str]() for _ in program.layers] for _ in range(3))
    for index, layer in enumerate(program.layers):
        if layer.copied is None:
            continue
        if layer.copied.copy.is_packed:
            own[index] += _expansions(program, layer.copied, places, arrays.of_layer[index])
            continue
        for to, source, count in _ranges(layer.copied, arrays, index):
            pointer = places.arena_pointer(to)
            if not by_hooks:
                own[index].append(f"(void)memcpy({pointer}, {source}, {count}u);")
                continue
            waits[index].append(f"{wait}({pointer}, {count}u);")
            first = layer.copied.copy.first
            (own if first == index else later)[first].append(f"{start}({pointer}, {source}, {count}u);")
    return [tuple(one + two + three) for one, two, three in zip(own, waits, later)]


def _ranges(copied: CopiedTo, arrays: Arrays, position: int) -> list[tuple[int, str, int]]:
    """Returns (byte of the arena, symbol of the array, bytes) of each copy."""
    read = arrays.of_layer[position]
    return [(copied.offset_bytes + one.offset_bytes, read[one.position].symbol, one.size_bytes) for one in copied.copy.arrays]


def _expansions(program: Program, copied: CopiedTo, places: Places, read: Mapping[int, Array]) -> list[str]:
    """Returns the calls that expand packed words."""
    found = []
    for one in copied.copy.arrays:
        pointer, array = places.arena_pointer(copied.offset_bytes + one.offset_bytes), read[one.position]
        if one.packed:
            found.append(f"{program.name}_expand_{one.packed.kind}({pointer}, {array.symbol}, {array.length}u);")
    return found


def copied_constants(layer: Layer, read: Mapping[int, Array], places: Places) -> dict[str, str]:
    """The pointers to copies, by the array's symbol."""
    if layer.copied is None:
        return {}
    found = {}
    for one in layer.copied.copy.arrays:
        array = read[one.position]
        pointer = places.arena_pointer(layer.copied.offset_bytes + one.offset_bytes)
        dtype = one.dtype or array.dtype
        through = "(const void *)" if dtype.size_bytes > 1 else ""
        found[array.symbol] = f"(const {dtype.c_type} *){through}{pointer}"
    return found
