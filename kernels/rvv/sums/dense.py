# SPDX-License-Identifier: MIT
"""Sums over all channels of windows: weights of a tap are a vector, which is multiplied by the tap of each pixel."""

from __future__ import annotations

from functools import lru_cache

from ..core.assembly import Routine
from ..core.block import Block, best_block
from ..core.floats import BYTES

TAP_COST, PIXEL_COST = 3, 2  # instructions of a tap: for its weights, and for each pixel


def block_of(channels: int, width: int, run: int, weights: str) -> Block:
    """Returns the best block for rows of `width` pixels, 0 if that is unknown."""
    return best_block(channels, width, (TAP_COST, PIXEL_COST), run, weights)


def dense_name(block: Block) -> str:
    """Returns the name of the text."""
    return f"aidge_rvv_dense_{'float32' if block.is_float else 'int8'}_{block.name}"


@lru_cache(64)
def dense_text(block: Block) -> str:
    """Returns the C function of a block."""

    def float_tap(code: Routine, number: int) -> None:
        values = ("{even_float}", "{odd_float}")
        block.emit_weights(code)
        code(f"flw {{even_float}}, {BYTES * number}({{pixel0}})")
        for pixel, name in enumerate(block.sums):
            if pixel + 1 < block.pixels:
                code(f"flw {values[(pixel + 1) % 2]}, {BYTES * number}({{pixel{pixel + 1}}})")
            code(f"vfmacc.vf {name}, {values[pixel % 2]}, v0")

    def tap(code: Routine, number: int) -> None:
        values = ("even", "odd")
        block.emit_weights(code)
        code(f"lb {{even}}, {number}({{pixel0}})")
        for pixel, name in enumerate(block.sums):
            if pixel + 1 < block.pixels:
                code(f"lb {{{values[(pixel + 1) % 2]}}}, {number}({{pixel{pixel + 1}}})")
            value = values[pixel % 2]
            if block.weights == "computed":
                code(f"sub {{{value}}}, {{{value}}}, {{centre}}")
            code(f"vwmacc.vx {name}, {{{value}}}, v0")

    def moved(code: Routine, taps: int) -> None:
        for pixel in range(block.pixels):
            code(f"addi {{pixel{pixel}}}, {{pixel{pixel}}}, {block.element * taps}")

    comment = f"All channels of {block.pixels} pixels: a vector of sums for each."
    return block.text(dense_name(block), comment, float_tap if block.is_float else tap, moved)
