# SPDX-License-Identifier: MIT
"""Chooses the constants that share bytes in flash and are expanded into the arena before their layer runs.

A layer is asked only if its weights in the graph are integers that fit a few bits (with tables, whatever they are). Then the
bytes of its arrays decide: the kernel may store weights in any order and between other numbers. A kernel that packs weights
itself leaves nothing to save.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from operator import attrgetter

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.constant_arrays import Array, Arrays, arrays_of
from aidge_build.plan.copy_buffers import WithCopies, most_copies
from aidge_build.plan.expanded_words import require_exact
from aidge_build.plan.packed_words import KINDS, TABLE, Packed, packed
from aidge_build.plan.place import Placed
from aidge_build.plan.program import Layer, Program
from aidge_build.plan.schedule.copies import ConstantCopy, packed_in_line
from aidge_build.plan.schedule.schedule import Schedule

ALIGNMENT = 8  # bytes: of the widest element
LEAST_SHARE, LEAST_SHARE_OF_TABLES = 16, 4  # an array saves at least a sixteenth of its bytes, or a quarter by slow tables
CODE_BYTES = 300  # of the function that expands a kind of words
MOST_VALUES = 16  # of the weights of a layer
_WEIGHTS = (DType.int8, DType.uint8, DType.int16)  # types of weights in the graph
_ARRAYS = (DType.int8, DType.uint8, DType.int16, DType.uint16, DType.int32, DType.uint32)
_OF_A_WORD = {"1": 11, "2": 10, "3": 16, "4": 10, TABLE: 22}  # instructions that make a word of the array: M4 8, M0+ 13
_OF_A_WORD_IN_VECTORS = {"1": 3, "2": 2.5, "3": 4, "4": 2.5, TABLE: 22}
_saved_bytes = attrgetter("saved_bytes")
_FEW = 512  # weights that are looked at before all of them


def with_packed(
    program: Program, schedule: Schedule, placed: Placed, placing: Callable[[Schedule], Placed]
) -> tuple[Schedule, Placed, tuple[str, ...]]:
    """Returns the schedule and its places with buffers for the constants that are expanded, and notices about them. `program` is
    the program without packed constants. The arena grows by no more bytes than flash loses, or up to the budget, and stays in
    its memory."""
    wanted = _wanted(program)
    if not wanted:
        return schedule, placed, ()
    reason = _reason_against(program)
    found = None if reason else _with_room(wanted, program, schedule, placed, placing)
    if found is None or _saved(found.copies) < CODE_BYTES:
        return schedule, placed, (f"weights of few bits take a byte each in {_layers(len(wanted))}: {reason or _NO_ROOM}",)
    return found.schedule, found.placed, (_said(found.copies, wanted, placed, found.placed),)


_NO_ROOM = (
    "expanded before their layer, they would take too much RAM (--ram-budget allows more), or save less flash than the code"
)


def _with_room(
    wanted: Sequence[ConstantCopy], program: Program, schedule: Schedule, placed: Placed, placing: Callable[[Schedule], Placed]
) -> WithCopies | None:
    """Returns the copies that the arena may grow for."""
    arena, budget = placed.arena.peak_bytes, program.options.ram_budget
    if budget:
        return most_copies(wanted, schedule, placed, placing, arena + budget - placed.peak.peak_bytes)
    found = most_copies(wanted, schedule, placed, placing, arena + _saved(wanted))
    while found is not None and found.placed.arena.peak_bytes - arena > _saved(found.copies):
        found = most_copies(wanted, schedule, placed, placing, arena + _saved(found.copies))
    return found


def _saved(copies: Sequence[ConstantCopy]) -> int:
    """Returns the bytes of flash that copies save."""
    return sum(copy.saved for copy in copies)


def _reason_against(program: Program) -> str:
    if program.memory.split:
        return "the arena is in several memories"
    return "a step would end while they are expanded" if program.options.max_step else ""


def expansion_instructions(layer: Layer, features: Collection[str]) -> int:
    """Returns about how many instructions expand the constants of a layer, on a core with these features; 0 for none."""
    of_a_word = _OF_A_WORD_IN_VECTORS if "mve" in features else _OF_A_WORD
    packings = [array.packed for array in layer.copied.copy.arrays if array.packed] if layer.copied else []
    return round(sum(of_a_word[packing.kind] * packing.size_bytes / 4 for packing in packings))


def _said(chosen: Sequence[ConstantCopy], wanted: Sequence[ConstantCopy], placed: Placed, new: Placed) -> str:
    left = len(wanted) - len(chosen)
    return (
        f"constants of {_layers(len(chosen))} are packed in flash, and expanded in the arena before their layer: "
        f"{_saved(chosen):,} B less flash, arena {new.arena.peak_bytes:,} B instead of "
        f"{placed.arena.peak_bytes:,} B (--pack-weights off: a byte for each weight)"
        + (f"; {_layers(left)} more would need too much RAM for it (--ram-budget allows more)" if left else "")
    )


def _layers(count: int) -> str:
    return "1 layer" if count == 1 else f"{count} layers"


def _wanted(program: Program) -> list[ConstantCopy]:
    """Returns the constants of each layer that can be packed."""
    arrays = _arrays_of_few_values(program)
    kinds = (*KINDS, TABLE) if program.options.pack_weights == "tables" else KINDS
    trials = {array.symbol: _trials(array, kinds) for read in arrays.values() for array in read.values()}
    chosen = _kinds_that_pay(list(trials.values()), kinds)
    found = []
    for step, read in arrays.items():
        best = [(position, array.dtype, _best(trials[array.symbol], chosen)) for position, array in read.items()]
        packings = [(position, dtype, packing) for position, dtype, packing in best if packing is not None]
        if packings:
            saved = sum(packing.saved_bytes for _, _, packing in packings)
            node = program.layers[step].node.name
            found.append(ConstantCopy(node, step, step, packed_in_line(packings, ALIGNMENT), ALIGNMENT, saved))
    return found


def _arrays_of_few_values(program: Program) -> dict[int, dict[int, Array]]:
    """Returns, by step, the arrays of each layer with weights of few values, by argument; no array that several arguments name:
    each of them would need an expanded one."""
    inside = {name for cascade in program.schedule.cascades for name in cascade.nodes}
    any_values = program.options.pack_weights == "tables"  # a channel may have few of the values of its layer
    asked = [
        step
        for step, layer in enumerate(program.layers)
        if layer.macs > 0 and layer.node.name not in inside and (any_values or any(map(has_few_values, layer.inputs)))
    ]
    arrays = arrays_of(program) if asked else Arrays((), (), {})
    counts = Counter(array.symbol for read in arrays.of_layer for array in read.values())
    return {
        step: {position: array for position, array in sorted(arrays.of_layer[step].items()) if counts[array.symbol] == 1}
        for step in asked
    }


def has_few_values(tensor: Tensor | None) -> bool:
    """Whether a tensor has weights that are integers with few different values, as 4 bits can hold."""
    if tensor is None or tensor.data is None or tensor.dtype not in _WEIGHTS or tensor.elements <= MOST_VALUES:
        return False
    values = tensor.data.reshape(-1)
    return all(len(numpy.unique(some)) <= MOST_VALUES for some in (values[:_FEW], values))


def _trials(array: Array, kinds: Sequence[str]) -> list[Packed]:
    """Returns the array packed in each kind that saves enough."""
    if array.dtype not in _ARRAYS:
        return []
    found = [trial for kind in kinds if (trial := packed(array.data, kind)).saves(_least_share(kind))]
    for trial in found:
        require_exact(trial.kind, trial.words, array.data, array.symbol)
    return found


def _least_share(kind: str) -> int:
    return LEAST_SHARE_OF_TABLES if kind == TABLE else LEAST_SHARE


def _best(trials: Sequence[Packed], kinds: Sequence[str]) -> Packed | None:
    """Returns the shortest packed words of these kinds; more bits where two are equal."""
    return max((trial for trial in reversed(trials) if trial.kind in kinds), key=_saved_bytes, default=None)


def _kinds_that_pay(trials: Sequence[Sequence[Packed]], kinds: Sequence[str]) -> tuple[str, ...]:
    """Returns the kinds that save most bytes, the code that expands them included."""

    def saved(chosen: tuple[str, ...]) -> int:
        best = [_best(of_array, chosen) for of_array in trials]
        return sum(packing.saved_bytes for packing in best if packing is not None) - CODE_BYTES * len(chosen)

    return max((some for count in range(len(kinds) + 1) for some in combinations(kinds, count)), key=saved)
