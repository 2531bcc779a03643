# SPDX-License-Identifier: MIT
"""The rows that a row of the output sees, column by column in scratch: for layers with few input channels.

A column holds its bytes of all rows of the window side by side, so that a window is one run of bytes, and neighbouring windows
share their columns: each byte is stored once for a row of the window, whatever the window's width.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.assembly import Assembler, function
from ..core.geometry import Geometry
from .product import LANES

LARGEST_OFFSET = 255
MOST_VECTORS = 3  # of a turn: q1 to q3 hold their offsets, which a function may change


@dataclass(frozen=True)
class Columns:
    """The columns of a layer without dilation along its rows."""

    geometry: Geometry

    @property
    def fits(self) -> bool:
        """Whether a vector has whole columns, and its places are in reach of byte offsets."""
        shape = self.geometry
        return (
            shape.dilation_width == 1 and shape.channels <= LANES and self._place(LANES - 1) <= LARGEST_OFFSET and self.copied > 0
        )

    @property
    def column_bytes(self) -> int:
        return self.geometry.kernel_height * self.geometry.channels

    @property
    def pixel_step(self) -> int:
        """From a window to the next one."""
        return self.geometry.stride_width * self.column_bytes

    @property
    def vectors(self) -> int:
        """The vectors of a window."""
        return -(-self.geometry.kernel_width * self.column_bytes // LANES)

    @property
    def first(self) -> int:
        """The first of the columns that are no pads."""
        return min(self.geometry.left, self.geometry.reached_width)

    @property
    def copied(self) -> int:
        """Columns of the input that are seen."""
        return min(self.geometry.in_width, self.geometry.reached_width - self.first)

    @property
    def row_bytes(self) -> int:
        """Bytes of the columns of a row of the output, and of what windows read too much."""
        return -(-(self.geometry.reached_width * self.column_bytes + LANES) // 4) * 4

    @property
    def bytes(self) -> int:
        """The bytes of scratch: a row of pads, as long as the copied columns, follows the columns."""
        return self.row_bytes + self.copied * self.geometry.channels

    @property
    def whole(self) -> int:
        """Columns of a vector."""
        return LANES // self.geometry.channels

    @property
    def together(self) -> int:
        """Vectors of a turn."""
        most = (LARGEST_OFFSET - self._place(LANES - 1)) // (self.whole * self.column_bytes) + 1
        return max(1, min(MOST_VECTORS, most, self._before_last))

    @property
    def _before_last(self) -> int:
        return -(-self.copied // self.whole) - 1

    def _place(self, lane: int) -> int:
        column, channel = divmod(lane, self.geometry.channels)
        return column * self.column_bytes + channel

    @property
    def places(self) -> list[int]:
        """Offsets of the bytes of a vector."""
        return [self._place(lane) for lane in range(LANES)]

    @property
    def name(self) -> str:
        shape = self.geometry
        return f"aidge_helium_columns_{self.copied}x{shape.channels}_of_{self.column_bytes}"

    @property
    def instructions(self) -> int:
        """The instructions of the columns of one row of the output, nearly."""
        turns, rest = divmod(self._before_last, self.together)
        return self.geometry.kernel_height * (turns * (2 * self.together + 2) + 2 * rest + 24)

    def text(self) -> str:
        """The C text: `x` are the rows of the input that a row of the output sees, `y` where the first byte goes, `places` are
        those of a vector."""
        shape = self.geometry
        purpose = f"{shape.kernel_height} rows of {self.copied} x {shape.channels} bytes to columns of {self.column_bytes}."
        parameters = "const int8_t *const *x, int8_t *y, const uint8_t *places"
        return function(self.name, purpose, parameters, self._lines())

    def _lines(self):
        emit, shape = Assembler(), self.geometry
        read, step = self.whole * shape.channels, self.whole * self.column_bytes
        turns, rest = divmod(self._before_last, self.together)
        emit("push {r4-r6, lr}")
        emit("vldrb.u8 q1, [r2]", *([f"movs r2, #{step}"] if self.together > 1 else []))
        emit(*(f"vadd.i8 q{2 + vector}, q{1 + vector}, r2" for vector in range(self.together - 1)))
        left = (self.copied - self._before_last * self.whole) * shape.channels
        emit(f"movs r3, #{left}", "vctp.8 r3", why="the bytes after the input must not be read")
        emit(f"movs r4, #{shape.kernel_height}")
        emit.label(1)
        emit("ldr r3, [r0], #4", why="a row")
        if turns > 1:
            emit(f"movw r5, #{turns}", "dls lr, r5")
            emit.label(2)
        for vector in range(self.together if turns else 0):
            emit(f"vldrb.u8 q0, [r3], #{read}", f"vstrb.8 q0, [r1, q{1 + vector}]")
        if turns:
            emit.move("r1", self.together * step)
        if turns > 1:
            emit("le lr, 2b")
        for vector in range(rest):
            emit(f"vldrb.u8 q0, [r3], #{read}", f"vstrb.8 q0, [r1, q{1 + vector}]")
        emit("vpstt", "vldrbt.u8 q0, [r3]", f"vstrbt.8 q0, [r1, q{1 + rest}]")
        emit.move("r1", shape.channels - turns * self.together * step)
        emit("subs r4, #1", "bne 1b", "pop {r4-r6, pc}")
        return emit.lines
