# SPDX-License-Identifier: MIT
"""Blocks of up to four pixels times pairs of output channels: the inner block of every dense layer.

VMLADAV multiplies 16 pairs of bytes and adds them to one scalar register, which must be an even one: eight of them are
the accumulators, the odd ones hold pointers. Weights and parameters are one stream, read once per block of pixels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..core.floats import Floats
from ..core.packed import SIGNS, Packing
from ..core.rounding import Fixed, way_of

LANES = 16
HEAD_BYTES = 20  # of a stream: offsets of the eight stores, input zero point
PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *stream, int32_t blocks"
POINTERS = tuple(f"%from{number}" for number in range(4))
LANE_PIXELS = (0, 2, 1, 3)  # which pixel each lane of a vector of sums holds
STORED = {1: 0x000F, 2: 0x0F0F, 3: 0x0FFF}  # predicates of the lanes that hold the first pixels
LONGEST_UNROLLED = 640  # instructions of one pair of channels; beyond, the rows of the window become a loop


@dataclass(frozen=True)
class Product:
    """`pixels` windows at a distance of `pixel_step` bytes. A window has `rows` rows, `row_step` bytes apart, of `taps`
    groups, `tap_step` bytes apart, of `vectors` times 16 bytes; with `tail` only that many bytes of the last vector are read.
    Outputs of neighbouring pixels lie `channels` and `gap` bytes apart. `aligned`: all addresses are multiples of four.
    `adds`: levels are rounded as in rounding.py, and pairs of channels follow each other. `ring`: `x` points to pointers to the
    rows, in which the first window begins after `begin` bytes. `fused`: levels come from one fused multiplication (rounding.py),
    with `mixed` except for some pairs of channels. `shift`: or from integers, shifted by so many bits, except for the last pair
    of channels and some others. `fixed`: or by fixed-point factors (rounding.py). `offsets`: weights of each channel lack an
    offset (finer.py); the stream begins with a window of ones, whose products give the sums of the windows.
    `floats`: sums become float32, data may be unsigned, and weights have offsets always (floats.py). `packed`: weights of a pair
    of channels share bytes (packed.py), not the window of ones. `left`: blocks of zeros are left out of the weights
    (core/sparse.py); about so many vectors are left of a pair of channels."""

    pixels: int
    pixel_step: int
    rows: int
    row_step: int
    taps: int
    tap_step: int
    vectors: int
    channels: int
    tail: int = 0
    aligned: bool = False
    clamps: bool = False
    gap: int = 0
    adds: bool = False
    bits: int = 0  # by which sums are shifted before the bias is added: finer.py
    ring: bool = False
    begin: int = 0
    fused: bool = False
    mixed: bool = False
    fixed: Fixed | None = None
    offsets: bool = False
    floats: Floats | None = None
    last: int = 0  # bytes of the last vector of weights of each tap in the stream, a multiple of 4; 0: all 16
    counted: bool = False  # the head has the zero point, and the stream's end ends the pairs of an even number of channels
    beside: bool = False  # levels of a pair are computed beside the first products of the next one
    shift: int = 0
    joined: bool = False  # of those that are counted: biases and float multipliers of a pair take three words
    packed: Packing | None = None
    left: int = 0

    @property
    def name(self) -> str:
        """Tells all that the text depends on."""
        window = f"of_rows_{self.begin}_" if self.ring else ""
        window += f"{self.pixels}x{self.pixel_step}_{self.rows}x{self.row_step}_{self.taps}x{self.tap_step}_{self.vectors}"
        kind = "dynamic" if self.floats else "product"
        return (
            f"aidge_helium_{kind}_{window}_to_{self.channels}{f'_of_{self.distance}' if self.gap else ''}"
            f"{f'_tail_{self.tail}' if self.tail else ''}{f'_last_{self.last}' * (self.last > 0)}"
            f"{'_aligned' if self.aligned else ''}{'_clamped' if self.clamps else ''}{way_of(self)}"
            f"{f'_by_shift_{self.shift}' if self.shift else ''}"
            f"{f'_finer_{self.bits}' if self.bits else ''}{'_offsets' * (self.offsets and self.floats is None)}"
            f"{'_counted' * self.counted}{'_joined' * self.joined}{'_beside' * self.beside}"
            f"{self.floats.name if self.floats else ''}{self.packed.name if self.packed else ''}"
            f"{'_sparse' * (self.left > 0)}"
        )

    @property
    def goes_by_twos(self) -> bool:
        """Whether pairs of channels follow each other, so that no step says where the next one is."""
        return self.adds or self.fused or self.counted

    @property
    def head_bytes(self) -> int:
        """Before the first pair of channels, or a window of ones."""
        return HEAD_BYTES + 4 * self.counted

    @property
    def has_signs(self) -> bool:
        """Whether weights come from bits, which pass through the predicate."""
        return self.packed is not None and self.packed.way == SIGNS

    @property
    def has_ends(self) -> bool:
        """Whether the last vector of weights of a tap is not loaded as others are."""
        return self.last > 0 or self.packed is not None and self.packed.lanes < LANES

    @property
    def can_ring(self) -> bool:
        """Whether a pointer for each row of the window is enough."""
        return 1 < self.rows <= len(POINTERS) and self.length <= LONGEST_UNROLLED

    @property
    def can_be_beside(self) -> bool:
        """Whether registers suffice for levels beside products, and nothing but products changes the predicate."""
        is_whole = self.pixels == 4 or not self.last
        is_plain = is_whole and not (self.tail or self.counted or self.fused or self.offsets or self.floats or self.left)
        is_straight = self.length <= LONGEST_UNROLLED and not (self.ring and self.rows == len(POINTERS))
        return is_plain and is_straight and self.vectors > (self.last > 0)

    @property
    def products(self) -> int:
        """Vector multiplications of a pair of channels."""
        return 2 * self.pixels * self.rows * self.taps * self.vectors

    @property
    def length(self) -> int:
        """Instructions of the sums of a pair of channels, nearly."""
        return self.rows * self.vectors * (self.columns + 2 * self.taps + 2 * self.pixels * self.taps)

    @property
    def distance(self) -> int:
        """From the outputs of a pixel to those of the next."""
        return self.channels + self.gap

    @property
    def parameter_words(self) -> int:
        if self.floats:
            return 9
        return (7 if self.clamps else 5) + (2 if self.fixed else 0) + (2 if self.offsets else 0) - self.counted - self.joined

    @property
    def columns(self) -> int:
        """How many loads of the input one vector of all taps takes."""
        return len({pixel * self.pixel_step + tap * self.tap_step for pixel in range(self.pixels) for tap in range(self.taps)})

    @property
    def pairs(self) -> int:
        return max(1, (self.channels + 1) // 2)

    def with_last(self, tap_bytes: int) -> Product:
        """The same with no more of the last vector in the stream than has weights."""
        last = -(-(tap_bytes - LANES * (self.vectors - 1)) // 4) * 4
        return replace(self, last=last) if 0 < last < LANES else self

    @property
    def window_bytes(self) -> int:
        """The bytes of the weights of a channel, a byte each."""
        return self.rows * self.taps * (LANES * (self.vectors - 1) + (self.last or LANES))

    @property
    def pair_bytes(self) -> int:
        """The bytes of the weights of a pair of channels in the stream."""
        return 2 * self.window_bytes * (self.packed.bits if self.packed else 8) // 8

    @property
    def stream_bytes(self) -> int:
        window = self.window_bytes if self.offsets else 0
        return self.head_bytes + self.pairs * (self.pair_bytes + 4 * self.parameter_words) + window

    def reads(self) -> Iterator[tuple[int, int, int]]:
        """(row, vector, tap) in the order of the weights. Every other vector goes through the taps backwards, so that the
        pointer of the input walks to and fro."""
        for row in range(self.rows):
            for vector in range(self.vectors):
                order = range(self.taps) if vector % 2 == 0 else reversed(range(self.taps))
                yield from ((row, vector, tap) for tap in order)
