# SPDX-License-Identifier: MIT
"""Operators that only move elements, with random numbers, in both storage orders; for every library that has them."""

from __future__ import annotations

from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.blocks import DepthToSpace, SpaceToDepth
from aidge_build.operators.pad import MODES, Pad
from aidge_build.operators.rearrange import Concat, Slice, Tile
from aidge_build.operators.resize import COORDINATES, NEAREST, Resize

EDGES = ((1, 16, 5, 7), (1, 1, 1, 1), (2, 3, 4, 4), (1, 33, 3, 2), (1, 8, 1, 9), (2, 5, 6), (1, 64, 2, 2), (3, 4))
QUANTIZATION = per_tensor(0.05, 3)


def data(random, dims, dtype=DType.int8, name="x", form=None):
    """A computed tensor in channels-last order or row-major, and its values."""
    form = form or random.choice(row_major, channels_last)(len(dims))
    return (
        Tensor(name, dims, dtype, quantization=QUANTIZATION if dtype is DType.int8 else None, format=form),
        random.numbers.integers(-100, 100, dims).astype(dtype.numpy),
    )


def moved(case, operator, tensors, values):
    return case(
        operator,
        tensors,
        values,
        quantization=tensors[0].quantization,
        format=next(t.format for t in tensors if not t.is_constant),
    )


def pads(random, dims, mode):
    """Pads of each axis that the mode allows; some cut."""
    most = [min(4, size - 1) if mode == "reflect" else 4 for size in dims]
    ends = [[random.choice(0, 0, random.integer(0, high)) for high in most] for _ in range(2)]
    axis = random.integer(0, len(dims) - 1)
    if dims[axis] > 2 and mode == "constant":
        ends[random.integer(0, 1)][axis] = -random.integer(1, 2)
    return Pad(*map(tuple, ends), mode, random.choice(0.0, 1.5))


def resized(random, dims):
    result = tuple(
        size if axis < 2 and random.integer(0, 3) else max(1, size * random.integer(1, 5) // random.choice(1, 2, 3))
        for axis, size in enumerate(dims)
    )
    coordinates = random.choice(*(known for known in COORDINATES if known != "tf_crop_and_resize"))
    return Resize(result, tuple(new / old for new, old in zip(result, dims)), "nearest", coordinates, random.choice(*NEAREST))


def copies(case, count, dtypes=(DType.int8,)):
    """Pads, tiles and resizes to the nearest element."""
    found = []
    for seed in range(count):
        random = Randomness(seed)
        dims, dtype = EDGES[seed % len(EDGES)], random.choice(*dtypes)
        tensor, values = data(random, dims, dtype)
        operators = [
            pads(random, dims, random.choice(*MODES)),
            resized(random, dims),
            Tile(tuple(random.choice(1, 1, 2, 3) for _ in dims)),
        ]
        found += [moved(case, operator, [tensor], [values]) for operator in operators]
    return found


def blocks(case, dtypes=(DType.int8,)):
    random, found = Randomness(5), []
    for form in (row_major(4), channels_last(4)):
        for depth_first in (True, False):
            for operator, dims in (
                (DepthToSpace(2, depth_first), (2, 12, 3, 5)),
                (SpaceToDepth(3, depth_first), (1, 4, 6, 9)),
                (DepthToSpace(2, depth_first), (1, 80, 2, 17)),
            ):
                for dtype in dtypes:
                    tensor, values = data(random, dims, dtype, form=form)
                    found.append(moved(case, operator, [tensor], [values]))
    return found


def slices(case, count):
    """With steps of one and more."""
    found = []
    for seed in range(count):
        random = Randomness(seed)
        dims, form = random.choice((2, 20, 5, 9), (1, 33, 4, 17), (3, 40), (1, 7, 30)), random.choice(row_major, channels_last)
        tensor, values = data(random, dims, random.choice(DType.int8, DType.uint8, DType.float32), form=form(len(dims)))
        steps = tuple(random.choice(1, 1, 2, 3) for _ in dims)
        starts = tuple(random.integer(0, size // 2) for size in dims)
        sizes = tuple(random.integer(1, (size - start + step - 1) // step) for size, start, step in zip(dims, starts, steps))
        found.append(moved(case, Slice(starts, sizes, steps), [tensor], [values]))
    return found


def concatenations(case, count, most_parts, dtypes=(DType.int8,)):
    """With the same scale and with others, of 2 to `most_parts` parts, one of which may be constant."""
    found = []
    for seed in range(count):
        random = Randomness(seed)
        dims, dtype = EDGES[seed % len(EDGES)], random.choice(*dtypes)
        axis, form = random.integer(0, len(dims) - 1), random.choice(row_major, channels_last)(len(dims))
        given = [
            data(
                random,
                tuple(random.choice(1, 8, 16, random.integer(1, 40)) if i == axis else size for i, size in enumerate(dims)),
                dtype,
                f"x{part}",
                form,
            )
            for part in range(random.integer(2, most_parts))
        ]
        tensors, values = [tensor for tensor, _ in given], [value for _, value in given]
        if dtype is DType.int8 and random.integer(0, 1):
            tensors[0] = tensors[0].with_(quantization=random.quantization(0.07))
        output = random.choice(tensors[0], tensors[-1]).quantization
        if random.integer(0, 2) == 0:
            tensors[1] = constant("x1", values.pop(1), tensors[1].quantization)
        found.append(case(Concat(axis), tensors, values, quantization=output, format=form))
    return found
