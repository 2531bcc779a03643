# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.arithmetic.narrow_products import narrow_form
from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, NodeView
from aidge_build.kernel_kit.following import following
from aidge_build.kernel_kit.linear_int8 import Linear, LinearNode

from .conditions import linear_spec
from .fc import TOGETHER, costs, texts
from .packing import GENERAL, GENERAL_KIND, Kinds, as_words, filled, head, kinds_of

UNITS = (16, 8, 4, 2)  # pairs of taps in a chunk
MOST_BLOCK_TAPS = 512  # whose columns are in memory at once
HALF = 1 << 15


@dataclass(frozen=True, eq=False)
class Grouping:
    """Outputs in the order of the weights: `groups` of four whose sums of a chunk are halfwords, then the others."""

    order: numpy.ndarray
    groups: int
    units: int
    blocks: int
    block_taps: int

    @property
    def chunks(self) -> int:
        """Of all blocks."""
        return self.blocks * self.block_taps // (2 * self.units)

    @property
    def column_bytes(self) -> int:
        """Of a block, but for the last word."""
        return 4 * (self.block_taps + self.block_taps // (2 * self.units))


def _blocks(features: int, units: int) -> tuple[int, int]:
    """Number and taps of blocks of whole chunks."""
    blocks = -(-features // MOST_BLOCK_TAPS)
    step = 2 * units
    return blocks, -(-features // (blocks * step)) * step


def _grouping(rows: numpy.ndarray) -> Grouping:
    """The chunks that cost least."""
    found = []
    for units in UNITS:
        blocks, taps = _blocks(rows.shape[1], units)
        parts = filled(rows, blocks * taps).reshape(len(rows), -1, 2 * units)
        low = numpy.minimum(-128 * parts, 127 * parts).sum(axis=2).min(axis=1)
        high = numpy.maximum(-128 * parts, 127 * parts).sum(axis=2).max(axis=1)
        fits = (low >= -HALF) & (high < HALF)
        groups = int(fits.sum()) // TOGETHER
        paired = numpy.flatnonzero(fits)[: groups * TOGETHER]
        single = numpy.setdiff1d(numpy.arange(len(rows)), paired)
        cost = sum(share * each for share, each in zip((len(paired), len(single)), costs(units))) * blocks * taps
        found.append((cost, Grouping(numpy.concatenate([paired, single]), groups, units, blocks, taps)))
    return min(found, key=lambda entry: entry[0])[1]


def fc_demands(view: NodeView, rows: int) -> Demands:
    """Scratch: the columns of a block, whatever its chunks, and the sums. Outputs follow a row's inputs."""
    outputs, features = view.inputs[1].dims[:2]
    words = max(taps + taps // (2 * units) for units in UNITS for _, taps in [_blocks(features, units)])
    steps = [(row * outputs, row * features) for row in range(1, rows + 1)]
    return following(steps, view.outputs[0], 4 * (words + 1 + outputs))


@kernel("FC", linear_spec(form=ROW_MAJOR))
class FcInt8(LinearNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return fc_demands(view, view.inputs[0].dims[0])

    def call(self) -> Call:
        return fc_call(self, self.inputs[0].dims[0])


def fc_call(node: LinearNode, rows: int) -> Call:
    """The call for weights [outputs, features(, 1, 1)]."""
    outputs, features = node.inputs[1].dims[:2]
    linear = node.linear(node.inputs[1].data.reshape(outputs, features))
    grouping = _grouping(linear.rows)
    words, single_words = _weights(linear.rows, grouping)
    numbers, kinds = _numbers(linear, grouping)
    proved, has_kinds = int((kinds.kinds != GENERAL_KIND).sum()), bool(kinds.kinds.any())
    singles = outputs - TOGETHER * grouping.groups
    function, functions = texts(grouping.units, grouping.groups > 0, singles > 0, has_kinds)
    shape = Struct(
        "aidge_armv6m_fc",
        {
            "paired": grouping.groups,
            "single": singles,
            "column_bytes": grouping.column_bytes,
            "rows": rows,
            "features": features,
            "outputs": outputs,
            "block_taps": grouping.block_taps,
            "pair_words": grouping.groups * grouping.block_taps,
            "single_words": single_words,
        },
    )
    return Call(
        function,
        ("fc.h",),
        (
            Input(0),
            Output(0),
            Constant("weights", words),
            Constant("numbers", numbers),
            Constant("order", grouping.order.astype(numpy.uint16)),
            *(kinds.constants if has_kinds else ()),
            Scratch(),
            shape,
        ),
        note=f"{TOGETHER * grouping.groups} of {outputs} outputs in pairs, chunks of {2 * grouping.units} taps",
        texts=functions,
        facts=computed("1 row x 4 outputs", proved, outputs, "output"),
    )


def _weights(rows: numpy.ndarray, grouping: Grouping) -> tuple[numpy.ndarray, int]:
    """The words of fc.h, and how many of a block are those of outputs alone."""
    taps = grouping.block_taps
    bytes_ = (filled(rows, grouping.blocks * taps)[grouping.order] + 128).astype(numpy.uint8)
    paired = TOGETHER * grouping.groups
    blocks = []
    for block in range(grouping.blocks):
        part = bytes_[:, block * taps : (block + 1) * taps]
        # [group, pair, output, unit, tap] -> [group, unit, pair, output, tap]
        pairs = part[:paired].reshape(-1, 2, 2, taps // 2, 2).transpose(0, 3, 1, 2, 4)
        blocks += [pairs.ravel(), part[paired:].ravel()]
    words = numpy.concatenate(blocks).view("<i4")
    return words.astype(numpy.int32), (len(rows) - paired) * taps // 4


def _numbers(linear: Linear, grouping: Grouping) -> tuple[numpy.ndarray, Kinds]:
    """The words of fc.h."""
    form, order = narrow_form(linear.staircase(), linear.clamp), grouping.order
    reach = numpy.maximum(numpy.abs(linear.low - form.starts), numpy.abs(linear.high - form.starts))
    kinds = kinds_of(form, reach < 1 << 31, order)
    nothing = numpy.zeros_like(linear.bias)
    fast = numpy.stack([linear.bias - form.starts, form.widths, form.constants, form.multipliers], axis=1)
    general = numpy.stack([linear.bias, nothing + GENERAL, nothing, linear.factors.view(numpy.uint32)], axis=1)
    numbers = numpy.where((kinds.kinds != GENERAL_KIND)[:, None], fast[order], general[order])
    numbers[: TOGETHER * grouping.groups, 0] -= HALF * grouping.chunks
    return as_words([*head(linear, form), *numbers.ravel().tolist()]), kinds
