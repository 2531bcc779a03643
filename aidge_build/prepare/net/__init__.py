# SPDX-License-Identifier: MIT
"""Networks built in Python: a graph under construction, and one function per operator.

    from aidge_build import net

    graph = net.Graph("mlp")
    x = graph.input("x", (32, 64))
    hidden = net.Relu(net.Gemm(x, graph.parameter("w1", w1), graph.parameter("b1", b1)))
    graph.output(net.Gemm(hidden, graph.parameter("w2", w2), graph.parameter("b2", b2)), "scores")

The functions are made from the registry of operators: `help(net.Conv)` shows the inputs and attributes that the ONNX standard (or
the operator's class) gives them, under their ONNX names. `dir(net)` lists them. Shapes are known, and mistakes are refused, at
once.
"""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.base.errors import AidgeError
from aidge_build.prepare.net.builder import builder, builder_names, builder_of
from aidge_build.prepare.net.compositions import COMPOSITIONS
from aidge_build.prepare.net.graph import OPSET, Graph, Value

__all__ = ["OPSET", "Graph", "Value", "builder", "builder_names", "builder_of"]


def __getattr__(name: str) -> Callable[..., Value | tuple[Value, ...]]:
    """Returns the builder of the operator with this ONNX name (without its domain)."""
    if name in COMPOSITIONS:
        return COMPOSITIONS[name]
    if name not in builder_names():
        raise AttributeError(f"module 'aidge_build.prepare.net' has no attribute '{name}'")
    try:
        return builder(name)
    except AidgeError as error:
        raise AttributeError(str(error)) from error


def __dir__() -> list[str]:
    return sorted({*globals(), *builder_names(), *COMPOSITIONS})
