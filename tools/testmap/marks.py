# SPDX-License-Identifier: MIT
"""Gives imported modules other code than their files hold, in this process only: no file is touched, no bytecode is written."""

from __future__ import annotations

import ast
import hashlib
import marshal
import mmap
import os
import sys
from collections.abc import Callable, Mapping
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from tools.testmap.outline import MARKS, Outline, outlined
from tools.testmap.reads import ROOT, unseen

CodeOf = Callable[[str], CodeType]  # of the path of a file


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, code_of: CodeOf, values: Mapping[str, object]) -> None:
        super().__init__(name, path)
        self._code_of, self._values = code_of, values

    def get_code(self, fullname: str) -> CodeType:
        return self._code_of(self.path)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._values)
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def __init__(self, loader_of: Callable[[str, str], SourceFileLoader | None]) -> None:
        self._loader_of = loader_of

    def find_spec(self, fullname, path=None, target=None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        loader = self._loader_of(fullname, spec.origin) if spec and spec.origin else None
        if loader:
            spec.loader = loader
        return spec if loader else None


def install(changes: Mapping[str, Callable[[str], ast.Module]]) -> None:
    """From now on, importing one of these files (absolute paths) runs its changed tree."""

    def code_of(path: str) -> CodeType:
        return compile(changes[path](Path(path).read_text(encoding="utf-8")), path, "exec", dont_inherit=True)

    sys.meta_path.insert(0, _Finder(lambda name, path: _Loader(name, path, code_of, {}) if path in changes else None))


class Marks:
    """Which statements this process and its forks run, of the checkout's modules that are imported from now on."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._arrays: dict[str, mmap.mmap] = {}
        self._process = os.getpid()
        ours = [name for name, module in sys.modules.items() if _is_ours(getattr(module, "__file__", None) or "")]
        for name in set(ours) - {"__main__"}:  # no test imports it, and `inspect` looks for it
            del sys.modules[name]  # the recorder keeps its own; tests of the recorder import it again
        sys.meta_path.insert(0, _Finder(self._loader_of))

    def taken(self) -> dict[str, bytes]:
        """File below the root -> its marks, one byte each, since they were last taken; an imported file is there."""
        found = {file: array[:] for file, array in self._arrays.items()}
        for array in self._arrays.values():
            array[:] = bytes(len(array))
        return found

    def _loader_of(self, name: str, path: str) -> SourceFileLoader | None:
        if not path.endswith(".py") or not _is_ours(path) or os.getpid() != self._process:
            return None  # a fork reads its modules as files
        file = os.path.relpath(path, ROOT)
        with unseen():
            code, outline = code_of(file, self._store), outline_of(file, self._store)
        if file not in self._arrays:
            self._arrays[file] = mmap.mmap(-1, max(1, sum(map(len, outline.marks.values()))))  # shared with forks
        return _Loader(name, path, lambda _: code, {MARKS: self._arrays[file]})


def _is_ours(path: str) -> bool:
    return path.startswith(f"{ROOT}{os.sep}") and not path.startswith((sys.prefix, f"{ROOT / 'build'}{os.sep}"))


def outline_of(file: str, store: Path) -> Outline:
    """The outline of a Python file below the root, which `store` keeps while the file is the same."""
    return Outline(*marshal.loads(_kept(file, store).with_suffix(".outline").read_bytes()))


def code_of(file: str, store: Path) -> CodeType:
    """The code of the file with its marks, kept like its outline."""
    return marshal.loads(_kept(file, store).with_suffix(".code").read_bytes())


def _kept(file: str, store: Path) -> Path:
    """Where both are kept; they are made when they are not there."""
    text = (ROOT / file).read_bytes()
    kept = store / hashlib.sha256(f"{file}\0".encode() + text).hexdigest()[:24]
    if not kept.with_suffix(".code").exists():
        outline, tree = outlined(text.decode(), file.endswith("__init__.py"))
        code = compile(tree, str(ROOT / file), "exec", dont_inherit=True)
        for suffix, value in {".outline": (outline.digests, outline.marks), ".code": code}.items():
            unfinished = kept.with_suffix(f"{suffix}.{os.getpid()}")
            unfinished.write_bytes(marshal.dumps(value))
            os.replace(unfinished, kept.with_suffix(suffix))
    return kept
