# SPDX-License-Identifier: MIT
"""Computes two graphs on the same seeded inputs, to check what rewrites promise about values."""

from __future__ import annotations

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.prepare.recipes.dequantize_constants import dequantize_constants

SEED = 12
RELATIVE = 1e-4  # of the largest value of a float output, in graphs without quantization
LEVELS = 16  # the allowed difference of quantized values: each layer may round 1 to the other side


def require_same_meaning(
    before: GraphView, after: GraphView, step: str, *, exact: bool, levels: int = LEVELS, seed: int = SEED
) -> None:
    """Raises AidgeError (code MEANING) if an output differs: at all if `exact`, else by more than rounding explains.

    `levels` is the allowed difference of quantized values; a float that comes from them may differ by levels / 128 of its
    largest.
    """
    relative = levels / 128 if any(node.type == "QuantizeLinear" for node in before.nodes) else RELATIVE
    inputs = seeded_inputs(before, seed)
    old, new = (cpu.run(dequantize_constants(view), inputs) for view in (before, after))
    for name, renamed in zip(before.outputs, after.outputs, strict=True):
        distances = _distances(old[name], new[renamed])
        allowed = 0.0 if exact else float(levels) if old[name].dtype.kind in "iu" else relative * _largest(old[name])
        if not (distances <= allowed).all():
            raise AidgeError(
                f"graph output '{name}' changed by {distances.max():g}, at most {allowed:g} is allowed",
                where=f"graph after {step}",
                code="MEANING",
                hint=f"{step} is at fault, not the model; the inputs are numpy.random.default_rng({seed})'s",
            )


def seeded_inputs(view: GraphView, seed: int) -> dict[str, numpy.ndarray]:
    """Returns random values for every graph input: normal floats, integers of a byte."""
    random = numpy.random.default_rng(seed)
    return {name: _values(view.tensor(name), random) for name in view.inputs}


def _values(tensor: Tensor, random: numpy.random.Generator) -> numpy.ndarray:
    if tensor.dtype.is_float:
        return (random.normal(size=tensor.dims) * 3).astype(tensor.dtype.numpy)
    low, high = (0, 1) if tensor.dtype is DType.bool else tensor.dtype.range
    return random.integers(max(low, -128), min(high, 255), tensor.dims, endpoint=True).astype(tensor.dtype.numpy)


def _distances(old: numpy.ndarray, new: numpy.ndarray) -> numpy.ndarray:
    """Returns the difference of each pair of elements; infinite if shapes or types differ, or one of the two is no number."""
    if old.shape != new.shape or old.dtype != new.dtype:
        return numpy.array(numpy.inf)
    first, second = old.astype(numpy.float64), new.astype(numpy.float64)
    is_same = (first == second) | numpy.isnan(first) & numpy.isnan(second)
    with numpy.errstate(invalid="ignore"):  # infinity less infinity
        differences = numpy.abs(first - second)
    return numpy.where(is_same, 0, numpy.where(numpy.isnan(differences), numpy.inf, differences))


def _largest(values: numpy.ndarray) -> float:
    return float(numpy.abs(values[numpy.isfinite(values)]).max(initial=0.0))
