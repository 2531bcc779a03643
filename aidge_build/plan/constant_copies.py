# SPDX-License-Identifier: MIT
"""Which layers' constants are copied into the arena before they run, because they lie in a memory that is slow to read.

All is counted in the boards' costs of access, of words. A layer whose constants are W words reads at least R of them: each word
once, and again for other pixels, of which a kernel computes at most MOST_PIXELS with one read. Constants in a memory of cost s
cost R * s. Copied to one of cost f by the core they cost W * (s + f) for the copy, and R * f. Copied by a DMA while the layer
before computes they cost R * f, and what the transfer of W * (s + f) takes longer than that layer, whose multiply-accumulates no
core here does faster than PRODUCTS in the time of a word of cost 1. Each array costs a call (SET_UP) besides, for which those
below SMALLEST bytes stay where they are: a few words, such as ends of the levels, that kernels keep in registers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board, Region
from aidge_build.plan.constant_arrays import Array, arrays_of
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
MOST_TRIALS = 12  # plans of the arena
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
    """AidgeError (USAGE) where --copy-constants stands beside what it cannot be combined with."""
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
    """The words of its constants that a layer reads: each once, and again for every MOST_PIXELS pixels; or where it computes no
    products, a table's entry for each element that it writes."""
    if not layer.macs:
        return sum(tensor.elements for tensor in layer.outputs)
    weights = [tensor for tensor in layer.inputs[1:] if tensor is not None and tensor.is_constant]
    width = max(weights, key=lambda tensor: tensor.elements).dtype.size_bytes if weights else 1
    return max(words, layer.macs * width // (WORD * MOST_PIXELS))


def costs_of(reads: int, words: int, arrays: int, slow: int, fast: int, hidden: int | None) -> tuple[int, int]:
    """What reading the constants costs where they are, and with a copy; of a copy beside the layer before, which takes `hidden`
    (None: by the core)."""
    transfer = words * (slow + fast)
    waiting = transfer if hidden is None else max(0, transfer - hidden)
    return reads * slow, reads * fast + waiting + arrays * SET_UP


def copies_that_pay(program: Program, slow: Region, fast: Region, line: int) -> tuple[ConstantCopy, ...]:
    """Of the layers whose constants lie in `slow`: those that are cheaper with a copy in `fast`. With hooks each array has lines
    of the data cache of its own (`line` bytes, 0 without a cache)."""
    hooks = program.options.copy_constants == "hook"
    alignment, arrays = max(ALIGNMENT, line if hooks else 0), arrays_of(program)
    found, elsewhere = [], {array.symbol for array in arrays.all if array.region}
    for step, (layer, read) in enumerate(zip(program.layers, arrays.of_layer, strict=True)):
        once = sorted(_once(read).items())
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


def _once(read) -> dict[int, Array]:
    """Without arguments that name an array again."""
    seen: dict[str, int] = {}
    return {position: array for position, array in read.items() if seen.setdefault(array.symbol, position) == position}


def with_copies(
    program: Program,
    schedule: Schedule,
    placed: Placed,
    board: Board,
    placing: Callable[[Schedule], Placed],
) -> tuple[Schedule, Placed, str]:
    """The schedule and its places with those copies that pay and for which the arena's memory has room, and what is said of them.
    `program` is the one without."""
    slow = board.region("constants")
    fast = next((region for region in board.arena_regions if region.name == placed.region), None)
    reason = _reason_against(program, slow, fast)
    if fast is None or reason:
        return schedule, placed, f"no constants are copied ahead: {reason}"
    wanted = copies_that_pay(program, slow, fast, board.dma_line)
    chosen = list(wanted)
    for number in range(MOST_TRIALS):
        if not chosen:
            break
        trial = replace(
            schedule, buffers=(*schedule.buffers, *(copy.buffer for copy in chosen)), copies=tuple(sorted(chosen, key=_in_order))
        )
        new = placing(trial)
        if new.region == placed.region and not new.split:
            return trial, new, _said(chosen, wanted, new, placed, slow)
        chosen = _fewer(chosen, new) if number else _live_within(wanted, placed, len(schedule.steps))
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


def _in_order(copy: ConstantCopy) -> int:
    return copy.step


def _worth(copy: ConstantCopy) -> tuple[float, int]:
    """What a byte saves; of equals the earlier layer."""
    return copy.saved / copy.size_bytes, -copy.step


def _live_within(copies: Sequence[ConstantCopy], placed: Placed, steps: int) -> list[ConstantCopy]:
    """Those that save most for each byte, as far as all that is live at any time fits the arena's memory."""
    live, chosen = [_live_bytes(placed, step) for step in range(steps)], []
    for copy in sorted(copies, key=_worth, reverse=True):
        span = range(copy.first, copy.step + 1)
        if all(live[step] + copy.size_bytes <= placed.room_bytes for step in span):
            chosen.append(copy)
            for step in span:
                live[step] += copy.size_bytes
    return chosen


def _live_bytes(placed: Placed, step: int) -> int:
    """The bytes of the arena that are live, each once where tensors share them."""
    total, reached = 0, 0
    for placement in placed.arena.live_at(step):
        low, high = (placement.offset_bytes + end for end in placement.buffer.live_bytes(step))
        total += max(0, high - max(low, reached))
        reached = max(reached, high)
    return total


def _fewer(chosen: list[ConstantCopy], placed: Placed) -> list[ConstantCopy]:
    """Without the one that saves least for each byte, of those at the fullest moment where there are any."""
    there = [copy for copy in chosen if copy.first <= placed.arena.bound_step <= copy.step]
    least = min(there or chosen, key=_worth)
    return [copy for copy in chosen if copy is not least]


def _said(chosen: Sequence[ConstantCopy], wanted: Sequence[ConstantCopy], new: Placed, placed: Placed, slow: Region) -> str:
    left = len(wanted) - len(chosen)
    return (
        f"constants of {len(chosen)} layers are copied ahead from {slow.name}: {sum(copy.saved for copy in chosen):,} less cost "
        f"of access, arena {new.arena.peak_bytes:,} B instead of {placed.arena.peak_bytes:,} B"
        + (f"; {left} more would pay, for which {new.region} has no room" if left else "")
    )


def _none(wanted: Sequence[ConstantCopy], slow: Region, fast: Region) -> str:
    return f"{fast.name} has no room for the constants" if wanted else f"no layer reads constants in {slow.name} often enough"
