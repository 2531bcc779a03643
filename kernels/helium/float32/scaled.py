# SPDX-License-Identifier: MIT
"""Batch normalization of float32, four values at a time: of neighbouring channels, or of one channel's plane."""

from __future__ import annotations

from dataclasses import dataclass

from ..assembly import Assembler, function

PARAMETERS = (
    "const float *x, float *y, const float *numbers, const float *limits, int32_t blocks, int32_t channels, int32_t inner"
)
BLOCKS, INNER = 36, 44  # bytes on the stack, behind what is saved


@dataclass(frozen=True)
class Scaled:
    """`last`: channels are neighbours. `limited`: the clamp is neither nothing nor ReLU."""

    last: bool
    clamp: str

    @property
    def name(self) -> str:
        return f"aidge_helium_scaled_{'pixels' if self.last else 'planes'}_float32{f'_{self.clamp}' * (self.clamp != '')}"

    def text(self) -> str:
        """The C text."""
        plain = "    aidge_helium_scaled_float32(x, y, numbers, limits, blocks, channels, inner);"
        return function(self.name, "Batch normalization of float32.", PARAMETERS, self._lines(), plain)

    def _lines(self):
        emit = Assembler()
        emit("push {r4-r11, lr}", f"ldrd r4, r5, [sp, #{BLOCKS}]", why="blocks, channels")
        if self.clamp == "limits":
            emit("ldrd r6, r7, [r3]", why="lowest and highest")
        elif self.clamp:
            emit("vmov.i32 q3, #0", why="ReLU")
        emit("add r8, r2, r5, lsl #2", "add r9, r8, r5, lsl #2", why="factors, biases")
        emit.label(1)
        if self.last:
            emit("mov r10, r2", "mov r11, r8", "mov r12, r9", "wlstp.32 lr, r5, 3f", why="a pixel")
            emit.label(2)
            emit("vldrw.u32 q0, [r0], #16")
            for operation, pointer in (("vsub", "r10"), ("vmul", "r11"), ("vadd", "r12")):
                emit(f"vldrw.u32 q1, [{pointer}], #16", f"{operation}.f32 q0, q0, q1")
            self._store(emit)
            self._back(emit, "r5")
        else:
            emit("mov r3, r5", why="channels that are left")
            emit.label(4)
            emit("ldr r10, [r2], #4", "ldr r11, [r8], #4", "ldr r12, [r9], #4", f"ldr lr, [sp, #{INNER}]", "wlstp.32 lr, lr, 3f")
            emit.label(2)
            emit("vldrw.u32 q0, [r0], #16", "vsub.f32 q0, q0, r10", "vmul.f32 q0, q0, r11", "vadd.f32 q0, q0, r12")
            self._store(emit)
            emit(f"ldr r12, [sp, #{INNER}]")
            self._back(emit, "r12")
            emit("subs r3, #1", "bne 4b", *(f"sub {pointer}, {pointer}, r5, lsl #2" for pointer in ("r2", "r8", "r9")))
        emit("subs r4, #1", "bne 1b", "pop {r4-r11, pc}")
        return emit.lines

    def _store(self, emit: Assembler) -> None:
        if self.clamp == "limits":
            emit("vpt.f32 lt, q0, r6", "vdupt.32 q0, r6", "vpt.f32 gt, q0, r7", "vdupt.32 q0, r7")
        elif self.clamp:
            emit("vmax.s32 q0, q0, q3")
        emit("vstrw.32 q0, [r1], #16", "letp lr, 2b")
        emit.label(3)

    @staticmethod
    def _back(emit: Assembler, count: str) -> None:
        """Behind the values themselves: vectors are whole ones."""
        emit(f"rsb r10, {count}, #0", "and r10, r10, #3", why="values that the last vector lacks")
        emit("sub r0, r0, r10, lsl #2", "sub r1, r1, r10, lsl #2")
