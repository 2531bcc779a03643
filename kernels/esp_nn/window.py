# SPDX-License-Identifier: MIT
"""The window of the int8 convolutions over one or two axes, also of depthwise ones."""

from __future__ import annotations

from aidge_build.contract.call import Call, Struct
from aidge_build.contract.kernel_kit.raster import raster_demands
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.spec import Demands, NodeView, Predicate

from .linear_int8 import EspLinear


def _window_unfit(view: NodeView) -> str:
    window = view.operator.window
    if set(window.dilations) != {1}:
        return f"the dilations are {list(window.dilations)}, wants 1"
    return "pads around a window of one pixel" if set(window.kernel) == {1} and window.has_pads else ""


def reaches_far(view: NodeView) -> str:
    """Returns why windows reach further beyond the end of the image than before its begin, if there are pads: parts of the
    assembly copy the image with as many pads at the end as at the begin."""
    shape = Windowed(view).shape().fields
    for axis, pad in (("height", "pad_top"), ("width", "pad_left")):
        end = (shape[f"out_{axis}"] - 1) * shape[f"stride_{axis}"] + shape[f"kernel_{axis}"] - shape[pad]
        beyond = end - shape[f"in_{axis}"]
        if (shape["pad_top"] or shape["pad_left"]) and beyond > shape[pad]:
            return f"a window reaches {beyond} beyond the {axis}, wants at most {shape[pad]}"
    return ""


WINDOW = Predicate("no dilation, no pads around one pixel", _window_unfit)


class Windowed(EspLinear):
    """A window that slides pixel by pixel."""

    def shape(self) -> Struct:
        """Returns the window."""
        return window2d(self.inputs[0], self.outputs[0], self.operator.window, self.operator.groups)

    @classmethod
    def plain_demands(cls, view: NodeView) -> Demands:
        return raster_demands(cls(view).shape().fields, view.inputs[0], view.outputs[0])

    def packed(self):
        """Returns the weights as ESP-NN reads them."""
        raise NotImplementedError

    def call(self) -> Call:
        return self.linear_call(self.packed(), self.shape())
