# SPDX-License-Identifier: MIT
"""The assembly of product.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.assembly import SAVED_BYTES, Access, Assembler, function
from ..core.floats import emit_floats, emit_stores
from .product import HEAD_BYTES, LANES, LONGEST_UNROLLED, PARAMETERS, POINTERS, STORED, Product
from .product_levels import Levels
from .product_reads import Read, Reading, in_order_of_use, reads_before_late

ACCUMULATORS = (("r0", "r2", "r4", "r6"), ("r8", "r10", "r12", "lr"))  # of the two channels, by pixel
OF_ROWS = PARAMETERS.replace("const int8_t *x", "int8_t *const *x", 1)
WINDOWS_PLACE = 12  # on the stack: sums of the windows
# Beside levels: the registers of the weights by taps. Late taps have those that the levels leave.
BESIDE_LEVELS = {1: (2, 3), 2: (2, 3, 0, 1), 3: (2, 3, 4, 5, 0, 1)}
VECTORS_BESIDE = 2  # of one tap, whose products take as long as the levels
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
    return function(form.name, purpose, parameters, _Printer(form).lines())


class _Printer:
    """Prints one product."""

    def __init__(self, shape: Product):
        self.shape, self.emit = shape, Assembler()
        # Three taps need six registers for weights: the offsets of the stores are then loaded again each time.
        self.offsets_stay = shape.taps < 3
        few = ("q6", "q7") if shape.taps == 3 else ("q4", "q5", "q6")
        self.data = few if shape.taps > 1 or shape.beside else ("q2", "q3", "q4", "q5")
        self.in_loop = shape.length > LONGEST_UNROLLED
        self.turns = 1
        self.channels: tuple[int, ...] = (0, 1)  # of a pair, whose sums are printed
        # Sums of the windows are in a register that data leave, or on the stack, where there is no place for the offsets then.
        self.windows_stay = shape.taps == 1
        self.highest_place = ""  # of the highest result on the stack; with more taps it is made each time
        self.reading = Reading(shape, len(POINTERS) - (self.in_loop or shape.beside))
        self.body, self.rest = self._division()
        self.weights: Sequence[int] = BESIDE_LEVELS[shape.taps] if shape.beside else range(2 * shape.taps)
        self.stores_at = -1  # the read before which levels are stored
        self.begins_loaded = False  # whether the first data are there
        self.ahead = -1  # bytes from r3 to the next weights, where r3 waits
        self.levels = Levels(self.emit, shape)
        self.late = [tap for tap in range(shape.taps) if shape.beside and self.weights[2 * tap] == 0]
        # Of several vectors the last one leaves the registers of sums first.
        self.gathers_first = not self.late or shape.rows * shape.vectors > 1
        self.loaded: set[tuple[int, int]] = set()  # weights of the vector: tap, channel
        self.waiting: list[tuple[int, int, str]] = []  # products of late taps: pixel, tap, data

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
        reads = self.reading.reads(self.body)
        pointers = max(read.pointer for read in reads) + 1
        self.homes = [min(read.offset for read in reads if read.pointer == index) for index in range(pointers)]
        spare = list(POINTERS[pointers:])
        counter = spare.pop() if self.in_loop else ""
        is_prepared = shape.floats is not None and shape.floats.prepared
        prepared = spare.pop() if is_prepared and spare else ""
        scratch = tuple(spare[:2]) if shape.beside else ()
        spare = spare[len(scratch) :]
        start = spare.pop() if spare else ""
        blocks = spare.pop() if spare else ""
        is_wide = not self.windows_stay if shape.offsets else not self.offsets_stay
        has_highest = shape.floats is not None and shape.floats.highest_bits > 0 and shape.taps == 1
        stack = 16 + (16 if is_wide else 0) - (4 if is_wide and shape.offsets else 0)
        place = 28 if is_wide else 12  # of the address of prepared numbers, where no register has it
        stack = max(stack, place + 4) if is_prepared and not prepared else stack
        if has_highest:
            self.highest_place, stack = f"[sp, #{stack}]", stack + 16
        self.levels = Levels(emit, shape, stack, scratch, "q7" if self.offsets_stay or not shape.beside else "q1")
        stack += 8 * shape.counted  # zero point, and the stream's end
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
            emit(
                f"ldr r3, [r2, #{HEAD_BYTES}]",
                f"strd r3, r4, [sp, #{self.levels.counted_place}]",
                why="zero point, the stream's end",
            )
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
            emit(f"vstrw.32 q6, {self.highest_place}")
        if shape.pixels == 4:
            self._mark_last()
        emit.label(1)
        if is_prepared:
            emit(*([f"ldr {prepared}, {given}"] if prepared else [f"ldr r0, {given}", f"str r0, {self.numbers}"]))
        if shape.offsets:
            if shape.pixels < 4:
                self._mark_last()
            self._windows(reads, counter)
        self._pairs(reads, counter)
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

    def _pairs(self, reads: list[Read], counter: str) -> None:
        """The loop over pairs of channels."""
        emit, shape = self.emit, self.shape
        if shape.beside:
            self._pairs_beside_levels(reads)
            return
        emit.label(2)
        if shape.pixels < 4:
            self._mark_last()
        self._sums(reads, counter)
        condition = self._store_floats() if shape.floats else self._store()
        emit(f"b{condition} 2b")

    def _pairs_beside_levels(self, reads: list[Read]) -> None:
        """The same loop, in which the first products of a pair pass between the levels of the one before."""
        emit, levels, started = self.emit, self.levels, set[tuple[int, int]]()
        whole = self.body.vectors - 1 if self.shape.last else self.body.rows * self.body.vectors
        count = self.body.columns * min(VECTORS_BESIDE, whole)
        if self.late:
            count = reads_before_late(reads[: self.body.columns], self.late, len(self.data))
        self._block(self.body, reads, started, 0, slice(count))
        emit("b 3f", why="the rest of the products")
        first = self.reading.addresses(reads)[0][0]
        self.begins_loaded = bool(self.late) and not first.before and first.address.endswith("]")
        emit.label(2)
        self._levels_beside(reads, count, self.shape.shift > 0)
        emit.label(3)
        if count < len(reads):
            self._block(self.body, reads, started, 0, slice(count, None))
        if self.gathers_first:
            self._gather()
        condition = levels.test()
        if self.late:
            levels.load_bias()
        if self.begins_loaded:
            self._load_data(self.data[0], reads[0], first)
        if self.shape.shift:
            emit("bcs 2b", "bpl 6f", why="a pair of integers; none")
            self._levels_beside(reads, count, False)
            emit("b 3b")
            emit.label(6)
        else:
            emit(f"b{condition} 2b")
        if not self.gathers_first:
            self._gather()
        levels.compute(begun=bool(self.late))
        self._store_levels(started)

    def _levels_beside(self, reads: list[Read], count: int, by_shift: bool) -> None:
        """The levels of a pair, and the first products of the next one."""
        if not self.gathers_first:
            self._gather()
        self.levels.compute(by_shift, bool(self.late))
        started = set[tuple[int, int]]()
        self.ahead = 4 * self.shape.parameter_words
        self.stores_at = count if self.late else 3 * count // 4
        self._block(self.body, reads, started, 0, slice(count))
        if self.stores_at == count:
            self._store_levels(started)
        self.emit.move("r3", self.ahead)
        self.ahead = -1

    def _store_levels(self, started: set) -> None:
        """Those beside whose registers products pass, and the products that have waited for these registers."""
        if not self.offsets_stay:
            self.emit(f"vldrw.u32 {self.levels.places}, [sp, #16]")
        self.levels.store()
        self.stores_at = -1
        self._weigh(self.waiting, started)
        self.waiting = []

    def _mark_last(self) -> None:
        """What there is of the last vector of weights, unless the tail of the data says it."""
        if self.shape.last and not self.shape.tail:
            self.emit(f"movs r0, #{self.shape.last}", "vctp.8 r0", why="what there is of the last vector of weights")

    def _load_last(self) -> None:
        """The last vectors of weights, which are shorter in the stream."""
        loads = (f"vldrwt.u32 q{self.weights[channel]}, [r3], #{self.shape.last}" for channel in self.channels)
        self.emit(f"vps{'t' * len(self.channels)}", *loads)

    def _windows(self, reads: list[Read], counter: str) -> None:
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

    def _sums(self, reads: list[Read], counter: str) -> None:
        emit, shape = self.emit, self.shape
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
            self._block(self.rest, self.reading.like(self.rest, reads), started, 0)
        for index in range(len(self.homes)):
            emit.add(POINTERS[index], POINTERS[index], -step * self.turns)

    def _block(self, part: Product, reads: list[Read], started: set, step: int, span: slice = slice(None)) -> None:
        """The multiplications of `part`, or of a `span` of its reads; after all of them the pointers are `step` bytes further."""
        accesses, ends = self.reading.addresses(reads)
        for position in range(len(reads))[span]:
            if reads[position].masked:
                self._masked_vector(reads[position:], accesses[position:], started)
                break
            if position == self.stores_at:
                self._store_levels(started)
            self._begin_vector(part, reads, position)
            register = self.data[position % len(self.data)]
            if position > 0 or not self.begins_loaded:
                self._load_data(register, reads[position], accesses[position])
            products = [(pixel, tap, register) for pixel, tap in reads[position].uses]
            self.waiting += [product for product in products if position < self.stores_at and product[1] in self.late]
            self._weigh([product for product in products if product not in self.waiting], started)
        if span.stop in (None, len(reads)):
            for index, end in enumerate(ends):
                self.emit.move(POINTERS[index], end + step)

    def _begin_vector(self, part: Product, reads: list[Read], position: int) -> None:
        """Where a vector begins: chooses the registers of its weights, and loads the weights together where they are the last
        ones, which are shorter; else each is loaded before its use."""
        vector, begun = divmod(position, part.columns)
        if begun:
            return
        if self.late and self.gathers_first:
            is_last = vector + 1 == part.rows * part.vectors
            self.weights = in_order_of_use(reads[position:]) if is_last else BESIDE_LEVELS[part.taps]
        self.loaded = set()
        has_ends = part is not self.body or not self.in_loop or self.shape.rows > 1
        if has_ends and self.shape.last and vector % part.vectors == part.vectors - 1:
            self._load_last()
            self.loaded = {(0, channel) for channel in self.channels}

    def _load_data(self, register: str, read: Read, access: Access) -> None:
        if access.before:
            self.emit.move(POINTERS[read.pointer], access.before)
        self.emit(f"vldr{'w.u32' if self.shape.aligned else 'b.u8'} {register}, {access.address}")

    def _weigh(self, products: Sequence[tuple[int, int, str]], started: set) -> None:
        """The products (pixel, tap, data) with weights of both channels, which are loaded before their first product."""
        for pixel, tap, data in products:
            for channel in self.channels:
                number = 2 * tap + channel
                if (tap, channel) not in self.loaded:
                    self.loaded.add((tap, channel))
                    self._load_weights(number)
                self._multiply(pixel, channel, f"q{self.weights[number]}", data, started)

    def _load_weights(self, number: int) -> None:
        """The next vector of weights, from r3, which moves on, or from as many bytes ahead."""
        if self.ahead < 0:
            self.emit(f"vldrw.u32 q{self.weights[number]}, [r3], #{LANES}")
        else:
            self.emit(f"vldrw.u32 q{self.weights[number]}, [r3, #{self.ahead}]")
            self.ahead += LANES

    def _multiply(self, pixel: int, channel: int, weights: str, data: str, started: set) -> None:
        operation = "vmladava" if (pixel, channel) in started else "vmladav"
        started.add((pixel, channel))
        letter = self.shape.floats.letter if self.shape.floats else "s"
        self.emit(f"{operation}.{letter}8 {ACCUMULATORS[channel][pixel]}, {weights}, {data}")

    def _masked_vector(self, reads: list[Read], accesses: list[Access], started: set) -> None:
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
        why = "the bytes after the input must not be read"
        if free:
            emit(f"mov {free}, #{shape.tail}", f"vctp.8 {free}", why=why)
        else:
            emit("str r0, [sp, #8]", f"movs r0, #{shape.tail}", "vctp.8 r0", "ldr r0, [sp, #8]", why=why)
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

    def _store_floats(self) -> str:
        """Stores eight sums as float32; returns the condition of "there is another pair"."""
        emit, shape = self.emit, self.shape
        self._gather()
        emit_floats(emit, shape.floats, self.numbers)
        if shape.taps > 1:
            shape.floats.highest(emit, "q2", "r0")
        shape.floats.clamp(emit, ("q0", "q1"), "q2", self.highest_place)
        self._load_offsets()
        if shape.tail and shape.pixels < 4:
            emit(f"movw r0, #{STORED[shape.pixels]}", "vmsr p0, r0")
        emit_stores(emit, shape.pixels == 4)
        return "ne"

    def _store(self) -> str:
        """Requantizes eight sums and stores them; returns the condition of "there is another pair"."""
        self._gather()
        self.levels.load()
        self._load_offsets()
        self.levels.compute()
        self.levels.store()
        return self.levels.test()
