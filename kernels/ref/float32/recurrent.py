# SPDX-License-Identifier: MIT
"""float32 recurrent layers: RNN, GRU, LSTM."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.recurrent import FLOATS, optional_input, recurrent_shape
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType


@kernel(
    ("RNN", "GRU", "LSTM"),
    ImplSpec(
        inputs=(IOSpec(DType.float32, ROW_MAJOR), IOSpec(DType.any, ANY)),
        outputs=(IOSpec(DType.float32, ROW_MAJOR),),
        predicates=(REAL, FLOATS),
    ),
)
class Recurrent(KernelNode):
    instructions_per_mac = 9.5

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        rows = view.operator.gates + (1 if view.node.type == "GRU" else 0)
        return Demands(scratch_bytes=4 * rows * view.operator.hidden)

    def call(self) -> Call:
        operator, is_lstm = self.operator, self.node.type == "LSTM"
        limits = [operator.limit, *([operator.cell_limit] if is_lstm else [])]
        return Call(
            f"aidge_ref_{self.node.type.lower()}_float32",
            ("float32/recurrent.h",),
            (
                *map(Input, range(3)),
                *(optional_input(self, index) for index in range(3, 8 if is_lstm else 6)),
                *map(Output, range(len(self.outputs))),
                Scratch(),
                Constant("limit", numpy.array(limits, numpy.float32)),
                recurrent_shape(self),
            ),
            texts=(_text(self.node.type),),
        )


def _text(kind: str) -> str:
    """The loop over the elements of sequences, around the step of this layer."""
    is_lstm, name = kind == "LSTM", kind.lower()
    starts = [("h", "last_h", "initial_h"), *([("c", "last_c", "initial_c")] if is_lstm else [])]
    states = "".join(
        f"""
            float *{state} = {last} + place;
            aidge_kit_first_state({state}, {initial}, place, hidden);"""
        for state, last, initial in starts
    )
    return f"""/* {kind} over all sequences and directions; scratch: one float for each gate (GRU: and state) of each unit. */
static void aidge_ref_{name}_float32(const float *x, const float *weights, const float *recurrence, const float *bias,
    const int32_t *lengths, const float *initial_h, {"const float *initial_c, const float *peepholes, " * is_lstm}float *y,
    float *last_h, {"float *last_c, " * is_lstm}void *scratch, const float *limit, const aidge_kit_recurrent_shape *shape)
{{
    aidge_ref_recurrent_inputs in;
    const int32_t hidden = shape->hidden;
    const int32_t rows = shape->gates * hidden;
    int32_t direction, batch, t;
    in.bias = bias;
    in.peepholes = {"peepholes" if is_lstm else "NULL"};
    in.limit = limit;
    in.gates = (float *)scratch;
    for (direction = 0; direction < shape->directions; direction++) {{
        in.weights = weights + direction * rows * shape->inputs;
        in.recurrence = recurrence + direction * rows * hidden;
        for (batch = 0; batch < shape->batches; batch++) {{
            const int32_t length = aidge_kit_recurrent_length(lengths, batch, shape->steps);
            const int32_t place = direction * shape->h_direction + batch * shape->h_batch;
            float *out = y + direction * shape->y_direction + batch * shape->y_batch;{states}
            for (t = 0; t < length; t++) {{
                const int32_t time = shape->backwards[direction] != 0 ? length - 1 - t : t;
                in.x = x + time * shape->x_time + batch * shape->x_batch;
                aidge_ref_{name}_step(&in, h, {"c, " * is_lstm}direction, shape);
                (void)memcpy(out + time * shape->y_time, h, (uint32_t)hidden * sizeof *h);
            }}
            aidge_kit_no_outputs(out, length, shape);
        }}
    }}
}}"""
