# SPDX-License-Identifier: MIT
"""Recurrent layers that onnxruntime quantizes: weights of bytes, which stay bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from aidge_build.operators.base import require
from aidge_build.sources.formats.onnx.expansion import Draft, expands

_ATTRIBUTES = ("activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size", "input_forget")
_WEIGHTS, _RECURRENCE, _SCALES = 1, 2, (8, 10)


@expands("com.microsoft::DynamicQuantizeLSTM")
def dynamic_quantize_lstm(draft: Draft) -> Sequence[str]:
    """LSTM with the real values of its weights. Data and state stay real, although onnxruntime rounds both to 8 bits in every
    step: the result is the float model's result with these weights. Source: onnxruntime's operator DynamicQuantizeLSTM."""
    source = draft.source
    source.expect_attributes(*_ATTRIBUTES)
    weights = [_real(draft, place, first) for place, first in zip((_WEIGHTS, _RECURRENCE), _SCALES)]
    others = [draft.input(place) for place in range(3, 8)]
    while others and not others[-1]:
        others.pop()
    attributes: dict[str, Any] = {name: source.node.attributes[name] for name in _ATTRIBUTES if name in source.node.attributes}
    names = draft.emit("LSTM", draft.input(0), *weights, *others, outputs=3, opset=14, **attributes)
    return names[: len(source.node.outputs)]


def _real(draft: Draft, place: int, first: int) -> str:
    """Weights [directions, values, rows] as ONNX has them, [directions, rows, values]. Their scales, and zero points, are one for
    each direction or for each row of each."""
    stored = numpy.ascontiguousarray(numpy.swapaxes(draft.known(draft.input(place), "its weights"), 1, 2))
    scales = draft.known(draft.input(first), "a scale of its weights").astype(numpy.float32)
    given = draft.input(first + 1)
    points = draft.known(given, "a zero point of its weights") if given else numpy.zeros(scales.shape, stored.dtype)
    directions, rows, _ = stored.shape
    require(scales.size in (directions, directions * rows), f"{scales.size} scales for {directions} x {rows} rows of weights")
    points = numpy.broadcast_to(points.reshape(-1) if points.size == 1 else points.reshape(scales.shape), scales.shape)
    if scales.size == directions:
        names = [draft.constant(values.reshape(-1).astype(values.dtype)) for values in (scales, points)]
        return draft.one("DequantizeLinear", draft.constant(stored), *names, axis=0)
    if directions == 1:
        names = [draft.constant(values.reshape(-1).astype(values.dtype)) for values in (scales, points)]
        return draft.one("DequantizeLinear", draft.constant(stored), *names, axis=1)
    shape = (directions, rows, 1)
    centred = stored.astype(numpy.float32) - points.reshape(shape).astype(numpy.float32)
    return draft.constant(centred * scales.reshape(shape))
