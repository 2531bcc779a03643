# SPDX-License-Identifier: MIT
"""Images: other sizes, blocks of pixels as channels or as a batch."""

from __future__ import annotations

import math

from aidge_build.operators.base import require
from aidge_build.operators.blocks import DepthToSpace, SpaceToDepth
from aidge_build.operators.pad import LARGEST, Pad
from aidge_build.operators.rearrange import Slice
from aidge_build.operators.resize import Resize
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads


def _resized(source: TfliteNode, mode: str, nearest: str, coordinates: str) -> None:
    """Stored values are resized, whatever scale is stated for the result."""
    value, sizes = source.input(0), source.integers(1)
    require(value.rank == 4 and len(sizes) == 2, f"its input has rank {value.rank}, wants 4, and two sizes")
    require(all(size > 0 for size in (*sizes, *value.dims[1:3])), f"the sizes {list(sizes)}: each must be positive")
    dims = (value.dims[0], value.dims[3], *sizes)
    scales = (1.0, 1.0, *(size / old for size, old in zip(sizes, value.dims[1:3])))
    operator = Resize(dims=dims, scales=scales, mode=mode, coordinates=coordinates, nearest=nearest)
    source.move(operator, [source.read(0)])


def _coordinates(source: TfliteNode) -> str:
    options = source.options
    require(not (options["align_corners"] and options["half_pixel_centers"]), "both align_corners and half_pixel_centers")
    if options["align_corners"]:
        return "align_corners"
    return "half_pixel" if options["half_pixel_centers"] else "asymmetric"


@reads("RESIZE_BILINEAR", wants=Wants.CHANNELS, kind=15, align_corners=Field(2, "bool"), half_pixel_centers=Field(3, "bool"))
def resize_bilinear(source: TfliteNode) -> None:
    """Weighted means of four pixels."""
    source.refuse_unsigned()
    _resized(source, "linear", "floor", _coordinates(source))


@reads(
    "RESIZE_NEAREST_NEIGHBOR",
    wants=Wants.CHANNELS,
    kind=74,
    align_corners=Field(0, "bool"),
    half_pixel_centers=Field(1, "bool"),
)
def resize_nearest_neighbor(source: TfliteNode) -> None:
    """The pixel at the place itself, rounded down; between pixels' centres or corners to the nearest, halves upwards."""
    coordinates = _coordinates(source)
    _resized(source, "nearest", "floor" if coordinates == "asymmetric" else "round_prefer_ceil", coordinates)


_BLOCK = Field(0, "int32")


@reads("DEPTH_TO_SPACE", wants=Wants.CHANNELS, kind=94, block_size=_BLOCK)
def depth_to_space(source: TfliteNode) -> None:
    """Channels become blocks of pixels."""
    require(source.options["block_size"] > 0, f"its block size is {source.options['block_size']}")
    source.move(DepthToSpace(source.options["block_size"]), [source.read(0)])


@reads("SPACE_TO_DEPTH", wants=Wants.CHANNELS, kind=19, block_size=_BLOCK)
def space_to_depth(source: TfliteNode) -> None:
    """Blocks of pixels become channels."""
    require(source.options["block_size"] > 0, f"its block size is {source.options['block_size']}")
    source.move(SpaceToDepth(source.options["block_size"]), [source.read(0)])


def _blocks(source: TfliteNode) -> tuple[tuple[int, ...], list[list[int]]]:
    """Returns the lengths of a block, and the elements that are added or cut at both ends of each of its axes."""
    sizes, borders = source.integers(1), source.constant(2)
    count = len(sizes)
    require(0 < count < source.input(0).rank, f"{count} block sizes for {source.input(0).rank} axes")
    require(borders.shape == (count, 2) and borders.dtype.kind in "iu", f"its borders have the dims {list(borders.shape)}")
    numbers = borders.tolist()
    within = all(0 <= number < LARGEST for pair in numbers for number in pair) and all(0 < size < LARGEST for size in sizes)
    require(within, f"its blocks {list(sizes)} and borders {numbers} must not be negative")
    return sizes, numbers


@reads("SPACE_TO_BATCH_ND", wants=Wants.FILE)
def space_to_batch_nd(source: TfliteNode) -> None:
    """Each place within a block becomes an image of its own."""
    value, (sizes, borders) = source.input(0), _blocks(source)
    batch, rest, count = value.dims[0], value.dims[1 + len(sizes) :], len(sizes)
    begin, end = ((0, *(pair[side] for pair in borders), *(0 for _ in rest)) for side in (0, 1))
    padded = [size + sum(pair) for size, pair in zip(value.dims[1:], borders)]
    require(all(size % block == 0 for size, block in zip(padded, sizes)), f"{padded} does not divide into blocks {list(sizes)}")
    data = source.step(Pad(begin, end), [source.read(0)], value)
    halves = [part for size, block in zip(padded, sizes) for part in (size // block, block)]
    data = source.step(Reshape((batch, *halves, *rest)), [data], value)
    inner, outer = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    data = source.step(Transpose((*inner, 0, *outer, *range(2 * count + 1, 2 * count + 1 + len(rest)))), [data], value)
    source.move(Reshape((math.prod(sizes) * batch, *(size // block for size, block in zip(padded, sizes)), *rest)), [data])


@reads("BATCH_TO_SPACE_ND", wants=Wants.FILE)
def batch_to_space_nd(source: TfliteNode) -> None:
    """The images become blocks of one again, less its borders."""
    value, (sizes, borders) = source.input(0), _blocks(source)
    count, each = len(sizes), math.prod(sizes)
    require(value.dims[0] % each == 0, f"{value.dims[0]} images do not divide into blocks {list(sizes)}")
    batch, spatial, rest = value.dims[0] // each, value.dims[1 : 1 + count], value.dims[1 + count :]
    data = source.step(Reshape((*sizes, batch, *spatial, *rest)), [source.read(0)], value)
    order = (count, *(axis for place in range(count) for axis in (count + 1 + place, place)))
    data = source.step(Transpose((*order, *range(2 * count + 1, 2 * count + 1 + len(rest)))), [data], value)
    whole = [size * block for size, block in zip(spatial, sizes)]
    data = source.step(Reshape((batch, *whole, *rest)), [data], value)
    counts = [size - sum(pair) for size, pair in zip(whole, borders)]
    require(all(size > 0 for size in counts), f"the borders {borders} cut all of {whole}")
    starts = (0, *(pair[0] for pair in borders), *(0 for _ in rest))
    source.move(Slice(starts, (batch, *counts, *rest), (1,) * len(starts)), [data])
