# SPDX-License-Identifier: MIT
"""One operator on given values, exactly as the numpy backend defines it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Operator
from aidge_build.operators.meanings import DOUBLE, meaning


def evaluate(
    operator: Operator, values: Sequence[numpy.ndarray | None], inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]
) -> tuple[numpy.ndarray, ...]:
    """Returns the outputs: for quantized tensors by `forward_quantized`, or as their numerical contract says, else by `forward`.

    Float tensors are evaluated in float64 and rounded once to their type, or in float32 step by step (`Operator.by_steps`).
    """
    with numpy.errstate(all="ignore"):  # overflow to infinity and NaN are results, not accidents
        contracts = [tensor.quantization.rounding for tensor in outputs if tensor.quantization is not None]
        if DOUBLE in contracts and not operator.composed:
            results = meaning(operator)(operator, values, inputs, outputs)
        elif reads_reals(operator, inputs, outputs):
            results = operator.forward_quantized(values, inputs, outputs)
        else:
            results = operator.evaluated(*values)
        return tuple(_as_declared(_own(result, values), tensor) for result, tensor in zip(results, outputs, strict=True))


def is_quantized(inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> bool:
    """Whether the node computes on quantized tensors.

    A node that only reads or only writes a quantized tensor (an integer operator of the file) means the stored values themselves.
    """
    given = [tensor for tensor in inputs if tensor is not None]
    return any(tensor.quantization is not None for tensor in outputs) and bool(given) and given[0].quantization is not None


def reads_reals(operator: Operator, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> bool:
    """Whether the node reads its quantized inputs as real numbers, not as stored values."""
    stored = any(tensor is not None and tensor.quantization is not None for tensor in inputs)
    return is_quantized(inputs, outputs) or stored and operator.widens


def _own(result: numpy.ndarray, values: Sequence[numpy.ndarray | None]) -> numpy.ndarray:
    """Returns the result, copied if it is an input's array: only the planner decides which tensors share bytes."""
    return numpy.array(result) if any(result is value for value in values) else result


def _as_declared(result: numpy.ndarray, tensor: Tensor) -> numpy.ndarray:
    return numpy.asarray(result).astype(tensor.dtype.numpy, copy=False)
