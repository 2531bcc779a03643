# SPDX-License-Identifier: MIT
"""The Python files of a library, run as a package from their bytes."""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Mapping
from types import ModuleType

from aidge_build.base.errors import located, plugged_in
from aidge_build.base.kept_code import kept_code


class LibraryLoader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules of one library from memory. `__file__` of a module leads to `read`, not to the disk."""

    def __init__(self, package: str, files: Mapping[str, bytes], where: str):
        self.package, self.where, self.files = package, where, files
        self.sources = {
            f"{package}.{path[:-3].replace('/', '.')}": (path, data) for path, data in files.items() if path.endswith(".py")
        }
        self.packages = {package} | {name.rpartition(".")[0] for name in self.sources}

    def find_spec(self, fullname, path=None, target=None):
        """Returns the spec of a module of the library, None for other modules (importlib)."""
        if fullname in self.sources or fullname in self.packages:
            return importlib.util.spec_from_loader(fullname, self, is_package=fullname in self.packages)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Runs the text of the module as it was read (importlib)."""
        if module.__name__ in self.sources:
            path, data = self.sources[module.__name__]
            place = f"{self.where}/{path}"
            module.__file__ = os.path.abspath(place)
            exec(kept_code(place, f"{place}\0".encode() + data, lambda: compile(data, place, "exec")), vars(module))


def run_modules(name: str, files: Mapping[str, bytes], where: str) -> list[ModuleType]:
    """Imports every module of a library, in sorted order; AidgeError with the file's name if a module fails."""
    digest = hashlib.sha256(b"".join(path.encode() + b"\0" + data for path, data in sorted(files.items()))).hexdigest()
    package = f"aidge_kernels_{name}_{digest[:12]}"
    finder = LibraryLoader(package, files, where)
    sys.meta_path.insert(0, finder)
    try:
        return [_import(module, finder, where) for module in sorted(finder.sources)]
    finally:
        sys.meta_path.remove(finder)


def _import(module: str, finder: LibraryLoader, where: str) -> ModuleType:
    place = f"{where}/{finder.sources[module][0]}"
    with located(place), plugged_in("the module", place):
        return importlib.import_module(module)
