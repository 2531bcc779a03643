# SPDX-License-Identifier: MIT
"""Libraries as a caller of the inherited API names them: by class, value or name, one or several."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.contract.library import KernelRegistry, Library, library_of

Named = type[KernelRegistry] | Library | str


def libraries_of(given: Named | Sequence[Named]) -> tuple[Library, ...]:
    """Returns each library once, in order of preference; libraries that others need for their files come last."""
    several = [given] if isinstance(given, str | type | Library) else list(given)
    found = [load_libraries([one], find_libraries([]))[0] if isinstance(one, str) else (_value(one),) for one in several]
    needed = (library for libraries in found for library in libraries[1:])
    return tuple({library.name: library for library in (*(libraries[0] for libraries in found), *needed)}.values())


def tried_names(given: Named | Sequence[Named]) -> frozenset[str]:
    """Returns the names of the libraries with `tried`: their kernels are tried before they are taken."""
    several = [given] if isinstance(given, str | type | Library) else given
    return frozenset(one.library_name() for one in several if isinstance(one, type) and getattr(one, "tried", False))


def _value(given: type[KernelRegistry] | Library) -> Library:
    return given if isinstance(given, Library) else library_of(given)
