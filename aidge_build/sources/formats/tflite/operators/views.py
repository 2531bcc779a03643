# SPDX-License-Identifier: MIT
"""Operators that only give elements other dims, or another order."""

from __future__ import annotations

from aidge_build.operators.axes import counted_axes, counted_axis
from aidge_build.operators.base import require
from aidge_build.operators.view import Transpose, resolved_dims
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.operators.lookup import one_integer
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads


@reads("RESHAPE", wants=Wants.FILE, kind=17, new_shape=Field(0, "int32", several=True))
def reshape(source: TfliteNode) -> None:
    """The elements in the file's order under new dims, from input 1 or from the options."""
    given = source.optional_input(1)
    known = given is not None and given.is_constant and given.rank == 1
    wanted = source.integers(1) if known else source.options["new_shape"]
    if not known and (given is not None or not wanted):
        require(not source.output().open_dims, "its dims are computed at run time", "convert the model with fixed shapes")
        wanted = source.output().dims
    source.write_elements(0, resolved_dims(source.input(0).dims, wanted, True))


@reads("EXPAND_DIMS", wants=Wants.FILE)
def expand_dims(source: TfliteNode) -> None:
    """A new axis of length 1 at the place in input 1."""
    value = source.input(0)
    axis = counted_axis(one_integer(source, 1), value.rank + 1)
    source.write_elements(0, (*value.dims[:axis], 1, *value.dims[axis:]))


@reads("SQUEEZE", wants=Wants.FILE, kind=30, squeeze_dims=Field(0, "int32", several=True))
def squeeze(source: TfliteNode) -> None:
    """Removes axes of length 1: the axes that the options name, or all."""
    dims = source.input(0).dims
    named = counted_axes(tuple(source.options["squeeze_dims"] or ()), len(dims))
    require(all(dims[axis] == 1 for axis in named), f"its axes {list(named)} of {list(dims)} have not length 1")
    source.write_elements(0, [size for axis, size in enumerate(dims) if (axis not in named if named else size != 1)])


@reads("TRANSPOSE", wants=Wants.ANY, kind=26)
def transpose(source: TfliteNode) -> None:
    """Output axis k is input axis permutation[k]."""
    value, made, permutation = source.input(0), source.output(), source.integers(1)
    fits = sorted(permutation) == list(range(value.rank)) and made.rank == value.rank
    require(fits, f"{list(permutation)} leads from {value.rank} axes to {made.rank}")
    inner = tuple(value.order.index(permutation[axis]) for axis in made.order)
    source.move(Transpose(inner), [source.read(0, value.order)], made.order)
