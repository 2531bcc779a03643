# SPDX-License-Identifier: MIT
"""A function from float32 to int8 by comparing integers: no float arithmetic, whatever the function is."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.staircase import Cells, pattern_cells, pattern_shift

CELLS, FEW_CELLS = 512, 64  # of 2 B in flash; with fewer of them more keys are compared
_UNREACHED = 0x7FFFFFFF


@kernel("Staircase", ImplSpec((IOSpec(DType.float32, SAME),), (IOSpec(DType.int8, SAME),)))
class StaircaseFloat32Int8(ElementWise):
    def call(self) -> Call:
        count = FEW_CELLS if self.view.objective == "size" else CELLS
        keys = numpy.array(self.operator.keys, numpy.int64)
        shift = pattern_shift(keys, count)
        cells = Cells.of(keys, lambda found: pattern_cells(found, shift), count)
        name = f"aidge_ref_staircase_{count}"
        return Call(
            name,
            ("int8/staircase.h",),
            (
                Input(0),
                Output(0),
                Constant("keys", numpy.append(keys, _UNREACHED).astype(numpy.int32)),
                Constant("levels", numpy.array(self.operator.levels, numpy.int8)),
                Constant("cells", numpy.array([shift, cells.low], numpy.int32)),
                Constant("firsts", numpy.array(cells.firsts, numpy.uint16)),
                Literal(self.outputs[0].elements),
            ),
            texts=(_TEXT.format(name=name, last=count - 1),),
        )


_TEXT = """/* output = levels[how many keys the number has reached]; staircase.h says what is given. */
static void {name}(const float *input, int8_t *output, const int32_t *keys, const int8_t *levels, const int32_t *cells,
    const uint16_t *firsts, int32_t count)
{{
    const int32_t shift = cells[0];
    const int32_t low = cells[1];
    for (; count > 0; count--) {{
        const float number = *input++; /* before its bytes are taken: what is known of its address would be lost */
        const int32_t pattern = aidge_ref_pattern(number);
        const uint32_t signs = pattern < 0 ? 0xFFFFFFFFu : 0u;
        const int32_t key = (int32_t)((uint32_t)pattern ^ (signs >> 1));
        int32_t cell = aidge_ref_cell(pattern, signs, shift) - low;
        int32_t place;
        cell = cell < 0 ? 0 : cell;
        place = firsts[cell > {last} ? {last} : cell];
        while (key >= keys[place]) {{
            place++;
        }}
        *output++ = levels[place];
    }}
}}"""
