# SPDX-License-Identifier: MIT
"""Levels that differ from numpy's because floats before them differ in the last places: allowed where every layer is right.

A kernel adds up float32 products in its own order, and is within 1e-4 of the largest value (`aidge_build/run/verify/compare.py`).
Where a sum lies in the middle of two levels, what quantizes it may then give either, and what follows from that level follows.
So such outputs are judged layer by layer, each by the inputs that it had: integers to the last bit, floats within the tolerance.
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
    """The first layer whose outputs in `trace` are not those `meant` (`meanings`), with its kernel and first such value."""
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
    """Whether `outputs` may differ from numpy's: they are those of the `traced` program, where no layer is `wrong`."""
    same = all(values.tobytes() == traced.outputs[name].tobytes() for name, values in outputs.items())
    return wrong is None and same and makes_levels_of_floats(program.view)


def are_right_by_layer(program: Program, vectors: Vectors, outputs: Vectors, traced: Execution) -> bool:
    """`come_from_floats`, of what `traced` computed from the same `vectors`."""
    wrong = first_wrong_layer(program, meanings(program.view, vectors, traced.trace), traced.trace)
    return come_from_floats(program, outputs, traced, wrong)
