# SPDX-License-Identifier: MIT
"""Windows over one to three spatial axes of row-major tensors: everything that the channels-last kernels do not do."""

from __future__ import annotations

import math

from aidge_build.contract.call import Argument, Call, Input, Literal, Output, Struct
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.window import Window

from ..float32.linear_float32 import bounds
from ..shared.each_expressions import NUMBERS

_FLOAT = IOSpec(DType.float32, ROW_MAJOR)
_ANY = IOSpec(DType.any, ROW_MAJOR)


def window3d(data: Tensor, output: Tensor, window, groups: int = 1) -> Struct:
    """The struct of window3d.h; missing axes go first, with length 1."""
    spatial = data.dims[2:]
    missing = 3 - len(spatial)

    def three(numbers, fill: int) -> tuple[int, ...]:
        return (*(fill,) * missing, *numbers)

    ends = getattr(window, "pads_end", (0,) * len(spatial))
    return Struct(
        "aidge_ref_window3d",
        {
            "batches": data.dims[0],
            "in_channels": data.dims[1],
            "out_channels": output.dims[1],
            "groups": groups,
            "in": three(spatial, 1),
            "out": three(output.dims[2:], 1),
            "kernel": three(window.kernel, 1),
            "strides": three(window.strides, 1),
            "dilations": three(window.dilations, 1),
            "pads": three(window.pads_begin, 0),
            "ends": three((size + end for size, end in zip(spatial, ends)), 1),
        },
    )


def _optional_bias(node: KernelNode) -> Argument:
    return Input(2) if len(node.inputs) > 2 and node.inputs[2] is not None else Literal(0)


def _constant_weights(view: NodeView) -> str:
    constants = all(tensor is None or tensor.is_constant for tensor in view.inputs[1:])
    return "weights and bias are constant" if constants and view.operator.window.rank < 3 else ""


@kernel(
    [f"{kind}{rank}D" for kind in ("Conv", "ConvDepthWise") for rank in (1, 2, 3)],
    ImplSpec(_FLOAT, predicates=(Predicate("weights at run time, or 3 axes", _constant_weights),)),
)
class Conv3dFloat32(KernelNode):
    instructions_per_mac = 22

    def call(self) -> Call:
        shape = window3d(self.inputs[0], self.outputs[0], self.operator.window, self.operator.groups)
        return Call(
            "aidge_ref_conv3d_float32",
            ("float32/conv3d_float32.h",),
            (Input(0), Input(1), _optional_bias(self), Output(0), bounds(self.operator), shape),
        )


@kernel([f"ConvTranspose{rank}D" for rank in (1, 2, 3)], ImplSpec(_FLOAT))
class ConvTranspose3dFloat32(KernelNode):
    instructions_per_mac = 14

    def call(self) -> Call:
        return Call(
            "aidge_ref_convtranspose3d_float32",
            ("float32/convtranspose3d_float32.h",),
            (
                Input(0),
                Input(1),
                _optional_bias(self),
                Output(0),
                bounds(self.operator),
                window3d(self.inputs[0], self.outputs[0], self.operator, self.operator.groups),
            ),
        )


class _Pool(KernelNode):
    """A pool over up to 3 axes of each channel."""

    def window(self) -> Struct:
        return window3d(self.inputs[0], self.outputs[0], self.operator.window)

    def pool(self, function: str, start: str, steps: str, result: str = "s", before: str = "", after: str = "") -> Call:
        """The call of a function whose state s begins as `start`, takes in each element v by `steps`, and ends as
        `result`, clamped if it is a float. `before` are further steps for each tap; `after` writes to further `indices`."""
        is_float, c = self.inputs[0].dtype is DType.float32, self.inputs[0].dtype.c_type
        result = f"aidge_ref_clamp_float32({result}, bounds)" if is_float else result
        more = ", int64_t *indices" * bool(after) + ", const float *bounds" * is_float
        text = f"""/* A window over up to 3 axes of each channel. */
static void {function}(const {c} *input, {c} *output{more}, const aidge_ref_window3d *shape)
{{
    const int32_t plane = shape->in[0] * shape->in[1] * shape->in[2];
    int32_t map, i, j, k;
    int32_t at[3];
    for (map = 0; map < shape->batches * shape->in_channels; map++) {{
        for (at[0] = 0; at[0] < shape->out[0]; at[0]++) {{
            for (at[1] = 0; at[1] < shape->out[1]; at[1]++) {{
                for (at[2] = 0; at[2] < shape->out[2]; at[2]++) {{
                    {start}
                    for (i = 0; i < shape->kernel[0]; i++) {{
                        const int32_t z = aidge_ref_tap3d(shape, 0, at[0], i);
                        for (j = 0; j < shape->kernel[1]; j++) {{
                            const int32_t y = aidge_ref_tap3d(shape, 1, at[1], j);
                            for (k = 0; k < shape->kernel[2]; k++) {{
                                const int32_t x = aidge_ref_tap3d(shape, 2, at[2], k);{before}
                                if ((z >= 0) && (y >= 0) && (x >= 0)) {{
                                    const int32_t place = (z * shape->in[1] + y) * shape->in[2] + x;
                                    const {c} v = input[place];
                                    {steps}
                                }}
                            }}
                        }}
                    }}
                    *output++ = {result};{after}
                }}
            }}
        }}
        input += plane;
    }}
}}"""
        outputs = map(Output, range(1 + bool(after)))
        limits = (bounds(self.operator),) if is_float else ()
        return Call(function, ("any/pool3d.h",), (Input(0), *outputs, *limits, self.window()), texts=(text,))


def _is_other_kernels(view: NodeView) -> str:
    dtype = view.inputs[0].dtype
    if dtype is DType.bool or dtype not in NUMBERS:
        return f"the elements are {dtype.name}"
    if dtype is not DType.float32 and view.operator.clamps:
        return "an activation is fused into integers"
    fits = view.node.type in ("MaxPooling1D", "MaxPooling2D") and dtype is DType.float32
    return "the channels-last kernel takes it" if fits else ""


_POOL = ImplSpec(_ANY, predicates=(REAL, Predicate("no other kernel takes it", _is_other_kernels)))


def _lowest(dtype: DType) -> str:
    if dtype is DType.float32:
        return "-INFINITY"
    low = dtype.range[0]
    return str(low) if low >= -(1 << 30) else f"(-{-low - 1}{'LL' if dtype is DType.int64 else ''} - 1)"


@kernel(("MaxPooling1D", "MaxPooling2D", "MaxPooling3D"), _POOL)
class MaxPool3d(_Pool):
    def call(self) -> Call:
        dtype = self.inputs[0].dtype
        start = f"{dtype.c_type} s = {_lowest(dtype)};"
        return self.pool(f"aidge_ref_maxpool3d_{dtype.name}", start, "s = v > s ? v : s;")


@kernel("GlobalMaxPooling", _POOL)
class GlobalMaxPool(MaxPool3d):
    def window(self) -> Struct:
        """All positions as a window along one axis."""
        (data,), count = self.inputs, math.prod(self.inputs[0].dims[2:])
        row, point = (data.with_(dims=(*data.dims[:2], size), format=None) for size in (count, 1))
        return window3d(row, point, Window((count,), (1,), (1,), (0,), (0,)))


@kernel("MaxPoolingIndices", _POOL)
class MaxPoolIndices(_Pool):
    def call(self) -> Call:
        dtype, columns = self.inputs[0].dtype, self.operator.columns_first
        number = "((x * shape->in[1] + y) * shape->in[0] + z)" if columns else "place"
        return self.pool(
            f"aidge_ref_maxpool3d_indices{'_columns' if columns else ''}_{dtype.name}",
            f"{dtype.c_type} s = {_lowest(dtype)};\n                    int32_t best = -1;",
            f"best = (best < 0) || (v > s) ? {number} : best;\n                                    s = v > s ? v : s;",
            after="\n                    *indices++ = (int64_t)map * plane + best;",
        )


_POSITION = "at[{0}] * shape->strides[{0}] - shape->pads[{0}] + {1} * shape->dilations[{0}] < shape->ends[{0}]"


@kernel("AvgPooling3D", ImplSpec(_FLOAT))
class AvgPool3dFloat32(_Pool):
    def call(self) -> Call:
        start, mean = "float s = 0.0f;\n                    int32_t count = 0;", "s / (float)count"
        if not self.operator.counts_pads:
            steps = "s += v;\n                                    count += 1;"
            return self.pool("aidge_ref_avgpool3d_float32", start, steps, mean)
        inside = " && ".join(f"({_POSITION.format(axis, tap)})" for axis, tap in enumerate("ijk"))
        counted = f"\n                                count += {inside};"
        return self.pool("aidge_ref_avgpool3d_pads_float32", start, "s += v;", mean, counted)


@kernel("LpPooling", ImplSpec(_FLOAT))
class LpPool3dFloat32(_Pool):
    def call(self) -> Call:
        order = self.operator.order
        step = {1: "s += fabsf(v);", 2: "s += v * v;"}.get(order, f"s += powf(fabsf(v), {order}.0f);")
        end = {1: "s", 2: "sqrtf(s)"}.get(order, f"powf(s, 1.0f / {order}.0f)")
        return self.pool(f"aidge_ref_lppool3d_{order}_float32", "float s = 0.0f;", step, end)
