# SPDX-License-Identifier: MIT
"""Chooses constants and functions for a faster memory, so that the estimate loses most stalls. The choice uses counted reads.

An item is all constants of a layer, or one function with all layers that call it. Its value is the number of stalls that its own
lines of flash cost in the measured run; its bytes include alignment, and for functions the veneers of calls out of the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aidge_build.boards import Board
from aidge_build.build.emit.code import used_kernels
from aidge_build.build.emit.fast_code import functions_in
from aidge_build.build.emit.layers import layers_of
from aidge_build.build.emit.places import Places
from aidge_build.build.emit.ports import ports_of
from aidge_build.plan.constant_arrays import arrays_of
from aidge_build.plan.constant_regions import ALIGNMENT, takes_constants
from aidge_build.plan.fast_memory import FastMemory
from aidge_build.plan.memory.knapsack import Chosen, Item, by_density, most_valuable
from aidge_build.plan.program import Program
from aidge_build.prove.elf.image import Image, Symbol
from aidge_build.prove.timing.instructions import Instruction, work_of
from aidge_build.prove.timing.reads import Reads

_VENEER = 16  # bytes of the longest that a linker writes
_CALLS = ("call", "branch")


@dataclass(frozen=True)
class Moved:
    """An item that may leave flash: its kind ("constants", "layer", "function"), its name in the file, its bytes, and the stalls
    that it costs an inference there, in cycles."""

    kind: str
    name: str
    size_bytes: int
    stalls: int


@dataclass(frozen=True)
class Choice:
    """The items that leave flash, each with its memory; the sum of their stalls, whether no other choice has a larger one, and
    the sum of the greedy choice."""

    moved: tuple[tuple[Moved, str], ...]
    stalls: int
    is_optimal: bool
    greedy_stalls: int

    def as_value(self, program: Program, rooms: Sequence[tuple[str, int]], words: tuple[str, ...]) -> FastMemory:
        """Returns the content of the file."""
        places = {
            kind: tuple((one.name, memory) for one, memory in self.moved if one.kind == kind)
            for kind in ("constants", "layer", "function")
        }
        return FastMemory(program.model_sha256, words, tuple(rooms), places["constants"], places["layer"], places["function"])


def choose(
    program: Program,
    board: Board,
    image: Image,
    instructions: Mapping[int, Instruction],
    reads: Sequence[Reads],
    runs: int,
    rooms: Sequence[tuple[str, int]],
) -> Choice:
    """The choice with the fewest stalls for these memories and bytes; `reads` are counted in `runs` of the linked program."""
    stalls: dict[str, float] = {}
    for one in reads:
        stalls[one.symbol] = stalls.get(one.symbol, 0) + one.stalls / runs
    regions = {region.name: region for region in board.regions}
    of_constants = tuple(index for index, (name, _) in enumerate(rooms) if takes_constants(regions[name]))
    of_code = tuple(index for index, (name, _) in enumerate(rooms) if regions[name].runs_code)
    constants, code = _constants(program, stalls), _code(program, image, instructions, stalls)
    moved = [*constants, *code]
    items = [Item(one.stalls, one.size_bytes, of_constants) for one in constants]
    items += [Item(one.stalls, one.size_bytes, of_code) for one in code]
    sizes = [size for _, size in rooms]
    chosen = most_valuable(items, sizes)
    return Choice(_named(moved, chosen, rooms), chosen.value, chosen.is_optimal, by_density(items, sizes))


def _named(moved: Sequence[Moved], chosen: Chosen, rooms: Sequence[tuple[str, int]]) -> tuple[tuple[Moved, str], ...]:
    return tuple((one, rooms[room][0]) for one, room in zip(moved, chosen.rooms, strict=True) if room is not None)


def _constants(program: Program, stalls: Mapping[str, float]) -> list[Moved]:
    """The constants of each layer that reads some first."""
    found, seen = [], set[str]()
    for layer, read in zip(program.layers, arrays_of(program).of_layer, strict=True):
        own = {array.symbol: len(array.data) for array in read.values() if array.symbol not in seen}
        seen |= own.keys()
        if own:
            size = sum(-(-size // ALIGNMENT) * ALIGNMENT for size in own.values())
            found.append(Moved("constants", layer.node.name, size, round(sum(stalls.get(name, 0) for name in own))))
    return found


def _code(program: Program, image: Image, instructions: Mapping[int, Instruction], stalls: Mapping[str, float]) -> list[Moved]:
    """The functions of layers and kernels that are in the program."""
    places = Places(program, ports_of(program), arrays_of(program))
    kernels = used_kernels(program, layers_of(program, places, arrays_of(program)))
    names = {layer.symbol: ("layer", layer.node.name) for layer in program.layers}
    names |= {name: ("function", name) for name in sorted(functions_in(kernels.texts))}
    return [
        Moved(*names[symbol], sum(_size(part, instructions) for part in image.by_name[symbol]), round(stalls.get(symbol, 0)))
        for symbol in names
        if symbol in image.by_name
    ]


def _size(function: Symbol, instructions: Mapping[int, Instruction]) -> int:
    """The bytes of a function and of the veneers to the functions that it calls."""
    begin, end = function.address & ~1, (function.address & ~1) + function.size_bytes
    own = (instructions[address] for address in range(begin, end, 2) if address in instructions)
    targets = {
        one.target for one in own if work_of(one).kind in _CALLS and one.target is not None and not begin <= one.target < end
    }
    return -(-function.size_bytes // ALIGNMENT) * ALIGNMENT + _VENEER * len(targets)
