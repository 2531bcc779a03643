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


def pool_text(
    function: str, c: str, start: str, step: str, end: str, parameters: str = "", outputs: str = "", before: str = ""
) -> str:
    """A pool as C: the state s begins as `start`, takes in each element x inside the input by `step`, and ends as `end`."""
    return f"""/* A window over up to 3 axes of each channel. */
static void {function}(const {c} *input, {c} *output{outputs}{parameters}, const aidge_ref_window3d *shape)
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
                                    {step}
                                }}
                            }}
                        }}
                    }}
                    {end}
                }}
            }}
        }}
        input += plane;
    }}
}}"""


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
class MaxPool3d(KernelNode):
    def call(self) -> Call:
        dtype = self.inputs[0].dtype
        function = f"aidge_ref_maxpool3d_{dtype.name}"
        is_float = dtype is DType.float32
        end = "*output++ = aidge_ref_clamp_float32(s, bounds);" if is_float else "*output++ = s;"
        text = pool_text(
            function,
            dtype.c_type,
            f"{dtype.c_type} s = {_lowest(dtype)};",
            "s = v > s ? v : s;",
            end,
            ", const float *bounds" if is_float else "",
        )
        return Call(
            function,
            ("any/pool3d.h",),
            (
                Input(0),
                Output(0),
                *((bounds(self.operator),) if is_float else ()),
                window3d(self.inputs[0], self.outputs[0], self.operator.window),
            ),
            texts=(text,),
        )


@kernel("MaxPoolingIndices", ImplSpec(_ANY, predicates=(REAL, Predicate("no other kernel takes it", _is_other_kernels))))
class MaxPoolIndices(KernelNode):
    def call(self) -> Call:
        dtype, columns = self.inputs[0].dtype, self.operator.columns_first
        function = f"aidge_ref_maxpool3d_indices{'_columns' if columns else ''}_{dtype.name}"
        number = "((x * shape->in[1] + y) * shape->in[0] + z)" if columns else "place"
        start = f"{dtype.c_type} s = {_lowest(dtype)};\n                    int32_t best = -1;"
        step = f"best = (best < 0) || (v > s) ? {number} : best;\n                                    s = v > s ? v : s;"
        is_float = dtype is DType.float32
        end = "*output++ = aidge_ref_clamp_float32(s, bounds);" if is_float else "*output++ = s;"
        end += "\n                    *indices++ = (int64_t)map * plane + best;"
        text = pool_text(
            function, dtype.c_type, start, step, end, ", const float *bounds" if is_float else "", ", int64_t *indices"
        )
        return Call(
            function,
            ("any/pool3d.h",),
            (
                Input(0),
                Output(0),
                Output(1),
                *((bounds(self.operator),) if is_float else ()),
                window3d(self.inputs[0], self.outputs[0], self.operator.window),
            ),
            texts=(text,),
        )


@kernel("GlobalMaxPooling", _POOL)
class GlobalMaxPool(KernelNode):
    def call(self) -> Call:
        (data,), dtype = self.inputs, self.inputs[0].dtype
        function = f"aidge_ref_global_max_{dtype.name}"
        is_float = dtype is DType.float32
        text = f"""/* The largest element of each map. */
static void {function}(const {dtype.c_type} *input, {dtype.c_type} *output,
    {"const float *bounds, " if is_float else ""}int32_t maps, int32_t size)
{{
    int32_t map, i;
    for (map = 0; map < maps; map++) {{
        {dtype.c_type} s = *input;
        for (i = 1; i < size; i++) {{
            s = input[i] > s ? input[i] : s;
        }}
        *output++ = {"aidge_ref_clamp_float32(s, bounds)" if is_float else "s"};
        input += size;
    }}
}}"""
        return Call(
            function,
            ("any/pool3d.h",),
            (
                Input(0),
                Output(0),
                *((bounds(self.operator),) if is_float else ()),
                Literal(data.dims[0] * data.dims[1]),
                Literal(math.prod(data.dims[2:])),
            ),
            texts=(text,),
        )


@kernel("AvgPooling3D", ImplSpec(_FLOAT))
class AvgPool3dFloat32(KernelNode):
    def call(self) -> Call:
        included = self.operator.counts_pads
        function = f"aidge_ref_avgpool3d{'_pads' if included else ''}_float32"
        counted = ""
        if included:
            counted = (
                "\n                                count += (at[0] * shape->strides[0] - shape->pads[0] + i * "
                "shape->dilations[0] < shape->ends[0])"
                "\n                                         && (at[1] * shape->strides[1] - shape->pads[1] + j "
                "* shape->dilations[1] < shape->ends[1])"
                "\n                                         && (at[2] * shape->strides[2] - shape->pads[2] + k "
                "* shape->dilations[2] < shape->ends[2]);"
            )
        text = pool_text(
            function,
            "float",
            "float s = 0.0f;\n                    int32_t count = 0;",
            "s += v;" if included else "s += v;\n                                    count += 1;",
            "*output++ = aidge_ref_clamp_float32(s / (float)count, bounds);",
            ", const float *bounds",
            before=counted,
        )
        return Call(
            function,
            ("any/pool3d.h",),
            (Input(0), Output(0), bounds(self.operator), window3d(self.inputs[0], self.outputs[0], self.operator.window)),
            texts=(text,),
        )


@kernel("LpPooling", ImplSpec(_FLOAT))
class LpPool3dFloat32(KernelNode):
    def call(self) -> Call:
        order = self.operator.order
        function = f"aidge_ref_lppool3d_{order}_float32"
        step = {1: "s += fabsf(v);", 2: "s += v * v;"}.get(order, f"s += powf(fabsf(v), {order}.0f);")
        end = {1: "s", 2: "sqrtf(s)"}.get(order, f"powf(s, 1.0f / {order}.0f)")
        text = pool_text(
            function,
            "float",
            "float s = 0.0f;",
            step,
            f"*output++ = aidge_ref_clamp_float32({end}, bounds);",
            ", const float *bounds",
        )
        return Call(
            function,
            ("any/pool3d.h",),
            (Input(0), Output(0), bounds(self.operator), window3d(self.inputs[0], self.outputs[0], self.operator.window)),
            texts=(text,),
        )
