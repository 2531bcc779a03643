# SPDX-License-Identifier: MIT
"""int8 products of two matrices that are computed at run time: columns of the second one become the weights of a fully connected
layer, in scratch, and the rows of the first one its inputs."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import ROOM
from aidge_build.contract.kernel_kit.products import columns_as_channels, matrix_dims, product_call, product_shape, product_spec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import ENOUGH_PRODUCTS, FEATURES
from .packing import form_of, head
from .rows import GROUP, entry, product_routine

FEWEST_ROWS = 2  # that pay for the columns as weights
BAND_BYTES = 4096  # of the columns that are weights at a time, unless one group of them needs more
_BLOCK_BYTES = 64  # of aidge_armv7m_product_block
_GROUP_BYTES = 100  # of the numbers of a group
_ANY_COLUMN = numpy.zeros((1, 1), numpy.int64)


def _unfit(view: NodeView) -> str:
    rows, _, columns = matrix_dims(view.inputs)
    if rows < FEWEST_ROWS:
        return f"{rows} row, wants at least {FEWEST_ROWS}"
    if columns < GROUP:
        return f"{columns} columns, wants at least {GROUP}"
    return "" if form_of(columns_as_channels(view, _ANY_COLUMN)).is_proved else "its requantization is not proved"


@kernel(
    "MatMul",
    product_spec(ROOM, ENOUGH_PRODUCTS, Predicate("rows that pay, enough columns, proved levels", _unfit), features=FEATURES),
)
class MatmulInt8(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        groups = _band(view) // GROUP
        return Demands(scratch_bytes=_BLOCK_BYTES + groups * _group_bytes(view))

    def call(self) -> Call:
        linear, inner = columns_as_channels(self.view, _ANY_COLUMN), matrix_dims(self.inputs)[1]
        form = form_of(linear)
        routine, text = product_routine(form, inner)
        function = routine.replace("_product_", "_matmul_int8_")
        first_taps, entered = entry(inner)
        more = {"band": _band(self.view), "first_taps": first_taps, "entry": entered}
        points = [tensor.quantization.zero_point for tensor in self.inputs]
        return product_call(
            function,
            self.inputs,
            numpy.concatenate([head(linear, form), numpy.array(points, numpy.int32), form.channels[0]]),
            (product_shape("aidge_armv7m_product", self.inputs, self.outputs[0], **more),),
            note="requantization is a proved line",
            texts=(text, _loop(function, routine)),
            facts=form.facts(f"1 row x {GROUP} columns"),
        )


def _group_bytes(view: NodeView) -> int:
    return _GROUP_BYTES + GROUP * matrix_dims(view.inputs)[1]


def _band(view: NodeView) -> int:
    """Columns that are weights at a time."""
    groups = -(-matrix_dims(view.inputs)[2] // GROUP)
    return GROUP * min(groups, max(1, BAND_BYTES // _group_bytes(view)))


def _loop(function: str, routine: str) -> str:
    return f"""/* Products of int8 matrices. Scratch: the block, and a band of columns; its last 8 overlap others where it is
 * no multiple of 8, and the last band the one before where less than 8 are left. */
static void {function}(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *pattern, void *scratch,
    const aidge_armv7m_product *shape)
{{
    aidge_armv7m_product_block *const block = (aidge_armv7m_product_block *)scratch;
    const int32_t *const numbers = (const int32_t *)(void *)(block + 1);
    int32_t place[4] = {{0, 0, 0, 0}};
    aidge_armv7m_begin_product(block, shape, pattern);
    do {{
        int32_t start;
        for (start = 0; start < shape->columns; start += shape->band) {{
            const int32_t left = shape->columns - start;
            const int32_t count = left < {GROUP} ? {GROUP} : left < shape->band ? left : shape->band;
            const int32_t groups = (count + {GROUP - 1}) / {GROUP};
            const int32_t whole = count / {GROUP};
            const int32_t *const last = numbers + whole * AIDGE_ARMV7M_GROUP_WORDS;
            const int32_t column = left < {GROUP} ? shape->columns - {GROUP} : start;
            const int32_t *const weights = aidge_armv7m_product_columns(second + column, block, pattern, shape, groups, count);
            const int8_t *row = first;
            int8_t *to = output + column;
            int32_t rows;
            for (rows = shape->rows; rows > 0; rows--) {{
                aidge_armv7m_product_row(block, row, pattern);
                (void){routine}(row, weights, numbers, to, block, last);
                if (groups > whole) {{
                    (void){routine}(row, weights + 2 * whole * shape->inner, last, to + count - {GROUP}, block,
                        last + AIDGE_ARMV7M_GROUP_WORDS);
                }}
                row += shape->inner;
                to += shape->columns;
            }}
        }}
        output += shape->rows * shape->columns;
    }} while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &first, &second) != 0);
}}"""
