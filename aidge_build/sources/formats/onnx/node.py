# SPDX-License-Identifier: MIT
"""A node of an ONNX file as `from_onnx` of an operator reads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.axes import counted_axis
from aidge_build.sources.onnx_format import ModelNode, dtype_of, mapping_of

_MISSING = object()


class NotConstant(AidgeError):
    """A tensor is computed at run time, but must be constant; `tensor` names it, for callers who know its value."""

    def __init__(self, what: str, tensor: str):
        super().__init__(what, code="OPERATOR", hint="export the model with static shapes, or simplify it with onnxsim")
        self.tensor = tensor


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """The node with its input tensors; the types of all tensors are known. All methods raise AidgeError with a reason.

    `opset` is the version of the node's own domain.
    """

    node: ModelNode
    opset: int
    tensors: Mapping[str, Tensor]
    read: Collection[str] | None = None  # names that a node or the model's outputs read; None: all
    declared: Mapping[str, tuple[int | str | None, ...] | None] = field(default_factory=dict)  # dims that the file states

    @property
    def op_type(self) -> str:
        """The operator's name in its domain."""
        return self.node.op_type

    @property
    def domain(self) -> str:
        """The domain; "" is the domain of ONNX."""
        return self.node.domain

    @property
    def name(self) -> str:
        """The node's name; "" where the file gives none."""
        return self.node.name

    @property
    def index(self) -> int:
        """The place of the node in the file."""
        return self.node.index

    @property
    def input_names(self) -> tuple[str, ...]:
        """The tensors that it reads; "" for one that is not given."""
        return self.node.inputs

    @property
    def output_names(self) -> tuple[str, ...]:
        """The tensors that it writes; "" for one that nobody wants."""
        return self.node.outputs

    def is_read(self, index: int) -> bool:
        """Whether output `index` has a name that somebody reads."""
        name = self.node.outputs[index] if index < len(self.node.outputs) else ""
        return bool(name) and (self.read is None or name in self.read)

    def declared_dims(self, index: int) -> tuple[int, ...] | None:
        """The dims that the file declares for an output, None where they are not fixed there."""
        dims = self.declared.get(self.node.outputs[index])
        known = tuple(size for size in dims or () if isinstance(size, int))
        return known if dims is not None and len(known) == len(dims) else None

    def optional_input(self, index: int) -> Tensor | None:
        """The tensor of an input, or None where it is not given."""
        name = self.node.inputs[index] if index < len(self.node.inputs) else ""
        return self.tensors[name] if name else None

    def input(self, index: int) -> Tensor:
        """The tensor of an input that must be given."""
        tensor = self.optional_input(index)
        if tensor is None:
            raise AidgeError(f"input {index} is not given", code="OPERATOR")
        return tensor

    def constant_input(self, index: int) -> numpy.ndarray:
        """The values of an input that must be given and constant."""
        tensor = self.input(index)
        if tensor.data is None:
            raise NotConstant(f"input {index} ('{tensor.name}') must be constant, but it is computed at run time", tensor.name)
        return tensor.data

    def optional_constant(self, index: int) -> numpy.ndarray | None:
        """The values of an input that must be constant where it is given."""
        return None if self.optional_input(index) is None else self.constant_input(index)

    def constant_integers(self, index: int) -> tuple[int, ...]:
        """A constant input as Python integers."""
        values = self.constant_input(index)
        if values.dtype.kind not in "iu" or values.ndim > 1:
            raise AidgeError(
                f"input {index} ('{self.input(index).name}') must be a list of integers, is {self.input(index)}", code="OPERATOR"
            )
        return tuple(int(value) for value in values.reshape(-1))

    def expect_attributes(self, *names: str) -> None:
        """Refuses attributes that are not named here: they could change the meaning unseen."""
        for name in sorted(self.node.attributes):
            if name not in names:
                raise AidgeError(
                    f"unknown attribute '{name}'", code="OPERATOR", hint=f"known are: {', '.join(sorted(names)) or 'none'}"
                )

    def has_attribute(self, name: str) -> bool:
        """Whether the file gives this attribute."""
        return name in self.node.attributes

    def integer(self, name: str, default=_MISSING) -> int:
        """An integer attribute; AidgeError for another kind, or where there is neither a value nor a default."""
        return self._attribute(name, default, "an integer", lambda value: type(value) is int)

    def real(self, name: str, default=_MISSING) -> float:
        """A float attribute, in the same way."""
        return self._attribute(name, default, "a number", lambda value: type(value) is float)

    def text(self, name: str, default=_MISSING) -> str:
        """A text attribute, in the same way."""
        return self._attribute(name, default, "a text", lambda value: type(value) is str)

    def integers(self, name: str, default=_MISSING) -> tuple[int, ...]:
        """An attribute that lists integers, in the same way."""
        return self._attribute(name, default, "a list of integers", lambda value: _all_are(int, value))

    def reals(self, name: str, default=_MISSING) -> tuple[float, ...]:
        """An attribute that lists floats, in the same way."""
        return self._attribute(name, default, "a list of numbers", lambda value: _all_are(float, value))

    def tensor(self, name: str, default=_MISSING) -> numpy.ndarray:
        """An attribute that is a tensor, in the same way."""
        return self._attribute(name, default, "a tensor", lambda value: isinstance(value, numpy.ndarray))

    def mapping(self) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
        """The keys, values and default (one element) of a LabelEncoder of any opset; all numbers."""
        found = mapping_of(self.node, self.opset, of_text=False)
        return found.keys, found.values, found.default

    def dtype(self, name: str, default=_MISSING) -> DType:
        """An attribute that names an element type by its ONNX number."""
        number: int | DType = self.integer(name, default)
        return number if isinstance(number, DType) else dtype_of(number)

    def axis(self, name: str, default: int, rank: int, beyond: int = 0) -> int:
        """An attribute that names an axis, counted from the front; `beyond` = 1 also allows the axis after the last."""
        return counted_axis(self.integer(name, default), rank, name, beyond)

    def _attribute(self, name: str, default, wanted: str, fits):
        if name not in self.node.attributes:
            if default is _MISSING:
                raise AidgeError(f"the required attribute '{name}' is missing", code="OPERATOR")
            return default
        value = self.node.attributes[name]
        if not fits(value):
            raise AidgeError(f"attribute '{name}' is {str(value)[:60]!r}, wants {wanted}", code="OPERATOR")
        return value


def _all_are(kind: type, value) -> bool:
    return isinstance(value, tuple) and all(type(item) is kind for item in value)
