# SPDX-License-Identifier: MIT
"""The gathering of a depthwise layer in assembly: rows of 4 channels become planes of pixel pairs."""

from __future__ import annotations

from ..core.assembly import Routine
from ..core.offsets import plus
from ..sums.dense import split_steps
from .depthwise_layout import LARGEST_OFFSET, Depthwise

GATHER_PARAMETERS = "const int8_t *source, uint32_t *target, int32_t rows, uint32_t fill"
LARGEST_STEP = 255  # by which a load or store moves its pointer, or reaches below it


def gather_text(layer: Depthwise, name: str, together: int, signed: bool = True) -> str:
    """A function that unpacks rows of 4 channels into planes of pixel pairs; at most `together` times 4 pixels of the middle of a
    row are in the text, or 3. `signed`: of int8, else of uint8."""
    code = Routine()
    row = _Row(code, layer, "sxtb16" if signed else "uxtb16")
    code("%enter")
    code("%keep pixel0, pixel1, pixel2, pixel3, low0, low1, high0, high1, word0, word1")
    code.align()
    code.label("row")
    row.print(max(together, 3))
    row_step, step = layer.in_steps
    plus(code, "%source", row_step - row.columns * step)
    plus(code, "%target", 4 * layer.row_words - row.advanced)
    code("subs %rows, %rows, #1")
    code("bne %row")
    code("%leave")
    return code.function(name, GATHER_PARAMETERS, f"Rows of 4 of {layer.plane.in_channels} channels as pairs of pixels.")


class _Row:
    """A row of the image: quads of 4 pixels (the last one may have 2), some of them outside of the image. `columns` that anything
    reads; `advanced`: bytes that the target has moved."""

    def __init__(self, code: Routine, layer: Depthwise, unpack: str):
        self.code, self.unpack = code, unpack
        self.pairs, self.row_bytes, (_, self.step) = layer.pairs, 4 * layer.row_words, layer.in_steps
        pad = layer.plane.pads[1]
        self.columns = min(layer.plane.in_size[1], 2 * layer.pairs - pad)
        is_inside = [pad <= place < pad + self.columns for place in range(2 * layer.pairs)]
        self.quads = [is_inside[first : first + 4] for first in range(0, len(is_inside), 4)]
        self.advanced = 0

    def print(self, most: int) -> None:
        """The row, with at most so many quads of the middle in the text."""
        alike = [number for number, quad in enumerate(self.quads) if quad == [True] * 4]  # neighbours
        ahead, body = split_steps(len(alike), most, start=0)
        if body:
            first, end = alike[0] + ahead, alike[-1] + 1
            self._quads(0, first)
            self._loop(first, end - first, body)
            self._quads(end, len(self.quads))
        elif len(self.quads[0]) == 4 and self.row_bytes <= LARGEST_STEP:  # the first store moves the target to the next row
            self.advanced = self.row_bytes
            self._quad(self.quads[0], 0, self.row_bytes)
            self._quads(1, len(self.quads))
        else:
            self._quads(0, len(self.quads))

    def _loop(self, first: int, count: int, body: int) -> None:
        """So many quads, `body` of them in the text."""
        code = self.code
        code.constant("%quads_end", 8 * count)
        code("add %quads_end, %quads_end, %target")
        code.align()
        code.label("quads", f"{count // body} times {4 * body} pixels")
        self._quads(first, first + body)
        plus(code, "%target", 8 * body)
        code("cmp %target, %quads_end")
        code("bne %quads")
        self.advanced += 8 * count

    def _quads(self, first: int, end: int) -> None:
        for number in range(first, end):
            self._quad(self.quads[number], 8 * number - self.advanced)

    def _quad(self, quad: list[bool], offset: int, advance: int = 0) -> None:
        """4 (or 2) pixels of 4 channels to `offset` in the planes of the channels; the first store moves the target by
        `advance`."""
        code, numbers = self.code, range(len(quad) // 2)
        pixels = [f"%pixel{number}" if is_inside else "%fill" for number, is_inside in enumerate(quad)]
        _load_pixels(code, [pixel for pixel in pixels if pixel != "%fill"], self.step)
        for number in numbers:
            self._pair(number, *pixels[2 * number : 2 * number + 2])
        for channel in range(4):
            place = offset + 4 * self.pairs * channel - (advance if channel else 0)
            for number in numbers:
                if pixels[2 * number : 2 * number + 2] != ["%fill", "%fill"]:
                    code(f"{self.unpack} %word{number}, %{'high' if channel > 1 else 'low'}{number}{', ror #8' * (channel % 2)}")
            for number in reversed(numbers):
                moves = advance > 0 and channel == 0 and number == 0
                code(f"str.w %word{number}, [%target" + (f"], #{advance}" if moves else f", #{place + 4 * number}]"))

    def _pair(self, number: int, first: str, second: str) -> None:
        """Channels 0 and 1 of two pixels together, and channels 2 and 3; or their word, which all channels share outside of the
        image."""
        if first == second:
            self.code(f"{self.unpack} %word{number}, {first}")
            return
        self.code(f"pkhbt %low{number}, {first}, {second}, lsl #16")
        self.code(f"pkhtb %high{number}, {second}, {first}, asr #16")


def _load_pixels(code: Routine, pixels: list[str], step: int) -> None:
    """Words of neighbouring pixels; the source moves past them. An address that was just computed takes a cycle more."""
    size = len(pixels) * step
    if size - step > LARGEST_OFFSET:
        for pixel in pixels:
            code(f"ldr {pixel}, [%source]")
            plus(code, "%source", step)
        return
    for number in reversed(range(1, len(pixels))):
        code(f"ldr.w {pixels[number]}, [%source, #{number * step}]")
    if pixels:
        code(f"ldr.w {pixels[0]}, [%source]" + f", #{size}" * (size <= LARGEST_STEP))
    plus(code, "%source", size if size > LARGEST_STEP else 0)
