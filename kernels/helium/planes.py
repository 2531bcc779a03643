# SPDX-License-Identifier: MIT
"""Depthwise convolution of small windows, one channel at a time: its plane is copied together with its pads.

With stride 1 a patch of 4 x 4 bytes gives 2 x 2 outputs by four VMLADAV with the window at its four places in the patch, with
stride 2 a patch of 3 x 5 bytes two neighbours by two. Eight outputs are a tile: 2 x 4 or, where that needs fewer, 4 x 2.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy

from aidge_build.kernel_kit.linear import LinearConstants

from .assembly import SAVED_BYTES, Assembler, function
from .geometry import Geometry
from .rounding import zero_point_word

LARGEST_WINDOW = 3  # rows, and columns
HEAD_BYTES = 16  # of a stream: zero points, lowest, highest
STORES, PIXELS, TAPS, COPIES = 16, 32, 48, 64  # bytes of the places behind those in a patch
FRAME_BYTES = 24
MOST_PERIODS = 16  # vectors after which the places of copied pixels repeat
LARGEST_IMMEDIATE = 127  # of the places in a row to which pixels are copied
LARGEST_OFFSET, LARGEST_NARROW_OFFSET = 65_535, 255
LARGEST_PLANE = 4096
PLACES = ((0, 0), (1, 0), (0, 1), (1, 1))  # row and column of the output that each lane of a vector of sums holds
PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *stream, int8_t *plane, const uint16_t *places"


@dataclass(frozen=True)
class Planes:
    """All channels of one image. `tall`: tiles of 4 x 2 outputs; `down`: one tile below the other, then those to the right;
    `adds`: levels are rounded as in rounding.py."""

    shape: Geometry
    clamps: bool = False
    tall: bool = False
    down: bool = False
    adds: bool = False
    bits: int = 0  # by which sums are shifted before the bias is added: finer.py

    @classmethod
    def best(cls, shape: Geometry, clamps: bool) -> Planes | None:
        """The form with the fewest instructions that fits; None where none does."""
        ways = itertools.product((False, True), repeat=2)
        forms = [form for form in (cls(shape, clamps, *way) for way in ways) if form.fits]
        return min(forms, key=lambda form: form.instructions, default=None)

    @property
    def fits(self) -> bool:
        """Whether the window is small and moves by one or two, and all offsets and copies are within limits."""
        shape = self.shape
        rows, columns = self.tile
        farthest = (rows - 1) * shape.out_width + columns - 1
        return (
            shape.stride_height == shape.stride_width <= 2
            and shape.dilation_height == shape.dilation_width == 1
            and max(shape.kernel_height, shape.kernel_width) <= LARGEST_WINDOW
            and self.plane_bytes <= LARGEST_PLANE
            and max(farthest * shape.channels, 7 * shape.channels) <= LARGEST_OFFSET
            and (self.stride == 1 or max(self.patch) <= LARGEST_NARROW_OFFSET)
            and self.copied[1] <= LARGEST_IMMEDIATE
            and min(self.copied) > 0
        )

    @property
    def stride(self) -> int:
        return self.shape.stride_height

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of outputs."""
        return (4, 2) if self.tall else (2, 4)

    @property
    def tiles(self) -> tuple[int, int]:
        """From top to bottom and from left to right."""
        return -(-self.shape.out_height // self.tile[0]), -(-self.shape.out_width // self.tile[1])

    @property
    def width(self) -> int:
        """Of a plane: what whole tiles read."""
        return self._reached(self.tiles[1] * self.tile[1])

    @property
    def height(self) -> int:
        return self._reached(self.tiles[0] * self.tile[0])

    def _reached(self, outputs: int) -> int:
        return self.stride * (outputs - 1) + LARGEST_WINDOW

    @property
    def plane_bytes(self) -> int:
        return self.width * self.height

    @property
    def copied(self) -> tuple[int, int]:
        """Rows and columns of the input that tiles read."""
        shape = self.shape
        return min(shape.in_height, self.height - shape.top), min(shape.in_width, self.width - shape.left)

    @property
    def together(self) -> int:
        """Pixels that one gather copies."""
        return 16 if 15 * self.shape.channels <= LARGEST_NARROW_OFFSET else 8

    @property
    def patch(self) -> list[int]:
        """Offsets of the lanes of a patch: of halfwords with stride 1, else of bytes, the last of which is not used."""
        if self.stride == 1:
            return [row * self.width + 2 * half for row in range(4) for half in (0, 1)]
        return [*(row * self.width + column for row in range(3) for column in range(5)), 0]

    @property
    def works_in_place(self) -> bool:
        """Whether the output may lie where the input is: a channel reads and writes no other's bytes, and is copied as a whole
        before it is written; no image may reach into the next one."""
        shape = self.shape
        return shape.batches == 1 or shape.out_height * shape.out_width <= shape.in_height * shape.in_width

    @property
    def name(self) -> str:
        ways = f"{'_tall' * self.tall}{'_down' * self.down}{'_clamped' * self.clamps}{'_adding' * self.adds}"
        ways += f"_finer_{self.bits}" if self.bits else ""
        return f"aidge_helium_planes_{self.shape.name}{ways}"

    @property
    def axes(self) -> tuple[int, int]:
        """Along which one tile follows the other, 0 down and 1 across, and the other one."""
        return (0, 1) if self.down else (1, 0)

    def steps(self, axis: int) -> tuple[int, int]:
        """To the next tile along an axis, in the plane and in the output."""
        count = self.tile[axis]
        if axis == 0:
            return count * self.stride * self.width, count * self.shape.out_width * self.shape.channels
        return count * self.stride, count * self.shape.channels

    @property
    def periods(self) -> int:
        """Vectors of pixels of the image as one row after which their places in a plane repeat; 0 where rows are copied."""
        shape, (rows, columns) = self.shape, self.copied
        count = columns // math.gcd(columns, self.together)
        by_rows = rows * (3 * -(-columns // 8) + 3)
        linear = 4 * -(-rows * columns // 8) + 6
        fits = self.together == 8 and columns == shape.in_width and count <= MOST_PERIODS and self.plane_bytes <= LARGEST_OFFSET
        return count if fits and linear < by_rows else 0

    @property
    def instructions(self) -> int:
        """Of one image, nearly."""
        inner, outer = self.axes
        masked = sum(self.shape.out_width % self.tile[axis] > 0 for axis in (0, 1))
        steps = sum(step >= 4096 for axis in (inner, outer) for step in self.steps(axis))
        tiles = self.tiles[outer] * (self.tiles[inner] * (30 + 4 * (self.stride == 2) + steps) + 6 + 2 * masked)
        rows, columns = self.copied
        copied = 4 * -(-rows * columns // 8) + 6 if self.periods else rows * (3 * -(-columns // self.together) + 4)
        return self.shape.channels * (tiles + copied + 45)

    def stream(self, taps: numpy.ndarray, numbers: LinearConstants) -> numpy.ndarray:
        """`taps` [channels, rows, columns]: the head, bias and multiplier of each channel, all taps."""
        parts = [
            numpy.array(
                [numbers.input_zero_point, zero_point_word(numbers, self.bits), numbers.low, numbers.high], "<i4"
            ).tobytes()
        ]
        for bias, multiplier in zip(numbers.bias, numbers.multipliers):
            parts += [numpy.array([bias], "<i4").tobytes(), numpy.array([multiplier], "<f4").tobytes()]
        return numpy.frombuffer(b"".join([*parts, numpy.ascontiguousarray(taps).tobytes()]), numpy.int8)

    @property
    def places(self) -> list[int]:
        """Offsets, as halfwords: of the lanes of a patch, of stores, of pixels, of the taps of a patch, of copied pixels."""
        shape = self.shape
        stores = [(row * shape.out_width + column) * shape.channels for row, column, _ in self.lanes]
        pixels = [pixel * shape.channels for pixel in range(self.together)]
        copies = [divmod(position, shape.in_width) for position in range(8 * self.periods)]
        parts = [
            numpy.array(self.patch, "<u2" if self.stride == 1 else "<u1").tobytes(),
            numpy.array(stores, "<u2").tobytes(),
            numpy.array(pixels, "<u2" if self.together == 8 else "<u1").tobytes(),
            numpy.array([max(tap, 0) for tap in self.taps_of_patch], "<u1").tobytes(),
            numpy.array([row * self.width + column for row, column in copies], "<u2").tobytes(),
        ]
        return numpy.frombuffer(b"".join(parts), "<u2").tolist()

    @property
    def taps_of_patch(self) -> list[int]:
        """For each byte of a patch the tap that meets it; -1: none."""
        shape, row_bytes = self.shape, 4 if self.stride == 1 else 5
        places = [divmod(lane, row_bytes) for lane in range(16)]
        return [
            row * shape.kernel_width + column if row < shape.kernel_height and column < shape.kernel_width else -1
            for row, column in places
        ]

    @property
    def lanes(self) -> list[tuple[int, int, int]]:
        """Row and column in a tile of the outputs of a vector of eight, and of which of the two vectors of sums they are."""
        return [
            (row + 2 * second * self.tall, column + 2 * second * (not self.tall), second)
            for row, column in PLACES
            for second in (0, 1)
        ]

    def text(self) -> str:
        """The C text."""
        shape = self.shape
        fields = (
            shape.channels,
            shape.in_width,
            *self.copied,
            shape.out_height,
            shape.out_width,
            shape.top,
            shape.left,
            self.width,
            self.stride,
            shape.kernel_height,
            shape.kernel_width,
            self.bits,
        )
        plain = (
            f"    static const aidge_helium_planes_shape shape = {{{', '.join(map(str, fields))}}};\n"
            "    (void)places;\n"
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
        emit.enter(FRAME_BYTES)
        emit("str r3, [sp]", f"movw r4, #{shape.channels}", "str r4, [sp, #4]", why="plane; channels that are left")
        emit(f"ldr r4, [sp, #{SAVED_BYTES + FRAME_BYTES}]", "str r4, [sp, #8]", why="places")
        emit(f"vldr{'h.u16' if self.form.stride == 1 else 'b.u8'} q4, [r4]", f"vldrh.u16 q6, [r4, #{STORES}]")
        emit("ldr r9, [r2, #4]", why="zero point")
        if self.form.clamps:
            emit("ldrd r4, r5, [r2, #8]", "strd r4, r5, [sp, #16]", why="lowest and highest")
        emit("mov r10, r1", "mov r11, r0")
        emit.add("r12", "r2", HEAD_BYTES)
        emit.add("r4", "r12", 8 * shape.channels)
        emit("str r4, [sp, #12]", why="taps")
        emit.label(1)
        self._copy()
        self._window()
        self._tiles()
        emit("add r11, r11, #1", "add r10, r10, #1", why="the next channel")
        emit("ldr r0, [sp, #4]", "subs r0, #1", "str r0, [sp, #4]", "bne 1b")
        emit.leave(FRAME_BYTES)
        return emit.lines

    def _copy(self) -> None:
        """The channel's bytes into the middle of the plane, 8 or 16 pixels at a time."""
        emit, shape, form = self.emit, self.shape, self.form
        together = form.together
        emit("ldr r1, [sp]", "ldr r2, [sp, #8]", f"vldr{'h.u16' if together == 8 else 'b.u8'} q5, [r2, #{PIXELS}]", "mov r0, r11")
        emit.add("r1", "r1", shape.top * form.width + shape.left)
        if form.periods:
            self._copy_image()
            return
        rows, columns = form.copied
        lanes = "16" if together == 8 else "8"
        whole, left = divmod(columns, together)
        if left:
            emit(f"movs r2, #{left}", f"vctp.{lanes} r2")
        emit(f"movw r2, #{rows}", "dls lr, r2")
        emit.label(2)
        for index in range(whole):
            emit(f"vldrb.u{lanes} q7, [r0, q5]", f"vstrb.{lanes} q7, [r1, #{together * index}]")
            last = index + 1 == whole and not left
            emit.add("r0", "r0", (shape.in_width - together * index if last else together) * shape.channels)
        if left:
            emit("vpstt", f"vldrbt.u{lanes} q7, [r0, q5]", f"vstrbt.{lanes} q7, [r1, #{together * whole}]")
            emit.add("r0", "r0", (shape.in_width - together * whole) * shape.channels)
        emit.add("r1", "r1", form.width)
        emit("le lr, 2b")

    def _copy_image(self) -> None:
        """All pixels one after the other; where eight of them go repeats after some vectors, which are whole rows."""
        emit, form, periods = self.emit, self.form, self.form.periods
        rows, columns = form.copied
        whole, left = divmod(rows * columns, 8)
        turns = whole // periods
        emit.add("r2", "r2", COPIES)
        if turns > 1:
            emit(f"movs r3, #{turns}", "dls lr, r3")
            emit.label(2)
        for _ in range(periods if turns else 0):
            self._copy_eight("")
        if turns:
            emit.add("r1", "r1", 8 * periods // columns * form.width)
            emit.add("r2", "r2", -16 * periods)
        if turns > 1:
            emit("le lr, 2b")
        for _ in range(whole - turns * periods):
            self._copy_eight("")
        if left:
            emit(f"movs r3, #{left}", "vctp.16 r3")
            self._copy_eight("t")

    def _copy_eight(self, then: str) -> None:
        emit = self.emit
        emit("vldrh.u16 q6, [r2], #16", *(["vpstt"] if then else []))
        emit(f"vldrb{then}.u16 q7, [r0, q5]", f"vstrb{then}.16 q7, [r1, q6]")
        emit.add("r0", "r0", 8 * self.shape.channels)

    def _window(self) -> None:
        """The window at its places in a patch."""
        emit, shape = self.emit, self.shape
        mask = sum(1 << lane for lane, tap in enumerate(self.form.taps_of_patch) if tap >= 0)
        emit(
            "ldrd r2, r0, [sp, #8]",
            f"movw r1, #{mask}",
            "vmsr p0, r1",
            f"vldrb.u8 q5, [r2, #{TAPS}]",
            "vpst",
            "vldrbt.u8 q0, [r0, q5]",
        )
        emit.add("r0", "r0", shape.kernel_height * shape.kernel_width)
        emit("str r0, [sp, #12]", *([f"vldrh.u16 q6, [r2, #{STORES}]"] if self.form.periods else []))
        emit("movs r0, #0", "vmov q1, q0", f"vshlc q1, r0, #{8 if self.form.stride == 1 else 16}")
        if self.form.stride == 1:
            emit("vmov q2, q0", "vshlc q2, r0, #32", "vmov q3, q1", "vshlc q3, r0, #32", why="what is shifted out is 0")
        emit("ldrd r7, r8, [r12], #8", why="bias, multiplier")

    def _tiles(self) -> None:
        emit, shape, form = self.emit, self.shape, self.form
        emit("ldr r1, [sp]", "mov r5, r10")
        inner, outer = form.axes
        outputs = (shape.out_height, shape.out_width)
        whole, left = divmod(outputs[outer], form.tile[outer])
        if whole:
            emit(f"movw r3, #{whole}")
            emit.label(3)
            self._line(form.tile[outer])
            for register, along, after in zip(("r1", "r5"), form.steps(inner), form.steps(outer)):
                emit.add(register, register, after - form.tiles[inner] * along)
            emit("subs r3, #1", "bne 3b")
        if left:
            self._line(left)

    def _line(self, stored: int) -> None:
        """Tiles one after the other, of which so many rows or columns are stored."""
        emit, (inner, outer) = self.emit, self.form.axes
        length, size = (self.shape.out_height, self.shape.out_width)[inner], self.form.tile
        whole, left = divmod(length, size[inner])
        if whole:
            if stored < size[outer]:
                self._mask(size[inner], stored)
            if whole > 1:
                emit(f"movw r0, #{whole}", "dls lr, r0")
                emit.label(4)
            self._tile(stored < size[outer])
            if whole > 1:
                emit("le lr, 4b")
        if left:
            self._mask(left, stored)
            self._tile(True)

    def _mask(self, along: int, beside: int) -> None:
        rows, columns = (along, beside) if self.form.down else (beside, along)
        stored = [row < rows and column < columns for row, column, _ in self.form.lanes]
        self.emit(f"movw r0, #{sum(3 << 2 * lane for lane, is_stored in enumerate(stored) if is_stored)}", "vmsr p0, r0")

    def _sums(self) -> None:
        """Eight sums in q5 and q7; r1 moves on to the next tile."""
        emit, form = self.emit, self.form
        totals = ("r0", "r2", "r4", "r6")
        if form.stride == 1:
            patches = [(0, totals, range(4))]
        else:
            patches = [(0, totals[:2], range(2)), (2 * form.width, totals[2:], range(2))]
        second = 2 * form.stride * (form.width if form.tall else 1)
        starts = [half * second + start for half in (0, 1) for start, _, _ in patches]
        steps = [after - before for before, after in zip(starts, [*starts[1:], form.steps(form.axes[0])[0]])]
        for half, register in enumerate(("q5", "q7")):
            for number, (_, sums, places) in enumerate(patches):
                emit(f"vldr{'h.u16' if form.stride == 1 else 'b.u8'} {register}, [r1, q4]")
                emit(*(f"vmladav.s8 {total}, q{place}, {register}" for total, place in zip(sums, places)))
                emit.add("r1", "r1", steps[half * len(patches) + number])
            emit(f"vmov {register}[2], {register}[0], r0, r2", f"vmov {register}[3], {register}[1], r4, r6")

    def _tile(self, masked: bool) -> None:
        emit = self.emit
        self._sums()
        rounding = "vadd.f32 {0}, {0}, r9" if self.form.adds else "vcvtn.s32.f32 {0}, {0}"
        emit(*(f"vshl.i32 {register}, {register}, #{self.form.bits}" for register in ("q5", "q7") if self.form.bits))
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
        emit.add("r5", "r5", self.form.steps(self.form.axes[0])[1])
