# SPDX-License-Identifier: MIT
"""The assembly of planes whose weights need more than bytes: of most channels they do not, others have a second window.

Weights less a zero point have nine bits, but few of a layer spread as widely. What those have beyond bytes is a second window,
whose products are added where it is not 0. It waits on the stack, as the first one fills the registers.
"""

from __future__ import annotations

import numpy

from .levels_text import load_numbers
from .planes_text import FRAME_BYTES, PlanesPrinter

IS_WIDE, SUMS, WINDOWS = FRAME_BYTES, FRAME_BYTES + 8, FRAME_BYTES + 24  # on the stack: a word, and vectors


def in_two(taps: numpy.ndarray) -> numpy.ndarray:
    """`taps` [channels, ...] as sums of two bytes [channels, 2, ...], the second of which is 0 where one is enough."""
    first = numpy.clip(taps, -128, 127)
    return numpy.stack([first, taps - first], axis=1).astype(numpy.int8)


class WidePlanesPrinter(PlanesPrinter):
    """As those of bytes, with each channel's tiles in two versions."""

    frame_bytes = WINDOWS + 64
    adds_further = False

    def _windows(self, taps: int) -> None:
        emit = self.emit
        emit.add("r10", "r10", taps)
        self._lay_out()
        emit("vmladav.s8 r4, q0, q0", f"str r4, [sp, #{IS_WIDE}]", why="0 where no weight is beyond a byte")
        for window in range(4 if self.form.stride == 1 else 2):
            emit(f"vstrw.32 q{window}, [sp, #{WINDOWS + 16 * window}]")
        emit.add("r10", "r10", -taps)
        self._lay_out()
        emit.add("r10", "r10", 2 * taps)

    def _channel(self) -> None:
        emit = self.emit
        load_numbers(emit, self.form)
        emit(f"ldr r0, [sp, #{IS_WIDE}]", "cmp r0, #0", "bne 6f")
        self._tiles()
        emit("b 7f")
        emit.label(6)
        self.adds_further = True
        self._tiles()
        emit.label(7)

    def _further(self, sums: list[tuple[str, int]], register: str) -> list[str]:
        if not self.adds_further:
            return []
        free = "q7" if register == "q5" else "q5"
        loads = [(f"vldrw.u32 {free}, [sp, #{WINDOWS + 16 * window}]", total) for total, window in sums]
        return [line for load, total in loads for line in (load, f"vmladava.s8 {total}, {free}, {register}")]

    def _products(self, outputs: tuple[int, int], number: int, register: str, used: list[str]) -> None:
        waits = self.adds_further and used
        self.emit(*([f"vstrw.32 q5, [sp, #{SUMS}]"] if waits else []))
        super()._products(outputs, number, register, used)
        self.emit(*([f"vldrw.u32 q5, [sp, #{SUMS}]"] if waits else []))
