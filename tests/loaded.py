# SPDX-License-Identifier: MIT
"""The libraries that come with the tool."""

from __future__ import annotations

from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.contract.library import Library


def built_in(*names: str) -> tuple[Library, ...]:
    """The named libraries in this order, and those whose files they need."""
    return load_libraries(names, find_libraries([]))[0]
