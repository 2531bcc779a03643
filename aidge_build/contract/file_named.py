# SPDX-License-Identifier: MIT
"""Files of a library by the end of their path: an export moves headers to other folders than they have in the library."""

from __future__ import annotations

from collections.abc import Iterable


def file_named(paths: Iterable[str], name: str) -> str | None:
    """The path itself, else the only one that ends with the name, or with the name without its leading folders; None when
    none is."""
    known = sorted(paths)
    if name in known:
        return name
    parts = name.split("/")
    for start in range(len(parts)):
        ending = "/".join(parts[start:])
        fits = [path for path in known if path == ending or path.endswith("/" + ending)]
        if len(fits) == 1:
            return fits[0]
    return None
