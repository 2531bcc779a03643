# SPDX-License-Identifier: MIT
"""What an operator of this name means where the inherited libraries come from, as conditions on ours.

Here an operator may say more (pads and a clamp inside of a convolution, groups, broadcasting, scales): a kernel that was written
without knowing that must not get such a node.
"""

from __future__ import annotations

import re

from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.operators.window import Window

_PADDED = re.compile(r"Padded((?:Conv|ConvDepthWise|MaxPooling|AvgPooling)[123]D)")
_BROADCASTING = ("Max", "Mean", "Min", "PRelu", "Sum", "Where")  # operators of a kind of their own that broadcast, too


def padded_type(name: str) -> str:
    """The type that a known composition with Pad has here ("PaddedConv2D": Conv2D); "" for any other name."""
    found = _PADDED.fullmatch(name)
    return found[1] if found else ""


def _window(view: NodeView) -> Window | None:
    return getattr(view.operator, "window", None)


def _has_pads(view: NodeView) -> str:
    window = _window(view)
    return "" if window is not None and window.has_pads else "has no pads"


def _as_inherited(view: NodeView) -> str:
    operator, window = view.operator, _window(view)
    tensors = [tensor for tensor in (*view.inputs, *view.outputs) if tensor is not None]
    if any(tensor.quantization is not None for tensor in tensors):
        return "a tensor is quantized, which the inherited operators do not know"
    moving = [tensor for tensor in tensors if not tensor.is_constant]
    if any(tensor.rank > 2 and tensor.dims[0] != 1 for tensor in moving):
        return f"has a batch of {moving[0].dims[0]}"
    if getattr(operator, "groups", 1) != 1 and not getattr(operator, "depthwise", False):
        return f"has {operator.groups} groups"
    if window is not None and window.ceil_mode:
        return "rounds its size up"
    if window is not None and "Pooling" in view.node.type and set(window.dilations) != {1}:
        return "has dilations"
    if ("Broadcast" in operator.kinds() or view.node.type in _BROADCASTING) and any(
        tensor.dims != view.outputs[0].dims for tensor in tensors
    ):
        return "broadcasts"
    return ""


def _no_pads(view: NodeView) -> str:
    window = _window(view)
    return "has pads" if window is not None and window.has_pads else ""


HAS_PADS = Predicate("has pads", _has_pads)
NO_PADS = Predicate("no pads", _no_pads)
AS_INHERITED = Predicate("no more than the inherited operator says", _as_inherited)
