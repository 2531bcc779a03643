# SPDX-License-Identifier: MIT
"""Further backends that were registered in this process, found by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable

_sources: list[Callable[[str, tuple[str, ...]], Iterable[str]]] = []


def add_backends(source: Callable[[str, tuple[str, ...]], Iterable[str]]) -> None:
    """Registers `source(type, kinds)`, which returns the names of the backends that it knows for an operator."""
    if source not in _sources:
        _sources.append(source)


def registered_backends(operator_type: str, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names of all registered backends with an implementation for the type or a kind, each once, sorted."""
    return tuple(sorted({name for source in _sources for name in source(operator_type, kinds)}))
