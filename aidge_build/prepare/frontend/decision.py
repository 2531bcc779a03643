# SPDX-License-Identifier: MIT
"""A decision after a model: the mean of its scores over the last inferences, and the best class."""

from __future__ import annotations

import math
from collections.abc import Mapping

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.prepare.frontend.part import Host, Part, sizes_of
from aidge_build.prepare.frontend.reals import Reals, quantization_of
from aidge_build.sources.onnx_format import ValueInfo


def with_decision(
    model: bytes,
    *,
    average: int = 1,
    label: bool = True,
    scores: bool = False,
    output: str = "",
    name: str = "model.onnx",
    external: Mapping[str, bytes] | None = None,
) -> bytes:
    """The model's file with a decision after it.

    The scores are the model's only output, or `output`, with the classes on the last axis and nothing on the others. With
    `average` the mean of the scores of so many inferences replaces them; the scores of earlier inferences are a state that
    begins as zeros, and that the file names. With `label` there is an output `decision_label`, int64 [1]: the class of the
    highest score, the first of equal ones; with `scores`, or without `label`, an output `decision_scores`. AidgeError if
    something does not fit.
    """
    host = Host(model, name, external or {})
    own = [value for value in host.model.outputs if value.name not in host.model.states]
    value = host.the("output", output or (own[0].name if len(own) == 1 else ""))
    dims, classes = sizes_of(value), _classes(value, average, name)
    stored = None if value.dtype.is_float else quantization_of(host, value, "output")
    if not value.dtype.is_float and stored is None and average > 1:
        raise AidgeError(f"nothing says what the stored scores '{value.name}' mean", where=name, code="FRONTEND")
    part = Part("decision", host.names, host.opset)
    on_reals = Reals(part, stored)
    given = part.input("given", dims, value.dtype)
    found = part.one("Reshape", given, part.integers(1, classes))
    if average > 1:
        past = part.input("past", (average - 1, classes), value.dtype)
        together = on_reals("Concat", past, found, axis=0)
        found = _mean(part, on_reals, together, host.opset)
        first, last, axis = (part.integers(number) for number in (1, average, 0))
        later = on_reals("Slice", together, lists=(first, last, axis))
        part.state(later, past, (average - 1, classes), value.dtype)
    if scores or not label:
        part.output(found, "scores", (1, classes), value.dtype)
    if label:
        best = part.one("ArgMax", on_reals.real(found), axis=1, keepdims=0)
        part.output(best, "label", (1,), DType.int64)
    return part.after(host, {value.name: given})


def _classes(value: ValueInfo, average: int, name: str) -> int:
    """The length of a row of scores; AidgeError where the output is none, or there is nothing to take the mean of."""
    dims = sizes_of(value)
    classes = dims[-1] if dims else 0
    if math.prod(dims) != classes or classes < 1 or average < 1:
        raise AidgeError(
            f"the output '{value.name}' {list(dims)} is no row of scores" if average > 0 else f"a mean of {average} inferences",
            where=name,
            code="FRONTEND",
        )
    return classes


def _mean(part: Part, on_reals: Reals, rows: str, opset: int) -> str:
    """The mean of rows, as a row."""
    if opset < 18:  # the axes were an attribute
        return on_reals("ReduceMean", rows, axes=(0,), keepdims=1)
    return on_reals("ReduceMean", rows, lists=(part.integers(0),), keepdims=1)
