# SPDX-License-Identifier: MIT
"""The operators: one file per family. This package finds them by looking at its folder; there is no list to maintain."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType, ModuleType

from aidge_build.base.errors import AidgeError
from aidge_build.operators.base import Operator


@cache
def builtin_operators() -> Mapping[str, type[Operator]]:
    """Returns the class by ONNX name ("Conv", "com.microsoft::QGemm") for every operator of this folder."""
    found: dict[str, type[Operator]] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        merge(found, collect(importlib.import_module(f"{__name__}.{module.name}")))
    return MappingProxyType(found)


@cache
def operator_classes() -> tuple[type[Operator], ...]:
    """Returns every operator of this folder that a graph may contain, sorted by name: registered operators, and operators that
    replace them."""
    builtin_operators()
    found, waiting = set(), [Operator]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__module__.startswith(f"{__name__}.") and ("onnx_names" in vars(cls) or not cls.__subclasses__()):
            found.add(cls)
    return tuple(sorted(found - {Operator}, key=lambda cls: cls.__name__))


def collect(module: ModuleType) -> dict[str, type[Operator]]:
    """Returns the operators that a module defines, not imported ones, by their ONNX names."""
    found: dict[str, type[Operator]] = {}
    for _, value in sorted(vars(module).items()):
        if isinstance(value, type) and issubclass(value, Operator) and value.__module__ == module.__name__:
            merge(found, {name: value for name in vars(value).get("onnx_names", ())})
    return found


def merge(known: dict[str, type[Operator]], more: Mapping[str, type[Operator]]) -> None:
    """Adds `more` to `known`; two classes for one ONNX name are refused."""
    for name, operator in sorted(more.items()):
        if name in known and known[name] is not operator:
            both = f"{_place(known[name])} and {_place(operator)}"
            raise AidgeError(f"two operators read the ONNX operator {name}: {both}", code="REGISTRY")
        known[name] = operator


def _place(operator: type[Operator]) -> str:
    return f"{operator.__module__}.{operator.__qualname__}"
