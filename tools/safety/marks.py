# SPDX-License-Identifier: MIT
"""The tests that carry the mark `requirement`, read from their text: no test is imported."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError

_MARK = "requirement"


@dataclass(frozen=True)
class Marked:
    """A test function, its file in the checkout, and the names of the requirements that it holds."""

    file: str
    function: str
    names: tuple[str, ...]


def marked_tests(root: Path) -> list[Marked]:
    """Returns the marked tests of a checkout, by file and place. A test that is always skipped holds nothing."""
    found = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if f"mark.{_MARK}" in text:
            found += _of_file(path.relative_to(root).as_posix(), ast.parse(text))
    return found


def _of_file(file: str, tree: ast.Module) -> list[Marked]:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    marks = {node.name: [mark for decorator in node.decorator_list for mark in _marks(decorator)] for node in functions}
    if sum(map(len, marks.values())) != len(_marks(tree)):
        raise AidgeError(f"the mark `{_MARK}` is for test functions at the top of a file and their parameters", where=file)
    return [
        Marked(file, node.name, names)
        for node in functions
        if (names := tuple(dict.fromkeys(name for mark in marks[node.name] for name in _names(mark, file))))
        and not any(_is_mark(decorator, "skip") for decorator in node.decorator_list)
    ]


def _marks(node: ast.AST) -> list[ast.Call]:
    return [call for call in ast.walk(node) if isinstance(call, ast.Call) and _is_mark(call, _MARK)]


def _is_mark(node: ast.AST, name: str) -> bool:
    """Whether the node is `pytest.mark.NAME`, called or not."""
    named = node.func if isinstance(node, ast.Call) else node
    return isinstance(named, ast.Attribute) and named.attr == name


def _names(mark: ast.Call, file: str) -> list[str]:
    names = [argument.value for argument in mark.args if isinstance(argument, ast.Constant) and isinstance(argument.value, str)]
    if len(names) != len(mark.args) or not names or mark.keywords:
        raise AidgeError(f"the mark `{_MARK}` takes names of requirements in quotes", where=f"{file}:{mark.lineno}")
    return names
