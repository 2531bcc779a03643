# SPDX-License-Identifier: MIT
"""Nodes with only constant inputs are evaluated while a model is imported, within limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.operators.base import Operator

MOST_ELEMENTS = 16 << 20  # of one folded result
MOST_BYTES = 64 << 20  # of one folded result
MOST_BYTES_TOGETHER = 256 << 20  # of all folded results of a model
MOST_WORK = 1 << 30  # multiply-accumulates of one folded node


class Folding:
    """The evaluation of one model's constant nodes; it counts their bytes so far."""

    def __init__(self) -> None:
        self._bytes = 0

    def values(self, operator: Operator, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs with their values; AidgeError (code FOLD) beyond the limits."""
        for tensor in outputs:
            size = tensor.size_bytes
            self._bytes += size
            if tensor.elements > MOST_ELEMENTS or size > MOST_BYTES or self._bytes > MOST_BYTES_TOGETHER:
                raise AidgeError(
                    f"the constant result '{tensor.name}' has {size} bytes, too many to evaluate while importing",
                    code="FOLD",
                    hint=f"the limits are {MOST_BYTES} bytes for a tensor, {MOST_BYTES_TOGETHER} for a model",
                )
        if operator.multiply_accumulates(inputs, outputs) > MOST_WORK:
            raise AidgeError("its inputs are constant, but evaluating it takes too long", code="FOLD")
        values = evaluate(operator, [None if tensor is None else tensor.data for tensor in inputs], inputs, outputs)
        return [tensor.with_(data=value, dims=value.shape) for tensor, value in zip(outputs, values, strict=True)]


def strange_numbers(view: GraphView, names: Iterable[str] | None = None) -> list[str]:
    """Returns notices about constants (of all, or of these tensors) with NaN or infinity: legal, but nearly always damage."""
    tensors = view.tensors if names is None else {name: view.tensor(name) for name in names if name}
    return [
        f"constant '{name}' holds NaN or infinity"
        for name, tensor in tensors.items()
        if tensor.data is not None and tensor.dtype.is_float and not numpy.isfinite(tensor.data).all()
    ]
