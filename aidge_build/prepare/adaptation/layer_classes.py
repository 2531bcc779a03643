# SPDX-License-Identifier: MIT
"""Classes of layers that kernels compute alike: by the types of inputs and outputs, and by sizes, from coarse to fine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from aidge_build.contract.spec import NodeView
from aidge_build.graph.tensor import Tensor


def types_of(view: NodeView) -> str:
    """Returns the types of a node's inputs and outputs, which inputs are constant, the axes along which a repeated (broadcast)
    input differs, and the operator's own words."""
    output = view.outputs[0]
    is_broadcast = "Broadcast" in view.operator.kinds()
    given = (_type_of(tensor, output if is_broadcast else None) for tensor in view.inputs if tensor is not None)
    values = (getattr(view.operator, field.name) for field in dataclasses.fields(view.operator))
    words = [tensor.dtype.name for tensor in view.outputs] + [value for value in values if isinstance(value, str) and value]
    return f"{', '.join(given)} -> {', '.join(words)}"


def _type_of(tensor: Tensor, output: Tensor | None) -> str:
    text = f"{tensor.dtype.name} constant" if tensor.is_constant else tensor.dtype.name
    if output is None or tensor.dims == output.dims:
        return text
    axes = [axis for axis, size in enumerate(tensor.dims, output.rank - tensor.rank) if size > 1]
    return f"{text} by {' '.join(map(str, axes)) or 'none'}"


def shapes_of(view: NodeView) -> tuple[str, ...]:
    """Returns the classes of shapes to which a node belongs: the class of all nodes (""), the classes of its window and of its
    products per output if it has them, and last the class with exactly its dims."""
    window = getattr(view.operator, "window", None)
    seen = f"window {_joined(window.kernel)} by {_joined(window.strides)}" if window is not None else ""
    data = [tensor.dims for tensor in view.inputs if tensor is not None and not tensor.is_constant]
    results = [tensor.dims for tensor in view.outputs]
    sizes = [f"{', '.join(map(shown, data))} -> {', '.join(map(shown, results))}" for shown in (_powers, _joined)]
    terms = [shape_class(view).partition(",")[0]] if view.multiply_accumulates else []
    narrow = (*terms, f"about {sizes[0]}", sizes[1])
    return "", *([seen] if seen else []), *(", ".join(filter(None, (one, seen))) for one in narrow)


def shape_class(view: NodeView) -> str:
    """Returns the class of shapes of a node: powers of two at most its products per output ("terms") and its outputs.

    Layers of a class cost about the same per multiply-accumulate with the same kernel.
    """
    elements = sum(tensor.elements for tensor in view.outputs)
    terms = view.multiply_accumulates // max(1, elements)
    return f"terms {_power(terms)}, outputs {_power(elements)}" if terms else f"outputs {_power(elements)}"


def _joined(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes)) or "one"


def _powers(sizes: Sequence[int]) -> str:
    return _joined(tuple(map(_power, sizes)))


def _power(number: int) -> int:
    """Returns the largest power of two that is not above the number; 0 for 0."""
    return 1 << (number.bit_length() - 1) if number else 0
