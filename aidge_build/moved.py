# SPDX-License-Identifier: MIT
"""Modules under the names that they had in 0.1: kernels, boards and scripts of users import them as ever (docs/stability.md).

`aidge_build.export` became `contract`, `kernel_kit` and `compat`, `aidge_build.backend` became `contract`, `adaptation`,
`reference` and `compat`. Nothing of the package itself imports the old names.
"""

from __future__ import annotations

import importlib
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType

# Old package -> the rooms in which its modules are now, the first one with the name wins.
_ROOMS = {
    "aidge_build.export": ("contract", "kernel_kit", "compat"),
    "aidge_build.backend": ("contract", "adaptation", "reference", "compat"),
}
# Old module -> modules that hold its names now, beside those of the same name in a room.
_ALSO = {
    "aidge_build.export.node": ("compat.export_node",),
    "aidge_build.export_folder": ("compat.export_folder", "compat.mem_info", "compat.scheduler"),
}


def spec_of(name: str) -> ModuleSpec | None:
    """Returns the spec of an old name, None for any other."""
    if name not in _ROOMS and not _candidates(name):
        return None
    return spec_from_loader(name, _Loader(), is_package=name in _ROOMS)  # type: ignore[arg-type]


class _Loader:
    """Makes modules whose names are looked up where they are now."""

    def create_module(self, spec: ModuleSpec) -> None:
        """An empty module, as for any file."""

    def exec_module(self, module: ModuleType) -> None:
        """A module that asks for its names when it is asked (importlib)."""
        name = module.__name__

        def attribute(wanted: str) -> object:
            modules = [importlib.import_module(new) for new in _candidates(name)]
            if wanted == "__all__":
                return [word for new in modules for word in vars(new) if not word.startswith("_")]
            for new in modules:
                if hasattr(new, wanted):
                    return getattr(new, wanted)
            raise AttributeError(f"module '{name}' of aidge-build 0.1 has no '{wanted}' any more (docs/stability.md)")

        module.__dict__["__getattr__"] = attribute


def _candidates(name: str) -> list[str]:
    """The modules that hold the names of an old module."""
    package, _, word = name.rpartition(".")
    if package not in _ROOMS and name not in _ALSO:
        return []
    also = [f"aidge_build.{module}" for module in _ALSO.get(name, ())]
    rooms = [f"aidge_build.{room}.{word}" for room in _ROOMS.get(package, ())]
    return [module for module in (*rooms, *also) if find_spec(module) is not None]
