# SPDX-License-Identifier: MIT
"""The assembly of strips.py: a channel is copied, its window laid out, and tile after tile computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from aidge_build.contract.kernel_kit.terms import times

from ..core.assembly import SAVED_BYTES, c_function, function
from ..core.levels_text import HEAD_BYTES, TOTALS, ChannelPrinter, load_numbers
from .strip_rows import MOST_CHUNKS
from .strips import BYTE_REACH, WORD_REACH, Strips

PIXELS, TAPS = 16, 32  # bytes of the places behind those of stores
FRAME_BYTES = 24  # the place that is copied to, the places, the end of the numbers; lowest and highest
SEEN, STRIPS, INPUT, FRAME_BYTES_OF_BANDS = 24, 28, 32, 40  # and of bands: what is seen, the strips, the channel's input
PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *stream, int8_t *strips, const uint16_t *places"
OF_BANDS = "const int8_t *x, int8_t *y, const int8_t *stream, void *scratch, int32_t in_height, int32_t top, int32_t out_height"
MOST_PREDICATED = 4  # instructions behind one VPST
GATHERS = ("q5", "q4", "q3", "q2")  # places of the pixels of vectors side by side


class StripsPrinter(ChannelPrinter):
    """r1: strips, r5: outputs, r7, r8, r9: bias, multiplier, zero point, r10: taps, r11: input, r12: numbers; q0 to q3: the
    window at its places, q4: the multiplier of fused multiplications, q6: offsets of stores. While copying r1, r3, r7: where
    rows are stored, r2: places, r4: the step to the next row, r6: bytes of a strip, q0 to q3: places of pixels in a row of a
    strip."""

    flips = False  # whether 128 in r8 makes signed bytes of those that are copied

    def __init__(self, form: Strips):
        super().__init__(form)
        self.fuses = form.fused
        self.beside = "q7" if form.fused else "q4"  # data of the first products of the next tile
        self.targets = ("r1", "r3", "r7")[: form.copies_of_row]
        self.windows_of_patch = range(2)  # of halves
        self.frame_bytes = FRAME_BYTES_OF_BANDS if form.shape.bands else FRAME_BYTES
        self.copies = TAPS + 16 * form.vectors

    def lines(self):
        emit, shape, form = self.emit, self.shape, self.form
        emit.enter(self.frame_bytes)
        if shape.bands:
            emit(f"ldr r4, [sp, #{SAVED_BYTES + self.frame_bytes + 4}]", f"strd r4, r3, [sp, #{SEEN}]", f"str r0, [sp, #{INPUT}]")
            emit("ldr r4, [r4, #4]", "add r3, r3, r4")
        else:
            emit.add("r3", "r3", form.first_place)
        emit(f"ldr r4, [sp, #{SAVED_BYTES + self.frame_bytes}]", "strd r3, r4, [sp]", why="where a channel is copied to, places")
        self._begin_layer()
        emit("mov r5, r1", "mov r11, r0")
        emit.add("r12", "r2", HEAD_BYTES)
        emit.add("r10", "r12", form.numbers_bytes * shape.channels)
        emit("str r10, [sp, #8]", why="the numbers' end is where the taps begin")
        emit.label(1)
        self._copy()
        self._window()
        self._numbers()
        self._channel()
        if shape.bands:
            emit(f"ldr r11, [sp, #{INPUT}]", "add r11, r11, #1", f"str r11, [sp, #{INPUT}]")
        else:
            emit.add("r11", "r11", 1 - self._copied_bytes)
        emit.add("r5", "r5", form.output_bytes - self._passed_bytes)
        emit("ldr r0, [sp, #8]", "cmp r12, r0", "bne 1b")
        emit.leave(self.frame_bytes)
        return emit.lines

    def _begin_layer(self) -> None:
        """Loads the numbers that stay the same for all channels, from the places at r4 and the head of the stream at r2."""
        self.emit("vldrh.u16 q6, [r4]", "ldr r9, [r2, #4]", why="offsets of stores, zero point")
        if self.form.clamps:
            self.emit("ldrd r4, r5, [r2, #8]", "strd r4, r5, [sp, #16]", why="lowest and highest")

    def _numbers(self) -> None:
        """The numbers of a channel."""
        load_numbers(self.emit, self.form)
        self.emit(*(["vdup.32 q4, r8"] if self.form.fused else []))

    def _channel(self) -> None:
        """The tiles of a channel; of halves in two versions, as the second halves are 0 in most channels."""
        emit = self.emit
        if self.form.halves:
            emit("vmladav.s8 r0, q1, q1", "cmp r0, #0", "beq 6f", why="0 where no weight is beyond a byte")
            self._tiles()
            emit("b 7f")
            emit.label(6)
            self.windows_of_patch = range(1)
        self._tiles()
        if self.form.halves:
            emit.label(7)
            self.windows_of_patch = range(2)

    @property
    def _copied_bytes(self) -> int:
        """By which r11 moves while a channel is copied."""
        (rows, columns), channels = self.form.copied, self.shape.channels
        return rows * columns // 8 * 8 * channels if self.form.periods else rows * self.shape.in_width * channels

    @property
    def _passed_bytes(self) -> int:
        """By which r5 moves while a channel's tiles are stored."""
        form = self.form
        whole, left = divmod(self.shape.out_width, form.tile[1])
        line = form.tiles[0] * form.steps(0)[1]
        moves_on = whole > 1 or left > 0  # after each line
        return (whole * form.steps(1)[1] if moves_on else 0) + (line if left or not moves_on else 0)

    def _copy(self) -> None:
        """The channel's bytes into the strips, 8 or 16 pixels at a time."""
        emit, form = self.emit, self.form
        emit("ldrd r1, r2, [sp]", f"vldr{'h.u16' if form.together == 8 else 'b.u8'} q5, [r2, #{PIXELS}]")
        is_stored_twice = form.rows_of_strip % 2 == 0 or form.shape.top % 2 == 0
        if form.shape.bands and form.rows_of_strip % 2:
            emit(f"ldr r3, [sp, #{SEEN}]", "ldr r3, [r3, #12]", "add r3, r3, r1", why="where rows are stored once more")
        else:
            for before, target in zip(self.targets, self.targets[1:]):
                emit.add(target, before, 2 - form.strip_bytes if is_stored_twice else 0)
        if form.periods:
            self._copy_image()
        else:
            self._copy_rows()

    def _copy_image(self) -> None:
        """All pixels one after the other; where eight of them go repeats after some vectors, which are whole rows."""
        emit, form, periods = self.emit, self.form, self.form.periods
        rows, columns = form.copied
        whole, left = divmod(rows * columns, 8)
        turns = whole // periods
        emit.add("r0", "r2", self.copies)
        if turns > 1:
            emit(f"movs r4, #{turns}", "dls lr, r4")
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
            emit(f"movs r4, #{left}", "vctp.16 r4", "vldrh.u16 q6, [r0]")
            predicated = ["vldrbt.u16 q7, [r11, q5]", *(["vaddt.i16 q7, q7, r8"] if self.flips else [])]
            predicated += [f"vstrbt.16 q7, [{register}, q6]" for register in self.targets]
            for group in (predicated[:4], predicated[4:]):  # one vpst predicates four instructions at most
                emit(*([f"vpst{'t' * (len(group) - 1)}", *group] if group else []))
        emit("vldrh.u16 q6, [r2]", why="offsets of stores")

    def _copy_eight(self) -> None:
        emit = self.emit
        emit("vldrh.u16 q6, [r0], #16", "vldrb.u16 q7, [r11, q5]", *(["vadd.i16 q7, q7, r8"] if self.flips else []))
        emit(*(f"vstrb.16 q7, [{register}, q6]" for register in self.targets))
        emit.add("r11", "r11", 8 * self.shape.channels)

    def _copy_rows(self) -> None:
        emit, shape, form = self.emit, self.shape, self.form
        (rows, columns), together, apart = form.copied, form.together, form.rows_of_strip
        moves = form.chunks > MOST_CHUNKS  # all vectors share the places of the first one, and the targets move on
        beside = apart * together if moves else 0
        self._places(1 if moves else form.chunks)
        if columns % together:
            emit(f"movs r0, #{columns % together}", f"vctp.{128 // together} r0")
        if apart % 2 and not moves and not shape.bands:
            self._copy_pairs()
            return
        back = (form.chunks - 1) * beside
        self._constant("r6", form.strip_bytes - 2 * back)
        if shape.bands:
            emit(f"ldr r0, [sp, #{SEEN}]", "ldr r4, [r0, #8]", "ldr r0, [r0]", why="the step to the next row, rows")
            emit.add("r4", "r4", -back)
        else:
            self._constant("r4", (form.strip_bytes - 1 if shape.top % 2 else 1) - back)
            emit(f"movw r0, #{rows}")
        emit("dls lr, r0")
        emit.label(2)
        self._copy_row(self.targets, beside)
        steps, other = [f"add {target}, {target}, r4" for target in self.targets], "sub r4, r6, r4"
        emit(*([*steps, other] if apart % 2 == 0 else [steps[0], other, steps[1]]), "le lr, 2b")

    def _places(self, chunks: int) -> None:
        """The places of pixels in a row of a strip, of so many vectors, and in a row of the image."""
        emit, form = self.emit, self.form
        bits, apart = 128 // form.together, form.rows_of_strip
        emit("movs r0, #0", *([] if apart == 4 else [f"movs r4, #{apart}"]))
        for chunk in range(chunks):
            emit(f"vidup.u{bits} q{chunk}, r0, #{4 if apart == 4 else 1}")
            emit(*([] if apart == 4 else [f"vmul.i{bits} q{chunk}, q{chunk}, r4"]))
        emit(*([f"movw r0, #{self.step_of_vectors}"] if form.gathers > 1 else []))
        emit(*(f"vadd.i{bits} {GATHERS[number]}, {GATHERS[number - 1]}, r0" for number in range(1, form.gathers)))

    @property
    def step_of_vectors(self) -> int:
        """Bytes between vectors of a row of the image."""
        return self.form.together * self.shape.channels

    def _copy_pairs(self) -> None:
        """In strips of three rows an even row is the first of one and the last of the one before; an odd one goes to r4."""
        emit, form = self.emit, self.form
        turns, is_left = divmod(form.copied[0], 2)
        orders = [("r1", "r3"), ("r4",)]
        if form.shape.top % 2:
            orders.reverse()
            emit("mov r4, r1")
            emit.add("r1", "r4", form.strip_bytes - 1)
            emit.add("r3", "r4", 1)
        else:
            emit.add("r4", "r1", 1)
        if turns > 1:
            emit(f"movw r0, #{turns}", "dls lr, r0")
            emit.label(2)
        for targets in orders if turns else ():
            self._copy_row(targets, 0)
        if turns > 1 or is_left:
            for target in ("r1", "r3", "r4"):
                emit.add(target, target, form.strip_bytes)
        if turns > 1:
            emit("le lr, 2b")
        if is_left:
            self._copy_row(orders[0], 0)

    def _copy_row(self, targets: Sequence[str], beside: int) -> None:
        """One row of the image; where its vectors go is `beside` bytes apart, or what their own places say."""
        emit, shape, form, step = self.emit, self.shape, self.form, self.step_of_vectors
        bits, whole = 128 // form.together, form.copied[1] // form.together
        for chunk in range(form.chunks):
            is_masked = chunk == whole
            mark, number = "t" if is_masked else "", chunk % form.gathers
            emit.add("r11", "r11", form.gathers * step if chunk and number == 0 else 0)
            copied = [f"vldrb{mark}.u{bits} q7, [r11, {GATHERS[number]}]"]
            copied += [f"vadd{mark}.i{bits} q7, q7, r8"] if self.flips else []
            copied += [f"vstrb{mark}.{bits} q7, [{register}, q{0 if beside else chunk}]" for register in targets]
            for first in range(0, len(copied), MOST_PREDICATED):
                some = copied[first : first + MOST_PREDICATED]
                emit(*([f"vps{'t' * len(some)}"] if is_masked else []), *some)
            for register in targets:
                emit.add(register, register, beside if chunk + 1 < form.chunks else 0)
        emit.add("r11", "r11", shape.in_width * shape.channels - (form.chunks - 1) // form.gathers * form.gathers * step)

    def _constant(self, register: str, value: int) -> None:
        self.emit(f"movw {register}, #{value & 0xFFFF}", *([f"movt {register}, #0xFFFF"] if value < 0 else []))

    def _window(self) -> None:
        """The window at its places in a patch."""
        emit, form = self.emit, self.form
        for vector in range(form.vectors):
            mask = sum(1 << lane for lane, tap in enumerate(form.taps_of_patch[16 * vector : 16 * (vector + 1)]) if tap >= 0)
            emit(f"movw r1, #{mask}", "vmsr p0, r1", f"vldrb.u8 q5, [r2, #{TAPS + 16 * vector}]")
            emit("vpst", f"vldrbt.u8 q{vector}, [r10, q5]")
        emit.add("r10", "r10", self.shape.kernel_height * self.shape.kernel_width * (1 + form.halves))
        emit(*(["movs r0, #0"] if len(form.windows) > 1 else []), why="shifted out of one vector into the next, at last 0")
        for number, (row, column) in enumerate(form.windows[1:], 1):
            source = form.windows.index((row, 0) if column else (0, 0))
            bits = 8 * form.stride * form.rows_of_strip if column else 8
            for vector in range(form.vectors):
                register = f"q{form.vectors * number + vector}"
                emit(f"vmov {register}, q{form.vectors * source + vector}")
                emit(*(f"vshlc {register}, r0, #{part}" for part in (min(bits, 32), bits - 32) if part > 0))

    def _tiles(self) -> None:
        """Lines of tiles from top to bottom, one to the right of the other."""
        emit, form = self.emit, self.form
        emit(f"ldr r1, [sp, #{STRIPS}]" if form.shape.bands else "ldr r1, [sp]")
        emit.add("r1", "r1", form.begins - (0 if form.shape.bands else form.first_place))
        whole, left = divmod(self.shape.out_width, form.tile[1])
        if whole > 1:
            emit(f"movw r3, #{whole}")
            emit.label(3)
        if whole:
            self._line(form.tile[1])
        if whole > 1 or left and whole:
            for register, along, after in zip(("r1", "r5"), form.steps(0), form.steps(1)):
                emit.add(register, register, after - form.tiles[0] * along)
        emit(*(["subs r3, #1", "bne 3b"] if whole > 1 else []))
        if left:
            self._line(left)

    def _line(self, columns: int) -> None:
        """Tiles from top to bottom with so many stored columns. If tiles overlap, the last one ends the line after a
        loop: nothing is read behind it."""
        emit, form = self.emit, self.form
        whole, left = divmod(self.shape.out_height, form.tile[0])
        outputs, last = (form.tile[0], columns), (left, columns)
        if form.ends_apart and left == 0 and whole > 1:
            whole, left, last = whole - 1, form.tile[0], outputs
        overlaps = form.overlaps and whole > 0
        if whole:
            if outputs != form.tile:
                self._mask(outputs)
            self._whole_tiles(outputs, whole, overlaps and left > 0)
        if left:
            if last != outputs:
                self._mask(last, "lr" if overlaps else "r0")
            if overlaps:
                emit.move("r1", self._behind(last)[0] - self._behind(outputs)[0])
            self._tile(last, overlaps)

    def _whole_tiles(self, outputs: tuple[int, int], count: int, goes_on: bool) -> None:
        """So many tiles; if another one `goes_on` behind them, the first products of each come before the last one is stored."""
        emit, form = self.emit, self.form
        together = 2 if form.pays_twice else 1
        if count > together:
            emit(f"movw r0, #{count // together}", "dls lr, r0")
        if goes_on:
            self._products(outputs, 0, self.beside)
        if count > together:
            emit.label(4)
        for tile in range(together):
            self._tile(outputs, goes_on or form.overlaps and tile > 0, goes_on or form.overlaps and tile + 1 < together)
        if count > together:
            emit("le lr, 4b")

    def _mask(self, outputs: tuple[int, int], register: str = "r0") -> None:
        stored = [row < outputs[0] and column < outputs[1] for row, column, _ in self.form.lanes]
        mask = sum(3 << 2 * lane for lane, is_stored in enumerate(stored) if is_stored)
        self.emit(f"movw {register}, #{mask}", f"vmsr p0, {register}")

    def _behind(self, outputs: tuple[int, int]) -> tuple[int, int]:
        """The distance of r1 from the first patch of each part of a tile to the end of its patches."""
        parts, step = self.form.parts_of(outputs), self.form.steps(0)[0]
        return parts[1][0][0] if parts[1] else step, step

    def _sums(self, outputs: tuple[int, int], is_begun: bool) -> list[str]:
        """The sums of these rows and columns of eight, in q5 and q7, of which those with sums are returned; r1 moves on to the
        next tile. `is_begun`: the products of the first part are there."""
        emit, used = self.emit, []
        for number, (register, part) in enumerate(zip(("q5", "q7"), self.form.parts_of(outputs))):
            if part and not (is_begun and number == 0):
                self._products(outputs, number, register)
            found = {place for _, places in part for place in places}
            emit(*([f"vmov {register}[2], {register}[0], r0, r2"] if found & {0, 1} else []))
            emit(*([f"vmov {register}[3], {register}[1], r4, r6"] if found & {2, 3} else []))
            used += [register] if found else []
        return used

    def _products(self, outputs: tuple[int, int], number: int, register: str) -> None:
        """The products of a part of a tile, whose patches come into the register; r1 moves on to the next part."""
        emit, form, part = self.emit, self.form, self.form.parts_of(outputs)[number]
        size, reach = ("w.u32", WORD_REACH) if form.rows_of_strip % 4 == 0 or form.is_small else ("b.u8", BYTE_REACH)
        for (start, places), end in zip(part, [*(start for start, _ in part[1:]), self._behind(outputs)[number]]):
            step = end - start
            is_near = 0 < abs(step) <= reach
            started: set[int] = set()
            for load in reversed(range(form.loads)):  # the last load moves r1
                emit(f"vldr{size} {register}, " + (f"[r1, #{16 * load}]" if load else f"[r1]{f', #{step}' * is_near}"))
                for vector in self.windows_of_patch if form.halves else [load]:
                    for place in places:
                        window = form.vectors * form.window_of(place) + vector
                        emit(f"vmladav{'a' * (place in started)}.s8 {TOTALS[place]}, q{window}, {register}")
                        started.add(place)
            if not is_near:
                emit.move("r1", step)

    def _tile(self, outputs: tuple[int, int], is_begun: bool = False, goes_on: bool = False) -> None:
        """A tile; `is_begun`: its first products are there. `goes_on`: those of the next one are computed before it is stored."""
        emit = self.emit
        used = self._sums(outputs, is_begun)
        self._levels(used, partial(self._products, outputs, 0, self.beside) if goes_on else None)
        emit(*(("vpst", "vstrbt.16 q5, [r5, q6]") if outputs != self.form.tile else ("vstrb.16 q5, [r5, q6]",)))
        emit.add("r5", "r5", self.form.steps(0)[1])


def places_lines(places: list[int]) -> list[str]:
    """The table of a driver."""
    rows = [", ".join(map(str, places[first : first + 16])) for first in range(0, len(places), 16)]
    return ["static const uint16_t places[] = {", *(f"    {row}," for row in rows), "};"]


def text_of(form: Strips) -> str:
    """The C text of the function."""
    shape = form.shape
    parameters = PARAMETERS + (", const aidge_helium_seen *seen" if shape.bands else "")
    purpose = f"{shape.channels} channels of {shape.out_height} x {shape.out_width} outputs, one after the other."
    return function(form.name, purpose, parameters, StripsPrinter(form).lines())


def bands_texts(form: Strips) -> tuple[str, tuple[str, ...]]:
    """Name and texts of the function for all bands of the layer, of which `top` rows are above the image. The last rows of a band
    are computed together with some of those before."""
    shape, name = form.shape, f"{form.name}_rows"
    rows, stride = shape.out_height, shape.stride_height
    in_row, out_row = shape.in_width * shape.channels, shape.out_width * shape.channels
    place = form.begins + form.rows_of_strip * shape.left
    fields = stride, shape.reached_height, place, form.strip_bytes, form.rows_of_strip % 2
    body = [
        *places_lines(form.places),
        f"static const aidge_helium_strips strips = {{{', '.join(map(str, fields))}}};",
        "int32_t row;",
        f"for (row = 0; row < out_height; row += {rows}) {{",
        f"    const int32_t first = row + {rows} < out_height ? row : out_height - {rows};",
        "    const aidge_helium_seen seen = aidge_helium_see(first, in_height, top, &strips);",
        f"    aidge_helium_fill((int8_t *)scratch, stream[0], {form.bytes});",
        f"    const int8_t *const rows = x + ({times('first', stride)} - top + seen.top) * {in_row};",
        f"    {form.name}(rows, y + first * {out_row}, stream, (int8_t *)scratch, places, &seen);",
        "}",
    ]
    return name, (text_of(form), c_function(name, OF_BANDS, body))
