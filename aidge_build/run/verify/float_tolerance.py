# SPDX-License-Identifier: MIT
"""Quantized values that differ from numpy's because floats before them differ in the last place: allowed if every layer is right.

A kernel adds up float32 products in its own order, and is within 1e-4 of the largest value (`aidge_build/run/verify/compare.py`).
If a sum is halfway between two quantized values, the next layer may give either, and the layers after it use that value. So such
outputs are judged layer by layer, each by the inputs that it had: integers to the last bit, floats within the tolerance.
"""

from __future__ import annotations

from aidge_build.graph.view import GraphView
from aidge_build.plan.program import Program
from aidge_build.run.verify.compare import first_difference
from aidge_build.run.verify.firmware import Execution
from aidge_build.run.verify.layers import meanings
from aidge_build.run.verify.vectors import Vectors

BY_FLOATS = "by levels that follow from floats: no layer differs by itself, each computed from the inputs that it had on the core"


def first_wrong_layer(program: Program, meant: Vectors, trace: Vectors) -> dict | None:
    """Returns the first layer with outputs in `trace` that differ from the outputs `meant` (`meanings`), with kernel and first
    value."""
    layer_of = {tensor.name: layer for layer in program.layers for tensor in layer.outputs}
    found = first_difference(list(layer_of), trace, meant)
    return found and {"node": layer_of[found["tensor"]].node.name, "kernel": layer_of[found["tensor"]].kernel.name, **found}


def makes_levels_of_floats(view: GraphView) -> bool:
    """Whether a node gives integers or truth values by floats that another node has computed."""
    computed = {name for node in view.nodes for name in node.outputs if view.tensor(name).dtype.is_float}
    return any(
        any(name in computed for name in node.inputs) and any(not view.tensor(name).dtype.is_float for name in node.outputs)
        for node in view.nodes
    )


def come_from_floats(program: Program, outputs: Vectors, traced: Execution, wrong: dict | None) -> bool:
    """Whether `outputs` may differ from numpy's: the `traced` program has the same outputs, none of its layers is `wrong`, and a
    layer makes integers of floats."""
    same = all(values.tobytes() == traced.outputs[name].tobytes() for name, values in outputs.items())
    return wrong is None and same and makes_levels_of_floats(program.view)


def are_right_by_layer(program: Program, vectors: Vectors, outputs: Vectors, traced: Execution) -> bool:
    """Whether `come_from_floats` holds for the layers that `traced` computed from the same `vectors`."""
    wrong = first_wrong_layer(program, meanings(program.view, vectors, traced.trace), traced.trace)
    return come_from_floats(program, outputs, traced, wrong)
