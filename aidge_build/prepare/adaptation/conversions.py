# SPDX-License-Identifier: MIT
"""The conversions around one node with which an implementation accepts it, and the bytes that they move."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy

from aidge_build.contract.spec import ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format, row_major, same_bytes
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.requantize import dequantize_linear

INPUT, OUTPUT = "input", "output"


@dataclass(frozen=True)
class Step:
    """One conversion at one input or output; `read` and `written` are the tensor on both sides of it.

    `cost_bytes` counts bytes read and written at run time: 0 for a constant, which is converted while generating.
    """

    type: str  # Cast, Quantize, Dequantize or Transpose
    side: str  # INPUT or OUTPUT
    index: int
    read: Tensor
    written: Tensor

    @property
    def cost_bytes(self) -> int:
        """Bytes read and written by the conversion."""
        return 0 if self.read.is_constant else self.read.size_bytes + self.written.size_bytes

    def __str__(self) -> str:
        if self.type == "Transpose":
            return f"Transpose of {self.side} {self.index} from {self.read.storage} to {self.written.storage}"
        return f"{self.type} of {self.side} {self.index} from {self.read.dtype.name} to {self.written.dtype.name}"


@dataclass(frozen=True)
class Adaptation:
    """`view` is the node as the implementation of `spec` sees it; the `steps` convert its inputs, then its outputs."""

    spec: ImplSpec
    view: NodeView
    steps: tuple[Step, ...] = ()

    @property
    def cost_bytes(self) -> int:
        """Bytes that all its conversions move."""
        return sum(step.cost_bytes for step in self.steps)


def adaptation(
    view: NodeView,
    spec: ImplSpec,
    required: ImplSpec | None = None,
    *,
    features: Iterable[str] | None = None,
    rounding: str | None = None,
) -> Adaptation | str:
    """Returns the conversions with which `spec` accepts the node, or the reason why none help.

    Types change only where no value is lost on the way in: quantized tensors become float32, narrow types wider ones. A spec
    that leaves a type open is first asked with the node's own; where it refuses that, with float32 for quantized tensors.
    `required` may ask for other types, formats and dims than the node has now. The spec's own features and rounding count where
    none are given.
    """
    query = required, spec.features if features is None else features, spec.rounding if rounding is None else rounding
    found = _adaptation(view, spec, *query, reals=False)
    if isinstance(found, Adaptation) or not any(tensor and tensor.quantization for tensor in (*view.inputs, *view.outputs)):
        return found
    dequantized = _adaptation(view, spec, *query, reals=True)
    return dequantized if isinstance(dequantized, Adaptation) else found


def _adaptation(
    view: NodeView, spec: ImplSpec, required: ImplSpec | None, features: Iterable[str], rounding: str, reals: bool
) -> Adaptation | str:
    inputs = [
        tensor and _as_required(tensor, required.input_spec(index) if required else None)
        for index, tensor in enumerate(view.inputs)
    ]
    outputs = [
        _as_required(tensor, required.output_spec(index) if required else None) for index, tensor in enumerate(view.outputs)
    ]
    steps: list[Step] = []
    for side, tensors, spec_of in ((INPUT, inputs, spec.input_spec), (OUTPUT, outputs, spec.output_spec)):
        for index, tensor in enumerate(tensors):
            if tensor is not None:
                found = _converted(side, index, tensor, spec_of(index), reals)
                if isinstance(found, str):
                    return found
                steps += found
                tensors[index] = (found[-1].written if side == INPUT else found[0].read) if found else tensor
    adapted = NodeView(view.node, tuple(inputs), tuple(outputs))
    reason = _other_numbers(view, adapted, rounding) or spec.rejection(adapted, features, rounding)
    return reason or Adaptation(spec, adapted, tuple(steps))


def _other_numbers(view: NodeView, adapted: NodeView, rounding: str) -> str:
    """Returns why float32 between Dequantize and Quantize differs from the operator: contracts but `onnx` have own rules."""
    real = any(one.quantization is not None and other.quantization is None for one, other in zip(view.outputs, adapted.outputs))
    if real and rounding not in ("onnx", "any") and view.operator.rounds(view.inputs, view.outputs):
        return f"in float32 it would not give what the contract '{rounding}' says"
    return ""


def _as_required(tensor: Tensor, required: IOSpec | None) -> Tensor:
    """Returns the tensor with the type, order and dims that a query asks for; an open range counts as its smallest size."""
    if required is None:
        return tensor
    dtype = tensor.dtype if required.dtype.is_wildcard else required.dtype
    dims = tuple(max(extent.low, 1) for extent in required.dims) or tensor.dims
    order = required.format_for(len(dims)) or (tensor.format if len(dims) == tensor.rank else None)
    return tensor.with_(
        dtype=dtype, dims=dims, format=order, data=tensor.data if dims == tensor.dims and dtype is tensor.dtype else None
    )


def _converted(side: str, index: int, tensor: Tensor, spec: IOSpec, reals: bool) -> list[Step] | str:
    """Returns the steps between the node's tensor and the spec's, in the order of the data; or the reason why there are none.

    With `reals` an open type means float32 for a quantized tensor.
    """
    steps, near = [], tensor
    open_type = DType.float32 if reals and tensor.quantization is not None else tensor.dtype
    dtype = open_type if spec.dtype.is_wildcard else spec.dtype
    if dtype is not tensor.dtype:
        kind = _conversion(tensor, dtype)
        if kind is None:
            return f"{side} {index} is {tensor.dtype.name}, wants {dtype.name}"
        near = tensor.with_(dtype=dtype, quantization=None, data=_constant_in(tensor, dtype))
        steps.append(_step(kind, side, index, tensor, near))
    wanted = spec.format_for(tensor.rank)
    if wanted is not None and not tensor.is_constant and tensor.format is not None and not _same(tensor, wanted):
        moved = near.with_(format=wanted)
        steps.append(_step("Transpose", side, index, near, moved))
    return steps if side == INPUT else steps[::-1]


def _same(tensor: Tensor, wanted: Format) -> bool:
    return same_bytes(tensor.dims, tensor.format, wanted)


def _step(kind: str, side: str, index: int, outer: Tensor, inner: Tensor) -> Step:
    """A step between the graph's side (outer) and the implementation's side (inner) of a tensor."""
    if side == OUTPUT:
        return Step("Quantize" if kind == "Dequantize" else kind, side, index, inner, outer)
    return Step(kind, side, index, outer, inner)


def _conversion(tensor: Tensor, wanted: DType) -> str | None:
    """Returns the conversion of a tensor into a wider type without loss."""
    if tensor.quantization is not None:
        return "Dequantize" if wanted is DType.float32 else None
    fits = wanted.is_of_tensors and numpy.can_cast(tensor.dtype.numpy, wanted.numpy, "safe")
    return "Cast" if fits else None


def _constant_in(tensor: Tensor, wanted: DType) -> numpy.ndarray | None:
    if tensor.data is None:
        return None
    if tensor.quantization is not None:
        return dequantize_linear(tensor.data, tensor.quantization)
    return tensor.data.astype(wanted.numpy)


def in_row_major(view: NodeView) -> NodeView:
    """Returns the node with every unnamed order as the model's own, so that orders can be compared."""

    def named(tensor: Tensor | None) -> Tensor | None:
        return tensor if tensor is None or tensor.format is not None else tensor.with_(format=row_major(tensor.rank))

    return NodeView(view.node, tuple(map(named, view.inputs)), tuple(map(named, view.outputs)))
