# SPDX-License-Identifier: MIT
"""What an operator is: a frozen value of typed attributes with a shape rule and a numpy meaning.

An operator's file reads from top to bottom: attributes, `from_onnx`, `infer`, `forward`, `backward`. A new operator is one
file in this folder (or in a library's folder) with a class that `@operator` marks; nothing else has to know it. Most classes
inherit all but a line or two from one of the kinds in `kinds.py`.
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
    """What shape inference says about an output."""

    dims: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True)
class Group:
    """Some channels of output 0, which `operator` computes alone: `axis` is theirs, `axes` that of each input along which those
    elements lie that belong to a channel (None: the input is read as a whole)."""

    operator: Operator
    axis: int
    axes: tuple[int | None, ...]


@dataclass(frozen=True)
class Band:
    """Some rows of a layer as a layer of its own, on a smaller image: `operator` computes them from the rows `reads[i]`,
    (first, last), of input i. None: from all of that input, whichever rows are computed."""

    operator: Operator
    reads: tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True)
class Operator:
    """Base of all operators. Subclasses are frozen dataclasses: their fields are the attributes.

    `onnx_names` lists the ONNX operators that `from_onnx` reads ("Conv", or "com.microsoft::QGemm").
    `views` is true for operators that only rename the elements of input 0 (Reshape, Transpose, Identity); `moves` for
    those that copy elements without computing (Pad, Slice): between quantized tensors both want equal quantizations.
    `folds` is false for operators that recipes must see even when their inputs are constant.
    `empties` is true for operators that may read and write tensors without elements at run time: their kernels then do nothing.
    `overwrites` lists (output, input): the output is the next value of that parameter, which training stores there.
    `straight_through` is true where `backward` is no derivative: rounding has none, so gradients pass as if it did not round.
    `widens` is true where a float result is computed from quantized inputs, too: they mean the reals they stand for, and kernels
    widen them as they go (the weights of a recurrent layer).
    `by_steps` is true where `forward` takes the basic operations (+ - * / min max) in the order of onnxruntime's kernel: on
    float32 each of them then rounds, as there, and not only the result.
    `stores` is true where the integers that it gives may stand for reals by whatever scale a DequantizeLinear behind it states.
    `features` is the type to which the importer casts inputs of any other: operators of ai.onnx.ml read numbers of all types.
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
        """The operator of an ONNX node; with a list of tensor names when it does not read all inputs of the node.

        `source` is an `aidge_build.sources.formats.onnx.node.OnnxNode`. The default reads the fields that `attribute()`
        declares.
        """
        return from_declared(cls, source)

    def infer(self, inputs: Sequence[Tensor | None]) -> tuple[TensorType, ...]:
        """The types of the outputs; AidgeError when the inputs do not fit."""
        raise NotImplementedError

    def forward(self, *inputs: numpy.ndarray | None) -> numpy.ndarray | tuple[numpy.ndarray, ...]:
        """The meaning. Float tensors come as float64 and are rounded once to their type by the caller."""
        raise NotImplementedError

    def backward(
        self, gradients: Sequence[numpy.ndarray], inputs: Sequence[numpy.ndarray | None], outputs: Sequence[numpy.ndarray]
    ) -> tuple[numpy.ndarray | None, ...]:
        """The gradients of the inputs, given those of the outputs; None for an input that has none (indices, bounds).

        Everything is float64. Gradients are handed back, never stored: the execution adds them up.
        """
        raise AidgeError(f"{self.type} has no backward", code="OPERATOR")

    @classmethod
    def has_backward(cls) -> bool:
        """Whether gradients pass through this operator."""
        return cls.backward is not Operator.backward

    @classmethod
    def examples(cls) -> tuple[Operator, ...]:
        """Operators of this class with different attributes, which the samples try."""
        return (cls(),)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        """Operators with inputs: the registry's tests check shape, dtype and gradient on each."""
        return ()

    def takes_over(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> tuple[int, ...]:
        """The inputs whose bytes output 0 may overwrite while it is computed element by element, in order."""
        return ()

    def forward_quantized(
        self, values: Sequence[numpy.ndarray | None], inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]
    ) -> tuple[numpy.ndarray, ...]:
        """The meaning on quantized tensors: what the model's DequantizeLinear, operator and QuantizeLinear give in float32.

        Linear operators (`linear.LinearQuantized`) and those of `real.RealQuantized` replace this (docs/arithmetic.md).
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
        """`forward` of these values, not yet rounded to the outputs' types: floats in float64, float32 as it is if `by_steps`."""
        kept = numpy.float32 if self.by_steps else None
        return as_tuple(
            self.forward(*(value if value is None or value.dtype == kept else as_evaluated(value) for value in inputs))
        )

    def band(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], first: int, last: int) -> Band | None:
        """What computes only the rows `[first, last)`, positions on axis 2, of every output: bit by bit the same rows.

        Nothing is computed twice, and later rows never need earlier rows of an input than earlier ones. None: it cannot be
        computed row by row.
        """
        return None

    def part(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], first: int, last: int) -> Band | None:
        """What takes in the rows `[first, last)` of input 0, positions on axis 2, of an operator that reduces all of them to
        outputs of one row. Its kernels keep what they have added up in their scratch from part to part. None: it has no parts.
        """
        return None

    def group(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], channels: int) -> Group | None:
        """What computes only so many neighbouring channels of the output, bit by bit the same; None: they are not apart."""
        return None

    def multiply_accumulates(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> int:
        """Multiply-accumulate operations of one evaluation (0 where the term does not apply)."""
        return 0

    def rounds(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> bool:
        """Whether stored outputs depend on the numerical contract: not where elements are handed on within one quantization."""
        made = {tensor.quantization for tensor in outputs}
        given = {tensor.quantization for tensor in inputs if tensor is not None and not tensor.is_constant}
        return made != {None} and not (self.hands_on and len(made | given) == 1)

    @property
    def hands_on(self) -> bool:
        """Whether every element of the result is one of the input, as it is stored."""
        return self.views or self.moves

    def get_available_backends(self, libraries: Sequence = ()) -> tuple[str, ...]:
        """Where this operator runs: the numpy backend, those of the export libraries that have a kernel for its type, and what is
        registered for it in this process."""
        named = [library.name for library in libraries if library.kernels_for(self.type, self.kinds())]
        return tuple(dict.fromkeys(("cpu", *named, *registered_backends(self.type, self.kinds()))))

    def __str__(self) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"{self.type}[{shown}]" if shown else self.type


def as_evaluated(values: numpy.ndarray) -> numpy.ndarray:
    """The array as `forward` receives it: floats in float64, everything else as it is."""
    return values.astype(numpy.float64) if values.dtype.kind == "f" else values


def as_tuple(results) -> tuple[numpy.ndarray, ...]:
    """Results as a tuple, also where there is one."""
    return results if isinstance(results, tuple) else (results,)


def require(condition: bool, what: str, hint: str = "") -> None:
    """Refuse the node with this reason unless the condition holds."""
    if not condition:
        raise AidgeError(what, hint=hint, code="OPERATOR")


@dataclass(frozen=True)
class Activated(Operator):
    """An operator whose result may be clamped between two real numbers (a fused ReLU or Clip)."""

    minimum: float = -numpy.inf
    maximum: float = numpy.inf

    @property
    def clamps(self) -> bool:
        """Whether the clamp changes anything."""
        return self.minimum > -numpy.inf or self.maximum < numpy.inf

    def clamp(self, values: numpy.ndarray) -> numpy.ndarray:
        """The clamped values, in their own type."""
        return numpy.clip(values, self.minimum, self.maximum) if self.clamps else values

    def unclamp(self, gradient: numpy.ndarray, result: numpy.ndarray) -> numpy.ndarray:
        """The gradient before the clamp, given the clamped result: none passes where a bound was reached."""
        return gradient * ((result > self.minimum) & (result < self.maximum)) if self.clamps else gradient


def overrides_from_onnx(operator: type[Operator]) -> bool:
    """Whether the class reads nodes of a file by itself; else it reads the attributes that it declares."""
    return next(base for base in operator.__mro__ if "from_onnx" in vars(base)) is not Operator
