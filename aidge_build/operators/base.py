# SPDX-License-Identifier: MIT
"""The base of operators: a frozen value of typed attributes with a shape rule and a numpy meaning.

An operator's file reads from top to bottom: attributes, `from_onnx`, `infer`, `forward`, `backward`. A new operator is one file
in this folder (or in a library's folder) with a class that `@operator` marks; no list names it. Most classes inherit all but a
line or two from one of the kinds in `kinds.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import ClassVar

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.requantize import dequantize_linear, quantize
from aidge_build.operators.attributes import from_declared
from aidge_build.operators.backends import registered_backends
from aidge_build.operators.sample import Sample

KINDS = "aidge_build.operators.kinds"  # the module of the kinds


@dataclass(frozen=True)
class TensorType:
    """The dims and the element type of an output, by shape inference."""

    dims: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True)
class Group:
    """Some channels of output 0, which `operator` computes alone: `axis` is the channel axis of the output, `axes` the channel
    axis of each input (None: the input is read as a whole)."""

    operator: Operator
    axis: int
    axes: tuple[int | None, ...]


@dataclass(frozen=True)
class Band:
    """Some rows of a layer as a layer of its own, on a smaller image: `operator` computes them from the rows `reads[i]`, (first,
    last), of input i. None: from the whole input, for all rows."""

    operator: Operator
    reads: tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True)
class Operator:
    """Base of all operators. Subclasses are frozen dataclasses: their fields are the attributes.

    `onnx_names` lists the ONNX operators that `from_onnx` reads ("Conv", or "com.microsoft::QGemm").
    `views` is true for operators that only rename the elements of input 0 (Reshape, Transpose, Identity); `moves` for operators
    that copy elements without computing (Pad, Slice): between quantized tensors both want equal quantizations.
    `folds` is false for operators that recipes must see even when their inputs are constant.
    `empties` is true for operators that may read and write tensors without elements at run time: their kernels then do nothing.
    `overwrites` lists (output, input): the output is the next value of that parameter, which training stores there.
    `straight_through` is true where `backward` is no derivative: rounding has none, so gradients pass as if it did not round.
    `widens` is true if a float result is also computed from quantized inputs: the operator reads them as real numbers, and
    kernels convert them while they run (the weights of a recurrent layer).
    `by_steps` is true if `forward` takes the basic operations (+ - * / min max) in the order of onnxruntime's kernel: on float32
    each of them then rounds as in onnxruntime, and not only the result.
    `stores` is true if the integers of its output have the meaning that a following DequantizeLinear gives them, by its scale.
    `features` is the type to which the importer casts inputs of other types: operators of ai.onnx.ml read numbers of all types.
    `composed` is true if other operators compute it, each by the numerical contract of its own tensors.
    """

    onnx_names: ClassVar[tuple[str, ...]] = ()
    views: ClassVar[bool] = False
    moves: ClassVar[bool] = False
    folds: ClassVar[bool] = True
    empties: ClassVar[bool] = False
    overwrites: ClassVar[tuple[tuple[int, int], ...]] = ()
    straight_through: ClassVar[bool] = False
    widens: ClassVar[bool] = False
    by_steps: ClassVar[bool] = False
    stores: ClassVar[bool] = False
    features: ClassVar[DType | None] = None
    composed: ClassVar[bool] = False

    @property
    def type(self) -> str:
        """The name under which kernels register, e.g. Conv2D."""
        return type(self).__name__

    @classmethod
    @cache
    def kinds(cls) -> tuple[str, ...]:
        """The kinds of `operators.kinds` that it belongs to: a kernel may be registered for all operators of a kind."""
        return tuple(base.__name__ for base in cls.__mro__ if base.__module__ == KINDS)

    @classmethod
    def from_onnx(cls, source) -> Operator | tuple[Operator, Sequence[str]]:
        """Returns the operator of an ONNX node; with a list of tensor names if it does not read all inputs of the node.

        `source` is an `aidge_build.sources.formats.onnx.node.OnnxNode`. The default reads the fields that `attribute()`
        declares.
        """
        return from_declared(cls, source)

    def infer(self, inputs: Sequence[Tensor | None]) -> tuple[TensorType, ...]:
        """Returns the types of the outputs; AidgeError if the inputs do not fit."""
        raise NotImplementedError

    def forward(self, *inputs: numpy.ndarray | None) -> numpy.ndarray | tuple[numpy.ndarray, ...]:
        """Returns the outputs, which defines the operator's meaning. Float inputs are float64; the caller rounds the outputs once
        to their type."""
        raise NotImplementedError

    def backward(
        self, gradients: Sequence[numpy.ndarray], inputs: Sequence[numpy.ndarray | None], outputs: Sequence[numpy.ndarray]
    ) -> tuple[numpy.ndarray | None, ...]:
        """Returns the gradients of the inputs, given the gradients of the outputs; None for an input without a gradient (indices,
        bounds).

        Everything is float64. Gradients are returned, never stored: the execution adds them up.
        """
        raise AidgeError(f"{self.type} has no backward", code="OPERATOR")

    @classmethod
    def has_backward(cls) -> bool:
        """Whether gradients pass through this operator."""
        return cls.backward is not Operator.backward

    @classmethod
    def examples(cls) -> tuple[Operator, ...]:
        """Returns operators of this class with different attributes, for the samples."""
        return (cls(),)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        """Returns operators with inputs: the registry's tests check shape, dtype and gradient of each."""
        return ()

    def takes_over(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> tuple[int, ...]:
        """Returns the indices of the inputs that output 0 may overwrite while it is computed element by element, in order."""
        return ()

    def forward_quantized(
        self, values: Sequence[numpy.ndarray | None], inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]
    ) -> tuple[numpy.ndarray, ...]:
        """Returns the stored outputs for quantized tensors: the results of the model's DequantizeLinear, operator and
        QuantizeLinear in float32.

        `linear.LinearQuantized` and `real.RealQuantized` replace this method (docs/arithmetic.md).
        """
        reals = (
            value if value is None or tensor.quantization is None else dequantize_linear(value, tensor.quantization)
            for value, tensor in zip(values, inputs, strict=True)
        )
        return tuple(
            result if tensor.quantization is None else quantize(result.astype(numpy.float32), tensor.quantization, tensor.dtype)
            for result, tensor in zip(self.evaluated(*reals), outputs, strict=True)
        )

    def evaluated(self, *inputs: numpy.ndarray | None) -> tuple[numpy.ndarray, ...]:
        """Returns `forward` of these values, not yet rounded to the outputs' types: floats in float64; float32 stays float32 if
        `by_steps`."""
        kept = numpy.float32 if self.by_steps else None
        return as_tuple(
            self.forward(*(value if value is None or value.dtype == kept else as_evaluated(value) for value in inputs))
        )

    def band(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], first: int, last: int) -> Band | None:
        """Returns an operator that computes only the rows `[first, last)`, positions on axis 2, of every output: bit by bit the
        same rows.

        Nothing is computed twice, and the rows of an input that are read never move back from one band to the next. None: the
        operator cannot be computed row by row.
        """
        return None

    def part(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], first: int, last: int) -> Band | None:
        """Returns an operator that reads only the rows `[first, last)` of input 0, positions on axis 2, if this operator reduces
        all rows to outputs of one row. Its kernels keep their sums in scratch from part to part. None: the operator has no parts.
        """
        return None

    def group(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], channels: int) -> Group | None:
        """Returns an operator that computes only so many neighbouring channels of the output, bit by bit the same. None: channels
        depend on each other."""
        return None

    def multiply_accumulates(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> int:
        """Returns the multiply-accumulate operations of one evaluation (0 if the term does not apply)."""
        return 0

    def rounds(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> bool:
        """Whether stored outputs depend on the numerical contract: not if elements are copied within one quantization."""
        made = {tensor.quantization for tensor in outputs}
        given = {tensor.quantization for tensor in inputs if tensor is not None and not tensor.is_constant}
        return made != {None} and not (self.hands_on and len(made | given) == 1)

    @property
    def hands_on(self) -> bool:
        """Whether every element of the result is a stored element of the input, unchanged."""
        return self.views or self.moves

    @property
    def has_levels_inside(self) -> bool:
        """Whether it makes integers of its float data before it computes float results."""
        return False

    def get_available_backends(self, libraries: Sequence = ()) -> tuple[str, ...]:
        """Returns the names of the backends of this operator: the numpy backend, the export libraries with a kernel for its type,
        and the backends that are registered for it in this process."""
        named = [library.name for library in libraries if library.kernels_for(self.type, self.kinds())]
        return tuple(dict.fromkeys(("cpu", *named, *registered_backends(self.type, self.kinds()))))

    def __str__(self) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"{self.type}[{shown}]" if shown else self.type


def as_evaluated(values: numpy.ndarray) -> numpy.ndarray:
    """Returns the array as `forward` receives it: floats in float64, everything else unchanged."""
    return values.astype(numpy.float64) if values.dtype.kind == "f" else values


def as_tuple(results) -> tuple[numpy.ndarray, ...]:
    """Returns the results as a tuple, also if there is only one."""
    return results if isinstance(results, tuple) else (results,)


def require(condition: bool, what: str, hint: str = "") -> None:
    """Refuses the node with this reason unless the condition holds."""
    if not condition:
        raise AidgeError(what, hint=hint, code="OPERATOR")


@dataclass(frozen=True)
class Activated(Operator):
    """An operator that may clamp its result between two real numbers (a fused ReLU or Clip)."""

    minimum: float = -numpy.inf
    maximum: float = numpy.inf

    @property
    def clamps(self) -> bool:
        """Whether the clamp changes anything."""
        return self.minimum > -numpy.inf or self.maximum < numpy.inf

    def clamp(self, values: numpy.ndarray) -> numpy.ndarray:
        """Returns the clamped values, in their own type."""
        return numpy.clip(values, self.minimum, self.maximum) if self.clamps else values

    def unclamp(self, gradient: numpy.ndarray, result: numpy.ndarray) -> numpy.ndarray:
        """Returns the gradient before the clamp, given the clamped result: it is 0 where a bound was reached."""
        return gradient * ((result > self.minimum) & (result < self.maximum)) if self.clamps else gradient


def overrides_from_onnx(operator: type[Operator]) -> bool:
    """Whether the class reads nodes of a file by itself; else it reads the attributes that it declares."""
    return next(base for base in operator.__mro__ if "from_onnx" in vars(base)) is not Operator
