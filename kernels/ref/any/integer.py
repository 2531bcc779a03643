# SPDX-License-Identifier: MIT
"""Sums of products of plain int8 and uint8 numbers with run-time zero points and scales; dynamic quantization."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.products import BATCH_AXES, product_shape
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

from .window3d import window3d

_ANY = IOSpec(DType.any, ROW_MAJOR)
_BYTES = (DType.int8, DType.uint8)


def _types(view: NodeView) -> str:
    is_scaled = view.node.type.startswith("QLinear")
    wrong = [
        one.dtype.name for one in (view.inputs[place] for place in ((0, 3) if is_scaled else (0, 1))) if one.dtype not in _BYTES
    ]
    if wrong:
        return f"an input is {wrong[0]}, wants int8 or uint8"
    scales = [view.inputs[place].dtype for place in (1, 4, 6)] if is_scaled else []
    return next((f"a scale is {dtype.name}, wants float32" for dtype in scales if dtype is not DType.float32), "")


def _rank(view: NodeView) -> str:
    tensors = [tensor for tensor in view.inputs if tensor is not None]
    return "" if max(tensor.rank for tensor in tensors) <= BATCH_AXES + 2 else "the rank is too high"


def _axes(view: NodeView) -> str:
    return "" if view.operator.window.rank <= 3 else "more than 3 spatial axes"


_BYTES_ONLY = Predicate("data and weights are int8 or uint8, scales float32", _types)


class _Products(KernelNode):
    """The places of the operands and of their parameters in the node's inputs."""

    def places(self) -> dict[str, int]:
        if self.node.type.startswith("QLinear"):
            return {"a": 0, "sa": 1, "za": 2, "b": 3, "sb": 4, "zb": 5, "sy": 6, "zy": 7, "bias": 8}
        return {"a": 0, "b": 1, "za": 2, "zb": 3}

    def tensor(self, name: str) -> Tensor | None:
        place = self.places().get(name, len(self.inputs))
        return self.inputs[place] if place < len(self.inputs) else None

    def pointers(self, *names: str) -> list[Argument]:
        return [Input(self.places()[name]) if self.tensor(name) is not None else Literal(0) for name in names]

    def names(self) -> tuple[list[str], list[str]]:
        """The pointer parameters: names and declarations."""
        names = [
            "a",
            "b",
            "za",
            "zb",
            *(
                ("sa", "sb", "sy", "zy", "bias")
                if self.node.type == "QLinearConv"
                else ("sa", "sb", "sy", "zy")
                if self.node.type == "QLinearMatMul"
                else ()
            ),
        ]
        types = {"sa": "float", "sb": "float", "sy": "float", "bias": "int32_t", "zy": self.outputs[0].dtype.c_type}
        types |= {name: self.tensor(name[-1]).dtype.c_type for name in ("a", "b", "za", "zb")}
        return names, [f"const {types[name]} *{name}" for name in names]

    def ending(self, place: str) -> str:
        """The statement that turns `sum` into the output for parameter number `place`."""
        if not self.node.type.startswith("QLinear"):
            return "*output++ = sum;"
        low, high = self.outputs[0].dtype.range
        index = place if self.tensor("sb").elements > 1 else "0"
        return (
            f"const float multiplier = sa[0] * sb[{index}] / sy[0];\n"
            f"                const float scaled = rintf((float)sum * multiplier);\n"
            f"                const float low = (float)({f'{low} - ' if low else '-'}(int32_t)zy[0]);\n"
            f"                const float high = (float)({high} - (int32_t)zy[0]);\n"
            f"                *output++ = ({self.outputs[0].dtype.c_type})((int32_t)(scaled < low ? low : "
            "scaled > high ? high : scaled) + (int32_t)zy[0]);"
        )

    def function(self, *more: str) -> str:
        parts = [self.tensor(name).dtype.name for name in ("a", "b")] + [self.outputs[0].dtype.name, *more]
        parts += [
            f"{name}_list" for name in ("za", "zb", "sb") if self.tensor(name) is not None and self.tensor(name).elements > 1
        ]
        parts += [f"{name}_none" for name in ("za", "zb") if self.tensor(name) is None]
        return f"aidge_ref_{self.node.type.lower()}_" + "_".join(parts)

    def distance(self, name: str, where: str, place: str) -> str:
        """An element of `a` or `b` less its zero point, which has number `place` where there are several."""
        zero, element = self.tensor(f"z{name}"), f"(int32_t){name}[{where}]"
        return element if zero is None else f"({element} - (int32_t)z{name}[{place if zero.elements > 1 else '0'}])"

    def unused(self, names: list[str]) -> str:
        return "".join(f"    (void){name};\n" for name in ("za", "zb") if self.tensor(name) is None and name in names)


@kernel(
    ("ConvInteger", "QLinearConv"), ImplSpec(_ANY, predicates=(REAL, _BYTES_ONLY, Predicate("at most 3 spatial axes", _axes)))
)
class ConvInteger(_Products):
    instructions_per_mac = 14

    def call(self) -> Call:
        names, declarations = self.names()
        has_bias = self.tensor("bias") is not None
        function = self.function(*(["bias"] if has_bias else []))
        start = "bias[m]" if has_bias else "0"
        skipped = "    (void)bias;\n" if "bias" in names and not has_bias else ""
        text = f"""/* Sums of (a - zero point) * (b - zero point) over a window of up to 3 axes. */
static void {function}({", ".join(declarations)}, {self.outputs[0].dtype.c_type} *output, const aidge_ref_window3d *shape)
{{
    const int32_t channels = shape->in_channels / shape->groups;
    const int32_t outputs = shape->out_channels / shape->groups;
    const int32_t plane = shape->in[0] * shape->in[1] * shape->in[2];
    const int32_t kernel = shape->kernel[0] * shape->kernel[1] * shape->kernel[2];
    int32_t batch, m, c, tap, place;
    const int32_t places = shape->out[0] * shape->out[1] * shape->out[2];
{self.unused(names)}{skipped}    for (batch = 0; batch < shape->batches; batch++) {{
        for (m = 0; m < shape->out_channels; m++) {{
            for (place = 0; place < places; place++) {{
                const int32_t out_x = place % shape->out[2];
                const int32_t out_y = place / shape->out[2] % shape->out[1];
                const int32_t out_z = place / shape->out[2] / shape->out[1];
                int32_t sum = {start};
                for (tap = 0; tap < kernel; tap++) {{
                    const int32_t x = aidge_ref_tap3d(shape, 2, out_x, tap % shape->kernel[2]);
                    const int32_t y = aidge_ref_tap3d(shape, 1, out_y, tap / shape->kernel[2] % shape->kernel[1]);
                    const int32_t z = aidge_ref_tap3d(shape, 0, out_z, tap / shape->kernel[2] / shape->kernel[1]);
                    if ((x < 0) || (y < 0) || (z < 0)) {{
                        continue;
                    }}
                    for (c = 0; c < channels; c++) {{
                        const int32_t from = (m / outputs * channels + c) * plane + (z * shape->in[1] + y) * shape->in[2] + x;
                        sum += {self.distance("a", "from", "0")}
                            * {self.distance("b", "(m * channels + c) * kernel + tap", "m")};
                    }}
                }}
                {self.ending("m")}
            }}
        }}
        a += shape->in_channels * plane;
    }}
}}"""
        shape = window3d(self.inputs[0], self.outputs[0], self.operator.window, self.operator.groups)
        return Call(function, ("shared/each.h", "any/window3d.h"), (*self.pointers(*names), Output(0), shape), texts=(text,))


@kernel(
    ("MatMulInteger", "QLinearMatMul"),
    ImplSpec(_ANY, predicates=(REAL, _BYTES_ONLY, Predicate(f"at most {BATCH_AXES} batch axes", _rank))),
)
class MatMulInteger(_Products):
    instructions_per_mac = 8

    def call(self) -> Call:
        names, declarations = self.names()
        function = self.function()
        text = f"""/* Batches of products of matrices: sums of (a - zero point) * (b - zero point). */
static void {function}({", ".join(declarations)}, {self.outputs[0].dtype.c_type} *output, const aidge_kit_matrices *shape)
{{
    const int32_t batches = shape->dims[0] * shape->dims[1] * shape->dims[2] * shape->dims[3];
    int32_t batch, axis, row, column, k;
{self.unused(names)}    for (batch = 0; batch < batches; batch++) {{
        int32_t first = 0;
        int32_t second = 0;
        int32_t rest = batch;
        for (axis = 3; axis >= 0; axis--) {{
            first += rest % shape->dims[axis] * shape->first_steps[axis];
            second += rest % shape->dims[axis] * shape->second_steps[axis];
            rest /= shape->dims[axis];
        }}
        for (row = 0; row < shape->rows; row++) {{
            for (column = 0; column < shape->columns; column++) {{
                int32_t sum = 0;
                for (k = 0; k < shape->inner; k++) {{
                    sum += {self.distance("a", "first + row * shape->inner + k", "row")}
                           * {self.distance("b", "second + k * shape->columns + column", "column")};
                }}
                {self.ending("column")}
            }}
        }}
    }}
}}"""
        shape = product_shape("aidge_kit_matrices", (self.tensor("a"), self.tensor("b")), self.outputs[0])
        return Call(function, ("shared/each.h", "kit/batches.h"), (*self.pointers(*names), Output(0), shape), texts=(text,))


@kernel("DynamicQuantizeLinear", ImplSpec(inputs=(IOSpec(DType.float32, SAME),), outputs=(IOSpec(DType.uint8, SAME), _ANY)))
class DynamicQuantize(KernelNode):
    def call(self) -> Call:
        bounds = Constant("bounds", numpy.array([self.operator.minimum, self.operator.maximum], numpy.float32))
        fixed = "" if "fpu" in self.view.features else "_fixed"
        return Call(
            f"aidge_ref_dynamic_quantize{fixed}",
            (f"any/dynamic_quantize{fixed}.h",),
            (Input(0), *map(Output, range(3)), bounds, Literal(self.inputs[0].elements)),
        )
