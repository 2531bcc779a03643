# SPDX-License-Identifier: MIT
"""A neural-network model as a source file of the firmware.

Importing this package imports nothing else: the public names are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib

# Public name -> the module that defines it.
_PUBLIC = {
    "VERSION": "aidge_build.version",
    "AidgeError": "aidge_build.errors",
    "scons_toolpath": "aidge_build.installed",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str):
    if name not in _PUBLIC:
        raise AttributeError(f"module 'aidge_build' has no attribute '{name}'")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
