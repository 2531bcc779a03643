# SPDX-License-Identifier: MIT
"""Loops over float32 values, four at a time, the last ones predicated: assembly for an operation and its clamp."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.assembly import Assembler, function
from .real import clamp_lines

RUN = "const float *a, const float *b, float *y, int32_t count, const float *limits"
RUNS = f"{RUN}, int32_t runs"
EACH = "const float *x, float *y, const float *numbers, int32_t count, const float *limits"
# The result q0 of q1 and q2, and in C; there is no vector division, and what is NaN stays it.
BINARY = {
    "Add": (("vadd.f32 q0, q1, q2",), "*a + *b"),
    "Sub": (("vsub.f32 q0, q1, q2",), "*a - *b"),
    "Mul": (("vmul.f32 q0, q1, q2",), "*a * *b"),
    "Div": (tuple(f"vdiv.f32 s{lane}, s{4 + lane}, s{8 + lane}" for lane in range(4)), "*a / *b"),
    "PReLU": (("vmov q0, q1", "vpt.f32 lt, q1, zr", "vmult.f32 q0, q1, q2"), "*a < 0.0f ? *a * *b : *a"),
    "Max": (
        ("vmov q0, q1", "vpt.f32 lt, q1, q2", "vmovt q0, q2", "vpt.f32 ne, q2, q2", "vmovt q0, q2"),
        "(*a < *b) || (*b != *b) ? *b : *a",
    ),
    "Min": (
        ("vmov q0, q1", "vpt.f32 gt, q1, q2", "vmovt q0, q2", "vpt.f32 ne, q2, q2", "vmovt q0, q2"),
        "(*a > *b) || (*b != *b) ? *b : *a",
    ),
}
CLAMPED = ("Add", "Sub", "Mul", "Div")
# The result of q0, and in C; q2: 1, q3: 0. What is NaN stays it; for HardSwish it is a factor anyway.
UNARY = {
    "Identity": ((), "*x"),
    "Abs": (("vabs.f32 q0, q0",), "*x < 0.0f ? -*x : *x"),
    "Neg": (("vneg.f32 q0, q0",), "-*x"),
    "LeakyReLU": (("vpt.f32 lt, q0, zr", "vmult.f32 q0, q0, %alpha"), "*x < 0.0f ? *x * numbers[0] : *x"),
    "HardSigmoid": (
        ("vmul.f32 q0, q0, %alpha", "vadd.f32 q0, q0, %beta", "vmax.s32 q0, q0, q3", "vpt.f32 gt, q0, %one", "vdupt.32 q0, %one"),
        "aidge_helium_limited_float32(*x * numbers[0] + numbers[1], unit)",
    ),
    "HardSwish": (
        (
            "vmul.f32 q1, q0, %alpha",
            "vadd.f32 q1, q1, %beta",
            "vmax.s32 q1, q1, q3",
            "vmin.s32 q1, q1, q2",
            "vmul.f32 q0, q0, q1",
        ),
        "*x * aidge_helium_limited_float32(*x * numbers[0] + numbers[1], unit)",
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
        return self._binary() if self.operation in BINARY else self._unary()

    def _binary(self) -> str:
        lines, result = BINARY[self.operation]
        emit, registers = self._begin(), {"a": "q1", "b": "q2"}
        loads = {operand: register for operand, register in registers.items() if operand != self.repeats}
        if self.repeats:
            emit(f"ldr %{self.repeats}, [%{self.repeats}]", f"vdup.32 {registers[self.repeats]}, %{self.repeats}")
        if self.again:
            emit(f"mov %begin, %{self.again}", "ldr %runs, [%argument.5]")
            emit("rsb %lacks, %count, #0", "and %lacks, %lacks, #3", "lsls %lacks, %lacks, #2", why="bytes of the last vector")
            emit.label("run")
        self._values(emit, [f"vldrw.u32 {register}, [%{operand}], #16" for operand, register in loads.items()], lines)
        if self.again:
            other = "b" if self.again == "a" else "a"
            emit(f"mov %{self.again}, %begin", f"sub %{other}, %{other}, %lacks", "sub %y, %y, %lacks")
            emit("subs %runs, %runs, #1", "bne %run")
        emit("%leave")
        moves = "".join(f" {operand}++;" for operand in loads)
        plain = f"for (i = count; i > 0; i--) {{ *y++ = aidge_helium_limited_float32({result}, limits);{moves} }}"
        if self.again:
            plain = f"for (; runs > 0; runs--) {{ {plain} {self.again} -= count; }}"
        parameters = RUNS if self.again else RUN
        return function(self.name, f"{self.operation} of float32.", parameters, emit.lines, f"    int32_t i;\n    {plain}")

    def _unary(self) -> str:
        (lines, result), emit = UNARY[self.operation], self._begin()
        if lines:
            emit("ldrd %alpha, %beta, [%numbers]")
        if self.operation.startswith("Hard"):
            emit("mov %one, #0x3f800000", "vmov.i32 q3, #0", "vdup.32 q2, %one")
        self._values(emit, ["vldrw.u32 q0, [%x], #16"], lines)
        emit("%leave")
        unit = "    static const float unit[2] = {0.0f, 1.0f};\n" * ("unit" in result)
        unused = "    (void)numbers;\n" * ("numbers" not in result)
        plain = f"for (; count > 0; count--) {{ *y++ = aidge_helium_limited_float32({result}, limits); x++; }}"
        purpose = f"{self.operation} of float32, then a clamp."
        return function(self.name, purpose, EACH, emit.lines, f"{unit}{unused}    {plain}")

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
