# SPDX-License-Identifier: MIT
"""Quantization with run-time parameters or per block: element-wise with a scale that broadcasts."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

from ..shared.each import Expression, each


@kernel(("QuantizeByInput", "DequantizeByInput"), ImplSpec(IOSpec(DType.any, ROW_MAJOR)))
class QuantizeByInput(KernelNode):
    def call(self) -> Call:
        data, scale, *zero_point = self.inputs
        zero_point = zero_point[0] if zero_point else None
        dims, along = self.operator.broadcast_views(data.dims, scale.dims)
        tensors = [_seen(data, dims), _seen(scale, along), *([] if zero_point is None else [_seen(zero_point, along)])]
        shift = "0" if zero_point is None else "c"
        find = _quantize if self.node.type == "QuantizeByInput" else _dequantize
        return each(find(self.outputs[0].dtype, data.dtype, shift), tensors, range(len(tensors)), _seen(self.outputs[0], dims))


def _seen(tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
    return tensor.with_(dims=dims, format=None, data=None if tensor.data is None else tensor.data.reshape(dims))


def _quantize(target: DType, source: DType, shift: str) -> Expression:
    low, high = target.range
    steps = (
        "float q = rintf(aidge_kit_exact_quotient(a, b));",
        f"const int32_t z = {shift};",
        f"const float low = (float)({f'{low} - z' if low else '-z'});",
        f"const float high = (float)({high} - z);",
        "q = q != q ? 0.0f : q < low ? low : q > high ? high : q;",
    )
    return Expression("quantize", f"({target.c_type})((int32_t)q + z)", steps, (), ("kit/exact.h",))


def _dequantize(target: DType, source: DType, shift: str) -> Expression:
    distance = "(int64_t)a" if shift == "0" else f"((int64_t)a - (int64_t){shift})"
    return Expression("dequantize", f"(float){distance} * b")


def _other_kernels(view: NodeView) -> str:
    """The int8 kernels come first: their specs name their types."""
    byte = view.outputs[0] if view.node.type == "QuantizeLinear" else view.inputs[0]
    return "the int8 kernel takes it" if byte.dtype is DType.int8 else ""


@kernel(
    ("QuantizeLinear", "DequantizeLinear"),
    ImplSpec(IOSpec(DType.any, ROW_MAJOR), predicates=(Predicate("the integers are not int8", _other_kernels),)),
)
class QuantizeAny(KernelNode):
    def call(self) -> Call:
        data, *parameters = (tensor for tensor in self.inputs if tensor is not None)
        shape = [1] * data.rank
        if parameters[0].elements > 1:
            shape[self.operator.axis] = parameters[0].elements
        tensors = [data, *(_seen(tensor, tuple(shape)) for tensor in parameters)]
        shift = "c" if len(parameters) > 1 else "0"
        find = _quantize if self.node.type == "QuantizeLinear" else _dequantize
        return each(find(self.outputs[0].dtype, data.dtype, shift), tensors, range(len(tensors)), self.outputs[0])
