# SPDX-License-Identifier: MIT
"""`@operator("Relu")` registers an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import get_annotations
from typing import Any, TypeVar, dataclass_transform

from aidge_build.base.errors import AidgeError
from aidge_build.operators.attributes import READERS, attribute, declaration, type_of
from aidge_build.operators.base import Operator, overrides_from_onnx

__all__ = ["attribute", "operator"]

_Class = TypeVar("_Class", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(attribute, field))
def operator(*onnx_names: str) -> Callable[[_Class], _Class]:
    """Registers the decorated class as the operator that reads these ONNX operators ("Relu", "my.domain::Twice").

    The class becomes a frozen dataclass of its attributes. With it its shape rule, forward, backward, samples and manual page
    are registered, too: they belong to the class. It is found where its module is looked at (the folder `operators` here or
    in a library); nothing global changes.
    """

    def mark(cls: _Class) -> _Class:
        _check_doc(cls)
        made: Any = cls if _is_made(cls) else dataclass(frozen=True)(cls)
        _check(made, onnx_names)
        made.onnx_names = onnx_names
        return made

    return mark


def _is_made(cls: type) -> bool:
    """Whether the class is a dataclass by its own decorator, or by a base that has all its attributes: to make another one takes
    half a millisecond, for each operator in each run."""
    if "__dataclass_params__" in vars(cls):
        return True
    if any("ClassVar" not in str(kind) for kind in get_annotations(cls).values()):
        return False
    inherited: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        inherited |= vars(base).get("__dataclass_fields__", {})
    return list(inherited.items()) == list(getattr(cls, "__dataclass_fields__", {}).items())


def _check_doc(cls: type) -> None:
    if not (vars(cls).get("__doc__") or "").strip():
        raise AidgeError(f"{cls.__qualname__} has no docstring; its manual page is made from it", code="REGISTRY")


def _check(cls: type, onnx_names: tuple[str, ...]) -> None:
    name = cls.__qualname__
    if not issubclass(cls, Operator):
        raise AidgeError(f"{name} is registered as an operator, but is no subclass of Operator", code="REGISTRY")
    if not onnx_names or not all(isinstance(one, str) and one for one in onnx_names):
        raise AidgeError(f"{name}: @operator wants the names of the ONNX operators that it reads", code="REGISTRY")
    if cls.infer is Operator.infer and not overrides_from_onnx(cls):
        raise AidgeError(
            f"{name} has no shape rule", code="REGISTRY", hint="inherit it from a kind of operators.kinds, or define infer"
        )
    for entry in fields(cls):
        if declaration(entry) is not None and type_of(entry) not in READERS:
            raise AidgeError(
                f"{name}: attribute {entry.name} has the type {type_of(entry)}", code="REGISTRY", tried=tuple(READERS)
            )
