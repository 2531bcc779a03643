# SPDX-License-Identifier: MIT
"""Refuses NaN and infinity that would be quantized, by the name of the constant, or of the tensor that has no range."""

from __future__ import annotations

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.quantization.layers import Layers, values_of
from aidge_build.prepare.quantization.observe import Observed
from aidge_build.sources.folding import strange_numbers

_DAMAGED = "the model is damaged: train or export it again"
_REMEDY = f"a mask needs a finite number, near the smallest value that it masks; otherwise {_DAMAGED}"


def refuse_undefined_constants(layers: Layers, imported: GraphView) -> None:
    """Raises AidgeError for the first layer that would store NaN or infinity as integers. `imported` is the graph of the file:
    the error names its constants, from which the layer's constant is made.
    """
    for layer in layers.layers:
        for name in layer.constants(layers.view):
            values = values_of(layers.view, name)
            if numpy.isfinite(values).all():
                continue
            named = _named(layer.node, imported) or f"constant '{name}', computed from finite constants, holds NaN or infinity"
            raise AidgeError(
                f"{named}, and integers have neither",
                where=layer.node.where(),
                hint=_DAMAGED if numpy.isnan(values).any() else _REMEDY,
                code="QUANTIZATION",
            )


def require_range(name: str, seen: Observed, view: GraphView, imported: GraphView) -> None:
    """Raises AidgeError for a tensor of `view` that is NaN or infinite in a sample of the float model: no range holds it."""
    if seen.undefined_sample is None:
        return
    producer = view.producer(name)
    named = _named(producer, imported) if producer else ""
    raise AidgeError(
        f"tensor '{name}' of the float model has NaN or infinity in sample {seen.undefined_sample}, and integers have neither",
        where=producer.where() if producer else "",
        hint=f"{named}: {_REMEDY}" if named else "repair the model, or leave out such samples",
        code="QUANTIZATION",
    )


def _named(node: Node, imported: GraphView) -> str:
    """Returns the constants with NaN or infinity that the node's origins in the file read; "" if there are none."""
    origins = (before for before in imported.nodes if set(before.origin) & set(node.origin))
    return "; ".join(strange_numbers(imported, dict.fromkeys(name for before in origins for name in before.inputs)))
