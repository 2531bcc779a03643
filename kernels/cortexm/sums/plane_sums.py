# SPDX-License-Identifier: MIT
"""The negated sums of windows over planes of channel pairs, in planes behind them (offset_weights.py)."""

from __future__ import annotations

from aidge_build.contract.spec import NodeView

from ..core.assembly import Routine
from ..windows.depthwise_layout import LARGEST_OFFSET
from . import dense
from .offset_weights import sum_taps
from .stream import Stream
from .window import Buffer, Plane, plane_buffer

SUMMED_TOGETHER = 4  # planes
MOST_SUMMED = 16  # taps of a row


def plane_sums(view: NodeView, plane: Plane) -> list[int]:
    """As `sum_taps`, where a row of a window has few taps; the parts of a sum are in planes of their own."""
    sums = sum_taps(view, plane.taps)
    far = 2 * len(sums) * plane_buffer(plane).span
    return sums if plane.kernel[1] <= MOST_SUMMED and far <= LARGEST_OFFSET else []


def sum_bytes(buffer: Buffer, sums: list[int]) -> int:
    """Behind the planes for the sums of these taps, which are made 4 columns at a time."""
    return 4 * (len(sums) // 2 * buffer.span + 3) if sums else 0


def sum_windows(code: Routine, stream: Stream, planes: int, span: int, taps: list[int]) -> None:
    """The negated sums of all windows of the row, behind the planes at the column: of each 4 columns first, in a plane that then
    gets those of the windows that begin there, of the words `taps` bytes apart. Labels 40 to 42."""
    together = next(size for size in range(SUMMED_TOGETHER, 0, -1) if planes % size == 0)
    code.constant("r1", span)
    code("add r1, r0, r1")
    dense.load_minus(code, stream, "r12")
    code.label(40, "4 columns")
    code("mov r2, r0")
    for register in range(8, 12):
        code(f"mov r{register}, #0")
    code.constant("lr", planes // together)
    code.label(41, f"{together} planes")
    for _ in range(together):
        code("ldm r2, {{r4-r7}}")
        code(f"addw r2, r2, #{span}")
        for register in range(4, 8):
            code(f"smlad r{register + 4}, r{register}, r12, r{register + 4}")
    code("subs lr, lr, #1")
    code("bne 41b")
    code("stm r2, {{r8-r11}}", "behind the planes")
    code("adds r0, r0, #16")
    code("cmp r0, r1")
    code("blo 40b")
    code.get("r0", "input")
    code.constant("r1", planes * span)
    code("add r0, r0, r1")
    code.constant("r1", span - max(taps))
    code("add r1, r0, r1")
    code.label(42, "a window")
    for index, tap in enumerate(taps):
        code(f"ldr {{{'a0' if index else 'b0'}}}, [r0, #{tap}]")
        if index:
            code("add {b0}, {b0}, {a0}")
    dense.store_sums(code, stream, [f"str {{a0}}, [r0, #{index * span}]" for index in range(stream.sums)], ("b0",))
    code("adds r0, r0, #4")
    code("cmp r0, r1")
    code("blo 42b")
    code.get("r0", "input")
