# SPDX-License-Identifier: MIT
"""Typed attributes: `attribute()` declares a field that `from_onnx` reads by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, get_args

import numpy

from aidge_build.base.errors import AidgeError

_KEY = "onnx attribute"

# The reader of a field from a node of the file, by the type as the class writes it.
READERS: Mapping[str, Callable] = {
    "float": lambda source, *given: source.real(*given),
    "int": lambda source, *given: source.integer(*given),
    "bool": lambda source, *given: bool(source.integer(*given)),
    "str": lambda source, *given: source.text(*given),
    "tuple[int, ...]": lambda source, *given: source.integers(*given),
    "tuple[float, ...]": lambda source, *given: source.reals(*given),
    "DType": lambda source, *given: source.dtype(*given),
}


@dataclass(frozen=True)
class Declared:
    """An attribute as the file spells it. `among` lists the allowed values, `accepts` returns whether a value makes sense."""

    name: str
    among: tuple = ()
    accepts: Callable[[Any], bool] | None = None

    def check(self, name: str, value) -> None:
        """Refuses a value that the declaration does not allow."""
        if self.among and value not in self.among:
            raise AidgeError(f"{name} {value!r} is unknown", hint=f"known are {', '.join(map(str, self.among))}", code="OPERATOR")
        if self.accepts is not None and not self.accepts(value):
            raise AidgeError(f"{name} is {value}", code="OPERATOR")


def attribute(default=MISSING, name: str = "", among: Sequence = (), accepts: Callable[[Any], bool] | None = None):
    """Returns a field that `from_onnx` reads by itself: float, int, bool, str, DType, or a tuple of int or float.

    Without a default the file must state it. A float default is rounded to float32, as the file's numbers are.
    """
    if type(default) is float:
        default = float(numpy.float32(default))
    return field(default=default, metadata={_KEY: Declared(name, tuple(among), accepts)})


def declared_attributes(cls: type) -> dict[str, Field]:
    """Returns the fields that `attribute()` made, by their ONNX names."""
    return {entry.metadata[_KEY].name or entry.name: entry for entry in fields(cls) if _KEY in entry.metadata}


def type_of(entry: Field) -> str:
    """Returns the field's type as it is written: with or without `from __future__ import annotations`."""
    return entry.type if isinstance(entry.type, str) else str(entry.type) if get_args(entry.type) else entry.type.__name__


def declaration(entry: Field) -> Declared | None:
    """Returns the declaration that `attribute()` stored in a field; None for any other field."""
    return entry.metadata.get(_KEY)


def from_declared(cls: type, source) -> Any:
    """Returns the operator with the declared attributes as the node states them; any other attribute is refused."""
    declared = declared_attributes(cls)
    source.expect_attributes(*declared)
    values = {}
    for name, entry in sorted(declared.items()):
        given = () if entry.default is MISSING else (entry.default,)
        value = READERS[type_of(entry)](source, name, *given)
        entry.metadata[_KEY].check(name, value)
        values[entry.name] = value
    return cls(**values)
