# SPDX-License-Identifier: MIT
"""Operators that only a library knows: their attributes are taken as the file states them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from aidge_build.base.errors import AidgeError, plugged_in
from aidge_build.operators.base import Operator, TensorType, as_tuple


@dataclass(frozen=True)
class GenericOperator(Operator):
    """`attributes` are (name, value) pairs; `infer` and `forward` are the library's."""

    folds: ClassVar = False
    type_name: ClassVar[str] = ""
    infer_outputs: ClassVar[Callable | None] = None
    compute: ClassVar[Callable | None] = None

    attributes: tuple[tuple[str, object], ...] = ()

    @property
    def type(self) -> str:
        return self.type_name

    @classmethod
    def from_onnx(cls, source):
        return cls(tuple(sorted(source.node.attributes.items())))

    def infer(self, inputs):
        if self.infer_outputs is None:
            return (TensorType(inputs[0].dims, inputs[0].dtype),)
        with plugged_in(f"the operator {self.type}", code="OPERATOR"):
            return tuple(TensorType(tuple(dims), dtype) for dims, dtype in type(self).infer_outputs(inputs))

    def forward(self, *inputs):
        if self.compute is None:
            raise AidgeError(
                f"the library gives no numpy meaning of {self.type}",
                code="OPERATOR",
                hint="register_generic(..., forward=function) makes it verifiable",
            )
        with plugged_in(f"the operator {self.type}", code="OPERATOR"):
            return as_tuple(type(self).compute(*inputs))


def generic_operator(onnx_name: str, infer: Callable | None, forward: Callable | None) -> type[GenericOperator]:
    """A class for this ONNX name ("Foo", or "my.domain::Foo")."""
    name = onnx_name.rpartition("::")[2]
    return type(
        name,
        (GenericOperator,),
        {
            "onnx_names": (onnx_name,),
            "type_name": name,
            "infer_outputs": _unbound(infer),
            "compute": _unbound(forward),
            "__doc__": f"{onnx_name}, as its library defines it.",
        },
    )


def _unbound(function: Callable | None) -> staticmethod | None:
    return None if function is None else staticmethod(function)
