# SPDX-License-Identifier: MIT
"""The assembly of product.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.assembly import Access, Assembler, emit_gather, function
from ..core.floats import emit_floats, emit_stores
from .product import HEAD_BYTES, LANES, LONGEST_UNROLLED, PARAMETERS, POINTERS, STORED, Product
from .product_levels import Levels
from .product_reads import Read, Reading, reads_before_late
from .product_weights import Weights
from .sparse_text import sparse_text_of

SUMS = tuple(tuple(f"%{channel}{pixel}" for pixel in range(4)) for channel in "ab")  # of the two channels, by pixel
VECTORS = "%q.a", "%q.b"  # the same, gathered
OF_ROWS = PARAMETERS.replace("const int8_t *x", "int8_t *const *x", 1)
PLACES, WINDOWS, HIGHEST = "[sp, %frame.places]", "[sp, %frame.windows]", "[sp, %frame.highest]"
VECTORS_BESIDE = 2  # of one tap, whose products take as long as the levels
VECTORS_IN_LOOP = 8  # of a long row; an even number keeps the order of the taps


def text_of(form: Product) -> str:
    """The C text."""
    if form.left:
        return sparse_text_of(form)
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
        # Three taps need six vectors of weights: the offsets of the stores are then loaded again each time.
        self.offsets_stay = shape.taps < 3
        self.kept = 2 if shape.taps == 3 else 3 if shape.taps > 1 or shape.beside else 4  # vectors of data at a time
        self.in_loop = shape.length > LONGEST_UNROLLED
        self.turns = 1
        self.weights = Weights(self.emit, shape)
        self.windows_stay = shape.taps == 1  # the sums of the windows in a vector; else they are in the frame
        self.highest_stays = shape.floats is not None and shape.floats.highest_bits > 0 and shape.taps == 1  # in the frame
        self.reading = Reading(shape, len(POINTERS) - (self.in_loop or shape.beside))
        self.body, self.rest = self._division()
        self.stores_at = -1  # the read before which levels are stored
        self.begins_loaded = False  # whether the first data are there
        self.reads = self.reading.reads(self.body)
        self.pointers = POINTERS[: max(read.pointer for read in self.reads) + 1]
        scratch = ("%number_a", "%number_b")[: len(POINTERS) - len(self.pointers)] if shape.beside else ()
        self.levels = Levels(self.emit, shape, scratch)
        self.late = [shape.taps - 1] if shape.beside and shape.taps > 1 else []  # taps whose weights have no vector before
        # The last of several vectors leaves the vectors of sums first.
        self.gathers_first = not self.late or shape.rows * shape.vectors > 1
        self.loaded: set[tuple[int, int]] = set()  # weights of the vector: tap, channel
        self.waiting: list[tuple[int, int, str]] = []  # products of late taps: pixel, tap, data

    def _division(self) -> tuple[Product, Product | None]:
        """One turn of the loop, and the part that is left after it. `turns` is set."""
        shape = self.shape
        if not self.in_loop:
            return shape, None
        if shape.rows > 1:
            self.turns = shape.rows
            return replace(shape, rows=1, tail=0), None
        whole = shape.vectors - bool(shape.tail or shape.has_ends)
        self.turns = whole // VECTORS_IN_LOOP
        left = shape.vectors - self.turns * VECTORS_IN_LOOP
        return replace(shape, vectors=VECTORS_IN_LOOP, tail=0), replace(shape, vectors=left) if left else None

    def lines(self):
        shape, emit = self.shape, self.emit
        self._begin()
        self._begin_pointers()
        if shape.pixels == 4:
            self.weights.mark_last()
        emit.label("block")
        emit("mov %numbers, %start", *(["ldr %prepared, [%argument.4]"] if shape.floats and shape.floats.prepared else []))
        if shape.offsets:
            if shape.pixels < 4:
                self.weights.mark_last()
            self._windows()
        self._pairs()
        for pointer in self.pointers:
            emit.move(pointer, shape.pixels * shape.pixel_step)
        behind = shape.pixels * shape.distance - (shape.channels if shape.goes_by_twos else max(0, shape.channels - 2))
        emit.move("%y", behind * (4 if shape.floats else 1))
        emit("subs %blocks, %blocks, #1", "bne %block", "%leave")
        return emit.lines

    def _begin(self) -> None:
        """Prepares the registers that stay the same for all blocks."""
        shape, emit = self.shape, self.emit
        in_frame = ["places.4"] * (not self.offsets_stay and not shape.offsets)
        in_frame += ["windows.4"] * (shape.offsets and not self.windows_stay) + ["highest.4"] * self.highest_stays
        emit("%enter", *([f"%frame {', '.join(in_frame)}"] if in_frame else []))
        self._keep_apart()
        emit(f"vldr{'w.u32' if shape.floats else 'h.u16'} %q.places, [%stream]", why="offsets of the stores of each pixel")
        if not self.offsets_stay and not shape.offsets:
            emit(f"vstrw.32 %q.places, {PLACES}")
        if shape.counted:
            emit.add("%end", "%stream", shape.stream_bytes)
            emit(f"ldr %zero_point, [%stream, #{HEAD_BYTES}]")
        emit.add("%start", "%stream", shape.head_bytes)
        if shape.pixels < 4 and not shape.tail:
            emit(f"movw %mask, #{STORED[shape.pixels]}", "vmsr p0, %mask", why="the stores of the pixels that there are")
        if self.highest_stays:
            shape.floats.highest(emit, "%q.highest", "%bits")
            emit(f"vstrw.32 %q.highest, {HIGHEST}")

    def _keep_apart(self) -> None:
        """Loads pass before products that need them, and levels between products."""
        emit, taps = self.emit, range(self.shape.taps)
        data = [f"%q.data{number}" for number in range(self.kept)]
        emit(f"apart {', '.join([*data, *(self.weights.vector(tap, channel) for tap in taps for channel in (0, 1))])}")
        if self.shape.beside:
            early = [self.weights.vector(tap, channel) for tap in taps if tap not in self.late for channel in (0, 1)]
            emit(f"apart {', '.join([*VECTORS, *early, *data])}")
            emit(f"apart {', '.join((*self.levels.scratch, *SUMS[0], *SUMS[1]))}")

    def _begin_pointers(self) -> None:
        shape, emit = self.shape, self.emit
        self.homes = [min(read.offset for read in self.reads if read.pointer == index) for index in range(len(self.pointers))]
        for index, pointer in enumerate(self.pointers):
            if shape.ring:
                emit(f"ldr {pointer}, [%x, #{4 * index}]")
                emit.add(pointer, pointer, shape.begin + self.homes[index] - index * shape.row_step)
            else:
                emit.add(pointer, "%x", self.homes[index])

    def _pairs(self) -> None:
        """The loop over pairs of channels."""
        emit, shape = self.emit, self.shape
        if shape.beside:
            self._pairs_beside_levels()
            return
        emit.label("pair")
        if shape.pixels < 4:
            self.weights.mark_last()
        self._sums()
        condition = self._store_floats() if shape.floats else self._store()
        emit(f"b{condition} %pair")

    def _pairs_beside_levels(self) -> None:
        """The same loop, in which the first products of a pair pass between the levels of the one before."""
        emit, levels, reads, started = self.emit, self.levels, self.reads, set[tuple[int, int]]()
        whole = self.body.vectors - 1 if self.shape.last else self.body.rows * self.body.vectors
        count = self.body.columns * min(VECTORS_BESIDE, whole)
        if self.late:
            count = reads_before_late(reads[: self.body.columns], self.late, self.kept)
        self._block(self.body, reads, started, 0, slice(count))
        emit("b %products", why="the rest of the products")
        first = self.reading.addresses(reads)[0][0]
        self.begins_loaded = bool(self.late) and not first.before and first.address.endswith("]")
        emit.label("pair")
        self._levels_beside(count, self.shape.shift > 0)
        emit.label("products")
        if count < len(reads):
            self._block(self.body, reads, started, 0, slice(count, None))
        if self.gathers_first:
            self._gather()
        condition = levels.test()
        if self.late:
            levels.load_bias()
        if self.begins_loaded:
            self._load_data("%q.data0", reads[0], first)
        if self.shape.shift:
            emit("bcs %pair", "bpl %last", why="a pair of integers; none")
            self._levels_beside(count, False)
            emit("b %products")
            emit.label("last")
        else:
            emit(f"b{condition} %pair")
        if not self.gathers_first:
            self._gather()
        levels.compute(begun=bool(self.late))
        self._store_levels(started)

    def _levels_beside(self, count: int, by_shift: bool) -> None:
        """The levels of a pair, and the first products of the next one."""
        if not self.gathers_first:
            self._gather()
        self.levels.compute(by_shift, bool(self.late))
        started = set[tuple[int, int]]()
        self.weights.ahead = 4 * self.shape.parameter_words
        self.stores_at = count if self.late else 3 * count // 4
        self._block(self.body, self.reads, started, 0, slice(count))
        if self.stores_at == count:
            self._store_levels(started)
        self.emit.move("%numbers", self.weights.ahead)
        self.weights.ahead = -1

    def _store_levels(self, started: set) -> None:
        """Those beside whose vectors products pass, and the products that have waited for these vectors."""
        if not self.offsets_stay:
            self.emit(f"vldrw.u32 %q.places, {PLACES}")
        self.levels.store()
        self.stores_at = -1
        self._weigh(self.waiting, started)
        self.waiting = []

    def _windows(self) -> None:
        """The sum of each window: its products with a window of ones."""
        self.weights.channels = (0,)
        self._sums()
        self.weights.channels = (0, 1)
        self._gather_channel(0, "%q.windows")
        self.emit(*([] if self.windows_stay else [f"vstrw.32 %q.windows, {WINDOWS}"]))

    def _sums(self) -> None:
        emit, shape, reads = self.emit, self.shape, self.reads
        if not self.in_loop:
            self._block(self.body, reads, set(), 0)
            return
        for channel in self.weights.channels:
            emit(*(f"movs {sum_}, #0" for sum_ in SUMS[channel][: shape.pixels]))
        started = {(pixel, channel) for pixel in range(shape.pixels) for channel in self.weights.channels}
        step = shape.row_step if shape.rows > 1 else LANES * self.body.vectors
        label = f"turn_of_{len(self.weights.channels)}"
        emit(f"mov %turns, #{self.turns}", why="rows" if shape.rows > 1 else "parts of the row")
        emit.label(label)
        self._block(self.body, reads, started, step)
        emit("subs %turns, %turns, #1", f"bne %{label}")
        if self.rest:
            self._block(self.rest, self.reading.like(self.rest, reads), started, 0)
        for pointer in self.pointers:
            emit.add(pointer, pointer, -step * self.turns)

    def _block(self, part: Product, reads: list[Read], started: set, step: int, span: slice = slice(None)) -> None:
        """The multiplications of `part`, or of a `span` of its reads; after all of them the pointers are `step` bytes further."""
        accesses, ends = self.reading.addresses(reads)
        for position in range(len(reads))[span]:
            if reads[position].masked:
                self._masked_vector(reads[position:], accesses[position:], started)
                break
            if position == self.stores_at:
                self._store_levels(started)
            self._begin_vector(part, position)
            data = f"%q.data{position % self.kept}"
            if position > 0 or not self.begins_loaded:
                self._load_data(data, reads[position], accesses[position])
            products = [(pixel, tap, data) for pixel, tap in reads[position].uses]
            self.waiting += [product for product in products if position < self.stores_at and product[1] in self.late]
            self._weigh([product for product in products if product not in self.waiting], started)
        if span.stop in (None, len(reads)):
            for pointer, end in zip(self.pointers, ends):
                self.emit.move(pointer, end + step)

    def _begin_vector(self, part: Product, position: int) -> None:
        """At the begin of a vector, loads its weights together if they are the last ones, which are shorter; else each is loaded
        before its use."""
        vector, begun = divmod(position, part.columns)
        if begun:
            return
        self.loaded = set()
        has_ends = part is not self.body or not self.in_loop or self.shape.rows > 1
        if has_ends and self.shape.has_ends and vector % part.vectors == part.vectors - 1:
            self.weights.load_last()
            self.loaded = {(0, channel) for channel in self.weights.channels}

    def _load_data(self, data: str, read: Read, access: Access) -> None:
        if access.before:
            self.emit.move(POINTERS[read.pointer], access.before)
        self.emit(f"vldr{'w.u32' if self.shape.aligned else 'b.u8'} {data}, {access.address}")

    def _weigh(self, products: Sequence[tuple[int, int, str]], started: set) -> None:
        """The products (pixel, tap, data) with weights of both channels, which are loaded before their first product."""
        for pixel, tap, data in products:
            for channel in self.weights.channels:
                if (tap, channel) not in self.loaded:
                    self.loaded.add((tap, channel))
                    self.weights.load(tap, channel)
                self._multiply(pixel, channel, self.weights.vector(tap, channel), data, started)

    def _multiply(self, pixel: int, channel: int, weights: str, data: str, started: set) -> None:
        operation = "vmladava" if (pixel, channel) in started else "vmladav"
        started.add((pixel, channel))
        letter = self.shape.floats.letter if self.shape.floats else "s"
        self.emit(f"{operation}.{letter}8 {SUMS[channel][pixel]}, {weights}, {data}")

    def _masked_vector(self, reads: list[Read], accesses: list[Access], started: set) -> None:
        """The last vector, of which only the tail may be read."""
        emit, shape = self.emit, self.shape
        for channel in () if shape.last else self.weights.channels:
            self.weights.load(0, channel)
        emit(f"movs %tail, #{shape.tail}", "vctp.8 %tail", why="the bytes after the input must not be read")
        data = [f"%q.data{read.uses[0][0]}" for read in reads]
        emit(f"begin {', '.join(data)}")
        together = not any(access.before for access in accesses[1:])
        for position, (read, access) in enumerate(zip(reads, accesses)):
            if access.before:
                emit.add(POINTERS[read.pointer], POINTERS[read.pointer], access.before)
            if position == 0 or not together:
                emit(f"vps{'t' * (len(reads) if together else 1)}")
            emit(f"vldrbt.u8 {data[position]}, {access.address}")
        if shape.last:
            self.weights.load_last()
        for channel in self.weights.channels:
            for read, vector in zip(reads, data):
                self._multiply(read.uses[0][0], channel, self.weights.vector(0, channel), vector, started)

    def _gather(self) -> None:
        """The sums of a pair become vectors, and the sums of the windows come back from the frame."""
        for channel, vector in enumerate(VECTORS):
            self._gather_channel(channel, vector)
        if self.shape.packed and not self.shape.has_signs:
            self.shape.packed.emit_pair(self.emit, *VECTORS)
        if self.shape.offsets and not self.windows_stay:
            self.emit(f"vldrw.u32 %q.windows, {WINDOWS}")

    def _gather_channel(self, channel: int, vector: str) -> None:
        emit_gather(self.emit, vector, [sum_ if pixel < self.shape.pixels else "" for pixel, sum_ in enumerate(SUMS[channel])])

    def _load_offsets(self) -> None:
        """The offsets of the stores, unless they have stayed."""
        if self.offsets_stay:
            return
        if self.shape.offsets:
            size = "w.u32" if self.shape.floats else "h.u16"
            self.emit(f"vldr{size} %q.places, [%start, #{-self.shape.head_bytes}]")
        else:
            self.emit(f"vldrw.u32 %q.places, {PLACES}")

    def _store_floats(self) -> str:
        """Stores eight sums as float32; returns the condition of "there is another pair"."""
        emit, shape = self.emit, self.shape
        self._gather()
        emit_floats(emit, shape.floats)
        if not self.highest_stays:
            shape.floats.highest(emit, "%q.highest", "%bits")
        shape.floats.clamp(emit, VECTORS, "%q.highest", HIGHEST if self.highest_stays else "")
        self._load_offsets()
        if shape.tail and shape.pixels < 4:
            emit(f"movw %mask, #{STORED[shape.pixels]}", "vmsr p0, %mask")
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
