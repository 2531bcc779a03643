# SPDX-License-Identifier: MIT
"""The libraries that come with the tool, read once per process: nothing changes them while tests or the fuzzer run."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from aidge_build.base.installed import kernel_folder
from aidge_build.build import inputs
from aidge_build.contract.library import Library

_load = inputs.load_libraries


@functools.cache
def _loaded(names: tuple[str, ...], wants_checkouts: bool = False) -> tuple[tuple[Library, ...], list[str]]:
    return _load(names, inputs.find_libraries([]), {} if wants_checkouts else None)


def built_in(*names: str) -> tuple[Library, ...]:
    """The named libraries in this order, and those whose files they need."""
    return _loaded(names)[0]


def load_libraries(
    names: Sequence[str], folders: Mapping[str, Path], checkouts: Mapping[str, Path] | None = None
) -> tuple[tuple[Library, ...], list[str]]:
    """As `inputs.load_libraries`, which reads what does not come with the tool."""
    if checkouts or any(folder.parent != kernel_folder() for folder in folders.values()):
        return _load(names, folders, checkouts)
    return _loaded(tuple(names), checkouts is not None)


def read_once() -> None:
    """From now on no verb of this process reads these libraries again."""
    inputs.load_libraries = load_libraries
