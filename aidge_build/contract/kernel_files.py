# SPDX-License-Identifier: MIT
"""The files of a kernel's library, found by the kernel's class."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.contract.file_named import file_named


class KernelFiles:
    """The files of a class: its library's folder as it was loaded, or files on disk if the class belongs to no library."""

    def __init__(self, folder: str, files: Mapping[str, bytes] | None):
        self.folder, self.files = folder, files

    @classmethod
    def of(cls, node_class: type) -> KernelFiles:
        """The files of the library to which the class belongs."""
        module = sys.modules.get(node_class.__module__) or importlib.import_module(node_class.__module__)
        loader = getattr(module.__spec__, "loader", None) if getattr(module, "__spec__", None) else None
        if isinstance(getattr(loader, "files", None), Mapping):
            return cls(os.path.abspath(loader.where), loader.files)
        return cls(os.path.dirname(os.path.abspath(getattr(module, "__file__", "") or "")), None)

    def locate(self, name: str) -> str:
        """Returns the path below the folder (or on disk) of a file that is named absolutely, relatively, or by the end of its
        path."""
        path = os.path.normpath(name)
        if self.files is None:
            return path if os.path.isabs(path) else os.path.join(self.folder, path)
        relative = os.path.relpath(path, self.folder) if os.path.isabs(path) else path
        relative = relative.replace(os.sep, "/")
        found = file_named(self.files, relative)
        if found is not None:
            return found
        raise AidgeError(f"the library has no file '{name}'", where=self.folder, code="LIBRARY")

    def located(self, name: str, known: Iterable[str] = ()) -> str:
        """Returns the first known path that ends with the name, else the path that `locate` finds. A name that is no file on disk
        is returned unchanged: the path of another file that the library brings may end with it."""
        for path in known:
            if f"/{path}".endswith(f"/{name}"):
                return path
        path = self.locate(name)
        return path if self.files is not None or os.path.isfile(path) else name

    def read(self, name: str) -> bytes:
        """Returns the bytes of a file; AidgeError if there is none."""
        path = self.locate(name)
        if self.files is not None:
            return self.files[path]
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise AidgeError(f"cannot be read: {error.strerror}", where=path, code="LIBRARY") from error

    def text(self, name: str, beside: str) -> str | None:
        """Returns a template, looked up first in the folder of the template that includes it; None if there is none."""
        for candidate in (os.path.normpath(os.path.join(os.path.dirname(beside), name)).replace(os.sep, "/"), name):
            try:
                return self.read(candidate).decode("utf-8")
            except AidgeError:
                continue
        return None

    def brought(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Returns the files that a call must bring along; none if the files belong to a library's folder."""
        return {} if self.files is not None else {path: self.read(path) for path in paths if os.path.isfile(path)}
