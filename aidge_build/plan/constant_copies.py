# SPDX-License-Identifier: MIT
"""Chooses the constants that are copied into the arena before their layer runs, because their own memory is slow to read.

Costs are the boards' access costs of words. A layer with W words of constants reads at least R words: each word once, and again
for other pixels; a kernel computes at most MOST_PIXELS pixels with one read. s is the cost of a word in the slow memory, f in the
memory of the arena:

| constants | cost |
|---|---|
| not copied | R * s |
| copied by the core | W * (s + f) + R * f |
| copied by a DMA while the previous layer computes | R * f, and the part of W * (s + f) that takes longer than that layer |

The previous layer takes at least its multiply-accumulates / PRODUCTS: no core here computes more in the time of a word of cost 1.
Each copied array also costs a call (SET_UP). Arrays below SMALLEST bytes stay where they are: a few words that kernels keep in
registers, such as the limits of a clamp.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board, Region
from aidge_build.plan.constant_arrays import Array, arrays_of
from aidge_build.plan.copy_buffers import most_copies
from aidge_build.plan.place import Placed
from aidge_build.plan.program import Layer, Program
from aidge_build.plan.schedule.copies import ConstantCopy, arrays_in_line
from aidge_build.plan.schedule.schedule import Schedule

WORD = 4  # bytes
ALIGNMENT = 8  # bytes: of the widest element
MOST_PIXELS = 4
PRODUCTS = 8
SET_UP = 32
SMALLEST = 64
_REFUSED = (  # option, values that go together with copies, what prevents them
    ("arena", ("static",), "the address of the caller's arena is not known"),
    ("update", ("none",), "the sizes of weights that can be replaced are not known"),
    ("input", ("whole",), "layers by rows read their constants again and again"),
    ("output", ("whole",), "layers by rows read their constants again and again"),
    ("memory_model", ("default", "plain"), "layers by rows read their constants again and again"),
    ("ram_budget", (None,), "layers by rows read their constants again and again"),
    ("max_step", (None,), "a step would end while constants are copied"),
)


def require_alone(arguments: argparse.Namespace, board: Board | None) -> None:
    """Raises AidgeError (USAGE) if --copy-constants is combined with an option that it excludes."""
    if arguments.copy_constants == "off":
        return
    if board is None or not board.arena_regions:
        raise _refusal("only a board has memories of known costs", "--board")
    for option, fitting, reason in _REFUSED:
        if getattr(arguments, option) not in fitting:
            name = option.replace("_", "-")
            raise _refusal(reason, f"without --{name}, or without --copy-constants")


def _refusal(what: str, hint: str) -> AidgeError:
    return AidgeError(what, where="--copy-constants", hint=hint, code="USAGE")


def reads_at_least(layer: Layer, words: int) -> int:
    """Returns the fewest words of its constants that a layer reads: each word once, and again for every MOST_PIXELS pixels;
    without products, a table entry for each element that it writes."""
    if not layer.macs:
        return sum(tensor.elements for tensor in layer.outputs)
    weights = [tensor for tensor in layer.inputs[1:] if tensor is not None and tensor.is_constant]
    width = max(weights, key=lambda tensor: tensor.elements).dtype.size_bytes if weights else 1
    return max(words, layer.macs * width // (WORD * MOST_PIXELS))


def costs_of(reads: int, words: int, arrays: int, slow: int, fast: int, hidden: int | None) -> tuple[int, int]:
    """Returns the cost of reading the constants in place, and the cost with a copy. A DMA copies during the previous layer, which
    takes `hidden`; with None the core copies."""
    transfer = words * (slow + fast)
    waiting = transfer if hidden is None else max(0, transfer - hidden)
    return reads * slow, reads * fast + waiting + arrays * SET_UP


def copies_that_pay(program: Program, slow: Region, fast: Region, line: int) -> tuple[ConstantCopy, ...]:
    """Returns the copies of constants from `slow` to `fast` that cost less than reading them in place. With hooks each array has
    its own lines of the data cache (`line` bytes, 0 without a cache)."""
    hooks = program.options.copy_constants == "hook"
    alignment, arrays = max(ALIGNMENT, line if hooks else 0), arrays_of(program)
    found, elsewhere = [], {array.symbol for array in arrays.all if array.region}
    for step, (layer, read) in enumerate(zip(program.layers, arrays.of_layer, strict=True)):
        once = sorted(_once(layer, read).items())
        here = [(position, len(array.data)) for position, array in once if array.symbol not in elsewhere]
        sizes = [(position, size_bytes) for position, size_bytes in here if size_bytes >= SMALLEST]
        words = sum(-(-size // WORD) for _, size in sizes)
        if not words:
            continue
        before = program.layers[step - 1].macs // PRODUCTS if step else 0
        direct, copied = costs_of(
            reads_at_least(layer, words), words, len(sizes), slow.access_cost, fast.access_cost, before if hooks else None
        )
        if copied < direct:
            first = max(0, step - 1) if hooks else step
            lines = arrays_in_line(sizes, alignment)
            found.append(ConstantCopy(layer.node.name, first, step, lines, alignment, direct - copied))
    return tuple(found)


def _once(layer: Layer, read: Mapping[int, Array]) -> dict[int, Array]:
    """Returns the arguments by position, each array with the first argument that names it; none of a layer that expands some."""
    if layer.copied is not None:
        return {}
    seen: dict[str, int] = {}
    return {position: array for position, array in read.items() if seen.setdefault(array.symbol, position) == position}


def with_copies(
    program: Program,
    schedule: Schedule,
    placed: Placed,
    board: Board,
    placing: Callable[[Schedule], Placed],
) -> tuple[Schedule, Placed, str]:
    """Returns the schedule and its places with the copies that pay and that the arena's memory has room for, and a notice about
    them. `program` is the program without copies."""
    slow = board.region("constants")
    fast = next((region for region in board.arena_regions if region.name == placed.region), None)
    reason = _reason_against(program, slow, fast)
    if fast is None or reason:
        return schedule, placed, f"no constants are copied ahead: {reason}"
    wanted = copies_that_pay(program, slow, fast, board.dma_line)
    found = most_copies(wanted, schedule, placed, placing, placed.room_bytes)
    if found is not None:
        return found.schedule, found.placed, _said(found.copies, wanted, found.placed, placed, slow)
    return schedule, placed, f"no constants are copied ahead: {_none(wanted, slow, fast)}"


def _reason_against(program: Program, slow: Region, fast: Region | None) -> str:
    if fast is None:
        return "the arena is in several memories" if program.memory.split else "the arena needs no memory"
    if program.schedule.cascades:
        return "layers are computed row by row"
    if program.options.copy_constants == "hook" and not fast.dma:
        return f"no DMA reaches {fast.name} with the arena"
    if slow.access_cost <= fast.access_cost:
        return f"{slow.name} with the constants costs {slow.access_cost}, {fast.name} with the arena {fast.access_cost}"
    return ""


def _said(chosen: Sequence[ConstantCopy], wanted: Sequence[ConstantCopy], new: Placed, placed: Placed, slow: Region) -> str:
    left = len(wanted) - len(chosen)
    return (
        f"constants of {len(chosen)} layers are copied ahead from {slow.name}: {sum(copy.saved for copy in chosen):,} less cost "
        f"of access, arena {new.arena.peak_bytes:,} B instead of {placed.arena.peak_bytes:,} B"
        + (f"; {left} more would pay, for which {new.region} has no room" if left else "")
    )


def _none(wanted: Sequence[ConstantCopy], slow: Region, fast: Region) -> str:
    return f"{fast.name} has no room for the constants" if wanted else f"no layer reads constants in {slow.name} often enough"
