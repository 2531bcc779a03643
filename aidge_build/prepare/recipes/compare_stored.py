# SPDX-License-Identifier: MIT
"""Lets trees compare stored integers: the Cast or DequantizeLinear before them goes into their thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.forest import Forest, Mode
from aidge_build.operators.tree_ensemble import Ensemble
from aidge_build.prepare.recipes.recipe import recipe

_INTEGERS = (DType.int8, DType.uint8, DType.int16, DType.uint16, DType.int32, DType.int64)
_STORED = (DType.int8, DType.uint8, DType.int16, DType.uint16)  # types that are tried with all their values
_IN_ORDER = (Mode.LEQ, Mode.LT, Mode.GTE, Mode.GT)


@recipe(exact=True)
def compare_stored(view: GraphView) -> GraphView:
    """1. A Cast of integers to float32: trees cast their data in the same way. 2. A DequantizeLinear with one scale, if the trees
    only compare by order: it keeps the order, so that each threshold has a last stored value below it."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        before = view.producer(node.input) if isinstance(node.operator, Ensemble) else None
        if before is None:
            continue
        forest = _forest(view, node, before)
        if forest is not None:
            rewrite.replace_node(node, node.with_(operator=replace(node.operator, forest=forest), inputs=before.inputs[:1]))
    return rewrite.finish()


def _forest(view: GraphView, node: Node, before: Node) -> Forest | None:
    """Returns the forest that compares the stored values; None if it is not known to give the same results."""
    forest: Forest = node.operator.forest
    data = view.tensor(before.input)
    if forest.thresholds.dtype != numpy.float32 or view.tensor(node.input).dtype is not DType.float32:
        return None
    if before.type == "Cast":
        return forest if data.dtype in _INTEGERS else None
    if before.type != "DequantizeLinear" or data.dtype not in _STORED or not numpy.isin(forest.modes, _IN_ORDER).all():
        return None
    parameters = view.input_tensors(before)[1:]
    if any(one is not None and (not one.is_constant or one.elements != 1) for one in parameters):
        return None
    return _in_stored_values(view, forest, before)


def _in_stored_values(view: GraphView, forest: Forest, before: Node) -> Forest:
    """Returns the forest with stored values as thresholds. Scales are positive and rounding keeps the order, so the real values
    of all stored values are in order."""
    data, *parameters = view.input_tensors(before)
    low, high = data.dtype.range
    stored = data.dtype.values
    tensors = [data.with_(dims=stored.shape), *parameters]
    given = [stored, *(None if one is None else one.data for one in parameters)]
    real = numpy.asarray(evaluate(before.operator, given, tensors, [view.tensor(before.output).with_(dims=stored.shape)])[0])
    is_less = numpy.isin(forest.modes, (Mode.LT, Mode.GTE))
    ends = [numpy.searchsorted(real, forest.thresholds, side) for side in ("left", "right")]
    last = (low - 1 + numpy.where(is_less, *ends)).astype(numpy.float32)  # the last one below, or up to, the threshold
    is_down = numpy.isin(forest.modes, (Mode.LEQ, Mode.LT))
    unordered = numpy.isnan(forest.thresholds)  # nothing is below or above NaN
    last = numpy.where(unordered, numpy.where(is_down, low - 1, high), last).astype(numpy.float32)
    modes = numpy.where(is_down, Mode.LEQ, Mode.GT).astype(forest.modes.dtype)
    return replace(forest, modes=modes, thresholds=last)
