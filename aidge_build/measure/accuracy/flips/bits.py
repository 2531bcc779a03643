# SPDX-License-Identifier: MIT
"""The bits of the constants that layers read, and a seeded sample of them."""

from __future__ import annotations

import bisect
import itertools
import random
from dataclasses import dataclass
from functools import cached_property

from aidge_build.base.errors import AidgeError
from aidge_build.plan.constant_arrays import Array, arrays_of
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class Flip:
    """A flipped bit: the number of the array, the byte in it, and the bit of the byte."""

    array: int
    byte: int
    bit: int


@dataclass(frozen=True)
class Constants:
    """The arrays that layers read, in the order of the generated C, and the name of the first layer that reads each."""

    arrays: tuple[Array, ...]
    layers: tuple[str, ...]

    @cached_property
    def _ends(self) -> list[int]:
        return list(itertools.accumulate(8 * len(array.data) for array in self.arrays))

    @property
    def bits(self) -> int:
        """The bits of all arrays."""
        return self._ends[-1]

    def drawn(self, count: int, seed: int) -> list[Flip]:
        """Returns `count` different bits, each as probable as any other; all bits if there are no more."""
        numbers = range(self.bits) if count >= self.bits else sorted(random.Random(seed).sample(range(self.bits), count))
        return [self._flip(number) for number in numbers]

    def position(self, flip: Flip) -> tuple[str, int]:
        """Returns the C type of the flipped element, and the number of the bit in it from the least significant; for elements of
        several bytes the number of the first of four bits."""
        kind = self.arrays[flip.array].dtype
        bit = 8 * (flip.byte % kind.size_bytes) + flip.bit
        return kind.c_type, bit if kind.size_bytes == 1 else bit // 4 * 4

    def _flip(self, number: int) -> Flip:
        array = bisect.bisect_right(self._ends, number)
        inside = number - (self._ends[array - 1] if array else 0)
        return Flip(array, inside // 8, inside % 8)


def constants_of(program: Program) -> Constants:
    """Returns the constants of a program; AidgeError (USAGE) for a program without constants."""
    arrays = arrays_of(program)
    readers: dict[str, str] = {}
    for layer, read in zip(program.layers, arrays.of_layer, strict=True):
        for array in read.values():
            readers.setdefault(array.symbol, layer.symbol.removeprefix(f"{program.name}_"))
    found = [array for array in arrays.all if array.symbol in readers]
    if not found:
        raise AidgeError("no layer reads constants", where="--flips", hint="leave it out", code="USAGE")
    return Constants(tuple(found), tuple(readers[array.symbol] for array in found))
