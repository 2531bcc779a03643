# SPDX-License-Identifier: MIT
"""The assembly of planes.py: a channel is copied into its plane, its window laid out, and tile after tile computed."""

from __future__ import annotations

from functools import partial

from .assembly import SAVED_BYTES, function
from .levels_text import HEAD_BYTES, TOTALS, ChannelPrinter, plane_text
from .planes import Planes

STORES, PIXELS, TAPS, COPIES = 16, 32, 48, 64  # bytes of the places behind those in a patch
FRAME_BYTES = 24  # the place that is copied to, the places, the end of the numbers; lowest and highest
PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *stream, int8_t *plane, const uint16_t *places"


class PlanesPrinter(ChannelPrinter):
    """r1: plane, r5: outputs, r7, r8, r9: bias, multiplier, zero point, r10: taps, r11: input, r12: numbers, r2: places, but not
    while tiles are computed;
    q0 to q3: the window at its four places, q4 and q6: offsets in patches and of stores."""

    stores, pixels, taps, copies = STORES, PIXELS, TAPS, COPIES
    targets, counter = ("r1",), "r3"  # where pixels are copied to
    output_bytes = 1
    frame_bytes = FRAME_BYTES
    flips = False  # whether 128 in r8 makes signed bytes of those that are copied

    @property
    def shifts(self) -> tuple[tuple[int, ...], int]:
        """Bits by which the window is shifted for the output beside, in so many shifts, and for the one below."""
        return ((8,), 32) if self.form.stride == 1 else ((16,), 0)

    def lines(self):
        emit, shape, form = self.emit, self.shape, self.form
        emit.enter(self.frame_bytes)
        emit.add("r3", "r3", form.first_place)
        emit(f"ldr r4, [sp, #{SAVED_BYTES + self.frame_bytes}]", "strd r3, r4, [sp]", why="where a channel is copied to, places")
        self._offsets()
        self._begin_layer()
        emit("mov r5, r1", "mov r11, r0")
        emit.add("r12", "r2", HEAD_BYTES)
        emit.add("r10", "r12", self.form.numbers_bytes * shape.channels)
        emit("str r10, [sp, #8]", why="the numbers' end is where the taps begin")
        emit.label(1)
        self._copy()
        self._window()
        self._channel()
        emit.add("r11", "r11", 1 - self._copied_bytes)
        emit.add("r5", "r5", self.output_bytes - self._passed_bytes)
        emit("ldr r0, [sp, #8]", "cmp r12, r0", "bne 1b")
        emit.leave(self.frame_bytes)
        return emit.lines

    def _begin_layer(self) -> None:
        """What stays the same for all channels, from the head of the stream at r2."""
        self.emit("ldr r9, [r2, #4]", why="zero point")
        if self.form.clamps:
            self.emit("ldrd r4, r5, [r2, #8]", "strd r4, r5, [sp, #16]", why="lowest and highest")

    @property
    def _copied_bytes(self) -> int:
        """By which r11 moves while a channel is copied."""
        (rows, columns), channels = self.form.copied, self.shape.channels
        return rows * columns // 8 * 8 * channels if self.form.periods else rows * self.shape.in_width * channels

    @property
    def _passed_bytes(self) -> int:
        """By which r5 moves while a channel's tiles are stored."""
        form = self.form
        inner, outer = form.axes
        whole, left = divmod((self.shape.out_height, self.shape.out_width)[outer], form.tile[outer])
        line = form.tiles[inner] * form.steps(inner)[1]
        moves_on = whole > 1 or left > 0  # after each line
        return (whole * form.steps(outer)[1] if moves_on else 0) + (line if left or not moves_on else 0)

    def _offsets(self) -> None:
        """Those that stay in registers, from the places at r4."""
        self.emit(f"vldr{'h.u16' if self.form.stride == 1 else 'b.u8'} q4, [r4]", f"vldrh.u16 q6, [r4, #{self.stores}]")

    def _copy(self) -> None:
        """The channel's bytes into the middle of the plane, 8 or 16 pixels at a time."""
        emit, shape, form = self.emit, self.shape, self.form
        together = form.together
        emit("ldrd r1, r2, [sp]", f"vldr{'h.u16' if together == 8 else 'b.u8'} q5, [r2, #{self.pixels}]")
        if form.periods:
            self._copy_image()
            return
        rows, columns = form.copied
        lanes = "16" if together == 8 else "8"
        whole, left = divmod(columns, together)
        if left:
            emit(f"movs r0, #{left}", f"vctp.{lanes} r0")
        emit(f"movw r0, #{rows}", "dls lr, r0")
        emit.label(2)
        for index in range(whole):
            emit(f"vldrb.u{lanes} q7, [r11, q5]", f"vstrb.{lanes} q7, [r1, #{together * index}]")
            last = index + 1 == whole and not left
            emit.add("r11", "r11", (shape.in_width - together * index if last else together) * shape.channels)
        if left:
            emit("vpstt", f"vldrbt.u{lanes} q7, [r11, q5]", f"vstrbt.{lanes} q7, [r1, #{together * whole}]")
            emit.add("r11", "r11", (shape.in_width - together * whole) * shape.channels)
        emit.add("r1", "r1", form.width)
        emit("le lr, 2b")

    def _copy_image(self) -> None:
        """All pixels one after the other; where eight of them go repeats after some vectors, which are whole rows."""
        emit, form, periods = self.emit, self.form, self.form.periods
        rows, columns = form.copied
        whole, left = divmod(rows * columns, 8)
        turns = whole // periods
        emit.add("r0", "r2", self.copies)
        if turns > 1:
            emit(f"movs {self.counter}, #{turns}", f"dls lr, {self.counter}")
            emit.label(2)
        for _ in range(periods if turns else 0):
            self._copy_eight()
        if turns:
            for register in self.targets:
                emit.add(register, register, form.place_of(8 * periods // columns, 0))
            emit.add("r0", "r0", -16 * periods)
        if turns > 1:
            emit("le lr, 2b")
        for _ in range(whole - turns * periods):
            self._copy_eight()
        if left:
            emit(f"movs {self.counter}, #{left}", f"vctp.16 {self.counter}", "vldrh.u16 q6, [r0]")
            emit(f"vpst{'t' * (len(self.targets) + self.flips)}", "vldrbt.u16 q7, [r11, q5]")
            emit(*(["vaddt.i16 q7, q7, r8"] if self.flips else []))
            emit(*(f"vstrbt.16 q7, [{register}, q6]" for register in self.targets))

    def _copy_eight(self) -> None:
        emit = self.emit
        emit("vldrh.u16 q6, [r0], #16", "vldrb.u16 q7, [r11, q5]", *(["vadd.i16 q7, q7, r8"] if self.flips else []))
        emit(*(f"vstrb.16 q7, [{register}, q6]" for register in self.targets))
        emit.add("r11", "r11", 8 * self.shape.channels)

    def _window(self) -> None:
        """The window at its places in a patch."""
        emit, shape = self.emit, self.shape
        mask = sum(1 << lane for lane, tap in enumerate(self.form.taps_of_patch) if tap >= 0)
        emit(f"movw r1, #{mask}", "vmsr p0, r1", f"vldrb.u8 q5, [r2, #{self.taps}]")
        self._windows(shape.kernel_height * shape.kernel_width)
        emit(*([f"vldrh.u16 q6, [r2, #{self.stores}]"] if self.form.periods else []))

    def _windows(self, taps: int) -> None:
        """By the places of its taps in q5; r10 moves on behind them."""
        self._lay_out()
        self.emit.add("r10", "r10", taps)

    def _lay_out(self) -> None:
        """The taps at r10, at their places in a patch."""
        emit = self.emit
        emit("vpst", "vldrbt.u8 q0, [r10, q5]")
        beside, below = self.shifts
        emit("movs r0, #0", "vmov q1, q0", *(f"vshlc q1, r0, #{bits}" for bits in beside), why="what is shifted out is 0")
        if self.form.stride == 1:
            emit("vmov q2, q0", f"vshlc q2, r0, #{below}", "vmov q3, q1", f"vshlc q3, r0, #{below}")

    def _tiles(self) -> None:
        emit, shape, form = self.emit, self.shape, self.form
        self._begin()
        inner, outer = form.axes
        outputs = (shape.out_height, shape.out_width)
        whole, left = divmod(outputs[outer], form.tile[outer])
        if whole:
            if whole > 1:
                emit(f"movw r3, #{whole}")
                emit.label(3)
            self._line(form.tile[outer])
            if whole > 1 or left:
                for register, along, after in zip(("r1", "r5"), form.steps(inner), form.steps(outer)):
                    emit.add(register, register, after - form.tiles[inner] * along)
            emit(*(["subs r3, #1", "bne 3b"] if whole > 1 else []))
        if left:
            self._line(left)

    def _begin(self) -> None:
        """r1 points to the first patch."""
        self.emit("ldr r1, [sp]")
        self.emit.add("r1", "r1", self.form.begins - self.form.first_place)

    def _line(self, stored: int) -> None:
        """Tiles one after the other, of which so many rows or columns are stored."""
        emit, (inner, outer) = self.emit, self.form.axes
        length, size = (self.shape.out_height, self.shape.out_width)[inner], self.form.tile
        whole, left = divmod(length, size[inner])
        outputs, last = self._along(size[inner], stored), self._along(left, stored)
        overlaps = self.form.overlaps and whole > 0
        if whole:
            if stored < size[outer]:
                self._mask(outputs)
            self._whole_tiles(outputs, whole, overlaps and left > 0)
        if left:
            self._mask(last, "lr" if overlaps else "r0")
            if overlaps:
                emit.move("r1", self._behind(last)[0] - self._behind(outputs)[0])
            self._tile(last, overlaps)

    def _whole_tiles(self, outputs: tuple[int, int], count: int, goes_on: bool) -> None:
        """So many tiles; if a tile in part `goes_on` behind them, its first products come before the last one is stored."""
        emit, form = self.emit, self.form
        together = 2 if form.pays_twice else 1
        if count > together:
            emit(f"movw r0, #{count // together}", "dls lr, r0")
        if goes_on:
            self._products(outputs, 0, "q7", [])
        if count > together:
            emit.label(4)
        for tile in range(together):
            self._tile(outputs, goes_on or form.overlaps and tile > 0, goes_on or form.overlaps and tile + 1 < together)
        if count > together:
            emit("le lr, 4b")

    def _along(self, along: int, beside: int) -> tuple[int, int]:
        """Rows and columns of so many outputs in the direction of the tiles, and across it."""
        return (along, beside) if self.form.down else (beside, along)

    def _mask(self, outputs: tuple[int, int], register: str = "r0") -> None:
        stored = [row < outputs[0] and column < outputs[1] for row, column, _ in self.form.lanes]
        mask = sum(3 << 2 * lane for lane, is_stored in enumerate(stored) if is_stored)
        self.emit(f"movw {register}, #{mask}", f"vmsr p0, {register}")

    def _behind(self, outputs: tuple[int, int]) -> tuple[int, int]:
        """Where r1 points behind the patches of each part of a tile, from its first patch on."""
        parts, step = self.form.parts_of(outputs), self.form.steps(self.form.axes[0])[0]
        return parts[1][0][0] if parts[1] else step, step

    def _sums(self, outputs: tuple[int, int], is_begun: bool) -> list[str]:
        """The sums of these rows and columns of eight, in q5 and q7, of which those with sums are returned; r1 moves on to the
        next tile. `is_begun`: the products of the first part are there."""
        emit, used = self.emit, []
        for number, (register, part) in enumerate(zip(("q5", "q7"), self.form.parts_of(outputs))):
            if part and not (is_begun and number == 0):
                self._products(outputs, number, register, used)
            found = {place for _, places in part for place in places}
            emit(*([f"vmov {register}[2], {register}[0], r0, r2"] if found & {0, 1} else []))
            emit(*([f"vmov {register}[3], {register}[1], r4, r6"] if found & {2, 3} else []))
            used += [register] if found else []
        return used

    def _products(self, outputs: tuple[int, int], number: int, register: str, used: list[str]) -> None:
        """The products of a part of a tile, whose patches come into the register; `used` are the sums that are there."""
        form, part = self.form, self.form.parts_of(outputs)[number]
        for (start, places), end in zip(part, [*(start for start, _ in part[1:]), self._behind(outputs)[number]]):
            windows = places if form.stride == 1 else [place % 2 for place in places]
            sums = [(TOTALS[place], window) for place, window in zip(places, windows)]
            products = [f"vmladav.s8 {total}, q{window}, {register}" for total, window in sums]
            self._patch(register, products + self._further(sums, register), end - start)

    def _further(self, sums: list[tuple[str, int]], register: str) -> list[str]:
        """More products of the patch in a register: of each sum and the window at that place."""
        return []

    def _patch(self, register: str, products: list[str], step: int) -> None:
        """Load a patch, multiply it, and move r1 to the next one."""
        self.emit(f"vldr{'h.u16' if self.form.stride == 1 else 'b.u8'} {register}, [r1, q4]", *products)
        self.emit.move("r1", step)

    def _tile(self, outputs: tuple[int, int], is_begun: bool = False, goes_on: bool = False) -> None:
        """A tile; `is_begun`: its first products are there. `goes_on`: those of the next one are computed before it is stored."""
        emit = self.emit
        used = self._sums(outputs, is_begun)
        self._levels(used, partial(self._products, outputs, 0, "q7", []) if goes_on else None)
        emit(*(("vpst", "vstrbt.16 q5, [r5, q6]") if outputs != self.form.tile else ("vstrb.16 q5, [r5, q6]",)))
        emit.add("r5", "r5", self.form.steps(self.form.axes[0])[1])


def places_lines(places: list[int]) -> list[str]:
    """The table of a driver."""
    rows = [", ".join(map(str, places[first : first + 16])) for first in range(0, len(places), 16)]
    return ["static const uint16_t places[] = {", *(f"    {row}," for row in rows), "};"]


def text_of(form: Planes, printer: PlanesPrinter | None = None) -> str:
    """The C text of the function, with the portable form beside the assembly."""
    printer = printer or PlanesPrinter(form)
    shape = form.shape
    plain = "    (void)places;\n" + plane_text(form.fields, "plane")
    purpose = f"{shape.channels} channels of {shape.out_height} x {shape.out_width} outputs, one after the other."
    return function(form.name, purpose, PARAMETERS, printer.lines(), plain)
