# SPDX-License-Identifier: MIT
"""The assembly of product.py."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .assembly import BYTE_REACH, SAVED_BYTES, WORD_REACH, Access, Assembler, function, walk
from .floats import emit_floats, emit_stores
from .joined import emit_joined
from .product import HEAD_BYTES, LANES, LONGEST_UNROLLED, PARAMETERS, POINTERS, Product
from .rounding import CONSTANT_BITS, emit_fixed, emit_levels_of_8

ACCUMULATORS = (("r0", "r2", "r4", "r6"), ("r8", "r10", "r12", "lr"))  # of the two channels, by pixel
OF_ROWS = PARAMETERS.replace("const int8_t *x", "int8_t *const *x", 1)
STORED = {1: 0x000F, 2: 0x0F0F, 3: 0x0FFF}  # predicates of the lanes that hold the first pixels
WINDOWS_PLACE = 12  # on the stack: sums of the windows
VECTORS_IN_LOOP = 8  # of a long row; an even number keeps the order of the taps


def text_of(form: Product) -> str:
    """The C text."""
    what = "pixel" if form.pixels == 1 else "pixels"
    purpose = (
        f"Blocks of {form.pixels} {what}, {form.channels} output channels; sums of {form.rows} x {form.taps} x "
        f"{form.vectors} vectors."
    )
    parameters = OF_ROWS if form.ring else PARAMETERS
    if form.floats:
        parameters = parameters.replace("int8_t *y", "float *y") + form.floats.further
    return function(form.name, purpose, parameters, _Printer(form).lines(), form.plain())


@dataclass(frozen=True)
class _Read:
    """One load of 16 bytes of the input, and the (pixel, tap) that use it. `masked`: only the tail is there."""

    offset: int
    uses: tuple[tuple[int, int], ...]
    pointer: int
    masked: bool


class _Printer:
    """Prints one product."""

    def __init__(self, shape: Product):
        self.shape, self.emit = shape, Assembler()
        self.reach = WORD_REACH if shape.aligned else BYTE_REACH
        # Three taps need six registers for weights: the offsets of the stores are then loaded again each time.
        self.offsets_stay = shape.taps < 3
        self.data = ("q6", "q7") if shape.taps == 3 else ("q4", "q5", "q6") if shape.taps == 2 else ("q2", "q3", "q4", "q5")
        self.in_loop = shape.length > LONGEST_UNROLLED
        self.turns = 1
        self.channels: tuple[int, ...] = (0, 1)  # of a pair, whose sums are printed
        # Sums of the windows are in a register that data leave, or on the stack, where there is no place for the offsets then.
        self.stays = shape.floats is not None and shape.floats.stays  # whether windows do, in q2 to q5
        self.windows_stay = shape.taps == 1 and not self.stays
        # The highest result is in q6, or on the stack, or, where more taps need both, made each time.
        self.highest_stays, self.highest_place = self.stays and not shape.offsets, ""
        self.counted_place = 0
        self.body, self.rest = self._division()

    def _division(self) -> tuple[Product, Product | None]:
        """What one turn of the loop does, and what is left after it. `turns` is set."""
        shape = self.shape
        if not self.in_loop:
            return shape, None
        if shape.rows > 1:
            self.turns = shape.rows
            return replace(shape, rows=1, tail=0), None
        whole = shape.vectors - bool(shape.tail or shape.last)
        self.turns = whole // VECTORS_IN_LOOP
        left = shape.vectors - self.turns * VECTORS_IN_LOOP
        return replace(shape, vectors=VECTORS_IN_LOOP, tail=0), replace(shape, vectors=left) if left else None

    def lines(self):
        shape, emit = self.shape, self.emit
        reads = self._reads(self.body)
        pointers = max(read.pointer for read in reads) + 1
        self.homes = [min(read.offset for read in reads if read.pointer == index) for index in range(pointers)]
        spare = list(POINTERS[pointers:])
        counter = spare.pop() if self.in_loop else ""
        is_prepared = shape.floats is not None and shape.floats.prepared
        prepared = spare.pop() if is_prepared and spare else ""
        start = spare.pop() if spare else ""
        blocks = spare.pop() if spare else ""
        is_wide = not self.windows_stay if shape.offsets else not self.offsets_stay
        has_highest = shape.floats is not None and shape.floats.highest_bits > 0 and shape.taps == 1
        stack = 16 + (16 if is_wide else 0) - (4 if is_wide and shape.offsets else 0)
        place = 28 if is_wide else 12  # of the address of prepared numbers, where no register has it
        stack = max(stack, place + 4) if is_prepared and not prepared else stack
        if has_highest and not self.highest_stays:
            self.highest_place, stack = f"[sp, #{stack}]", stack + 16
        self.counted_place, stack = stack, stack + 8 * shape.counted  # zero point, and the stream's end
        emit.enter(stack)
        given = f"[sp, #{SAVED_BYTES + stack}]"
        self.numbers = prepared or f"[sp, #{place}]" if is_prepared else given
        emit(f"vldr{'w.u32' if shape.floats else 'h.u16'} q7, [r2]", why="offsets of the stores of each pixel")
        if not self.offsets_stay and not shape.offsets:
            emit("vstrw.32 q7, [sp, #16]")
        emit.add("r5", "r1", 0)
        emit(f"mov {blocks}, r3" if blocks else "str r3, [sp, #4]", why="blocks that are left")
        if shape.counted:
            emit.add("r4", "r2", shape.stream_bytes)
            emit(f"ldr r3, [r2, #{HEAD_BYTES}]", f"strd r3, r4, [sp, #{self.counted_place}]", why="zero point, the stream's end")
        emit.add("r3", "r2", shape.head_bytes)
        self.start = start
        emit(f"mov {start}, r3" if start else "str r3, [sp]", why="the first pair's weights")
        for index in reversed(range(pointers)):
            if shape.ring:
                emit(f"ldr {POINTERS[index]}, [r0, #{4 * index}]")
                emit.add(POINTERS[index], POINTERS[index], shape.begin + self.homes[index] - index * shape.row_step)
            else:
                emit.add(POINTERS[index], "r0", self.homes[index])
        if shape.pixels < 4 and not shape.tail:
            emit(f"movw r0, #{STORED[shape.pixels]}", "vmsr p0, r0", why="the stores of the pixels that there are")
        if has_highest:
            shape.floats.highest(emit, "q6", "r0")
        if self.highest_place:
            emit(f"vstrw.32 q6, {self.highest_place}")
        if shape.pixels == 4:
            self._mark_last()
        emit.label(1)
        if is_prepared:
            emit(*([f"ldr {prepared}, {given}"] if prepared else [f"ldr r0, {given}", f"str r0, {self.numbers}"]))
        if self.stays:
            self._load_windows(reads)
        if shape.offsets:
            if shape.pixels < 4:
                self._mark_last()
            self._windows(reads, counter)
        emit.label(2)
        if shape.pixels < 4:
            self._mark_last()
        self._sums(reads, counter)
        if shape.floats:
            self._store_floats()
        else:
            self._store()
        emit("bmi 2b" if shape.goes_by_twos and not shape.counted else "bne 2b")
        emit(f"mov r3, {start}" if start else "ldr r3, [sp]", why="the next pixels")
        for index in range(pointers):
            emit.move(POINTERS[index], shape.pixels * shape.pixel_step)
        behind = shape.pixels * shape.distance - (shape.channels if shape.goes_by_twos else max(0, shape.channels - 2))
        emit.move("r5", behind * (4 if shape.floats else 1))
        if blocks:
            emit(f"subs {blocks}, #1", "bne 1b")
        else:
            emit("ldr r0, [sp, #4]", "subs r0, #1", "str r0, [sp, #4]", "bne 1b")
        emit.leave(stack)
        return emit.lines

    def _mark_last(self) -> None:
        """What there is of the last vector of weights, unless the tail of the data says it."""
        if self.shape.last and not self.shape.tail:
            self.emit(f"movs r0, #{self.shape.last}", "vctp.8 r0", why="what there is of the last vector of weights")

    def _load_last(self) -> None:
        """The last vectors of weights, which are shorter in the stream."""
        loads = (f"vldrwt.u32 q{channel}, [r3], #{self.shape.last}" for channel in self.channels)
        self.emit(f"vps{'t' * len(self.channels)}", *loads)

    def _load_windows(self, reads: list[_Read]) -> None:
        """Those of all pixels, as signed bytes."""
        emit, shape = self.emit, self.shape
        accesses, ends = self._addresses(reads)
        if shape.tail:
            emit(f"movs r0, #{shape.tail}", "vctp.8 r0", why="the bytes after the input must not be read")
        mark, size = ("t", "b.u8") if shape.tail else ("", "w.u32" if shape.aligned else "b.u8")
        for read, access in zip(reads, accesses):
            if access.before:
                emit.move(POINTERS[read.pointer], access.before)
            emit(*(["vpst"] if shape.tail else []))
            emit(f"vldr{size[0]}{mark}{size[1:]} q{2 + read.uses[0][0]}, {access.address}")
        for index, end in enumerate(ends):
            emit.move(POINTERS[index], end)
        if shape.floats.flips:
            emit("movs r0, #128", *(f"vadd.i8 q{2 + pixel}, q{2 + pixel}, r0" for pixel in range(shape.pixels)))
        if shape.tail and shape.pixels < 4:
            emit(f"movw r0, #{STORED[shape.pixels]}", "vmsr p0, r0")

    def _windows(self, reads: list[_Read], counter: str) -> None:
        """The sum of each window: its products with a window of ones."""
        emit = self.emit
        self.channels = (0,)
        self._sums(reads, counter)
        self.channels = (0, 1)
        first = ACCUMULATORS[0]
        sums = "q6" if self.windows_stay else "q0"
        emit(f"vmov {sums}[2], {sums}[0], {first[0]}, {first[1]}", why="sums of the windows")
        emit(f"vmov {sums}[3], {sums}[1], {first[2]}, {first[3]}")
        emit(*([] if self.windows_stay else [f"vstrw.32 q0, [sp, #{WINDOWS_PLACE}]"]))

    def _reads(self, shape: Product) -> list[_Read]:
        """The loads of the input in order, each with a pointer: as few pointers as keep the additions away."""
        plain: list[tuple[int, tuple, int, int, int]] = []
        for row in range(shape.rows):
            for vector in range(shape.vectors):
                uses: dict[int, list[tuple[int, int]]] = {}
                for pixel in range(shape.pixels):
                    for tap in range(shape.taps):
                        uses.setdefault(pixel * shape.pixel_step + tap * shape.tap_step, []).append((pixel, tap))
                for column in sorted(uses, reverse=vector % 2 == 1):
                    offset = row * shape.row_step + LANES * vector + column
                    plain.append((offset, tuple(uses[column]), row, uses[column][0][0], vector))
        available = len(POINTERS) - (1 if self.in_loop else 0)
        choices = [lambda row, pixel: row] if shape.ring else [lambda row, pixel: 0]
        if 1 < shape.rows <= available and not shape.ring:
            choices.append(lambda row, pixel: row)
        if shape.taps == shape.rows == 1 and 1 < shape.pixels <= available:
            choices.append(lambda row, pixel: pixel)
        if shape.taps == shape.rows == 1 and shape.pixels > 2:
            choices.insert(1, lambda row, pixel: pixel // 2)
        best: list[_Read] = []
        for choose in choices:
            reads = [
                _Read(offset, uses, choose(row, pixel), bool(shape.tail) and vector == shape.vectors - 1)
                for offset, uses, row, pixel, vector in plain
            ]
            if not best or self._additions(reads) < self._additions(best):
                best = reads
        return best

    def _additions(self, reads: list[_Read]) -> int:
        accesses, ends = self._addresses(reads)
        return sum(access.before != 0 for access in accesses) + sum(end != 0 for end in ends)

    def _addresses(self, reads: list[_Read]) -> tuple[list[Access], list[int]]:
        found: dict[int, Access] = {}
        ends = []
        for index in range(max(read.pointer for read in reads) + 1):
            positions = [position for position, read in enumerate(reads) if read.pointer == index]
            home = min(reads[position].offset for position in positions)
            accesses, end = walk(POINTERS[index], home, [reads[position].offset for position in positions], self.reach)
            found.update(zip(positions, accesses))
            ends.append(end)
        return [found[position] for position in range(len(reads))], ends

    def _sums(self, reads: list[_Read], counter: str) -> None:
        emit, shape = self.emit, self.shape
        if self.stays:
            for channel in self.channels:
                emit(f"vldrw.u32 q{channel}, [r3], #16")
                for pixel in range(shape.pixels):
                    self._multiply(pixel, channel, f"q{channel}", f"q{2 + pixel}", set())
            return
        if not self.in_loop:
            self._block(self.body, reads, set(), 0)
            return
        for channel in self.channels:
            for register in ACCUMULATORS[channel][: shape.pixels]:
                emit(f"mov {register}, #0")
        started = {(pixel, channel) for pixel in range(shape.pixels) for channel in self.channels}
        step = shape.row_step if shape.rows > 1 else LANES * self.body.vectors
        emit(f"mov {counter}, #{self.turns}", why="rows" if shape.rows > 1 else "parts of the row")
        emit.label(3)
        self._block(self.body, reads, started, step)
        emit(f"subs {counter}, #1", "bne 3b")
        if self.rest:
            self._block(self.rest, self._with_pointers(self._reads(self.rest), reads), started, 0)
        for index in range(len(self.homes)):
            emit.add(POINTERS[index], POINTERS[index], -step * self.turns)

    @staticmethod
    def _with_pointers(reads: list[_Read], like: list[_Read]) -> list[_Read]:
        """The reads with the pointers that the loop uses for the same pixels."""
        pointer_of = {read.uses[0][0]: read.pointer for read in like}
        return [replace(read, pointer=pointer_of[read.uses[0][0]]) for read in reads]

    def _block(self, part: Product, reads: list[_Read], started: set, step: int) -> None:
        """All multiplications of `part`; the pointers end `step` bytes further."""
        emit = self.emit
        accesses, ends = self._addresses(reads)
        size = "w.u32" if self.shape.aligned else "b.u8"
        loaded: set[int] = set()
        per_vector = len(reads) // (part.rows * part.vectors)
        has_ends = part is not self.body or not self.in_loop or self.shape.rows > 1

        def is_last(vector: int) -> bool:
            return bool(self.shape.last) and has_ends and vector % part.vectors == part.vectors - 1

        for position, (read, access) in enumerate(zip(reads, accesses)):
            if position % per_vector == 0:
                loaded = set()
                if read.masked:
                    self._masked_vector(reads[position:], accesses[position:], started)
                    break
                if is_last(position // per_vector):
                    self._load_last()
                    loaded = {(0, channel) for channel in self.channels}
            register = self.data[position % len(self.data)]
            if access.before:
                emit.move(POINTERS[read.pointer], access.before)
            emit(f"vldr{size} {register}, {access.address}")
            for pixel, tap in read.uses:
                for channel in self.channels:
                    if (tap, channel) not in loaded:
                        loaded.add((tap, channel))
                        emit(f"vldrw.u32 q{2 * tap + channel}, [r3], #16")
                    self._multiply(pixel, channel, f"q{2 * tap + channel}", register, started)
        for index, end in enumerate(ends):
            emit.move(POINTERS[index], end + step)

    def _multiply(self, pixel: int, channel: int, weights: str, data: str, started: set) -> None:
        operation = "vmladava" if (pixel, channel) in started else "vmladav"
        started.add((pixel, channel))
        letter = self.shape.floats.letter if self.shape.floats else "s"
        self.emit(f"{operation}.{letter}8 {ACCUMULATORS[channel][pixel]}, {weights}, {data}")

    def _masked_vector(self, reads: list[_Read], accesses: list[Access], started: set) -> None:
        """The last vector, of which only the tail may be read."""
        emit, shape = self.emit, self.shape
        if not shape.last:
            emit(*(f"vldrw.u32 q{channel}, [r3], #16" for channel in self.channels))
        free = next(
            (
                register
                for pixel in reversed(range(4))
                for register in (ACCUMULATORS[1][pixel], ACCUMULATORS[0][pixel])
                if pixel >= shape.pixels or (pixel, 0) not in started
            ),
            "",
        )
        if free:
            emit(f"mov {free}, #{shape.tail}", f"vctp.8 {free}", why="the bytes after the input must not be read")
        else:
            emit(
                "str r0, [sp, #8]",
                f"movs r0, #{shape.tail}",
                "vctp.8 r0",
                "ldr r0, [sp, #8]",
                why="the bytes after the input must not be read",
            )
        together = not any(access.before for access in accesses[1:])
        for position, (read, access) in enumerate(zip(reads, accesses)):
            if access.before:
                emit.add(POINTERS[read.pointer], POINTERS[read.pointer], access.before)
            if position == 0 or not together:
                emit(f"vps{'t' * (len(reads) if together else 1)}")
            emit(f"vldrbt.u8 q{2 + read.uses[0][0]}, {access.address}")
        if shape.last:
            self._load_last()
        for channel in self.channels:
            for read in reads:
                self._multiply(read.uses[0][0], channel, f"q{channel}", f"q{2 + read.uses[0][0]}", started)

    def _gather(self) -> None:
        """The sums of a pair into q0 and q1, those of the windows into q6."""
        emit = self.emit
        for channel, register in enumerate(("q0", "q1")):
            first = ACCUMULATORS[channel]
            emit(f"vmov {register}[2], {register}[0], {first[0]}, {first[1]}")
            emit(f"vmov {register}[3], {register}[1], {first[2]}, {first[3]}")
        if self.shape.offsets and not self.windows_stay:
            emit(f"vldrw.u32 q6, [sp, #{WINDOWS_PLACE}]")

    def _load_offsets(self) -> None:
        """Those of the stores into q7, unless they have stayed there."""
        if self.offsets_stay:
            return
        if not self.shape.offsets:
            self.emit("vldrw.u32 q7, [sp, #16]")
            return
        size = "w.u32" if self.shape.floats else "h.u16"
        self.emit(*([] if self.start else ["ldr lr, [sp]"]), f"vldr{size} q7, [{self.start or 'lr'}, #{-self.shape.head_bytes}]")

    def _store_floats(self) -> None:
        emit, shape, highest = self.emit, self.shape, "q6" if self.stays else "q2"
        self._gather()
        emit_floats(emit, shape.floats, self.numbers, "q6" if shape.offsets else "")
        if shape.taps > 1:
            shape.floats.highest(emit, highest, "r0")
        shape.floats.clamp(emit, ("q0", "q1"), highest, self.highest_place)
        self._load_offsets()
        if shape.tail and shape.pixels < 4 and not self.stays:
            emit(f"movw r0, #{STORED[shape.pixels]}", "vmsr p0, r0")
        emit_stores(emit, shape.pixels == 4)

    def _store(self) -> None:
        """Requantize eight sums and store them; leaves the flags of "there is another pair"."""
        emit, shape = self.emit, self.shape
        self._gather()
        if shape.offsets:
            emit("ldrd r0, r2, [r3], #8", "vmla.s32 q0, q6, r0", "vmla.s32 q1, q6, r2", why="what the weights lack")
        levels = ", r10, r12" if shape.clamps or shape.fixed else ""
        if shape.joined:
            emit(f"ldm r3!, {{r0, r2, r4{levels}}}", why="biases and multipliers")
            emit_joined(emit, ("r0", "r2", "r4"), ("r0", "r2"), ("r4", "r6"), "r8")
        else:
            emit(
                f"ldm r3!, {{r0, r2, r4, r6{'' if shape.counted else ', r8'}{levels}}}",
                why="biases, multipliers, zero point and step",
            )
        if shape.counted:
            emit(f"ldr r8, [sp, #{self.counted_place}]")
        self._load_offsets()
        emit(*(f"vshl.i32 {register}, {register}, #{shape.bits}" for register in ("q0", "q1") if shape.bits))
        emit("vadd.i32 q0, q0, r0", "vadd.i32 q1, q1, r2")
        if shape.mixed:
            emit("cmp r4, #0", "bpl 4f", why="a pair of channels that is not fused")
        if shape.fused:
            emit("lsr r2, r8, #16", "uxth r8, r8", *(f"movt {register}, #{CONSTANT_BITS >> 16}" for register in ("r8", "r2")))
            emit("vdup.32 q2, r4", "vdup.32 q3, r6", "vfmas.f32 q0, q2, r8", "vfmas.f32 q1, q3, r2")
            emit("vmov q2, q0", "vmovnt.i32 q2, q1", "lsr r8, r6, #9", why="the mark where other pairs have it")
        if shape.mixed:
            emit("b 5f")
            emit.label(4)
        if not shape.fused or shape.mixed:
            self._round_twice()
        if shape.mixed:
            emit.label(5)
        if shape.clamps:
            emit("vdup.16 q3, r10", "vmax.s16 q2, q2, q3", "vdup.16 q3, r12", "vmin.s16 q2, q2, q3")
        emit("vqmovnb.s16 q2, q2")
        if shape.pixels == 4:
            emit("vstrb.16 q2, [r5, q7]")
        else:
            if shape.tail or shape.last:
                emit(f"movw r0, #{STORED[shape.pixels]}", "vmsr p0, r0")
            emit("vpst", "vstrbt.16 q2, [r5, q7]")
        if shape.counted:
            emit("adds r5, #2", f"ldr r10, [sp, #{self.counted_place + 4}]", "cmp r3, r10", why="equal after the last pair")
        elif shape.goes_by_twos:
            emit("adds r5, #2", "lsls r10, r8, #9", why="negative: there is another pair")
        else:
            emit("asrs r10, r8, #16", "add r5, r10", why="0 after the last pair")

    def _round_twice(self) -> None:
        """Sums with their bias in q0 and q1 become levels in q2."""
        emit = self.emit
        if self.shape.fixed:
            shifts = ("r0", "r2") if self.shape.clamps else ("r10", "r12")
            emit(*(["ldrd r0, r2, [r3], #8"] if self.shape.clamps else []))
            emit_fixed(emit, self.shape.fixed, ("q0", "q1"), ("r4", "r6"), "r4")
            emit(*(f"vrshl.s32 {register}, {shift}" for register, shift in zip(("q0", "q1"), shifts)))
            emit_levels_of_8(emit, self.shape.fixed, "q0", "q1", "q2", "r8")
            return
        emit("vcvt.f32.s32 q0, q0", "vcvt.f32.s32 q1, q1", "vmul.f32 q0, q0, r4", "vmul.f32 q1, q1, r6")
        if self.shape.adds:
            emit("vadd.f32 q2, q0, r8", "vadd.f32 q1, q1, r8", "vmovnt.i32 q2, q1", why="rounded by the addition")
        else:
            emit("vcvtn.s32.f32 q0, q0", "vcvtn.s32.f32 q1, q1", "vqmovnb.s32 q2, q0", "vqmovnt.s32 q2, q1")
            emit("vqadd.s16 q2, q2, r8")
