# SPDX-License-Identifier: MIT
"""Puts changed syntax trees in place of modules' files, in this process only: no file is touched, and no bytecode is written."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path

from tools.mutants.sites import statement_lines

# The name that the changed modules call; no name of the project begins with two lines.
HIT = "__mutants_hit__"
Change = Callable[[str], ast.Module]


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, change: Change) -> None:
        super().__init__(name, path)
        self._change = change

    def get_code(self, fullname: str):
        text = Path(self.path).read_text(encoding="utf-8")
        return compile(self._change(text), self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, changes: Mapping[str, Change]) -> None:
        self._changes = changes

    def find_spec(self, fullname, path=None, target=None) -> ModuleSpec | None:
        if path is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        change = self._changes.get(spec.origin) if spec and spec.origin else None
        if change:
            spec.loader = _Loader(fullname, spec.origin, change)
        return spec if change else None


def install(changes: Mapping[str, Change]) -> None:
    """From now on, importing one of these files (absolute paths) runs its changed tree."""
    sys.meta_path.insert(0, _Finder(changes))


def with_hits(file: str, report: Callable[[str, int], None]) -> Change:
    """The same program, which calls `report(file, line)` before each statement inside a function."""
    import builtins

    setattr(builtins, HIT, report)

    def change(text: str) -> ast.Module:
        tree = ast.parse(text)
        lines = set(statement_lines(text))
        for node in ast.walk(tree):
            for block in ("body", "orelse", "finalbody"):
                statements = getattr(node, block, None)
                if isinstance(statements, list) and not isinstance(node, (ast.Module, ast.ClassDef)):
                    setattr(node, block, [part for one in statements for part in _marked(file, one, lines)])
        return ast.fix_missing_locations(tree)

    return change


def _marked(file: str, statement: ast.stmt, lines: set[int]) -> list[ast.stmt]:
    if statement.lineno not in lines or isinstance(statement, (ast.Global, ast.Nonlocal)):
        return [statement]
    call = ast.Call(ast.Name(HIT, ast.Load()), [ast.Constant(file), ast.Constant(statement.lineno)], [])
    return [ast.copy_location(ast.Expr(call), statement), statement]
