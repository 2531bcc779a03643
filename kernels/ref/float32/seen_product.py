# SPDX-License-Identifier: MIT
"""Products with the rows of a cache up to a position, float32 or bytes."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.float_steps import unit_of
from aidge_build.contract.kernel_kit.matmul_float32 import (
    MATRICES,
    STORED_APART,
    STORED_SEEN,
    StoredMatMul,
    StoredProduct,
    is_inner,
    position_bytes,
    seen_spec,
)
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.graph.dtype import DType

from .gemm_float32 import matrix, shape_of

INSTRUCTIONS_PER_MAC = 8


def _is_real(view: NodeView) -> str:
    first, second = view.inputs[:2]
    fits = first.dtype is DType.float32 and second.dtype in (DType.float32, DType.int8)
    return "" if fits and not (first.is_constant or second.is_constant) else "no float32 and cache"


@kernel("SeenMatMul", seen_spec(frozenset(), MATRICES, Predicate("float32 times a cache", _is_real)))
class SeenMatMul(KernelNode):
    instructions_per_mac = INSTRUCTIONS_PER_MAC

    def call(self) -> Call:
        return seen_call(self.view, StoredProduct(*self.inputs[:2], (Input(0), Input(1), Input(2))))


@kernel("StoredSeenMatMul", seen_spec(frozenset(), STORED_APART), STORED_SEEN)
class StoredSeenMatMul(StoredMatMul):
    """The same as they are stored."""

    instructions_per_mac = INSTRUCTIONS_PER_MAC

    def call(self) -> Call:
        return seen_call(self.view, StoredProduct.of(self.view))


def seen_call(view: NodeView, product: StoredProduct) -> Call:
    """Returns the call of a function for these types and this axis."""
    c_type, axis = product.second.dtype.c_type, "inner" if is_inner(view) else "columns"
    name = f"aidge_ref_seen_{axis}_{product.second.dtype.name}"
    text = f"""/* output = first * second, {axis} up to the position. */
static void {name}(const float *first, const {c_type} *second, const void *position, float *output, int32_t bytes,
                   const aidge_ref_gemm_shape *shape)
{{
    const int32_t seen = aidge_kit_seen(position, bytes, shape->{axis});
    const int32_t columns = {"shape->columns" if axis == "inner" else "seen"};
    const int32_t inner = {"seen" if axis == "inner" else "shape->inner"};
    const int32_t batches = shape->dims[0] * shape->dims[1] * shape->dims[2] * shape->dims[3];
    int32_t batch, axis, row, column, k;
    for (batch = 0; batch < batches; batch++) {{
        const float *a = first;
        const {c_type} *b = second;
        int32_t rest = batch;
        for (axis = 3; axis >= 0; axis--) {{
            const int32_t index = rest % shape->dims[axis];
            rest /= shape->dims[axis];
            a += index * shape->first_batch_steps[axis];
            b += index * shape->second_batch_steps[axis];
        }}
        for (row = 0; row < shape->rows; row++) {{
            for (column = 0; column < shape->columns; column++) {{
                const {c_type} *const from = b + column * shape->second_column_step;
                float sum = 0.0f;
                for (k = 0; (column < columns) && (k < inner); k++) {{
                    sum += a[k * shape->first_inner_step] * (float)from[k * shape->second_inner_step];
                }}
                *output++ = sum;
            }}
            a += shape->first_row_step;
        }}
    }}
}}"""
    arguments = (*product.arguments, Output(0), position_bytes(view), shape_of(matrix(product.first), matrix(product.second)))
    steps = product.seen_steps(view, unit_of(view.features))
    return Call(name, ("float32/gemm_float32.h", "kit/seen.h"), arguments, texts=(text,), steps=steps)
