# SPDX-License-Identifier: MIT
"""The assembly of quads.py, and the function for all bands of a layer."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.terms import times

from .assembly import BYTE_REACH, SAVED_BYTES, c_function, function
from .levels_text import HEAD_BYTES, ChannelPrinter
from .planes_text import places_lines
from .quads import FEW_LANES, LANES, LINES, Quads
from .rounding import fixed_in_c

PARAMETERS = "const aidge_helium_quads_rows *rows, int8_t *y, const int8_t *stream, int8_t *columns, const uint16_t *places"
OF_BANDS = "const int8_t *x, int8_t *y, const int8_t *stream, void *scratch, int32_t in_height, int32_t top, int32_t out_height"
COLUMNS, STORES = 8, 16  # bytes of the places behind those of a patch
ABSENT, BELOW = 16, 20  # bytes of aidge_helium_quads_rows
# Of the frame; levels find the lowest and the highest level at 16.
ROWS, TURNED, BASE, PLACES, LOWEST, DONE, STREAM, STORED, FRAME_BYTES = 0, 4, 8, 12, 16, 24, 28, 32, 40
POINTERS = ("r0", "r2", "r4", "r6")  # of the rows; then sums
WINDOWS = ("r10", "r11")


class _Printer(ChannelPrinter):
    """r1: where rows are turned to, then how far a channel's patches go; r3: channels that are left of a block, r5: outputs; r7,
    r8, r9: bias, multiplier, zero point; r10, r11: windows; r12: numbers. q0, q1: windows, q2: addresses of the columns of a
    patch, q4: multiplier, q5, q7: sums, q6: offsets of stores."""

    def __init__(self, form: Quads):
        super().__init__(form)
        self.rest = self.shape.out_width % form.tile

    def lines(self):
        emit, form = self.emit, self.form
        emit.enter(FRAME_BYTES)
        emit(f"ldr r4, [sp, #{SAVED_BYTES + FRAME_BYTES}]", "add r7, r4, #16", f"ldr r6, [r0, #{BELOW}]")
        if form.outputs > 1:
            emit("cmp r6, #0", "it eq", "addeq r7, #16", why="the second row is stored over the first one")
        emit(f"str r0, [sp, #{ROWS}]", f"str r2, [sp, #{STREAM}]", f"str r7, [sp, #{STORED}]", f"str r4, [sp, #{PLACES}]")
        emit.add("r4", "r3", form.left * form.column_bytes)
        emit.add("r7", "r3", -form.step)
        emit(f"strd r4, r7, [sp, #{TURNED}]", "ldr r9, [r2, #4]", why="- zero point")
        if form.clamps:
            emit("ldrd r4, r7, [r2, #8]", f"strd r4, r7, [sp, #{LOWEST}]", why="lowest and highest")
        emit("mov r5, r1")
        emit.add("r12", "r2", HEAD_BYTES)
        emit.add("r10", "r12", form.numbers_bytes * self.shape.channels + LINES)
        emit(*(["sub r11, r10, r6"] if form.outputs > 1 else []))
        if form.blocks > 1:
            emit("movs r4, #0", f"str r4, [sp, #{DONE}]")
        emit.label(1)
        self._turn()
        self._absent()
        self._addresses()
        emit.label(3)
        self._channel()
        channels = self.shape.channels
        passed = self.shape.out_width // form.tile * form.tile * self.shape.channels
        emit.add("r5", "r5", 1 - passed)
        emit("vsub.i32 q2, q2, r1", "subs r3, #1", "bne 3b")
        if form.blocks > 1:
            emit(f"ldr r0, [sp, #{DONE}]", f"adds r0, #{form.block}", f"str r0, [sp, #{DONE}]")
            emit(*([] if channels < 256 else [f"movw r1, #{channels}"]))
            emit(f"cmp r0, {'r1' if channels > 255 else f'#{channels}'}", "blt 1b")
        emit.leave(FRAME_BYTES)
        return emit.lines

    def _turn(self) -> None:
        """The channels of a block from all rows."""
        emit, form = self.emit, self.form
        used = POINTERS[: form.lines]
        if form.gap:
            emit(f"ldr r0, [sp, #{DONE}]", f"movw r3, #{self.shape.channels}", "subs r3, r3, r0", why="channels that are left")
            emit(f"cmp r3, #{form.block}", "it ge", f"movge r3, #{form.block}", why="of this block")
            emit(f"rsb r8, r3, #{form.block}", why="those that the block before has had")
        else:
            emit(f"movs r3, #{form.block}", why="channels")
        emit(f"ldr r0, [sp, #{ROWS}]", "ldm r0, {r0, r2, r4, r6}")
        if form.blocks > 1:
            emit(f"ldr r1, [sp, #{DONE}]", *(["sub r1, r1, r8"] if form.gap else []))
            emit(*(f"add {pointer}, r1" for pointer in used))
        if form.is_few:
            emit(f"ldr r1, [sp, #{PLACES}]", f"vldrh.s32 q0, [r1, #{COLUMNS}]")
            emit(*(f"vadd.i32 q{4 + line}, q0, {pointer}" for line, pointer in enumerate(used)))
        emit(f"ldr r1, [sp, #{TURNED}]")
        whole, rest = form.runs
        together = min(1 + whole // 3, 3 if whole % 3 == 0 else 2)  # of a turn, without too many more
        if whole > together:
            emit(f"movw lr, #{whole // together}", "dls lr, lr")
            emit.label(2)
        for _ in range(together):
            self._vector()
        if whole > together:
            emit("le lr, 2b")
        for _ in range(whole % together):
            self._vector()
        if rest:
            self._back(used, (FEW_LANES if form.is_few else LANES) - rest)
            self._vector()

    def _back(self, used: tuple[str, ...], elements: int) -> None:
        """The last vector begins so many elements before: pixels of four bytes, or bytes."""
        emit, form = self.emit, self.form
        if form.is_few:
            emit(f"movw r0, #{elements * self.shape.channels}")
            emit(*(f"vsub.i32 q{4 + line}, q{4 + line}, r0" for line, _ in enumerate(used)))
        else:
            emit(*(f"subs {pointer}, #{elements}" for pointer in used))
        emit(f"subs r1, #{elements * (form.column_bytes if form.is_few else LINES)}")

    def _vector(self) -> None:
        emit, form = self.emit, self.form
        step = form.vector_step
        for line, pointer in enumerate(POINTERS[: form.lines]):
            if form.is_few:
                emit(f"vldrw.u32 q{line}, [q{4 + line}, #{step}]!")
            elif step <= BYTE_REACH:
                emit(f"vldrb.u8 q{line}, [{pointer}], #{step}")
            else:
                emit(f"vldrb.u8 q{line}, [{pointer}]")
                emit.add(pointer, pointer, step)
        emit(*(f"vst4{part}.8 {{q0, q1, q2, q3}}, [r1]{'!' * (part == 3)}" for part in range(4)))

    def _absent(self) -> None:
        """Rows that the image lacks hold the zero point."""
        emit, form = self.emit, self.form
        emit(f"ldr r0, [sp, #{ROWS}]", f"ldr r0, [r0, #{ABSENT}]", "cbz r0, 5f")
        emit("vmsr p0, r0", f"ldr r0, [sp, #{STREAM}]", "ldr r0, [r0]", "vdup.8 q0, r0", f"ldr r1, [sp, #{TURNED}]")
        emit(f"movw lr, #{form.vectors}", "dls lr, lr")
        emit.label(4)
        emit("vpst", "vstrbt.8 q0, [r1], #16", "le lr, 4b")
        emit.label(5)

    def _addresses(self) -> None:
        """Of the first channel of a block; what the loop over its channels finds in registers."""
        emit, form = self.emit, self.form
        emit(f"ldrd r0, r1, [sp, #{BASE}]", *(["add r0, r0, r8, lsl #2"] if form.gap else []))
        emit("vldrh.u32 q2, [r1]", "vadd.i32 q2, q2, r0", f"ldr r0, [sp, #{STORED}]", "vldrh.u16 q6, [r0]")
        if self.rest:
            stored = [column < self.rest for _, column in form.lanes]
            emit(f"movw r0, #{sum(3 << 2 * lane for lane, is_stored in enumerate(stored) if is_stored)}", "vmsr p0, r0")
        emit(f"movw r1, #{self.shape.out_width * form.step - LINES}", why="from the last patch back to the next channel")

    def _channel(self) -> None:
        emit, form = self.emit, self.form
        emit(*(f"vldrb.u8 q{row}, [{WINDOWS[row]}], #16" for row in range(form.outputs)))
        super()._channel()

    def _tiles(self) -> None:
        emit, form, whole = self.emit, self.form, self.shape.out_width // self.form.tile
        if whole:
            together = 2 if form.pays_twice else 1
            if whole > together:
                emit(f"movw r0, #{whole // together}", "dls lr, r0")
                emit.label(8)
            for _ in range(together):
                self._tile(form.tile)
                emit.add("r5", "r5", form.tile * self.shape.channels)
            if whole > together:
                emit("le lr, 8b")
        if self.rest:
            self._tile(self.rest)

    def _tile(self, columns: int) -> None:
        """So many columns of the output."""
        emit, form = self.emit, self.form
        half, used = form.tile // 2, []
        for register, first in (("q5", 0), ("q7", half)):
            places = set()
            for column in range(min(half, columns - first)):
                emit(f"vldrw.u32 {register}, [q2, #{form.step}]!")
                for row in range(form.outputs):
                    places.add(row * half + column)
                    emit(f"vmladav.s8 {POINTERS[row * half + column]}, q{row}, {register}")
            emit(*([f"vmov {register}[2], {register}[0], r0, r2"] if places & {0, 1} else []))
            emit(*([f"vmov {register}[3], {register}[1], r4, r6"] if places & {2, 3} else []))
            used += [register] if places else []
        self._levels(used)
        emit(*(("vstrb.16 q5, [r5, q6]",) if columns == form.tile else ("vpst", "vstrbt.16 q5, [r5, q6]")))


def text_of(form: Quads) -> str:
    """The C text of the function for one group of rows, with the portable form beside the assembly."""
    shape = form.shape
    fields = (
        shape.channels,
        shape.in_width,
        shape.out_width,
        shape.left,
        shape.kernel_height,
        shape.kernel_width,
        shape.stride_height,
        shape.stride_width,
        shape.dilation_width,
        form.outputs,
        form.bits,
        form.numbers_bytes,
        fixed_in_c(form.fixed),
    )
    plain = (
        "    (void)columns;\n    (void)places;\n"
        f"    static const aidge_helium_quads_shape shape = {{{', '.join(map(str, fields))}}};\n"
        "    aidge_helium_quads(rows, y, stream, &shape);"
    )
    purpose = f"{shape.channels} channels of {form.outputs} x {shape.out_width} outputs."
    return function(form.name, purpose, PARAMETERS, _Printer(form).lines(), plain)


def bands_texts(form: Quads) -> tuple[str, tuple[str, ...]]:
    """Name and texts of the function for all bands of the layer, of which `top` rows lie above the image."""
    shape, name = form.shape, f"{form.name}_rows"
    pads = [(0, form.left), (form.left + form.copied, form.right)]
    fills = [
        f"aidge_helium_fill(columns{f' + {at * form.column_bytes}' if at else ''}, stream[0], {count * form.column_bytes});"
        for at, count in pads
        if count
    ]
    first, row_bytes = f"{times('row', shape.stride_height)} - top", shape.in_width * shape.channels
    below, lines = "0", f"{form.lines}"
    if form.outputs > 1:
        below = f"out_height - row > 1 ? {shape.stride_height} : 0"
        lines = f"out_height - row > 1 ? {form.lines} : {shape.kernel_height}"
    see = f"x, {first}, in_height, {lines}, {shape.dilation_height}, {row_bytes}"
    body = [
        *places_lines(form.places),
        "int8_t *const columns = (int8_t *)scratch;",
        "aidge_helium_quads_rows rows;",
        "int32_t row;",
        *fills,
        f"for (row = 0; row < out_height; row += {form.outputs}) {{",
        f"    aidge_helium_quads_see(&rows, {see});",
        f"    rows.below = {below};",
        f"    {form.name}(&rows, y, stream, columns, places);",
        f"    y += {form.outputs * shape.out_width * shape.channels};",
        "}",
    ]
    return name, (text_of(form), c_function(name, OF_BANDS, body))
