# SPDX-License-Identifier: MIT
"""Depthwise convolution in strips (strips.py, long_strips.py) of bytes whose zero point and scale are given beside, to float32.

Unsigned bytes become signed ones, 128 less, while they are copied.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy

from .finer import are_two_bytes
from .floats import FloatNumbers, Floats
from .geometry import Geometry
from .long_strips import LongStrips
from .planes import PLACES
from .strips import Strips

LARGEST = 16_384  # bytes of scratch: results take four each
OUTPUT_BYTES = 4


@dataclass(frozen=True)
class FloatStrips(Strips):
    """All channels of one image; `floats` says what sums become."""

    floats: Floats = field(default_factory=lambda: Floats((0, 0)))
    largest_plane = LARGEST
    numbers_bytes = 12  # of a channel: the sum of its weights, factor and bias

    @property
    def name(self) -> str:
        return super().name.replace("strips_", "dynamic_strips_", 1) + self.floats.name

    @property
    def description(self) -> str:
        return f"one channel at a time, {self.tile[0]} x {self.tile[1]} outputs, scaled to float"

    @property
    def _copies_fit(self) -> bool:
        return True

    def steps(self, axis: int) -> tuple[int, int]:
        inside, outside = super().steps(axis)
        return inside, OUTPUT_BYTES * outside

    @property
    def second_half(self) -> int:
        """How many bytes behind the first four outputs of a tile the other four are stored."""
        return 2 * OUTPUT_BYTES * self.shape.channels * (self.shape.out_width if self.tall else 1)

    @property
    def instructions_of_copy(self) -> int:
        vectors = self.copied[0] * self.chunks
        return super().instructions_of_copy + vectors * (not self.floats.signed)

    def instructions_of_tile(self, outputs: tuple[int, int]) -> int:
        parts = sum(1 for part in self.parts_of(outputs) if part)
        clamps = (self.floats.bounds[0] == 0) + (self.floats.highest_bits > 0)
        return super().instructions_of_tile(outputs) + parts * (2 + clamps) - 3 + 3 * (outputs != self.tile)

    def float_stream(self, taps: numpy.ndarray, numbers: FloatNumbers) -> numpy.ndarray:
        """`taps` [channels, rows, columns]: 16 bytes that are not used, the numbers of each channel, all taps."""
        columns = [numbers.sums.astype("<i4"), *(part.astype("<f4").view("<i4") for part in (numbers.factors, numbers.bias))]
        parts = [bytes(16), numpy.stack(columns, axis=1).tobytes(), self.stored(taps).tobytes()]
        return numpy.frombuffer(b"".join(parts), numpy.int8)

    def stored(self, taps: numpy.ndarray) -> numpy.ndarray:
        """Weights as they are multiplied with, int8."""
        return numpy.ascontiguousarray(taps.astype(numpy.int8))

    @property
    def store_places(self) -> bytes:
        """Of the four outputs of half a tile, in elements."""
        return numpy.array(
            [(row * self.shape.out_width + column) * self.shape.channels for row, column in PLACES], "<u4"
        ).tobytes()


@dataclass(frozen=True)
class FloatLongStrips(FloatStrips, LongStrips):
    """The same of larger windows, or of weights of nine bits."""

    def stored(self, taps: numpy.ndarray) -> numpy.ndarray:
        if not self.halves:
            return super().stored(taps)
        rows = taps.reshape(len(taps), -1).astype(numpy.int16)
        return numpy.concatenate([rows >> 1, rows - (rows >> 1)], axis=1).astype(numpy.int8)


def best_of(shape: Geometry, form: Floats, weights: numpy.ndarray) -> FloatStrips | None:
    """The form with the fewest instructions that fits; None where none does."""
    kinds: list[Callable[..., FloatStrips]] = [FloatStrips, FloatLongStrips]
    if weights.min(initial=0) < -128 or weights.max(initial=0) > 127:
        kinds = [functools.partial(FloatLongStrips, halves=True)] if are_two_bytes(weights) else []
    ways = itertools.product(kinds, (False, True), (False, True))
    forms = [kind(shape, False, tall, down, floats=form) for kind, tall, down in ways]
    return min((one for one in forms if one.fits), key=lambda one: one.instructions, default=None)
