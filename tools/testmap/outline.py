# SPDX-License-Identifier: MIT
"""A Python file as parts that a test uses or does not: the functions, and the rest, which runs when the file is imported.

| part | holds |
|---|---|
| a function or method, with all inside it | its body, and the imports and private values of the module that it names |
| a private function of the module without decorators | its signature, too: nobody but the module's own text finds it |
| the rest | everything else: signatures, classes, constants, imports that no function names |

A comment is in no part.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

REST = ""  # the name of the rest; functions have their qualified name
MARKS = "__testmap_marks__"  # what a function's statements set; no name of the project has this shape
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Outline:
    """`digests` of the parts, by name; `marks`: function -> the lines of the statements that each of its marks stands for.

    A mark is at the beginning of a block and after each statement that has blocks of its own.
    """

    digests: dict[str, str]
    marks: dict[str, list[list[int]]]


def outlined(text: str, is_package: bool = False) -> tuple[Outline, ast.Module]:
    """The outline, and the tree whose functions set their marks in the array MARKS of the module, in the outline's order.

    The imports of a package (`__init__`) are for others: they stay in the rest.
    """
    tree = ast.parse(text)
    statements = [single for statement in tree.body for single in _singles(statement)]
    functions = dict(_functions(tree.body))
    values = {} if is_package else _values(statements, list(functions.values()))
    digests: dict[str, list[str]] = {}
    marker = _Marker()
    marked = {}
    for name, function in functions.items():
        before = len(marker.lines)
        shown = [function] if _is_found_by_name_alone(name, function) else function.body
        parts = [*map(ast.dump, shown), *_texts(shown, values)]
        body = marker.marked(function.body, in_function=True)
        if len(marker.lines) > before:  # a function that is a docstring alone cannot say that it ran
            digests[name] = parts
            marked[name] = body, marker.lines[before:]
    digests[REST] = _rest(statements, {name: functions[name] for name in marked}, values)
    for name, (body, _) in marked.items():
        functions[name].body = body
    outline = Outline(
        {name: _digest(parts) for name, parts in digests.items()}, {name: lines for name, (_, lines) in marked.items()}
    )
    return outline, ast.fix_missing_locations(tree)


def _rest(statements: Sequence[ast.stmt], marked: dict[str, ast.FunctionDef], values: dict[str, list[ast.stmt]]) -> list[str]:
    """The text of the rest, where the bodies of the `marked` functions are left out."""
    for function in marked.values():
        function.body = []
    left = {id(function) for name, function in marked.items() if _is_found_by_name_alone(name, function)}
    left |= {id(statement) for owned in values.values() for statement in owned}
    rest = [statement for statement in statements if id(statement) not in left]
    return [*map(ast.dump, rest), *_texts(rest, values)]


def _functions(statements: Sequence[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """The outermost functions by qualified name; of several with one name the last has it."""
    for statement in statements:
        if isinstance(statement, _FUNCTIONS):
            yield f"{prefix}{statement.name}", statement
        elif isinstance(statement, ast.ClassDef):
            yield from _functions(statement.body, f"{prefix}{statement.name}.")


def _is_found_by_name_alone(name: str, function: ast.FunctionDef) -> bool:
    """Whether a new one of this name changes nothing for a module's users: no class inherits it, no decorator registers it."""
    return name.startswith("_") and not name.startswith("__") and "." not in name and not function.decorator_list


def _singles(statement: ast.stmt) -> list[ast.stmt]:
    """The statement; an import of several names as imports of one name each."""
    if isinstance(statement, ast.ImportFrom):
        return [ast.ImportFrom(statement.module, [alias], statement.level) for alias in statement.names]
    return [ast.Import([alias]) for alias in statement.names] if isinstance(statement, ast.Import) else [statement]


def _values(statements: Sequence[ast.stmt], functions: Sequence[ast.AST]) -> dict[str, list[ast.stmt]]:
    """The imports and private values of the module that functions name, and what these values name in turn: parts of these
    functions, not of the rest."""
    named = _names(functions)
    values: dict[str, list[ast.stmt]] = {}
    for statement in reversed(statements):  # a value names earlier ones
        names = _bound(statement)
        if names and names <= named:
            named |= _names([statement])
            for name in names:
                values.setdefault(name, []).append(statement)
    return values


def _bound(statement: ast.stmt) -> set[str]:
    """The names that an import or the assignment of a private value binds, and does nothing else; none for others."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    names = {target.id if isinstance(target, ast.Name) else "" for target in targets}
    is_private = isinstance(statement, (ast.Assign, ast.AnnAssign)) and all(name.startswith("_") for name in names)
    return names if is_private and not any(name.startswith("__") for name in names) else set()


def _names(nodes: Sequence[ast.AST]) -> set[str]:
    return {found.id for node in nodes for found in ast.walk(node) if isinstance(found, ast.Name)}


def _texts(nodes: Sequence[ast.AST], values: dict[str, list[ast.stmt]]) -> list[str]:
    """The statements that bind what the nodes name, and what these name in turn."""
    found: set[str] = set()
    waiting = _names(nodes) & set(values)
    while waiting:
        found |= waiting
        waiting = _names([statement for name in waiting for statement in values[name]]) & set(values) - found
    return [f"{name}: {ast.dump(statement)}" for name in sorted(found) for statement in values[name]]


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@dataclass
class _Marker:
    """Puts marks into functions; `lines` are the statements that each of them stands for."""

    lines: list[list[int]] = field(default_factory=list)

    def marked(self, statements: Sequence[ast.stmt], in_function: bool = False) -> list[ast.stmt]:
        """The statements of a block with their marks, and so in the blocks inside it."""
        result: list[ast.stmt] = []
        needs_mark = True
        for place, statement in enumerate(statements):
            is_text = isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)
            if not (in_function and place == 0 and is_text) and not isinstance(statement, (ast.Global, ast.Nonlocal)):
                if needs_mark:
                    result.append(ast.copy_location(self._mark(), statement))
                self.lines[-1].append(statement.lineno)
                needs_mark = self._mark_inside(statement)
            result.append(statement)
        return result

    def _mark(self) -> ast.stmt:
        self.lines.append([])
        place = ast.Subscript(ast.Name(MARKS, ast.Load()), ast.Constant(len(self.lines) - 1), ast.Store())
        return ast.Assign([place], ast.Constant(1))

    def _mark_inside(self, statement: ast.AST) -> bool:
        """Whether there are blocks inside: what follows them is reached only if they let it be."""
        has_blocks = False
        for block in _BLOCKS:
            inside = getattr(statement, block, None)
            if not isinstance(inside, list):
                continue
            has_blocks = True
            if block in ("handlers", "cases"):
                for part in inside:
                    self._mark_inside(part)
            elif inside:
                setattr(statement, block, self.marked(inside, isinstance(statement, _FUNCTIONS)))
        return has_blocks
