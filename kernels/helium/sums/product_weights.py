# SPDX-License-Identifier: MIT
"""The loads of the weights of product_text.py: bytes, weights that share bytes, and signs (packed.py)."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.assembly import Assembler
from ..core.packed import Packing
from .product import LANES, Product


@dataclass
class Weights:
    """Prints the loads of one form. `channels`: of a pair, for which sums are printed; the window of ones has one. `ahead`: the
    bytes from the numbers of a pair to the next weights while the pointer is not moved, else -1."""

    emit: Assembler
    shape: Product
    channels: tuple[int, ...] = (0, 1)
    ahead: int = -1

    @staticmethod
    def vector(tap: int, channel: int) -> str:
        """The register."""
        return f"%q.weights_{'ab'[channel]}{tap}"

    @property
    def _packing(self) -> Packing | None:
        return self.shape.packed if len(self.channels) > 1 else None

    def mark_last(self) -> None:
        """Marks the bytes that the last vector of weights has, unless the tail of the data marks them."""
        if self.shape.last and not self.shape.tail:
            self.emit(f"movs %bytes, #{self.shape.last}", "vctp.8 %bytes", why="what there is of the last vector of weights")

    def load(self, tap: int, channel: int) -> None:
        """The next vector of weights, from the pointer, which moves on, or from as many bytes ahead. Two channels whose weights
        share bytes load them for the first one."""
        if self.shape.has_signs:
            self._load_signs(tap, channel, False)
            return
        if not self._packing or channel == 0:
            loaded = self.vector(tap, self._packing.place_of_bytes if self._packing else channel)
            self.emit(f"vldrw.u32 {loaded}, {self._next(LANES)}")
        self._unpack(tap, channel)

    def load_last(self) -> None:
        """The last vectors of weights, which are shorter in the stream, or than a vector."""
        if self.shape.has_signs:
            for channel in self.channels:
                self._load_signs(0, channel, True)
            return
        channels = [self._packing.place_of_bytes] if self._packing else self.channels
        last = [self.vector(0, channel) for channel in channels]
        self.emit(f"begin {', '.join(last)}", f"vps{'t' * len(last)}")
        self.emit(*(f"vldrwt.u32 {weights}, [%numbers], #{self.shape.last}" for weights in last))
        for channel in self.channels:
            self._unpack(0, channel)

    def _load_signs(self, tap: int, channel: int, is_last: bool) -> None:
        self.shape.packed.emit_signs(self.emit, self._next(2), self.vector(tap, channel), is_last)

    def _next(self, size: int) -> str:
        """The address of the next bytes."""
        if self.ahead < 0:
            return f"[%numbers], #{size}"
        self.ahead += size
        return f"[%numbers, #{self.ahead - size}]"

    def _unpack(self, tap: int, channel: int) -> None:
        """The weights of a channel, unless they have bytes of their own; the first channel comes first."""
        if self._packing:
            shared = self.vector(tap, self._packing.place_of_bytes)
            self._packing.emit_weights(self.emit, channel, shared, self.vector(tap, channel))
