# SPDX-License-Identifier: MIT
"""The formats of model files: one folder each, named like the suffix of its files. There is no list to maintain."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import cache

from aidge_build.base.errors import AidgeError
from aidge_build.sources.source_format import SourceFormat


@cache
def formats() -> tuple[SourceFormat, ...]:
    """The `FORMAT` of every folder here, in the order in which they are asked whether a file is theirs."""
    found = []
    for folder in pkgutil.iter_modules(__path__):
        value = getattr(importlib.import_module(f"{__name__}.{folder.name}"), "FORMAT", None)
        if not isinstance(value, SourceFormat):
            raise AidgeError(f"sources/formats/{folder.name}/__init__.py defines no FORMAT = SourceFormat(...)", code="REGISTRY")
        found.append(replace(value, name=folder.name))
    return tuple(sorted(found, key=lambda one: (one.is_last, one.name)))


def format_of(data: bytes) -> SourceFormat:
    """The format of a file by its content, never by its name; its first 64 KiB are enough."""
    return next(one for one in formats() if one.recognizes(data))


def suffixes() -> tuple[str, ...]:
    """The ends of the names of model files, sorted."""
    return tuple(sorted(one.suffix for one in formats()))
