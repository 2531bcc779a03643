# SPDX-License-Identifier: MIT
"""Values that differ from numpy's because floats decide integers before them: how far they may differ.

A kernel adds up float32 products in its own order, and is within 1e-4 of the largest value (`aidge_build/run/verify/compare.py`).
If a sum is halfway between two quantized values, the next layer may give either, and the layers after it use that value. The
expected outputs of such models are computed with the operations of the kernels (`steps.py`). If kernels do not state them,
outputs may differ under two conditions: no layer differs by itself, each judged by the inputs that it had (integers to the last
bit, floats within the tolerance), and outputs are within `ALLOWED` of the expected ones.
"""

from __future__ import annotations

import numpy

from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.plan.program import Program
from aidge_build.run.verify.compare import compare, first_difference
from aidge_build.run.verify.firmware import Execution
from aidge_build.run.verify.layers import meanings
from aidge_build.run.verify.vectors import Vectors

ALLOWED = 0.01  # of the largest value of a vector, or of the range of a quantized type
BY_FLOATS = (
    f"by levels that follow from floats, at most {100 * ALLOWED:g} % of the largest value: no layer differs by itself, each "
    "computed from the inputs that it had on the core"
)


def first_wrong_layer(program: Program, meant: Vectors, trace: Vectors) -> dict | None:
    """Returns the first layer with outputs in `trace` that differ from the outputs `meant` (`meanings`), with kernel and first
    value."""
    layer_of = {tensor.name: layer for layer in program.layers for tensor in layer.outputs}
    found = first_difference(list(layer_of), trace, meant)
    return found and {"node": layer_of[found["tensor"]].node.name, "kernel": layer_of[found["tensor"]].kernel.name, **found}


def makes_levels_of_floats(view: GraphView) -> bool:
    """Whether a node gives integers or truth values by floats that another node has computed, or multiplies such integers."""
    computed = {name for node in view.nodes for name in node.outputs if view.tensor(name).dtype.is_float}
    return any(
        any(name in computed for name in node.inputs)
        and (node.operator.has_levels_inside or any(not view.tensor(name).dtype.is_float for name in node.outputs))
        for node in view.nodes
    )


def are_near(view: GraphView, outputs: Vectors, wanted: Vectors) -> bool:
    """Whether all outputs are within `ALLOWED` of the wanted ones, and the index of the largest value of a row of scores is the
    same if no other score is that near to it. Integers that are no quantized values must be equal."""
    return all(_is_near(view.tensor(name), outputs[name], wanted[name]) for name in wanted)


def _is_near(tensor: Tensor, got: numpy.ndarray, wanted: numpy.ndarray) -> bool:
    got, wanted = (values.reshape(len(values), -1) for values in (got, wanted))
    if not tensor.dtype.is_float and tensor.quantization is None:
        return numpy.array_equal(got, wanted)
    if not numpy.isfinite(wanted).all() or not numpy.isfinite(got).all():
        return compare(tensor.name, got, wanted).within
    got, wanted = got.astype(numpy.float64), wanted.astype(numpy.float64)
    low, high = (0, 0) if tensor.dtype.is_float else tensor.dtype.range
    allowed = ALLOWED * (numpy.abs(wanted).max(1, initial=0.0) if tensor.dtype.is_float else numpy.full(len(got), high - low))
    if (numpy.abs(got - wanted) > allowed[:, None]).any():
        return False
    is_row = sum(size > 1 for size in tensor.dims) == 1
    return not is_row or bool((_same_largest(got, wanted) | (_margin(wanted) <= allowed)).all())


def _same_largest(got: numpy.ndarray, wanted: numpy.ndarray) -> numpy.ndarray:
    return got.argmax(1) == wanted.argmax(1)


def _margin(rows: numpy.ndarray) -> numpy.ndarray:
    """Returns the distance of the largest value of each row from the next one."""
    *_, second, first = numpy.sort(rows, axis=1).T
    return first - second


def come_from_floats(program: Program, outputs: Vectors, traced: Execution, wrong: dict | None) -> bool:
    """Whether levels of floats explain that `outputs` differ from numpy's: the `traced` program has the same outputs, none of
    its layers is `wrong`, and a layer makes integers of floats."""
    same = all(values.tobytes() == traced.outputs[name].tobytes() for name, values in outputs.items())
    return wrong is None and same and makes_levels_of_floats(program.view)


def may_differ(program: Program, vectors: Vectors, outputs: Vectors, wanted: Vectors, traced: Execution) -> bool:
    """Whether `outputs` may differ from the `wanted` ones: they are near, and `come_from_floats` holds for the layers that
    `traced` computed from the same `vectors`."""
    wrong = first_wrong_layer(program, meanings(program.view, vectors, traced.trace), traced.trace)
    return come_from_floats(program, outputs, traced, wrong) and are_near(program.view, outputs, wanted)
