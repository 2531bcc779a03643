# SPDX-License-Identifier: MIT
"""Fully connected layers of binary weights in assembly: a table holds all sums of 8 inputs, and 8 weights of an output are the
index of the one that it needs.

With w = 2 * u - 1 the sum of w * x is twice the sum of u * x, less the sum of x. The tables of a block of inputs are made once,
for all outputs. Their sums wait in the scratch from block to block.
"""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import CONSTANT_STEPS, Linear
from aidge_build.contract.kernel_kit.packing import as_words, group_starts

from ..core.assembly import Routine
from ..core.conditions import GROUP
from . import dense
from .dense_levels import epilogue
from .fc import PARAMETERS, begin_rows, next_row
from .stream import Stream
from .weights import FIRST, SECOND

INPUTS = 8  # of a table
MOST_INPUTS = 4096
LARGEST_INPUT = 128
TABLE_BYTES = 2 << INPUTS
MOST_TABLES = 4  # of a block
# No second pixel is computed here: its names hold these values.
BITS, BLOCKS, TOTAL, SUMS = "second_output", "back_output", "back_input", "second_input"
TABLES = "column_end"  # they are behind the sums
DELTAS = ("r2", "r3", "r12", "lr")  # in both halves: from 16 entries to the next; the last bit of their number says which
ENTRIES = [f"r{index}" for index in range(4, 12)]  # 16 of them


def tables_of(features: int) -> int:
    """How many tables a block has; 0: the inputs do not fill their tables, or are too many for `for_bits`."""
    whole = features // INPUTS
    if features % INPUTS or features > MOST_INPUTS:
        return 0
    return next(size for size in range(MOST_TABLES, 0, -1) if whole % size == 0)


def scratch_bytes(outputs: int, features: int) -> int:
    """The sums of all outputs, and the tables of a block."""
    return 4 * GROUP * len(group_starts(outputs)) + TABLE_BYTES * tables_of(features)


def for_bits(linear: Linear) -> Linear:
    """The layer whose weights of 0 are -1: bits of 0. Outputs that are the same for all inputs have them (`without_constants`); a
    level of these outputs becomes so many steps of a sum that no sum changes it."""
    are_zero, most = ~linear.rows.any(axis=1), LARGEST_INPUT * linear.rows.shape[1]
    steps = 1 << (4 * most).bit_length()
    bias = numpy.where(are_zero, linear.bias // CONSTANT_STEPS * steps, linear.bias)
    return replace(
        linear,
        bias=bias,
        requantization=linear.requantization.replaced(are_zero, 1 / steps),
        low=numpy.where(are_zero, bias - most, linear.low),
        high=numpy.where(are_zero, bias + most, linear.high),
    )


def with_bits(stream: Stream, rows: numpy.ndarray) -> Stream:
    """The stream with its weights [outputs, inputs] behind the groups: of each block, and in it of each group, a word for each
    table. It has a byte for each output; the lowest bit is the weight of the first input."""
    channels = numpy.array([range(first, first + GROUP) for first in group_starts(len(rows))])
    in_bytes = numpy.packbits(rows > 0, axis=1, bitorder="little")[channels]  # [groups, 4, tables]
    blocks = in_bytes.reshape(len(channels), GROUP, -1, tables_of(rows.shape[1]))
    words = numpy.ascontiguousarray(blocks.transpose(2, 0, 3, 1)).view("<i4").ravel()
    return replace(stream, words=as_words([*stream.words.tolist(), *words.tolist()]))


def routine(stream: Stream, features: int) -> tuple[str, str]:
    """Name and text for rows of `features` inputs."""
    tables = tables_of(features)
    name = f"aidge_cortexm_fc{stream.weights.family}_int8_{features}_{stream.groups}_{stream.variant}"
    code = dense.routine_of(stream)
    begin_rows(code, stream)
    code.put("input", "r0")
    _no_sums(code, stream.groups)
    code.constant("r4", features // INPUTS // tables)
    code.put(BLOCKS, "r4")
    code.label(7, f"{INPUTS * tables} inputs")
    _make_tables(code, tables)
    _add_entries(code, tables)
    code.get("r4", BLOCKS)
    code("subs r4, r4, #1")
    code.put(BLOCKS, "r4")
    code("bne 7b")
    _finish(code, stream)
    next_row(code, stream)
    return name, code.function(name, PARAMETERS, f"Fully connected layer of {features} int8 inputs and binary weights.")


def _no_sums(code: Routine, groups: int) -> None:
    """Sums of 0; label 2."""
    code.get("r2", "end")
    code.put(BITS, "r2")
    for register in range(4, 8):
        code(f"movs r{register}, #0")
    code.put(TOTAL, "r4")
    code.get("r3", "base")
    code.constant("r12", groups)
    code.label(2)
    code("stm r3!, {{r4-r7}}")
    code("subs r12, r12, #1")
    code("bne 2b")
    code.put(TABLES, "r3")


def _make_tables(code: Routine, tables: int) -> None:
    """Entry i of each table is the sum of the inputs whose bits i has; 16 entries at a time. Label 8."""
    code.get("r0", "input")
    code.get("r1", TABLES)
    code.label(8, "a table")
    for index, delta in enumerate(DELTAS):
        _load_twice(code, delta, 4 + index)
    code("sadd16 r4, r2, r3")
    code("ssub16 r3, r3, r2")
    code("sadd16 r5, r4, r12")
    code("ssub16 r12, r12, r4")
    code("ssub16 lr, lr, r5")
    code("ldrsb r4, [r0]")
    code("lsl r4, r4, #16", "0, and the first input")
    for have, last in ((1, "r5"), (2, "r7"), (4, "r11")):
        _load_twice(code, last, have.bit_length())
        for index in range(have):
            code(f"sadd16 {ENTRIES[have + index]}, {ENTRIES[index]}, {last}")
    for number in range(16):
        if number:
            delta = DELTAS[(number & -number).bit_length() - 1]
            for entry in ENTRIES:
                code(f"sadd16 {entry}, {entry}, {delta}")
        code("stm r1!, {{r4-r11}}")
    code.get("r2", TOTAL)
    code("add r2, r2, r11, asr #16", "the last entry: all inputs")
    code.put(TOTAL, "r2")
    code("adds r0, r0, #8")
    code.get("r2", TABLES)
    code(f"add r2, r2, #{TABLE_BYTES * tables}")
    code("cmp r1, r2")
    code("bne 8b")
    code.put("input", "r0")


def _load_twice(code: Routine, register: str, index: int) -> None:
    """An input, in both halves."""
    code(f"ldrsb {register}, [r0, #{index}]")
    code(f"pkhbt {register}, {register}, {register}, lsl #16")


def _add_entries(code: Routine, tables: int) -> None:
    """Adds an entry of each table to the sum of each output. Label 3."""
    bases = [f"r{8 + index}" for index in range(tables)]
    code.get("r0", "base")
    code.get("r1", BITS)
    code.get(bases[0], TABLES)
    for before, base in zip(bases, bases[1:]):
        code(f"add {base}, {before}, #{TABLE_BYTES}")
    code.align()
    code.label(3, "a group of 4 outputs")
    code("ldm r0, {{r4-r7}}")
    for base in bases:
        code("ldr r12, [r1], #4", "8 weights of each output")
        code("uxtb r2, r12")
        code("ubfx r3, r12, #8, #8")
        code("ubfx lr, r12, #16, #8")
        code("lsr r12, r12, #24")
        for entry in ("r2", "r3", "lr", "r12"):
            code(f"ldrsh {entry}, [{base}, {entry}, lsl #1]")
        for total, entry in zip(FIRST, ("r2", "r3", "lr", "r12")):
            code(f"add {total}, {total}, {entry}")
    code("stm r0!, {{r4-r7}}")
    code(f"cmp r0, {bases[0]}", "tables are behind all sums")
    code("bne 3b")
    code.put(BITS, "r1")


def _finish(code: Routine, stream: Stream) -> None:
    """The levels of all outputs. Label 4."""
    code.get("{column}, {stream}", "base")
    code.put(SUMS, "{column}")
    code.label(4, "a group of 4 outputs")
    dense.load_biases(code, stream)
    code.get("{column}", SUMS)
    code("ldm {column}!, {{r4-r7}}")
    code.put(SUMS, "{column}")
    code.get("{x0}", TOTAL)
    for total, bias in zip(FIRST, SECOND):
        code(f"add {total}, {bias}, {total}, lsl #1")
        code(f"sub {total}, {total}, {{x0}}")
    code.get("{w1}", "output")
    epilogue(code, stream, "a")
    if not stream.is_stated:
        code.put("output", "{w1}")
    code.get("{x0}", "end")
    code("cmp.w {stream}, {x0}")
    code("bne 4b")
