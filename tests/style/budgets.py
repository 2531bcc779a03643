# SPDX-License-Identifier: MIT
"""Measures of functions and files, and the places that may exceed the budgets."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

COMPLEXITY, LINES, PARAMETERS = 15, 60, 8  # of a function
FILE_LINES = 400
FOLDERS = ("aidge_build", "site_scons", "tools", "kernels")

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)  # each is measured on its own
# What a node adds to the cyclomatic complexity (McCabe 1976), with a condition for each operand of `and` and `or`.
_ADDED = {
    ast.If: lambda node: 1,
    ast.IfExp: lambda node: 1,
    ast.Assert: lambda node: 1,
    ast.BoolOp: lambda node: len(node.values) - 1,
    ast.comprehension: lambda node: 1 + len(node.ifs),
    ast.For: lambda node: 1 + bool(node.orelse),
    ast.AsyncFor: lambda node: 1 + bool(node.orelse),
    ast.While: lambda node: 1 + bool(node.orelse),
    ast.Try: lambda node: len(node.handlers) + bool(node.orelse),
    ast.match_case: lambda node: not (isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None),
}
# Each of these nodes has a word of its own: a function with few of the words is not complex, and is not looked at.
_WORD = re.compile(r"\b(?:if|elif|else|for|while|and|or|except|assert|case)\b")


def complexity(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Returns the number of paths through a function, without the functions and classes in it."""
    found, waiting = 1, list[ast.AST](function.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, _INNER):
            found += _ADDED.get(type(node), lambda node: 0)(node)
            waiting += ast.iter_child_nodes(node)
    return found


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Returns how many values a caller may name; `self` and `cls` are none."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def functions(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yields each function with its name, behind the names of the classes and functions around it."""
    for node in body:
        if isinstance(node, _INNER):
            name = f"{within}{node.name}"
            if not isinstance(node, ast.ClassDef):
                yield name, node
            yield from functions(node.body, f"{name}.")
        else:
            for inner in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from functions(getattr(node, inner, ()), within)


def excesses(text: str) -> dict[str, str]:
    """Returns what exceeds a budget, by the name of the function; "" is the file."""
    lines = text.split("\n")
    words = [0, *accumulate(len(_WORD.findall(line)) for line in lines)]
    found = {"": f"{len(lines) - 1} lines"} if len(lines) - 1 > FILE_LINES else {}
    for name, function in functions(ast.parse(text).body):
        length = function.end_lineno - function.lineno + 1
        is_wordy = words[function.end_lineno] - words[function.lineno - 1] >= COMPLEXITY
        sizes = {
            "complexity": (complexity(function) if is_wordy else 0, COMPLEXITY),
            "lines": (length, LINES),
            "parameters": (parameters(function), PARAMETERS),
        }
        shown = ", ".join(f"{what} {size}" for what, (size, most) in sizes.items() if size > most)
        if shown:
            found[name] = shown
    return found


def excesses_of(root: Path) -> dict[str, str]:
    """Returns what exceeds a budget in the folders of a checkout, by `file` or `file function`."""
    gc.disable()  # syntax trees have no cycles; looking for some takes most of the time
    try:
        paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))]
        found = {path.relative_to(root).as_posix(): excesses(path.read_text(encoding="utf-8")) for path in paths}
    finally:
        gc.enable()
    return {f"{place} {name}".rstrip(): shown for place, entries in found.items() for name, shown in entries.items()}
