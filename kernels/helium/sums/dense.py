# SPDX-License-Identifier: MIT
"""A fully connected layer for one row of inputs: eight outputs share each load of the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from ..core.assembly import Assembler, function
from ..core.rounding import Fixed, emit_fixed, emit_levels_of_8, multiplier_words, shift_words, zero_point_word

LANES = 16
OUTPUTS = 8  # at a time
HEAD_BYTES = 16  # of a stream: input zero point, zero point, lowest, highest
ACCUMULATORS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")
ORDER = (0, 4, 2, 6, 1, 5, 3, 7)  # the output that each accumulator holds: two narrowings then put them in line
MOST_UNROLLED, VECTORS_IN_LOOP = 12, 8
TEXT_BYTES = 120  # of a group beside its products
PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *stream"


@dataclass(frozen=True)
class Dense:
    """`inputs` to `outputs`; `adds`, `fixed`: levels are rounded as in rounding.py; `offsets`: weights lack some (finer.py)."""

    inputs: int
    outputs: int
    clamps: bool = False
    adds: bool = False
    bits: int = 0  # by which sums are shifted before the rest of the bias is added: finer.py
    fixed: Fixed | None = None
    offsets: bool = False
    uniform: bool = False  # one float multiplier of all outputs follows the head, and stands in no group

    @property
    def name(self) -> str:
        ways = f"{'_clamped' if self.clamps else ''}{'_adding' if self.adds else ''}{self.fixed.way if self.fixed else ''}"
        ways += (f"_finer_{self.bits}" if self.bits else "") + "_offsets" * self.offsets
        ways += "_uniform" * self.uniform
        return f"aidge_helium_dense_{self.inputs}_to_{self.outputs}{ways}"

    @property
    def vectors(self) -> int:
        return -(-self.inputs // LANES)

    @property
    def groups(self) -> int:
        return -(-self.outputs // OUTPUTS)

    @property
    def apart(self) -> int:
        """Outputs of the last group where it has a text and a stream of its own, without the outputs that it lacks."""
        left = self.outputs % OUTPUTS
        spared = (OUTPUTS - left) * (LANES * self.vectors + 4)
        turns = self._turns
        printed = self.vectors - max(0, turns - 1) * VECTORS_IN_LOOP
        text = printed * (8 * left + 4) + TEXT_BYTES if self.groups > 1 else 0
        return left if left and spared > text else 0

    @property
    def _turns(self) -> int:
        """Of a loop over the vectors of a group; 0 where there is none."""
        return 0 if self.vectors <= MOST_UNROLLED else (self.vectors - bool(self.inputs % LANES)) // VECTORS_IN_LOOP

    def stream(self, numbers: LinearConstants, rows: numpy.ndarray, offsets: numpy.ndarray) -> numpy.ndarray:
        """The head; per eight outputs: biases in the order of the accumulators, for each vector eight times 16 weights, then of
        outputs 0 2 4 6 1 3 5 7 offsets of the weights, fractions of the biases with `bits`, multipliers (with `uniform` one
        behind the head), shifts of fixed-point factors.
        `rows` [outputs, inputs]: the weights that are multiplied with; `offsets` [outputs]: what they lack."""
        weights = numpy.zeros((self.groups * OUTPUTS, self.vectors * LANES), numpy.int8)
        weights[: self.outputs, : self.inputs] = rows
        bias, multipliers, shifts, lacking = (numpy.zeros(self.groups * OUTPUTS, "<i4") for _ in range(4))
        lacking[: self.outputs] = offsets
        bias[: self.outputs], multipliers[: self.outputs] = numbers.bias, multiplier_words(numbers)
        if self.fixed:
            shifts[: self.outputs] = shift_words(numbers)
        parts = [
            numpy.array(
                [numbers.input_zero_point, zero_point_word(numbers, self.bits), numbers.low, numbers.high], "<i4"
            ).tobytes(),
            multipliers[: int(self.uniform)].tobytes(),
        ]
        for first in range(0, self.groups * OUTPUTS, OUTPUTS):
            chosen = [first + output for output in ORDER if not self.apart or first + output < self.outputs]
            parts.append((bias >> self.bits)[chosen].tobytes())
            vectors = weights[chosen].reshape(-1, self.vectors, LANES).transpose(1, 0, 2)
            parts.append(numpy.ascontiguousarray(vectors).tobytes())
            rest = [*([lacking] if self.offsets else []), *([bias & (1 << self.bits) - 1] if self.bits else [])]
            rest += [*([] if self.uniform else [multipliers]), *([shifts] if self.fixed else [])]
            parts += [part[first + start : first + OUTPUTS : 2].tobytes() for part in rest for start in (0, 1)]
        return numpy.frombuffer(b"".join(parts), numpy.int8)

    def text(self) -> str:
        """The C text."""
        return function(
            self.name,
            f"{self.inputs} inputs to {self.outputs} outputs, eight at a time.",
            PARAMETERS,
            self._lines(),
        )

    def _lines(self):
        emit, tail = Assembler(), self.inputs % LANES
        left = self.outputs % OUTPUTS
        groups = self.groups - (self.apart > 0)
        stack = 16
        emit.enter(stack)
        emit("ldrd r9, r11, [r2, #4]", why="zero point, lowest")
        if self.clamps:
            emit("ldr r3, [r2, #12]", "str r3, [sp]", why="highest")
        emit("mov r5, r1", "mov r1, r0")
        if self.uniform:
            emit(f"ldr r3, [r2, #{HEAD_BYTES}]", "str r3, [sp, #12]", why="multiplier")
        emit.add("r3", "r2", HEAD_BYTES + 4 * self.uniform)
        if tail:
            emit(f"movs r0, #{tail}", "vctp.8 r0", why="the bytes after the input must not be read")
        if self.offsets:
            self._sum(emit)
        if groups:
            emit(f"movw r7, #{groups}", why="groups of eight that are left")
            emit.label(1)
            self._group(emit, ACCUMULATORS)
            emit("subs r7, #1")
            if not left or self.apart:
                emit("vstrb.16 q0, [r5], #8", "bne 1b")
            elif groups > 1:
                emit("beq 3f", "vstrb.16 q0, [r5], #8", "b 1b")
                emit.label(3)
        if self.apart:
            self._group(emit, [register for output, register in zip(ORDER, ACCUMULATORS) if output < left])
        if left:
            emit(f"movs r0, #{left}", "vctp.16 r0", "vpst", "vstrbt.16 q0, [r5]")
        emit.leave(stack)
        return emit.lines

    def _sum(self, emit: Assembler) -> None:
        """That of the row onto the stack."""
        whole, tail = divmod(self.inputs, LANES)
        emit("movs r0, #0")
        if whole:
            emit(f"movw r7, #{whole}", "dls lr, r7")
            emit.label(4)
            emit("vldrb.u8 q0, [r1], #16", "vaddva.s8 r0, q0", "le lr, 4b")
        if tail:
            emit("vpst", "vldrbt.u8 q0, [r1], #16", "vaddva.s8 r0, q0")
        emit("str r0, [sp, #8]", why="the sum of the row")
        emit.add("r1", "r1", -LANES * self.vectors)

    def _group(self, emit: Assembler, accumulators: Sequence[str]) -> None:
        """The outputs of these accumulators become levels in q0."""
        tail = self.inputs % LANES
        emit(f"ldm r3!, {{{', '.join(accumulators)}}}", why="biases")
        turns = self._turns
        if turns:
            emit("str r7, [sp, #4]", f"movw r7, #{turns}")
            emit.label(2)
            for _ in range(VECTORS_IN_LOOP):
                self._vector(emit, accumulators, False)
            emit("subs r7, #1", "bne 2b", "ldr r7, [sp, #4]")
        rest = self.vectors - turns * VECTORS_IN_LOOP
        for vector in range(rest):
            self._vector(emit, accumulators, bool(tail) and vector == rest - 1)
        emit.add("r1", "r1", -LANES * self.vectors)
        emit("vmov q0[2], q0[0], r0, r2", "vmov q0[3], q0[1], r4, r6", "vmov q1[2], q1[0], r8, r10", "vmov q1[3], q1[1], r12, lr")
        if self.offsets:
            emit("ldr r0, [sp, #8]", "vldrw.u32 q2, [r3], #16", "vldrw.u32 q3, [r3], #16", why="what the weights lack")
            emit("vmla.s32 q0, q2, r0", "vmla.s32 q1, q3, r0")
        if self.bits:
            emit("vldrw.u32 q2, [r3], #16", "vldrw.u32 q3, [r3], #16", why="what biases have beside whole products")
            emit(
                *(f"vshl.i32 q{register}, q{register}, #{self.bits}" for register in (0, 1)),
                "vadd.i32 q0, q0, q2",
                "vadd.i32 q1, q1, q3",
            )
        if self.uniform:
            emit("ldr r0, [sp, #12]", why="multiplier")
        else:
            emit("vldrw.u32 q2, [r3], #16", "vldrw.u32 q3, [r3], #16", why="multipliers")
        if self.fixed:
            emit_fixed(emit, self.fixed, ("q0", "q1"), ("q2", "q3"), "q2")
            emit("vldrw.u32 q2, [r3], #16", "vldrw.u32 q3, [r3], #16", why="shifts")
            emit("vrshl.s32 q0, q0, q2", "vrshl.s32 q1, q1, q3")
        for register in () if self.fixed else (0, 1):
            emit(
                f"vcvt.f32.s32 q{register}, q{register}",
                f"vmul.f32 q{register}, q{register}, {'r0' if self.uniform else f'q{2 + register}'}",
                f"vadd.f32 q{register}, q{register}, r9" if self.adds else f"vcvtn.s32.f32 q{register}, q{register}",
            )
        if self.fixed:
            emit_levels_of_8(emit, self.fixed, "q0", "q1", "q0", "r9")
        elif self.adds:
            emit("vmovnt.i32 q0, q1")
        else:
            emit("vqmovnb.s32 q0, q0", "vqmovnt.s32 q0, q1", "vqadd.s16 q0, q0, r9")
        if self.clamps:
            emit("ldr r0, [sp]", "vdup.16 q2, r11", "vmax.s16 q0, q0, q2", "vdup.16 q2, r0", "vmin.s16 q0, q0, q2")
        emit("vqmovnb.s16 q0, q0")

    @staticmethod
    def _vector(emit: Assembler, accumulators: Sequence[str], masked: bool) -> None:
        if masked:
            emit("vpst", "vldrbt.u8 q0, [r1], #16")
        else:
            emit("vldrb.u8 q0, [r1], #16")
        for index, accumulator in enumerate(accumulators):
            register = f"q{1 + index % 7}"
            emit(f"vldrw.u32 {register}, [r3], #16", f"vmladava.s8 {accumulator}, q0, {register}")
