# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

import functools

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.binary_int8 import meaning_of_pairs
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.arithmetic.requantize import clamp_levels
from aidge_build.operators.base import Operator

from .assembly import Assembler, function
from .repeats import RepeatsInt8, repeats_spec
from .sums import NARROWED, proved_sum


def _unproved(view: NodeView) -> str:
    return "" if _constants(view) else "no sum in 32 bits is proved equal for these scales"


def _constants(view: NodeView) -> tuple[int, int, int, int] | None:
    quantizations = [tensor.quantization for tensor in (*view.inputs, *view.outputs)]
    return _proved(view.operator, quantizations[-1].rounding, _levels(view), *quantizations)


@functools.lru_cache(maxsize=256)
def _proved(
    operator: Operator, _rounding: str, limits: tuple[int, int], *quantizations: Quantization
) -> tuple[int, int, int, int] | None:
    """`_rounding` is the contract of the output, by which quantizations are not told apart."""
    scales = tuple(quantization.scale for quantization in quantizations)
    zero_points = tuple(quantization.zero_point for quantization in quantizations)
    meaning = meaning_of_pairs(operator, *quantizations)
    return proved_sum(scales, zero_points, -1 if operator.type == "Sub" else 1, limits, meaning)


def _levels(view: NodeView) -> tuple[int, int]:
    (output,) = view.outputs
    return clamp_levels(view.operator.minimum, view.operator.maximum, output.quantization, output.dtype)


PROVED = Predicate("the sum in 32 bits is proved on all 65,536 pairs", _unproved)


@kernel(("Add", "Sub"), repeats_spec(SAME, PROVED))
class AddInt8(RepeatsInt8):
    def call(self) -> Call:
        first, second, offset, shift = _constants(self.view)
        low, high = _levels(self.view)
        clamps = (low, high) != DType.int8.range
        name = f"aidge_helium_add_shift_{shift}{'_clamped' if clamps else ''}"
        numbers = Constant("sum", numpy.array([first, second, offset, low, high], numpy.int32))
        return self.by_rows(
            name,
            "helium.h",
            numbers,
            _text(name, shift, clamps),
            note="integers proved equal on all 65,536 pairs of values",
            facts=computed("4 values", 1),
        )


@kernel(("Add", "Sub"), repeats_spec(CHANNELS_LAST, PROVED))
class AddPixelsInt8(AddInt8):
    """One term repeats, pixel by pixel."""


@kernel(("Add", "Sub"), repeats_spec(ROW_MAJOR, PROVED))
class AddRowsInt8(AddInt8):
    """One term repeats, row by row."""


def _text(name: str, shift: int, clamps: bool) -> str:
    emit = Assembler()
    emit("push {r4-r7, lr}", *(["vpush {d8-d9}"] if clamps else []))
    emit(f"ldr r12, [sp, #{20 + 16 * clamps}]", why="count")
    if clamps:
        emit("ldrd r4, r5, [r3, #12]", "vdup.8 q2, r4", "vdup.8 q4, r5", why="lowest and highest")
    emit("ldm r3, {r4, r5, r6}", "vdup.32 q3, r4", "lsrs r7, r12, #4", "wls lr, r7, 2f")
    emit.label(1)
    for _ in range(4):
        _four(emit, shift, clamps)
    emit("le lr, 1b")
    emit.label(2)
    emit("and r7, r12, #15", "wlstp.32 lr, r7, 4f")
    emit.label(3)
    _four(emit, shift, clamps)
    emit("letp lr, 3b")
    emit.label(4)
    emit(*(["vpop {d8-d9}"] if clamps else []), "pop {r4-r7, pc}")
    drop = shift - NARROWED
    plain = f"""    int32_t i;
    for (i = 0; i < count; i++) {{
        int32_t sum = ((a[i] * sum_of[0] + b[i] * sum_of[1] + sum_of[2]) >> {NARROWED}) + {1 << (drop - 1)};
        sum >>= {drop};
        sum = sum < sum_of[3] ? sum_of[3] : sum;
        y[i] = (int8_t)(sum > sum_of[4] ? sum_of[4] : sum);
    }}"""
    return function(
        name,
        "y = a * factor + b * factor + offset, shifted and rounded, in 32-bit lanes.",
        "const int8_t *a, const int8_t *b, int8_t *y, const int32_t *sum_of, int32_t count",
        emit.lines,
        plain,
    )


def _four(emit: Assembler, shift: int, clamps: bool) -> None:
    emit(
        "vldrb.s32 q0, [r0], #4",
        "vldrb.s32 q1, [r1], #4",
        "vmlas.s32 q0, q3, r6",
        "vmla.s32 q0, q1, r5",
        f"vshrnb.i32 q0, q0, #{NARROWED}",
        f"vqrshrnb.s16 q0, q0, #{shift - NARROWED}",
    )
    if clamps:
        emit("vmax.s8 q0, q0, q2", "vmin.s8 q0, q0, q4")
    emit("vstrb.32 q0, [r2], #4")
