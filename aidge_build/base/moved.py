# SPDX-License-Identifier: MIT
"""Modules under the names that they had in 0.1 and 0.2: kernels and scripts of users import them as ever (docs/stability.md).

`aidge_build.export` of 0.1 became `contract`, `kernel_kit` and `compat`, `aidge_build.backend` became `contract`, `adaptation`,
`reference` and `compat`. The entries of the package in 0.2 are in rooms: `aidge_build.elf` became `aidge_build.prove.elf`.
Nothing of the package itself imports the old names.
"""

from __future__ import annotations

import importlib
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType

# Room -> entries of the package in 0.2 that are in it now.
_ROOMS = {
    "base": "debug errors installed machine naming npz options output reading render serial_line settings "
    "shortening terminal version",
    "boards": "board cores flash",
    "operators": "arithmetic",
    "contract": "kernel_kit reference",
    "sources": "onnx_format",
    "prepare": "adaptation frontend net onnx_backend quantization recipes training",
    "plan": "arena_regions banding budget cascade constant_copies constant_regions memory placement planning "
    "prediction program row_ports schedule stepping",
    "prove": "c_library calibrations elf longest timing",
    "build": "compile emit inputs option_values request",
    "run": "emulate probe toolchain verify",
    "measure": "accuracy bench conformance devices fit packages report sweep tune",
}
_MOVED = {name: f"aidge_build.{room}.{name}" for room, names in _ROOMS.items() for name in names.split()} | {
    "board_registers": "aidge_build.boards.registers",
    "tflite_format": "aidge_build.sources.formats.tflite.file",
    "importers": "aidge_build.sources.formats.onnx",
    "importers.dims": "aidge_build.sources.formats.onnx.binding",
    "importers.folding": "aidge_build.sources.folding",
    "importers.formats": "aidge_build.sources.importing",
    "importers.onnx_importer": "aidge_build.sources.formats.onnx.importer",
    "importers.onnx_node": "aidge_build.sources.formats.onnx.node",
    "importers.state": "aidge_build.sources.state",
    "importers.tflite": "aidge_build.sources.formats.tflite",
}
# Package of 0.1 -> the packages in which its modules are now, the first one with the name wins.
_PACKAGES = {
    "aidge_build.export": ("contract", "contract.kernel_kit", "compat"),
    "aidge_build.backend": ("contract", "prepare.adaptation", "contract.reference", "compat"),
}
# Module of 0.1 -> modules that hold its names now, in addition to the modules with its own name in the new packages.
_ALSO = {
    "aidge_build.export.node": ("compat.export_node",),
    "aidge_build.export_folder": ("compat.export_folder", "compat.mem_info", "compat.scheduler"),
}


def spec_of(name: str) -> ModuleSpec | None:
    """Returns the spec of an old name, None for any other."""
    words = name.removeprefix("aidge_build.").removeprefix("sources.").split(".")
    entry = next((entry for count in (2, 1) if (entry := ".".join(words[:count])) in _MOVED), "")
    if entry:
        new = ".".join([_MOVED[entry], *words[entry.count(".") + 1 :]])
        return spec_from_loader(name, _Same(new)) if find_spec(new) else None  # type: ignore[arg-type]
    if name not in _PACKAGES and not _candidates(name):
        return None
    return spec_from_loader(name, _Names(), is_package=name in _PACKAGES)  # type: ignore[arg-type]


class _Same:
    """Gives the module itself under its old name: a class is the same class under both names."""

    def __init__(self, new: str) -> None:
        self.new = new

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of today (importlib)."""
        module = importlib.import_module(self.new)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its own spec back, which importlib replaced by the old name's spec; the module ran already."""
        module.__spec__ = self.spec


class _Names:
    """Makes modules that look up each name in its new module."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Returns None, so that importlib makes an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module a function that looks up each name when it is read."""
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
    if package not in _PACKAGES and name not in _ALSO:
        return []
    also = [f"aidge_build.{module}" for module in _ALSO.get(name, ())]
    rooms = [f"aidge_build.{place}.{word}" for place in _PACKAGES.get(package, ())]
    return [module for module in (*rooms, *also) if find_spec(module) is not None]
