# SPDX-License-Identifier: MIT
"""One row of bytes less their zero point, scaled to float32: the last layer of a network, or one of a map of one pixel."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call, Constant, Literal, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.dynamic import ONE_GROUP, bounds_in_c, data_arguments, dynamic_spec, is_signed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, Demands, NodeView, Predicate
from aidge_build.operators.dynamic import DATA, WEIGHTS

from .assembly import Routine, Waiting
from .conditions import GROUP
from .dynamic import REGISTERS, SAVED, STATE, clamp_name, load_limit, scale
from .dynamic_driver import data_in_c
from .dynamic_layer import HARDWARE, DynamicLayer, can_pack, groups_of, numbers_of
from .fc import all_steps
from .packing import as_words, group_starts, pair_words, quads, taps_last_channels

PARAMETERS = "const uint32_t *column, const int32_t *stream, const float *table, float *output, const int32_t *end"


def _several(view: NodeView) -> str:
    """Whether the layer reads anything but all of its bytes once, as they lie, for one pixel."""
    data, weights, window = view.inputs[DATA], view.inputs[WEIGHTS], getattr(view.operator, "window", None)
    if view.outputs[0].elements != weights.dims[0] or data.elements != math.prod(weights.dims[1:]):
        return "several rows"
    if window is not None and any((*window.pads_begin, *window.pads_end)):
        return "a window with pads"
    return f"a row of {data.elements} bytes, wants a multiple of 4" if data.elements % 4 else ""


ONE_ROW = Predicate("one row of a multiple of 4 bytes", _several)


@kernel("DynamicFC", dynamic_spec(ROW_MAJOR, HARDWARE, GROUP, ONE_ROW))
class DynamicRow(KernelNode):
    """4 outputs x 4 inputs in each step."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * 8 * groups_of(view) + 2 * view.inputs[DATA].elements)

    def call(self) -> Call:
        rows = taps_last_channels(self.inputs[WEIGHTS].data).astype(numpy.int64)
        taps, starts = rows.shape[1], group_starts(len(rows))
        rows = rows[:, quads(taps)]
        is_packed = can_pack(rows, starts)
        words = as_words([word for first in starts for word in pair_words(rows[first : first + GROUP], is_packed)])
        bounds = self.operator.minimum, self.operator.maximum
        function, text = _routine(taps // 4, is_packed, bounds, DynamicLayer.unroll.steps(self.view))
        signed = is_signed(self.inputs)
        name = f"{function}_layer{'_signed' * signed}"
        counts = {
            "groups": len(starts),
            "group_words": len(words) // len(starts),
            "channels": len(self.inputs[WEIGHTS].data),
            "pairs": taps // 2,
        }
        return Call(
            name,
            ("dynamic_row.h",),
            (
                *data_arguments(self.inputs),
                Output(0),
                Constant("stream", words),
                Constant("numbers", numbers_of(self.inputs, starts, is_packed)),
                Scratch(),
                Literal(taps),
                Struct("aidge_cortexm_dynamic", counts),
            ),
            texts=(text, _DRIVER.format(name=name, function=function, **data_in_c(signed))),
            note=f"{'two weights per halfword' if is_packed else 'int16 weights'}, 1 row x {GROUP} channels",
        )


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, HARDWARE, GROUP, ONE_GROUP, ONE_ROW))
class DynamicPixel(DynamicRow):
    """A window as large as the image."""


_DRIVER = """/* One row. */
static void {name}(const {type} *input, const {type} *zero_point, const float *scale, float *output, const int32_t *stream,
    const float *numbers, void *scratch, int32_t features, const aidge_cortexm_dynamic *groups)
{{
    float *const table = (float *)scratch;
    uint32_t *const column = (uint32_t *)scratch + 8 * groups->groups;
    const uint32_t zeros = (uint32_t)({zero}) * 0x10001u;
    const int32_t whole = groups->channels / 4;
    const int32_t *const end = stream + whole * groups->group_words;
    aidge_cortexm_dynamic_table(table, numbers, scale[0], groups->groups);
    aidge_cortexm_dynamic_neighbours(column, (const uint8_t *)input, features, zeros, {signs});
    {function}(column, stream, table, output, end);
    if (whole < groups->groups) {{
        {function}(column, end, table + 8 * whole, output + groups->channels - 4, end + groups->group_words);
    }}
}}"""


def _routine(quads: int, is_packed: bool, bounds: tuple[float, float], unroll: int) -> tuple[str, str]:
    """Name and text of all groups of channels for a row of `quads` times 4 inputs."""
    name = f"aidge_cortexm_dynamic_one_row_{quads}_{'packed' if is_packed else 'wide'}{clamp_name(bounds)}_u{unroll}"
    code = Routine(REGISTERS, Waiting(STATE))
    code("push {{r4-r11, lr}}")
    code(f"vpush {{{{{SAVED}}}}}")
    code("ldr r4, [sp, #52]", "end")
    code("vmov {first}, r3")
    code("vmov {end}, {base}, r4, r0")
    code("vmov {table}, r2")
    code.constant("r5", 8 * quads)
    code("add r5, r5, r0")
    code("vmov {column_end}, r5")
    code.label(3, "a group of 4 channels")
    for channel in range(4):
        code(f"movs {{a{channel}}}, #0")
    all_steps(code, quads, "sxtb16" * is_packed, False, unroll)
    if is_packed:
        for channel in (1, 3):
            code(f"sub {{a{channel}}}, {{a{channel}}}, {{a{channel - 1}}}")
    code("vmov {w0}, {table}")
    code("vldmia {w0}!, {{s0-s7}}", "factors, biases")
    code("vmov {table}, {w0}")
    code("vmov {w1}, {first}")
    load_limit(code, bounds, "{x0}")
    scale(code, [f"{{a{channel}}}" for channel in range(4)], 16, bounds, "{w1}", "{x0}")
    code("vmov {first}, {w1}")
    code("vmov {x0}, {column}, {end}, {base}")
    code("cmp {stream}, {x0}")
    code("bne 3b")
    code(f"vpop {{{{{SAVED}}}}}")
    code("pop {{r4-r11, pc}}")
    numbers = f"{2 * quads}, 1, {is_packed:d}, 0, {bounds_in_c(bounds)}"
    portable = f"aidge_cortexm_dynamic_groups(column, stream, table, output, output, end, {numbers});"
    return name, code.function(name, PARAMETERS, f"A row of {4 * quads} inputs to float32.", portable)
