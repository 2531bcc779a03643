# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

import itertools

import numpy

from aidge_build.boards.cores import OVERLAPPING
from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.proved_sums import ProvedSums, limits
from aidge_build.contract.node import kernel
from aidge_build.graph.dtype import DType

from ..core.assembly import Assembler, function
from ..core.repeats import RepeatsInt8, repeats_specs
from ..core.sums import NARROWED, proved_sum

SUMS = ProvedSums(proved_sum, "a sum in 32 bits", has_limits=True)


@kernel(("Add", "Sub"), repeats_specs(*SUMS.conditions))
class AddInt8(RepeatsInt8):
    def call(self) -> Call:
        first, second, offset, shift = SUMS.of(self.view)
        low, high = limits(self.view)
        clamps = (low, high) != DType.int8.range
        overlaps = OVERLAPPING in self.view.features and self.view.objective != "size"
        name = f"aidge_helium_add_shift_{shift}{'_clamped' * clamps}{'_overlapping' * overlaps}"
        numbers = Constant("sum", numpy.array([first, second, offset, low, high], numpy.int32))
        return self.by_rows(
            name,
            "core/helium.h",
            numbers,
            _text(name, shift, clamps, overlaps),
            note="integers proved equal on all 65,536 pairs of values",
            facts=computed("4 values", 1),
        )


def _text(name: str, shift: int, clamps: bool, overlaps: bool) -> str:
    emit = Assembler()
    emit("%enter")
    if clamps:
        emit("ldrd %low, %high, [%sum_of, #12]", "vdup.8 %q.low, %low", "vdup.8 %q.high, %high", why="lowest and highest")
    emit("ldm %sum_of, {%factor, %other, %offset}", "vdup.32 %q.factor, %factor")
    bits = 2 + overlaps  # of the groups of a turn: where parts overlap, a turn's begin and end are less of a longer one
    emit("ldr %count, [%argument.4]", f"lsrs %turns, %count, #{2 + bits}", "wls lr, %turns, %rest")
    emit.label("turn")
    parts = [(number, part) for number in range(1 << bits) for part in range(4)]
    for number, part in sorted(parts, key=lambda one: (sum(one), -one[1])) if overlaps else parts:
        emit(*_four(shift, clamps, number)[part])
    emit("le lr, %turn")
    emit.label("rest")
    emit(f"and %turns, %count, #{(4 << bits) - 1}", "wlstp.32 lr, %turns, %done")
    emit.label("four")
    emit(*itertools.chain(*_four(shift, clamps, 0)))
    emit("letp lr, %four")
    emit.label("done")
    emit("%leave")
    return function(
        name,
        "y = a * factor + b * factor + offset, shifted and rounded, in 32-bit lanes.",
        "const int8_t *a, const int8_t *b, int8_t *y, const int32_t *sum_of, int32_t count",
        emit.lines,
    )


def _four(shift: int, clamps: bool, number: int) -> tuple[list[str], ...]:
    """Four values: how they are loaded, added, shifted, and rounded and stored; `number` is of no other four nearby."""
    first, second = f"%q.first{number}", f"%q.second{number}"
    limits = [f"vmax.s8 {first}, {first}, %q.low", f"vmin.s8 {first}, {first}, %q.high"] if clamps else []
    return (
        [f"vldrb.s32 {first}, [%a], #4", f"vldrb.s32 {second}, [%b], #4"],
        [f"vmlas.s32 {first}, %q.factor, %offset", f"vmla.s32 {first}, {second}, %other"],
        [f"vshrnb.i32 {first}, {first}, #{NARROWED}"],
        [f"vqrshrnb.s16 {first}, {first}, #{shift - NARROWED}", *limits, f"vstrb.32 {first}, [%y], #4"],
    )
