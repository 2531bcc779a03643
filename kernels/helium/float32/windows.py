# SPDX-License-Identifier: MIT
"""Neighbouring pixels of a float32 pool that see their whole window: all taps of four channels at a time, in a straight line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Struct

from ..assembly import WORD_REACH, Assembler, function, pays_for_text

LANES = 4
MOST_TAPS = 16
ROWS = ("r9", "r10", "r11", "r12")  # pointers into the rows that a window sees
PARAMETERS = "const float *x, float *y, int32_t pixels, const aidge_kit_window2d *shape, const float *limits"
SAVED = 36  # bytes of r4 to r11 and lr: limits lie behind them
FIELDS = (
    "batches in_height in_width in_channels out_height out_width out_channels kernel_height kernel_width stride_height "
    "stride_width dilation_height"
).split()


@dataclass(frozen=True)
class Windows:
    """Means or largest values of so many rows and columns, `step` bytes from column to column; of so many channels behind whole
    vectors. `clamp`: "" for none, "relu" or "limits"."""

    is_mean: bool
    rows: int
    columns: int
    step: int
    left: int
    clamp: str

    @classmethod
    def of(cls, is_mean: bool, shape: Struct, clamp: str) -> Windows | None:
        """The text for this shape; None where the window is too large or too few pixels would use it."""
        fields = shape.fields
        rows, columns, channels = (fields[name] for name in ("kernel_height", "kernel_width", "in_channels"))
        step = 4 * channels * fields["dilation_width"]
        if rows > len(ROWS) or rows * columns > MOST_TAPS or (columns - 1) * step - 4 * LANES > WORD_REACH:
            return None
        pixels = fields["batches"] * fields["out_height"] * fields["out_width"]
        pays = pays_for_text(pixels * (30 + -(-channels // LANES) * (rows * columns + 8)), 2 * rows * columns + 30)
        return cls(is_mean, rows, columns, step, channels % LANES, clamp) if pays else None

    @property
    def name(self) -> str:
        """Tells all that the text depends on."""
        apart = f"_{self.step}_apart" * (self.columns > 1)
        more = f"{f'_and_{self.left}' * (self.left > 0)}{f'_{self.clamp}' * (self.clamp != '')}"
        return f"aidge_helium_{'means' if self.is_mean else 'maxima'}_of_{self.rows}x{self.columns}{apart}_float32{more}"

    def text(self) -> str:
        """The C text."""
        plain = f"    aidge_helium_windows_plain_float32({int(self.is_mean)}, x, y, pixels, shape, limits);"
        return function(self.name, "Pixels of a float32 pool that see whole windows.", PARAMETERS, self._lines(), plain)

    def _lines(self):
        """r0: the window, r1: output, r2: pixels, r4: from row to row, r5: channels, r6: from pixel to pixel, r7: factor."""
        emit, rows = Assembler(), ROWS[: self.rows]
        emit("push {r4-r11, lr}")
        for register, name in (("r4", "in_width"), ("r5", "in_channels"), ("r6", "stride_width"), ("r7", "dilation_height")):
            emit(f"ldr {register}, [r3, #{4 * FIELDS.index(name)}]", why=name)
        emit("mul r4, r4, r5", "mul r6, r6, r5", "mul r4, r4, r7", "lsls r6, r6, #2", "lsls r4, r4, #2")
        if self.is_mean:
            bits = int((numpy.float32(1) / numpy.float32(self.rows * self.columns)).view(numpy.uint32))
            emit(f"movw r7, #{bits & 0xFFFF}", f"movt r7, #{bits >> 16}", why=f"1/{self.rows * self.columns}")
        if self.clamp == "limits":
            emit(f"ldr r8, [sp, #{SAVED}]", "ldrd r3, r8, [r8]", why="limits")
        elif self.clamp:
            emit("vmov.i32 q3, #0")
        emit.label(1)
        emit(f"mov {rows[0]}, r0", why="a pixel")
        emit(*(f"add {row}, {before}, r4" for before, row in zip(rows, rows[1:])))
        emit("wlstp.32 lr, r5, 3f")
        emit.label(2)
        for row in rows:
            for column in range(self.columns):
                register = "q0" if (row, column) == (rows[0], 0) else "q1"
                emit(f"vldrw.u32 {register}, [{row}{f', #{column * self.step - 4 * LANES}]' if column else '], #16'}")
                if register == "q1":
                    emit(f"{'vadd' if self.is_mean else 'vmaxnm'}.f32 q0, q0, q1")
        emit(*["vmul.f32 q0, q0, r7"] * self.is_mean)
        if self.clamp == "limits":
            emit("vpt.f32 lt, q0, r3", "vdupt.32 q0, r3", "vpt.f32 gt, q0, r8", "vdupt.32 q0, r8")
        elif self.clamp:
            emit("vmax.s32 q0, q0, q3")
        emit("vstrw.32 q0, [r1], #16", "letp lr, 2b")
        emit.label(3)
        emit(*[f"subs r1, #{4 * (LANES - self.left)}"] * (self.left > 0))
        emit("add r0, r6", "subs r2, #1", "bne 1b", "pop {r4-r11, pc}")
        return emit.lines
