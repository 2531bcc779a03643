# SPDX-License-Identifier: MIT
"""Chooses the layers that get their constants in a faster memory: the layers that read each byte most often."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board, Region
from aidge_build.boards.reader import size_of
from aidge_build.plan.fast_memory import FastMemory, not_made_for
from aidge_build.plan.program import Layer, Program

OPTION = "--constants-in"
ALIGNMENT = 8  # bytes: what an array may leave unused before it


def rooms_of(
    texts: Sequence[str], board: Board | None, arguments: argparse.Namespace, where: str = OPTION
) -> tuple[tuple[str, int], ...]:
    """Returns the memories that the texts of an option or file name, and the bytes that constants (with --place also code) may
    take of each, the fastest first; AidgeError (USAGE) for a text that names no memory."""
    rooms = _sizes(texts, where)
    if not rooms:
        return ()
    if board is None:
        raise _error("only a board has memories of known costs", "--board", where)
    for excludes, why, hint in (
        (arguments.weights != "c", "an included binary is in one memory", "--weights c"),
        (arguments.update != "none", "weights that can be replaced are one block, in one memory", "without --update"),
        (arguments.assembly != "on", "what start-up code copies is said in assembly", "--assembly on"),
    ):
        if excludes:
            raise _error(why, hint, where)
    regions = {region.name: region for region in board.regions}
    fault_of = _fault if where == OPTION else fault_of_fast
    for name, size_bytes in rooms.items():
        fault = fault_of(regions.get(name), size_bytes)
        if fault:
            others = ", ".join(one for one in regions if not fault_of(regions[one], 1))
            raise _error(
                f"{name} of board {board.name} {fault}",
                f"memories for {'constants' if where == OPTION else 'these'}: {others or 'none'}",
                where,
            )
    return tuple(sorted(rooms.items(), key=lambda room: regions[room[0]].access_cost))


def _sizes(texts: Sequence[str], where: str) -> dict[str, int]:
    """Returns the bytes of each memory that the texts name."""
    sizes: dict[str, int] = {}
    for text in texts:
        name, _, size = text.partition("=")
        found = size_of(size)
        if not found or name in sizes:
            raise _error(f"wants MEMORY=BYTES, each memory once, got {text!r}", f"{where.split(' ')[0]} DTCM=16K", where)
        sizes[name] = found
    return sizes


def _fault(region: Region | None, size_bytes: int) -> str:
    """Returns why no constants go there; "" if they may."""
    if region is None:
        return "is no memory"
    if region.origin == 0 and "vectors" not in region.roles:
        return "begins at address 0, which no pointer to a constant may have"
    if size_bytes > region.length_bytes:
        return f"has {region.length_bytes:,} B, not {size_bytes:,}"
    if region.same_as:
        return f"is {region.same_as} at another address, for code alone"
    return ""


def fault_of_fast(region: Region | None, size_bytes: int) -> str:
    """Returns why --place moves nothing there; "" if it may."""
    if region is not None and region.kind == "flash":
        return "is flash"
    if region is not None and region.access_cost > 1:
        return f"has access_cost {region.access_cost}: how long the core waits for it is not known"
    is_for_code = region is not None and (region.origin == 0 or bool(region.same_as)) and size_bytes <= region.length_bytes
    if region is not None and region.runs_code and is_for_code:
        return ""  # for code alone
    return _fault(region, size_bytes)


def takes_constants(region: Region) -> bool:
    """Whether constants may be there."""
    return not _fault(region, 1)


def require_places(fast: FastMemory, regions: Sequence[Region], where: str) -> None:
    """Raises AidgeError (USAGE) if the file of --place puts constants or code into a memory that cannot have them."""
    memories = {region.name: region for region in regions}
    for name, memory in fast.constants:
        if fault := _fault(memories[memory], 1):
            raise _error(f"{memory} {fault}: no memory for constants of {name}", "`explain --place auto` writes the file", where)
    for name, memory in (*fast.layers, *fast.functions):
        if not memories[memory].runs_code:
            able = ", ".join(region.name for region in regions if region.runs_code) or "none"
            raise _error(f"{memory} does not run code of {name}: its entry has no runs_code", f"memories for code: {able}", where)


def places_of_constants(program: Program, bytes_of: Mapping[str, int], owner_of: Mapping[str, int]) -> dict[str, str]:
    """Returns array -> memory for the arrays that leave the memory of constants. `bytes_of` are the sizes of the arrays,
    `owner_of` is the layer that reads an array first.

    A layer's constants stay together. `--place` names the layers. Otherwise the layer with the most reads for each byte comes
    first, into the fastest memory that has room for all of it; a layer without room is passed over.
    """
    sizes: dict[int, int] = {}
    for name, layer in owner_of.items():
        sizes[layer] = sizes.get(layer, 0) + -(-bytes_of[name] // ALIGNMENT) * ALIGNMENT
    if program.fast is not None:
        chosen = _placed(program, program.fast, sizes)
        return {name: chosen[layer] for name, layer in owner_of.items() if layer in chosen}
    by_use = sorted(sizes, key=lambda layer: (-reads_of(program.layers[layer]) / sizes[layer], layer))
    left, chosen = dict(program.options.constants_in), dict[int, str]()
    for layer in by_use:
        memory = next((name for name, room in left.items() if sizes[layer] <= room), None)
        if memory is not None:
            chosen[layer] = memory
            left[memory] -= sizes[layer]
    return {name: chosen[layer] for name, layer in owner_of.items() if layer in chosen}


def _placed(program: Program, fast: FastMemory, sizes: Mapping[int, int]) -> dict[int, str]:
    """Returns layer -> memory, as --place says; AidgeError (PLACE) for a layer without constants, and for too many bytes in a
    memory."""
    numbers = {program.layers[number].node.name: number for number in sizes}
    left = dict(fast.rooms)
    for name, memory in fast.constants:
        if name not in numbers:
            raise not_made_for(f"moves constants of {name!r}, which has none of its own")
        left[memory] -= sizes[numbers[name]]
        if left[memory] < 0:
            raise not_made_for(f"moves {-left[memory]:,} B more constants to {memory} than its {dict(fast.rooms)[memory]:,}")
    return {numbers[name]: memory for name, memory in fast.constants}


def reads_of(layer: Layer) -> int:
    """Returns about how often the layer reads a constant: once for each product; without products, once for each element that it
    writes; a packed one once."""
    if layer.copied is not None and layer.copied.copy.is_packed:
        return sum(len(array.packed.words) for array in layer.copied.copy.arrays if array.packed)
    return layer.macs or sum(tensor.elements for tensor in layer.outputs)


def memory_of(program: Program, name: str) -> Region | None:
    """Returns the board's memory of this name; None if there is none."""
    return next((region for region in program.target.regions if region.name == name), None)


def _error(what: str, hint: str, where: str) -> AidgeError:
    return AidgeError(what, where=where, hint=hint, code="USAGE")
