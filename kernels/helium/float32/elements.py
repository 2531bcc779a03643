# SPDX-License-Identifier: MIT
"""Loops over float32 values, four at a time, the last ones predicated: assembly for an operation and its clamp."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.assembly import Assembler, function
from .real import clamp_lines

RUN = "const float *a, const float *b, float *y, int32_t count, const float *limits"
RUNS = f"{RUN}, int32_t runs"
EACH = "const float *x, float *y, const float *numbers, int32_t count, const float *limits"
# The result q0 of q1 and q2; there is no vector division, and what is NaN stays it.
BINARY = {
    "Add": ("vadd.f32 q0, q1, q2",),
    "Sub": ("vsub.f32 q0, q1, q2",),
    "Mul": ("vmul.f32 q0, q1, q2",),
    "Div": tuple(f"vdiv.f32 s{lane}, s{4 + lane}, s{8 + lane}" for lane in range(4)),
    "PReLU": ("vmov q0, q1", "vpt.f32 lt, q1, zr", "vmult.f32 q0, q1, q2"),
    "Max": ("vmov q0, q1", "vpt.f32 gt, q2, q1", "vmovt q0, q2", "vpt.f32 ne, q2, q2", "vmovt q0, q2"),
    "Min": ("vmov q0, q1", "vpt.f32 gt, q1, q2", "vmovt q0, q2", "vpt.f32 ne, q2, q2", "vmovt q0, q2"),
}
CLAMPED = ("Add", "Sub", "Mul", "Div")
# The result of q0; q2: 1, q3: 0. NaN stays NaN; for HardSwish it is a factor anyway.
_FACTOR = ("vmul.f32 q1, q0, %alpha", "vadd.f32 q1, q1, %beta", "vmax.s32 q1, q1, q3", "vmin.s32 q1, q1, q2")
UNARY = {
    "Identity": (),
    "Abs": ("vabs.f32 q0, q0",),
    "Neg": ("vneg.f32 q0, q0",),
    "LeakyReLU": ("vpt.f32 lt, q0, zr", "vmult.f32 q0, q0, %alpha"),
    "HardSigmoid": (
        *("vmul.f32 q0, q0, %alpha", "vadd.f32 q0, q0, %beta", "vmax.s32 q0, q0, q3"),
        *("vpt.f32 gt, q0, %one", "vdupt.32 q0, %one"),
    ),
    "HardSwish": (*_FACTOR, "vmul.f32 q0, q0, q1"),
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
        return self._binary() if self.operation in BINARY else self._unary()

    def _binary(self) -> str:
        emit, registers = self._begin(), {"a": "q1", "b": "q2"}
        loads = {operand: register for operand, register in registers.items() if operand != self.repeats}
        if self.repeats:
            emit(f"ldr %{self.repeats}, [%{self.repeats}]", f"vdup.32 {registers[self.repeats]}, %{self.repeats}")
        if self.again:
            emit(f"mov %begin, %{self.again}", "ldr %runs, [%argument.5]")
            emit("rsb %lacks, %count, #0", "and %lacks, %lacks, #3", "lsls %lacks, %lacks, #2", why="bytes of the last vector")
            emit.label("run")
        self._values(
            emit, [f"vldrw.u32 {register}, [%{operand}], #16" for operand, register in loads.items()], BINARY[self.operation]
        )
        if self.again:
            other = "b" if self.again == "a" else "a"
            emit(f"mov %{self.again}, %begin", f"sub %{other}, %{other}, %lacks", "sub %y, %y, %lacks")
            emit("subs %runs, %runs, #1", "bne %run")
        emit("%leave")
        parameters = RUNS if self.again else RUN
        return function(self.name, f"{self.operation} of float32.", parameters, emit.lines)

    def _unary(self) -> str:
        lines, emit = UNARY[self.operation], self._begin()
        if lines:
            emit("ldrd %alpha, %beta, [%numbers]")
        if self.operation.startswith("Hard"):
            emit("mov %one, #0x3f800000", "vmov.i32 q3, #0", "vdup.32 q2, %one")
        self._values(emit, ["vldrw.u32 q0, [%x], #16"], lines)
        emit("%leave")
        purpose = f"{self.operation} of float32, then a clamp."
        return function(self.name, purpose, EACH, emit.lines)

    def _begin(self) -> Assembler:
        """The limits, or in q3 the 0 of ReLU."""
        emit = Assembler()
        emit("%enter")
        if self.clamp == "limits":
            emit("ldr %limits, [%argument.4]", "ldrd %low, %high, [%limits]")
        elif self.clamp:
            emit("vmov.i32 q3, #0")
        return emit

    def _values(self, emit: Assembler, loads: list[str], lines: tuple[str, ...]) -> None:
        """The loop over %count values."""
        emit("wlstp.32 lr, %count, %done")
        emit.label("value")
        emit(*loads, *lines, *clamp_lines(self.clamp, "q0", "q3" if self.clamp == "relu" else "%low", "%high"))
        emit("vstrw.32 q0, [%y], #16", "letp lr, %value")
        emit.label("done")
