# SPDX-License-Identifier: MIT
"""The assembly of products without the blocks of weights that are 0 (core/sparse.py): words of the windows are gathered."""

from __future__ import annotations

from ..core.assembly import Assembler, emit_gather, function
from ..core.sparse import emit_begin, emit_end
from .product import PARAMETERS, STORED, Product
from .product_levels import Levels


def sparse_text_of(form: Product) -> str:
    """The C text; all words of the windows are at multiples of 4."""
    purpose = f"Blocks of {form.pixels} pixel{'s' * (form.pixels > 1)}, {form.channels} output channels without blocks of zeros."
    return function(form.name, purpose, PARAMETERS, _lines(form))


def _lines(form: Product):
    emit = Assembler()
    emit("%enter", "vldrh.u16 %q.places, [%stream]", why="offsets of the stores of each pixel")
    emit.add("%start", "%stream", form.head_bytes)
    if form.pixels < 4:
        emit(f"movw %mask, #{STORED[form.pixels]}", "vmsr p0, %mask", why="the stores of the pixels that there are")
    if form.pixels > 1:
        emit(f"movw %step, #{form.pixel_step}")
    if form.pixels > 2:
        emit.add("%third", "%x", 2 * form.pixel_step)
    emit.label("block")
    emit("mov %numbers, %start")
    emit.label("pair")
    for channel in "ab":
        _sums(emit, form.pixels, channel)
    levels = Levels(emit, form)
    levels.load()
    levels.compute()
    levels.store()
    emit(f"b{levels.test()} %pair")
    for pointer in ("%x", "%third") if form.pixels > 2 else ("%x",):
        emit.move(pointer, form.pixels * form.pixel_step)
    emit.move("%y", form.pixels * form.distance - (form.channels if form.goes_by_twos else max(0, form.channels - 2)))
    emit("subs %blocks, %blocks, #1", "bne %block", "%leave")
    return emit.lines


def _sums(emit: Assembler, pixels: int, channel: str) -> None:
    """The sums of a channel, as a vector."""
    sums = [f"%{channel}{pixel}" for pixel in range(pixels)]
    emit(*(f"movs {total}, #0" for total in sums))
    emit_begin(emit, "%numbers", f"vector_{channel}")
    for place, pair in enumerate((sums[0::2], sums[1::2])):
        if place and pair:
            emit("vadd.i32 %q.block_places, %q.block_places, %step")
        for pointer, total in zip(("%x", "%third"), pair):
            emit(f"vldrw.u32 %q.data, [{pointer}, %q.block_places]", f"vmladava.s8 {total}, %q.data, %q.weights")
    emit_end(emit, f"vector_{channel}")
    emit_gather(emit, f"%q.{channel}", [*sums, *("",) * (4 - pixels)])
