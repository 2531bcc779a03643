# SPDX-License-Identifier: MIT
"""Loops over float32 values, four at a time, the last ones predicated: assembly for an operation and its clamp."""

from __future__ import annotations

from dataclasses import dataclass

from ..assembly import Assembler, function, loop

RUN = "const float *a, const float *b, float *y, int32_t count, const float *limits"
RUNS = f"{RUN}, int32_t runs"
SAVED = 24  # bytes, of r4-r8 and lr: limits and runs lie behind them
EACH = "const float *x, float *y, const float *numbers, int32_t count, const float *limits"
# What is done to q1 and q2, into q0; there is no vector division, and what is NaN stays it.
BINARY = {
    "Add": ("vadd.f32 q0, q1, q2",),
    "Sub": ("vsub.f32 q0, q1, q2",),
    "Mul": ("vmul.f32 q0, q1, q2",),
    "Div": tuple(f"vdiv.f32 s{lane}, s{4 + lane}, s{8 + lane}" for lane in range(4)),
    "PReLU": ("vmov q0, q1", "vpt.f32 lt, q1, zr", "vmult.f32 q0, q1, q2"),
    "Max": ("vmov q0, q1", "vpt.f32 lt, q1, q2", "vmovt q0, q2", "vpt.f32 ne, q2, q2", "vmovt q0, q2"),
    "Min": ("vmov q0, q1", "vpt.f32 gt, q1, q2", "vmovt q0, q2", "vpt.f32 ne, q2, q2", "vmovt q0, q2"),
}
CLAMPED = ("Add", "Sub", "Mul", "Div")
# What is done to q0; r2, r12: alpha, beta; r4, q2: 1, q3: 0. What is NaN stays it; for HardSwish it is a factor anyway.
UNARY = {
    "Identity": (),
    "Abs": ("vabs.f32 q0, q0",),
    "Neg": ("vneg.f32 q0, q0",),
    "LeakyReLU": ("vpt.f32 lt, q0, zr", "vmult.f32 q0, q0, r2"),
    "HardSigmoid": (
        "vmul.f32 q0, q0, r2",
        "vadd.f32 q0, q0, r12",
        "vmax.s32 q0, q0, q3",
        "vpt.f32 gt, q0, r4",
        "vdupt.32 q0, r4",
    ),
    "HardSwish": (
        "vmul.f32 q1, q0, r2",
        "vadd.f32 q1, q1, r12",
        "vmax.s32 q1, q1, q3",
        "vmin.s32 q1, q1, q2",
        "vmul.f32 q0, q0, q1",
    ),
}


@dataclass(frozen=True)
class Loop:
    """One operation. `clamp`: "" for none, "relu" or "limits"; `repeats`: an operand is one element, "a", "b" or "".
    `again`: there are several runs, each of which this operand begins again."""

    operation: str
    clamp: str
    repeats: str = ""
    again: str = ""

    @property
    def name(self) -> str:
        """Tells all that the text depends on."""
        repeats = f"_{self.repeats}_repeats" if self.repeats else f"_{self.again}_again" if self.again else ""
        return f"aidge_helium_{self.operation.lower()}_float32{repeats}{f'_{self.clamp}' * (self.clamp != '')}"

    def text(self) -> str:
        """The C text."""
        if self.operation in BINARY:
            number, steps = list(BINARY).index(self.operation), [int(self.repeats != name) for name in "ab"]
            plain = f"    aidge_helium_binary_float32(a, {steps[0]}, b, {steps[1]}, y, count, limits, {number});"
            if self.again:
                moves = [f"{pointer} += count;" for pointer in "aby" if pointer != self.again]
                lines = ["int32_t run;", *loop("run", "runs", [plain.strip(), *moves])]
                plain = "\n".join(f"    {line}" for line in lines)
            return function(self.name, f"{self.operation} of float32.", RUNS if self.again else RUN, self._binary(), plain)
        plain = f"    aidge_helium_unary_float32(x, y, numbers, count, limits, {list(UNARY).index(self.operation)});"
        return function(self.name, f"{self.operation} of float32, then a clamp.", EACH, self._unary(), plain)

    def _binary(self):
        emit, operands = self._begin(), (("r0", "a", "q1"), ("r1", "b", "q2"))
        for pointer, operand, register in operands:
            if self.repeats == operand:
                emit(f"ldr {pointer}, [{pointer}]", f"vdup.32 {register}, {pointer}")
        if self.again:
            emit(f"mov r8, {'r0' if self.again == 'a' else 'r1'}", f"ldr r4, [sp, #{SAVED + 4}]", why="runs")
            emit("rsb r7, r3, #0", "and r7, r7, #3", "lsls r7, r7, #2", why="bytes that the last vector lacks")
            emit.label(3)
        emit("wlstp.32 lr, r3, 2f")
        emit.label(1)
        for pointer, operand, register in operands:
            if self.repeats != operand:
                emit(f"vldrw.u32 {register}, [{pointer}], #16")
        emit(*BINARY[self.operation])
        self._clamp(emit)
        if not self.again:
            return self._end(emit, "r2")
        self._store(emit, "r2")
        again, other = ("r0", "r1") if self.again == "a" else ("r1", "r0")
        emit(f"mov {again}, r8", f"sub {other}, r7", "sub r2, r7", "subs r4, #1", "bne 3b", "pop {r4-r8, pc}")
        return emit.lines

    def _unary(self):
        emit = self._begin()
        if UNARY[self.operation]:
            emit("ldrd r2, r12, [r2]", why="alpha, beta")
        if self.operation.startswith("Hard"):
            emit(
                "mov r4, #0x3f800000",
                "vmov.i32 q3, #0",
                *(["vdup.32 q2, r4"] if self.operation == "HardSwish" else []),
                why="1.0",
            )
        emit("wlstp.32 lr, r3, 2f")
        emit.label(1)
        emit("vldrw.u32 q0, [r0], #16", *UNARY[self.operation])
        self._clamp(emit)
        return self._end(emit, "r1")

    def _begin(self) -> Assembler:
        """r5, r6: limits; or q3 holds the 0 of ReLU."""
        emit = Assembler()
        if self.again:
            emit("push {r4-r8, lr}")
        else:
            emit("push {r4-r6, lr}")
        if self.clamp == "limits":
            emit(f"ldr r4, [sp, #{SAVED if self.again else 16}]", "ldrd r5, r6, [r4]", why="limits")
        elif self.clamp:
            emit("vmov.i32 q3, #0")
        return emit

    def _clamp(self, emit: Assembler) -> None:
        if self.clamp == "limits":
            emit("vpt.f32 lt, q0, r5", "vdupt.32 q0, r5", "vpt.f32 gt, q0, r6", "vdupt.32 q0, r6")
        elif self.clamp:
            emit("vmax.s32 q0, q0, q3")

    @staticmethod
    def _store(emit: Assembler, target: str) -> None:
        emit(f"vstrw.32 q0, [{target}], #16", "letp lr, 1b")
        emit.label(2)

    def _end(self, emit: Assembler, target: str):
        self._store(emit, target)
        emit("pop {r4-r6, pc}")
        return emit.lines
