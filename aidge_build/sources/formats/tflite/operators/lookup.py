# SPDX-License-Identifier: MIT
"""Elements by their indices, and indices of elements."""

from __future__ import annotations

import math

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.axes import counted_axis
from aidge_build.operators.base import require
from aidge_build.operators.binary import Less, Where
from aidge_build.operators.cast import Cast
from aidge_build.operators.rearrange import Gather
from aidge_build.operators.scatter import GatherND, ScatterND
from aidge_build.operators.search import TopK
from aidge_build.operators.sums_and_masks import CumSum, OneHot
from aidge_build.operators.view import Identity
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants
from aidge_build.sources.formats.tflite.registry import reads

MOST_ZEROS = 1 << 20  # elements of a tensor that a scatter begins with


def one_integer(source: TfliteNode, index: int) -> int:
    """The only element of a constant input."""
    values = source.constant(index).reshape(-1)
    require(values.size == 1 and values.dtype.kind in "iu", f"input {index} must be one integer")
    return int(values[0])


def _refuse_quantized(source: TfliteNode, index: int) -> None:
    value = source.input(index)
    require(value.quantization is None, f"its input {index} is {value} with a scale, wants plain numbers")


@reads("TOPK_V2", wants=Wants.FILE)
def top_k(source: TfliteNode) -> None:
    """The k largest elements along the last axis in order, and their places."""
    _refuse_quantized(source, 0)
    count = one_integer(source, 1)
    require(source.output_count == 2 and count > 0, f"{source.output_count} outputs, the {count} largest")
    values, places = source.steps(TopK(axis=source.input(0).rank - 1, count=count), [source.read(0)], [None, None])
    source.write(Identity(), [values], only=0)
    source.write(Cast(to=source.output(1).dtype), [places], only=1)


@reads("ONE_HOT", wants=Wants.FILE, kind=61, axis=Field(0, "int32"))
def one_hot(source: TfliteNode) -> None:
    """Input 2 at the index along a new axis of the length of input 1, input 3 elsewhere."""
    on, off = (source.constant(index).reshape(-1) for index in (2, 3))
    require(on.size == off.size == 1, "its values on and off must be one each")
    require(source.output().quantization is None, f"its output is {source.output()} with a scale, wants plain numbers")
    axis, depth = counted_axis(source.options["axis"], source.input(0).rank + 1), one_integer(source, 1)
    values = source.add_constant(f"{source.name}_values", numpy.concatenate([off, on]))
    source.write(OneHot(axis, depth), [_not_from_the_end(source, depth), values])


def _not_from_the_end(source: TfliteNode, depth: int) -> str:
    """The indices; negative ones, which count from the end in ONNX, name nothing here."""
    places, kind = source.read(0), source.input(0).dtype.numpy
    zero, beyond = (source.add_constant(f"{source.name}_bound", numpy.array(number, kind)) for number in (0, depth))
    return source.step(Where(), [source.step(Less(), [places, zero]), beyond, places])


@reads("GATHER_ND", wants=Wants.FILE)
def gather_nd(source: TfliteNode) -> None:
    """The slices that tuples of indices name."""
    source.move(GatherND(), [source.read(0), source.read(1)])


@reads("EMBEDDING_LOOKUP", wants=Wants.FILE)
def embedding_lookup(source: TfliteNode) -> None:
    """The rows of input 1 that the indices in input 0 name."""
    weights, made = source.input(1), source.output()
    real = made.dtype is DType.float32 and weights.quantization is not None
    source.move(Gather(axis=0), [source.read_real(1) if real else source.read(1), source.read(0)])


@reads("CUMSUM", wants=Wants.FILE, kind=102, exclusive=Field(0, "bool"), reverse=Field(1, "bool"))
def cumulative_sum(source: TfliteNode) -> None:
    """The sum of all elements up to each place."""
    _refuse_quantized(source, 0)
    options, axis = source.options, counted_axis(one_integer(source, 1), source.input(0).rank)
    source.write(CumSum(axis, options["exclusive"], options["reverse"]), [source.read(0)])


@reads("SCATTER_ND", wants=Wants.FILE)
def scatter_nd(source: TfliteNode) -> None:
    """Zeros in the dims of input 2, to which the slices of input 1 are added at the places in input 0."""
    _refuse_quantized(source, 1)
    dims = source.integers(2)
    require(all(size > 0 for size in dims) and math.prod(dims) <= MOST_ZEROS, f"its dims {list(dims)} are not supported")
    zeros = source.add_constant(f"{source.name}_zeros", numpy.zeros(dims, source.output().dtype.numpy))
    source.write(ScatterND("add"), [zeros, source.read(0), source.read(1)])
