# SPDX-License-Identifier: MIT
"""This package under the name that foreign code imports."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from aidge_build.errors import AidgeError

_MODULES = ("", ".export_utils", ".mem_info")
_PACKAGE = __package__ or "aidge_build.compat"


def install_as(name: str) -> ModuleType:
    """Let `import NAME` and `from NAME.export_utils import ...` in this process mean this package; it is returned.

    AidgeError where another module of that name is loaded already. Nothing on disk is touched.
    """
    modules = {name + ending: importlib.import_module(_PACKAGE + ending) for ending in _MODULES}
    for alias, module in modules.items():
        if sys.modules.setdefault(alias, module) is not module:
            raise AidgeError(f"another module {alias} is loaded already", where=f"install_as({name!r})", code="REGISTRY")
    return modules[name]
