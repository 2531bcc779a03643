# SPDX-License-Identifier: MIT
"""Meanings of operators on quantized tensors under other numerical contracts than `onnx`, which is `forward_quantized`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Operator

DOUBLE = "double"
Meaning = Callable[
    [Operator, Sequence[numpy.ndarray | None], Sequence[Tensor | None], Sequence[Tensor]], tuple[numpy.ndarray, ...]
]


def means(*classes: type) -> Callable[[Meaning], Meaning]:
    """Marks the function (operator, values, inputs, outputs) -> stored outputs of these classes and their subclasses."""

    def mark(function: Meaning) -> Meaning:
        vars(function)["means"] = classes
        return function

    return mark


@cache
def _meanings() -> Mapping[type, Meaning]:
    """Returns class of operator -> the function that computes its stored outputs, for all marked functions of the folder
    `double`."""
    folder = importlib.import_module(f"{__package__}.{DOUBLE}")
    found: dict[type, Meaning] = {}
    for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda info: info.name):
        for value in vars(importlib.import_module(f"{folder.__name__}.{module.name}")).values():
            for one in getattr(value, "means", ()) if callable(value) else ():
                if found.setdefault(one, value) is not value:
                    raise AidgeError(f"two functions say what {one.__name__} means", code="REGISTRY")
    return MappingProxyType(found)


def meaning(operator: Operator) -> Meaning:
    """Returns the function of the nearest base class that has one; AidgeError (code ROUNDING) if there is none."""
    known = _meanings()
    found = next((known[base] for base in type(operator).__mro__ if base in known), None)
    if found is None:
        raise AidgeError(
            f"{operator.type} on quantized tensors has no meaning under the contract tflite",
            code="ROUNDING",
        )
    return found
