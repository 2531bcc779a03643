# SPDX-License-Identifier: MIT
"""The assembly of series.py: 16 channels are turned, then the window of each laid out, and tile after tile computed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..core.assembly import function
from ..core.levels_text import HEAD_BYTES, TOTALS, ChannelPrinter, load_numbers
from .series import GROUP, GROUP_BYTES, LANES, TILE, Series

FRAME_BYTES, SHORT_FRAME = 24, 8  # plane, channels that are left, those of a block, input zero point, lowest, highest
PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *stream, void *scratch"
POINTERS = ("r0", "r2", "r4", "r6")  # to the four values of a group


class SeriesPrinter(ChannelPrinter):
    """r1: mask of the last tile, r3: taps, r5: outputs of a tile, r7, r8, r9: bias, multiplier, zero point, r10: outputs,
    r11: input, r12: numbers; q0 to q3: the window at its places, q4: addresses of a channel's groups, q6: offsets of stores."""

    def __init__(self, form: Series):
        super().__init__(form)
        self.blocks, self.left = -(-form.shape.channels // LANES), form.shape.channels % LANES
        self.whole, self.last = divmod(form.shape.out_width, TILE)
        self.frame = FRAME_BYTES if form.clamps or form.has_runs or form.sees_pads else SHORT_FRAME

    def lines(self):
        emit, shape = self.emit, self.shape
        emit.enter(self.frame)
        emit("mov r10, r1", "mov r11, r0")
        self._stores()
        emit("strd r3, r0, [sp]", why="plane, channels that are left")
        emit("ldr r9, [r2, #4]", why="zero point")
        if self.frame > SHORT_FRAME:
            emit("ldr r4, [r2]", "str r4, [sp, #12]", why="that of the input")
            emit("ldrd r4, r5, [r2, #8]", "strd r4, r5, [sp, #16]", why="lowest and highest")
        emit.add("r12", "r2", HEAD_BYTES)
        emit.add("r3", "r12", self.form.numbers_bytes * shape.channels)
        if self.last:
            emit(f"movw r1, #{self._mask()}")
        emit.label(1)
        self._turn()
        self._addresses()
        self._channels()
        if self.blocks > 1:
            emit("ldr r0, [sp, #4]", "subs r0, #16", "str r0, [sp, #4]", "bgt 1b")
        emit.leave(self.frame)
        return emit.lines

    def _stores(self) -> None:
        """Offsets: the halfwords of q5 are outputs 0, 4, 1, 5 and so on. r0: channels."""
        emit = self.emit
        emit("movs r0, #0", "vidup.u32 q6, r0, #1", "vsli.32 q6, q6, #16", f"vorr.i32 q6, #{TILE // 2 << 16:#x}")
        emit(f"movw r0, #{self.shape.channels}", "vmul.i16 q6, q6, r0")

    def _mask(self) -> int:
        """The mask of the bytes of the last tile that are stored."""
        return sum(3 << 2 * lane for lane in range(TILE) if lane // 2 + TILE // 2 * (lane % 2) < self.last)

    def _turn(self) -> None:
        """16 channels of all values into the plane, four values at a time."""
        emit, form, channels = self.emit, self.form, self.shape.channels
        if self.left:
            emit("ldr r7, [sp, #4]", "vctp.8 r7")
        emit("ldr r8, [sp]")
        emit.add("r8", "r8", GROUP_BYTES * form.first)
        emit.add("r0", "r11", (GROUP * form.first - self.shape.left) * channels)
        emit(f"movw r5, #{channels}", *(f"adds {pointer}, {before}, r5" for before, pointer in zip(POINTERS, POINTERS[1:])))
        emit(f"lsls r5, r5, #{GROUP.bit_length() - 1}", why="to the next four")
        emit("add r11, r11, #16", why="the next 16 channels")
        groups = form.turned
        whole = sum(all(group) for group in groups)
        for index, group in enumerate(groups):
            if not all(group):
                self._group(group, index + 1 < len(groups))
            elif index == 0 or not all(groups[index - 1]):
                if whole > 1:
                    emit(f"movs r7, #{whole}", "dls lr, r7")
                    emit.label(2)
                self._group(group, whole > 1 or index + 1 < len(groups))
                emit(*(["le lr, 2b"] if whole > 1 else []))

    def _group(self, group: list[bool], goes_on: bool) -> None:
        emit = self.emit
        predicated = [f"vldrbt.u8 q{value}, [{pointer}]" for value, pointer in enumerate(POINTERS) if group[value]]
        if self.form.sees_pads and not all(group):
            emit("ldr r7, [sp, #12]", *(f"vdup.8 q{value}, r7" for value in range(GROUP) if not group[value]), why="pads")
        if self.left:
            emit(f"vpst{'t' * (len(predicated) - 1)}", *predicated)
        else:
            emit(*(text.replace("vldrbt", "vldrb") for text in predicated))
        if goes_on:
            emit(*(f"add {pointer}, r5" for pointer in POINTERS))
        emit(*(f"vst4{part}.8 {{q0, q1, q2, q3}}, [r8]{'!' * (part == 3)}" for part in range(4)))

    def _addresses(self) -> None:
        """The addresses of the first channel's groups, minus the step of the first gather."""
        emit = self.emit
        emit("movs r0, #0", "vidup.u32 q4, r0, #8", "vshl.i32 q4, q4, #3", "ldr r0, [sp]")
        emit.add("r0", "r0", -(GROUP_BYTES if self.form.has_runs else GROUP))
        emit("vadd.i32 q4, q4, r0")
        if self.left and self.blocks > 1:
            emit("ldr r0, [sp, #4]", "cmp r0, #16", "it gt", "movgt r0, #16", why="channels of this block")
        else:
            emit(f"movs r0, #{self.left or LANES}")
        emit("str r0, [sp, #8]" if self.form.has_runs else "dls lr, r0")
        if self.form.overlaps or not self.last:
            self._mask_taps()

    def _mask_taps(self) -> None:
        self.emit(f"movs r0, #{self.form.taps}", "vctp.8 r0")

    def _channels(self) -> None:
        emit, form = self.emit, self.form
        if form.overlaps:
            self._windows()
        emit.label(2)
        if self.last:
            self._mask_taps()
        if not form.overlaps:
            self._windows()
        load_numbers(emit, form)
        emit("mov r5, r10", "add r10, r10, #1")
        if form.has_runs:
            self._run()
            emit(f"movw r0, #{GROUP_BYTES * form.gathers - GROUP}", "vsub.i32 q4, q4, r0", why="the next channel")
            emit("ldr r0, [sp, #8]", "subs r0, #1", "str r0, [sp, #8]", "bne 2b")
        else:
            self._tiles()
            emit("le lr, 2b")
            emit(*([f"subs r3, #{form.taps}"] if form.overlaps and self.blocks > 1 else []))

    def _windows(self) -> None:
        """The next channel's window at its places."""
        emit, form = self.emit, self.form
        emit("vpst", f"vldrbt.u8 q0, [r3], #{form.taps}", *(["movs r0, #0"] if form.windows > 1 else []))
        for window in range(1, form.windows):
            emit(f"vmov q{window}, q{window - 1}", f"vshlc q{window}, r0, #{8 * form.stride}")

    def _tiles(self) -> None:
        """Each written out; the first gather moves on to this channel."""
        gathers = iter(["[q4, #4]!", *(f"[q4, #{GROUP_BYTES * gather}]" for gather in range(1, self.form.gathers))])
        tiles = [TILE] * self.whole + [self.last] * (self.last > 0)
        for tile, (outputs, following) in enumerate(zip(tiles, [*tiles[1:], 0])):
            self._tile(outputs, gathers, *((tile > 0, following) if self.form.overlaps else ()))
            if following:
                self.emit.add("r5", "r5", TILE * self.shape.channels)

    def _run(self) -> None:
        """One tile after the other; each gather moves on by a group."""
        emit = self.emit
        gathers = iter([f"[q4, #{GROUP_BYTES}]!"] * self.form.gathers)
        if self.whole > 1:
            emit(f"movw r0, #{self.whole}", "dls lr, r0")
            emit.label(3)
        if self.whole:
            self._tile(TILE, gathers)
            emit.add("r5", "r5", TILE * self.shape.channels)
        if self.whole > 1:
            emit("le lr, 3b")
        if self.last:
            self._tile(self.last, gathers)

    def _tile(self, outputs: int, gathers: Iterator[str], is_begun: bool = False, following: int = 0) -> None:
        """So many outputs; `gathers`: addresses of groups. `is_begun`: the first products are there. `following`: of so many
        outputs of the next tile the first ones are computed before this one is stored."""
        emit, used = self.emit, []
        for register, found in (("q5", min(outputs, GROUP)), ("q7", outputs - GROUP)):
            if not (is_begun and register == "q5"):
                self._products(found, gathers, register)
            emit(*([f"vmov {register}[2], {register}[0], r0, r4"] if found > 0 else []))
            emit(*([f"vmov {register}[3], {register}[1], r2, r6"] if found > 1 else []))
            used += [register] if found > 0 else []
        if self.form.overlaps and not following:
            self._windows()
        self._levels(used, partial(self._products, min(following, GROUP), gathers, "q7"))
        emit(*(("vmsr p0, r1", "vpst", "vstrbt.16 q5, [r5, q6]") if outputs < TILE else ("vstrb.16 q5, [r5, q6]",)))

    def _products(self, outputs: int, gathers: Iterator[str], register: str) -> None:
        """The products of at most four outputs, whose values come into the register."""
        for output in range(outputs):
            if output % self.form.together == 0:
                self.emit(f"vldrw.u32 {register}, {next(gathers)}")
            self.emit(f"vmladav.s8 {TOTALS[output]}, q{output % self.form.together}, {register}")


def text_of(form: Series) -> str:
    """The C text of the function."""
    shape = form.shape
    purpose = f"{shape.channels} channels of {shape.out_width} outputs, one after the other."
    lines = SeriesPrinter(form).lines()
    return function(form.name, purpose, PARAMETERS, lines)
