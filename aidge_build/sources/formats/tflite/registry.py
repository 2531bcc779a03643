# SPDX-License-Identifier: MIT
"""`@reads("CONV_2D", ...)` registers what an operator of the file means; a new one is one file in `operators/`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.order import Wants

_FOLDER = "aidge_build.sources.formats.tflite.operators"
Meaning = Callable[[Any], None]  # of an `aidge_build.sources.formats.tflite.node.TfliteNode`


@dataclass(frozen=True)
class Piece:
    """How operators of the file become nodes.

    `wants` says in which order the axes of its tensors count; `options_kind` numbers its options in the schema (0: it has none),
    `options` are their fields.
    """

    names: tuple[str, ...]
    wants: Wants
    options_kind: int
    options: Mapping[str, Field]
    meaning: Meaning


def reads(*names: str, wants: Wants, kind: int = 0, **options: Field) -> Callable[[Meaning], Meaning]:
    """Registers the decorated function for operators of these names in the schema."""

    def mark(meaning: Meaning) -> Meaning:
        made: list[Piece] = getattr(meaning, "tflite_pieces", [])
        meaning.tflite_pieces = [*made, Piece(names, wants, kind, MappingProxyType(options), meaning)]  # type: ignore[attr-defined]
        return meaning

    return mark


@cache
def pieces() -> Mapping[str, Piece]:
    """Every piece of the folder `operators` by the operator's name; two for one name are refused."""
    found: dict[str, Piece] = {}
    folder = importlib.import_module(_FOLDER)
    for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda info: info.name):
        for value in vars(importlib.import_module(f"{_FOLDER}.{module.name}")).values():
            for piece in getattr(value, "tflite_pieces", ()):
                for name in piece.names:
                    if found.setdefault(name, piece) is not piece:
                        raise AidgeError(f"two pieces read the operator {name}", code="REGISTRY")
    return MappingProxyType(found)
