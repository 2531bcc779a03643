# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, computed
from aidge_build.contract.kernel_kit.byte_weights import linear_of, offsets_of
from aidge_build.contract.kernel_kit.linear_int8 import Linear, LinearNode
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.depthwise import MOST_TAPS, layer
from aidge_build.contract.kernel_kit.narrow.depthwise_layout import NUMBERS, Layout, WordLayout, layout_of
from aidge_build.contract.kernel_kit.narrow.packing import (
    GENERAL_KIND,
    SUM_BITS,
    WIDTH_BITS,
    Kinds,
    filled,
    fits_sums,
    form_of,
    general_numbers,
    head,
    kinds_of,
)
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.operators.arithmetic.narrow_products import NarrowForm


def _taps(view: NodeView) -> str:
    taps = math.prod(view.operator.window.kernel)
    return "" if taps <= MOST_TAPS else f"{taps} taps, wants at most {MOST_TAPS}"


FEW_TAPS = Predicate(f"at most {MOST_TAPS} taps", _taps)


class DepthwiseInt8(LinearNode):
    """A library's subclass names its `core`, and the layout of its planes."""

    core: ClassVar[Core]
    layout: ClassVar[type[Layout]] = WordLayout

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return layout_of(cls.layout, view).demands(view)

    def call(self) -> Call:
        return plane_call(self.core.on(self.view.features), self, layout_of(self.layout, self.view))


def plane_call(core: Core, node: LinearNode, layout: Layout) -> Call:
    """The call that computes channel after channel from planes."""
    weights = node.inputs[1].data.reshape(len(node.inputs[1].data), -1)
    linear = node.linear(_in_rows(weights, layout))
    is_wide = bool(offsets_of(linear.rows).any())
    words, kinds = _stream(core, linear, is_wide, layout)
    proved = int((kinds.kinds != GENERAL_KIND).sum())
    fast, text = layout.text(core, is_wide, False)
    texts = [*layout.loading(core), text]
    sums = ""
    if kinds.kinds.any() or linear.is_any:
        sums, text = layout.text(core, is_wide, True)
        texts.append(text)
    function, text = layer(fast, sums, layout.plane, layout.is_shared)
    return Call(
        function,
        ("core/target.h", layout.plane.header),
        (
            Input(0),
            Output(0),
            Constant("stream", words),
            *(kinds.constants if sums else ()),
            Scratch(),
            layout.struct(NUMBERS + _weight_words(layout, is_wide)),
        ),
        note=f"{layout.plane.what}, requantization of {proved} of {len(weights)} channels proved in integers",
        texts=(*texts, text),
        work=layout.turns(kinds.kinds),
        facts=computed(f"{layout.tile} pixels x 1 channel", proved, len(weights), "channel"),
    )


def _in_rows(weights: numpy.ndarray, layout: Layout) -> numpy.ndarray:
    """Weights [channels, kernel height * kernel width] in the order of the plane's rows and columns."""
    if layout.rows == "height":
        return weights
    height, width = layout.image["kernel_height"], layout.image["kernel_width"]
    return weights.reshape(-1, height, width).transpose(0, 2, 1).reshape(len(weights), -1)


def _weight_words(layout: Layout, is_wide: bool) -> int:
    return -(-(layout.taps - layout.has_last(is_wide)) * (1 + is_wide) // 4)


def _form_and_kinds(core: Core, linear: Linear) -> tuple[NarrowForm, Kinds]:
    form = form_of(core, linear, (SUM_BITS,))
    return form, kinds_of(form, fits_sums(linear.low - form.starts, linear.high - form.starts))


def has_plain_sums(core: Core, view: NodeView) -> bool:
    """Whether the sums of all channels fit the form of planes and need no correction, and other weights need none, too."""
    linear = linear_of(view)
    return not linear.is_any and not _form_and_kinds(core, linear)[1].kinds.any()


def _stream(core: Core, linear: Linear, is_wide: bool, layout: Layout) -> tuple[numpy.ndarray, Kinds]:
    """The words of depthwise.h."""
    form, kinds = _form_and_kinds(core, linear)
    fast = numpy.stack([linear.bias - form.starts, form.widths, form.constants, form.multipliers], axis=1)
    units, _, factors = general_numbers(linear)
    general = numpy.stack([numpy.zeros_like(units), units, linear.in_fine_units().bias, factors], axis=1)
    numbers = numpy.where((kinds.kinds != GENERAL_KIND)[:, None], fast, general)
    words = _weight_words(layout, is_wide)
    if is_wide:
        weights = filled(linear.rows, 2 * words).astype("<i2")
    else:
        if layout.has_last(is_wide):
            numbers[:, 1] = (numbers[:, 1] & 0xFFFFFF) + (linear.rows[:, -1] << WIDTH_BITS)
        weights = filled(linear.rows, 4 * words + 1)[:, : 4 * words].astype(numpy.int8)
    packed = numpy.ascontiguousarray(weights).view("<i4")
    return as_words([*head(linear, form), *numpy.concatenate([numbers, packed], axis=1).ravel().tolist()]), kinds
