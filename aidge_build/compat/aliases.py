# SPDX-License-Identifier: MIT
"""This package under the name that foreign code imports."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from aidge_build.base.errors import AidgeError
from aidge_build.compat.placeholders import placeholder_modules

# The names below the one that foreign code imports, and the modules that they mean.
_MODULES = {
    "": "",
    ".export_utils": ".export_utils",
    ".export_utils.code_generation": ".code_generation",
    ".export_utils.data_conversion": ".data_conversion",
    ".hw_model": ".hw_model",
    ".mem_info": ".mem_info",
}
_installed: set[str] = set()
_PACKAGE = __package__ or "aidge_build.compat"


def install_as(name: str) -> ModuleType:
    """Let `import NAME` and `from NAME.export_utils import ...` in this process mean this package; it is returned.

    The backend that foreign code also imports (`aidge_backend_cpu` for `aidge_core`) is there, too: the numpy backend needs no
    import. AidgeError where another module of one of these names is loaded already. Nothing on disk is touched.
    """
    modules = {name + ending: importlib.import_module(_PACKAGE + module) for ending, module in _MODULES.items()}
    for ending, module in placeholder_modules().items():
        alias = f"{name.removesuffix('_core')}{ending}" if ending.startswith("_") else f"{name}.{ending}"
        modules[alias] = sys.modules.get(alias, module)
        owner, _, last = alias.rpartition(".")
        if owner and not hasattr(modules[owner], last):
            setattr(modules[owner], last, modules[alias])
    for alias, module in modules.items():
        if sys.modules.setdefault(alias, module) is not module:
            raise AidgeError(f"another module {alias} is loaded already", where=f"install_as({name!r})", code="REGISTRY")
    _installed.add(name)
    return modules[name]


def is_installed() -> bool:
    """Whether foreign code may find this package under the name that it knows: what it defines then was written for another
    system."""
    return any(name in sys.modules for name in _installed)
