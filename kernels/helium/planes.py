# SPDX-License-Identifier: MIT
"""Depthwise convolution of small windows, one channel at a time: its plane is copied together with its pads, and a patch of
4 x 4 bytes gives 2 x 2 outputs by four VMLADAV with the window at its four places in the patch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.kernel_kit.linear import LinearConstants

from .assembly import Assembler, function
from .geometry import Geometry
from .rounding import zero_point_word

GRID = 4  # side of a patch
HEAD_BYTES = 64  # of a stream: zero points, lowest, highest; offsets in patches, of stores, of the pixels of a row
MOST_COPIED = 15  # vectors of eight pixels in a row: their places are immediate offsets
LARGEST_OFFSET = 65_535
LARGEST_PLANE = 4096
PLACES = ((0, 0), (1, 0), (0, 1), (1, 1))  # row and column of the output that each lane of a vector of sums holds
PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *stream, int8_t *plane"


@dataclass(frozen=True)
class Planes:
    """All channels of one image; `adds`: levels are rounded as in rounding.py."""

    shape: Geometry
    clamps: bool = False
    adds: bool = False

    @classmethod
    def fits(cls, shape: Geometry) -> bool:
        """Whether the window is small and moves by single steps, and all offsets and copies are within limits."""
        numbers = {shape.stride_height, shape.stride_width, shape.dilation_height, shape.dilation_width}
        form = cls(shape)
        return (
            numbers == {1}
            and max(shape.kernel_height, shape.kernel_width) < GRID
            and form.plane_bytes <= LARGEST_PLANE
            and max((shape.out_width + 3) * shape.channels, 7 * shape.channels) <= LARGEST_OFFSET
            and -(-shape.in_width // 8) <= MOST_COPIED
            and shape.top + shape.in_height <= form.height
            and shape.left + shape.in_width <= form.width
        )

    @property
    def width(self) -> int:
        """Of a plane: four outputs at a time, and two columns more."""
        return -(-self.shape.out_width // 4) * 4 + 2

    @property
    def height(self) -> int:
        return -(-self.shape.out_height // 2) * 2 + 2

    @property
    def plane_bytes(self) -> int:
        return self.width * self.height

    @property
    def works_in_place(self) -> bool:
        """Whether the output may lie where the input is: a channel reads and writes no other's bytes, and is copied as a whole
        before it is written; no image may reach into the next one."""
        shape = self.shape
        return shape.batches == 1 or shape.out_height * shape.out_width <= shape.in_height * shape.in_width

    @property
    def name(self) -> str:
        return f"aidge_helium_planes_{self.shape.name}{'_clamped' if self.clamps else ''}{'_adding' if self.adds else ''}"

    @property
    def instructions(self) -> int:
        """Of one image, nearly."""
        tiles = (self.width // 4 * 33 + 5) * (self.height // 2 - 1)
        return self.shape.channels * (tiles + self.shape.in_height * (3 * -(-self.shape.in_width // 8) + 4) + 40)

    def stream(self, taps: numpy.ndarray, numbers: LinearConstants) -> numpy.ndarray:
        """`taps` [channels, rows, columns] in grids of 4 x 4, each followed by bias and multiplier."""
        shape = self.shape
        grids = numpy.zeros((shape.channels, GRID, GRID), numpy.int8)
        grids[:, : shape.kernel_height, : shape.kernel_width] = taps
        patch = [row * self.width + 2 * half for row in range(GRID) for half in (0, 1)]
        stores = [(row * shape.out_width + column + 2 * second) * shape.channels for row, column in PLACES for second in (0, 1)]
        pixels = [pixel * shape.channels for pixel in range(8)]
        parts = [
            numpy.array([numbers.input_zero_point, zero_point_word(numbers), numbers.low, numbers.high], "<i4").tobytes(),
            *(numpy.array(offsets, "<u2").tobytes() for offsets in (patch, stores, pixels)),
        ]
        for grid, bias, multiplier in zip(grids, numbers.bias, numbers.multipliers):
            parts += [grid.tobytes(), numpy.array([bias], "<i4").tobytes(), numpy.array([multiplier], "<f4").tobytes()]
        return numpy.frombuffer(b"".join(parts), numpy.int8)

    def text(self) -> str:
        """The C text."""
        shape = self.shape
        fields = (
            shape.channels,
            shape.in_height,
            shape.in_width,
            shape.out_height,
            shape.out_width,
            shape.top,
            shape.left,
            self.width,
        )
        plain = (
            f"    static const aidge_helium_planes_shape shape = {{{', '.join(map(str, fields))}}};\n"
            "    aidge_helium_planes(x, y, stream, plane, &shape);"
        )
        purpose = f"{shape.channels} channels of {shape.out_height} x {shape.out_width} outputs, one after the other."
        return function(self.name, purpose, PARAMETERS, _Printer(self).lines(), plain)


class _Printer:
    """r1: plane, r5: outputs of a tile, r7, r8, r9: bias, multiplier, zero point, r10: outputs, r11: input, r12: stream;
    q0 to q3: the window at its four places, q4 and q6: offsets in patches and of stores."""

    def __init__(self, form: Planes):
        self.form, self.shape, self.emit = form, form.shape, Assembler()

    def lines(self):
        emit, shape = self.emit, self.shape
        emit.enter(24)
        emit("str r3, [sp]", f"movw r4, #{shape.channels}", "str r4, [sp, #4]", why="plane; channels that are left")
        emit("vldrh.u16 q4, [r2, #16]", "vldrh.u16 q6, [r2, #32]", "str r2, [sp, #8]", why="offsets")
        emit("ldr r9, [r2, #4]", why="zero point")
        if self.form.clamps:
            emit("ldrd r4, r5, [r2, #8]", "strd r4, r5, [sp, #16]", why="lowest and highest")
        emit("mov r10, r1", "mov r11, r0")
        emit.add("r12", "r2", HEAD_BYTES)
        emit.label(1)
        self._copy()
        self._window()
        self._tiles()
        emit("add r11, r11, #1", "add r10, r10, #1", why="the next channel")
        emit("ldr r0, [sp, #4]", "subs r0, #1", "str r0, [sp, #4]", "bne 1b")
        emit.leave(24)
        return emit.lines

    def _copy(self) -> None:
        """The channel's bytes into the middle of the plane, eight pixels at a time."""
        emit, shape = self.emit, self.shape
        whole, left = divmod(shape.in_width, 8)
        emit("ldr r1, [sp]", "ldr r2, [sp, #8]", "vldrh.u16 q5, [r2, #48]", "mov r0, r11", why="the channel's plane")
        emit.add("r1", "r1", shape.top * self.form.width + shape.left)
        if left:
            emit(f"movs r2, #{left}", "vctp.16 r2")
        emit(f"movw r2, #{shape.in_height}", "dls lr, r2")
        emit.label(2)
        for index in range(whole):
            emit("vldrb.u16 q7, [r0, q5]", f"vstrb.16 q7, [r1, #{8 * index}]")
            emit.add("r0", "r0", (8 if index + 1 < whole or left else shape.in_width - 8 * index) * shape.channels)
        if left:
            emit("vpstt", "vldrbt.u16 q7, [r0, q5]", f"vstrbt.16 q7, [r1, #{8 * whole}]")
            emit.add("r0", "r0", left * shape.channels)
        emit.add("r1", "r1", self.form.width)
        emit("le lr, 2b")

    def _window(self) -> None:
        emit = self.emit
        emit("vldrw.u32 q0, [r12], #16", "movs r0, #0", "vmov q1, q0", "vshlc q1, r0, #8", why="the window at its four places")
        emit("movs r0, #0", "vmov q2, q0", "vshlc q2, r0, #32", "movs r0, #0", "vmov q3, q1", "vshlc q3, r0, #32")
        emit("ldrd r7, r8, [r12], #8", why="bias, multiplier")

    def _tiles(self) -> None:
        emit, shape = self.emit, self.shape
        emit("ldr r1, [sp]", "mov r5, r10")
        rows = shape.out_height // 2
        if rows:
            emit(f"movw r3, #{rows}")
            emit.label(3)
            self._row(2)
            emit.add("r1", "r1", 2 * self.form.width - 4 * -(-shape.out_width // 4))
            emit.add("r5", "r5", (2 * shape.out_width - 4 * -(-shape.out_width // 4)) * shape.channels)
            emit("subs r3, #1", "bne 3b")
        if shape.out_height % 2:
            self._row(1)

    def _row(self, rows: int) -> None:
        """Tiles side by side; `rows` of their two are stored."""
        emit = self.emit
        whole, left = divmod(self.shape.out_width, 4)
        if whole:
            if rows == 1:
                self._mask(rows, 4)
            emit(f"movw r0, #{whole}", "dls lr, r0")
            emit.label(4)
            self._tile(rows == 1)
            emit("le lr, 4b")
        if left:
            self._mask(rows, left)
            self._tile(True)

    def _mask(self, rows: int, columns: int) -> None:
        lanes = [row < rows and column + 2 * second < columns for row, column in PLACES for second in (0, 1)]
        self.emit(f"movw r0, #{sum(3 << 2 * lane for lane, stored in enumerate(lanes) if stored)}", "vmsr p0, r0")

    def _tile(self, masked: bool) -> None:
        emit = self.emit
        for register in ("q5", "q7"):
            emit(f"vldrh.u16 {register}, [r1, q4]")
            emit(*(f"vmladav.s8 {total}, q{place}, {register}" for place, total in enumerate(("r0", "r2", "r4", "r6"))))
            emit("adds r1, #2", f"vmov {register}[2], {register}[0], r0, r2", f"vmov {register}[3], {register}[1], r4, r6")
        rounding = "vadd.f32 {0}, {0}, r9" if self.form.adds else "vcvtn.s32.f32 {0}, {0}"
        for texts in ("vadd.i32 {0}, {0}, r7", "vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, r8", rounding):
            emit(texts.format("q5"), texts.format("q7"))
        if self.form.adds:
            emit("vmovnt.i32 q5, q7")
        else:
            emit("vqmovnb.s32 q5, q5", "vqmovnt.s32 q5, q7", "vqadd.s16 q5, q5, r9")
        if self.form.clamps:
            emit("ldrd r0, r2, [sp, #16]", "vdup.16 q7, r0", "vmax.s16 q5, q5, q7", "vdup.16 q7, r2", "vmin.s16 q5, q5, q7")
        emit("vqmovnb.s16 q5, q5")
        emit(*(("vpst", "vstrbt.16 q5, [r5, q6]") if masked else ("vstrb.16 q5, [r5, q6]",)))
        emit.add("r5", "r5", 4 * self.shape.channels)
