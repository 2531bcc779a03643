# SPDX-License-Identifier: MIT
"""Reading and writing at indices that are known at run time only, any type. An index out of range is moved to the nearest
valid one."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Output, Struct
from aidge_build.contract.kernel_kit.conditions import REAL, SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

from ..shared.each_expressions import NUMBERS, wide

AXES = 6


def _index_type(view: NodeView) -> str:
    dtype = view.inputs[1].dtype
    return "" if dtype in (DType.int32, DType.int64) else f"the indices are {dtype.name}, wants int32 or int64"


def _rank(view: NodeView) -> str:
    return "" if max(view.inputs[0].rank, view.inputs[1].rank) <= AXES else "more than 6 axes"


_PREDICATES = (Predicate("indices are int32 or int64", _index_type), Predicate(f"at most {AXES} axes", _rank))
_DATA, _ANY = IOSpec(DType.any_1, ROW_MAJOR), IOSpec(DType.any, ROW_MAJOR)
_GATHER = ImplSpec(inputs=(_DATA, _ANY), outputs=(_DATA,), predicates=(SAME_QUANTIZATION, *_PREDICATES))


@kernel(("Gather", "ArrayFeatureExtractor"), _GATHER)
class Gather(KernelNode):
    def call(self) -> Call:
        (data, indices), axis = self.inputs, self.operator.axis % self.inputs[0].rank
        shape = Struct(
            "aidge_ref_gather_shape",
            {
                "outer": math.prod(data.dims[:axis]),
                "size": data.dims[axis],
                "inner_bytes": math.prod(data.dims[axis + 1 :]) * data.dtype.size_bytes,
                "count": indices.elements,
                "index_bytes": indices.dtype.size_bytes,
            },
        )
        return Call("aidge_ref_gather", ("any/gather.h",), (Input(0), Input(1), Output(0), shape))


def elements_shape(data: Tensor, indices: Tensor, axis: int) -> Struct:
    """The struct of elements.h."""
    missing = AXES - data.rank
    return Struct(
        "aidge_ref_elements_shape",
        {
            "count": indices.elements,
            "index_bytes": indices.dtype.size_bytes,
            "element_bytes": data.dtype.size_bytes,
            "axis": missing + axis,
            "size": data.dims[axis],
            "dims": (*(1,) * missing, *indices.dims),
            "steps": (*(0,) * missing, *data.layout.strides),
        },
    )


def tuples_shape(data: Tensor, indices: Tensor, batch_axes: int) -> Struct:
    """The struct of tuples.h."""
    depth = indices.dims[-1]
    sizes, steps = data.dims[batch_axes : batch_axes + depth], data.layout.strides[batch_axes : batch_axes + depth]
    return Struct(
        "aidge_ref_tuples_shape",
        {
            "batches": math.prod(data.dims[:batch_axes]),
            "batch": math.prod(data.dims[batch_axes:]),
            "count": math.prod(indices.dims[batch_axes:-1]),
            "depth": depth,
            "slice": math.prod(data.dims[batch_axes + depth :]),
            "index_bytes": indices.dtype.size_bytes,
            "element_bytes": data.dtype.size_bytes,
            "sizes": (*sizes, *(1,) * (AXES - depth)),
            "steps": (*steps, *(0,) * (AXES - depth)),
        },
    )


@kernel("GatherElements", _GATHER)
class GatherElements(KernelNode):
    def call(self) -> Call:
        return Call(
            "aidge_ref_gather_elements",
            ("any/gather_elements.h",),
            (Input(0), Input(1), Output(0), elements_shape(self.inputs[0], self.inputs[1], self.operator.axis)),
        )


@kernel("GatherND", _GATHER)
class GatherND(KernelNode):
    def call(self) -> Call:
        return Call(
            "aidge_ref_gather_tuples",
            ("any/gather_tuples.h",),
            (Input(0), Input(1), Output(0), tuples_shape(self.inputs[0], self.inputs[1], self.operator.batch_axes)),
        )


def _reduction(view: NodeView) -> str:
    if view.operator.reduction == "none" or view.inputs[0].dtype in NUMBERS:
        return ""
    return f"reduction {view.operator.reduction} of {view.inputs[0].dtype.name}"


@kernel(
    ("ScatterElements", "ScatterND"),
    ImplSpec(
        inputs=(_DATA, _ANY, _DATA),
        outputs=(_DATA,),
        predicates=(REAL, *_PREDICATES, Predicate("the reduction has a C expression", _reduction)),
    ),
)
class Scatter(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(in_place=(0,))

    def call(self) -> Call:
        data, indices, _ = self.inputs
        by_element, c = self.node.type == "ScatterElements", data.dtype.c_type
        kind = "elements" if by_element else "tuples"
        function = f"aidge_ref_scatter_{kind}_{self.operator.reduction}_{data.dtype.name}"
        shape = elements_shape(data, indices, self.operator.axis) if by_element else tuples_shape(data, indices, 0)
        count = f"{data.elements}"
        if by_element:
            loop = f"""    for (place = 0; place < shape->count; place++) {{
        {c} *const y = output + aidge_ref_element_at(indices, place, shape);
        const {c} x = updates[place];
        *y = {self._combined(data.dtype)};
    }}"""
        else:
            loop = f"""    for (place = 0; place < shape->count; place++) {{
        {c} *const slice = output + aidge_ref_slice_at(indices, place, shape);
        int32_t element;
        for (element = 0; element < shape->slice; element++) {{
            {c} *const y = slice + element;
            const {c} x = *updates;
            *y = {self._combined(data.dtype)};
            updates++;
        }}
    }}"""
        function += f"_{count}"
        text = f"""/* The {count} elements of the data, which may be where the output is:
 * the updates replace elements or are combined with them. */
static void {function}(const {c} *data, const void *indices, const {c} *updates, {c} *output, const aidge_ref_{kind}_shape *shape)
{{
    int32_t place;
    if (data != output) {{
        (void)memcpy(output, data, {count}u * sizeof *output);
    }}
{loop}
}}"""
        return Call(function, ("any/scatter.h", f"any/{kind}.h"), (Input(0), Input(1), Input(2), Output(0), shape), texts=(text,))

    def _combined(self, dtype: DType) -> str:
        kind, c = self.operator.reduction, dtype.c_type
        if kind == "none":
            return "x"
        if kind in ("max", "min"):
            sign = ">" if kind == "max" else "<"
            return f"(x {sign} *y) || (x != x) ? x : *y" if dtype is DType.float32 else f"x {sign} *y ? x : *y"
        sign = "+" if kind == "add" else "*"
        return f"*y {sign} x" if dtype is DType.float32 else f"({c})(({wide(dtype)})*y {sign} ({wide(dtype)})x)"
