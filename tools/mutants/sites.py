# SPDX-License-Identifier: MIT
"""Every small fault that a source file can be given: a comparison, a constant, `and` and `or`, a statement that is left out.

A mutant is known by its content (file, function, the statement before and after), not by a line, so that a list of mutants
survives a formatter and edits elsewhere in the file.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

# A comparison becomes its neighbour: what differs is the boundary, or the sense where there is no boundary.
COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
# What defines names only: without it nothing runs, which says nothing about the tests.
KEPT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)
MODULE = "<module>"


@dataclass(frozen=True)
class Mutant:
    """One fault. `node` and `variant` say where in the tree of `file` it is; the rest is for people, and outlives the tree."""

    file: str  # below the root, with /
    line: int
    statement: int  # the line where the statement begins
    function: str  # qualified name; MODULE for what runs at import
    kind: str
    before: str  # the statement, without the statements inside it
    after: str
    occurrence: int  # 1, or more where a function holds the same statement several times
    node: int
    variant: int

    @property
    def identity(self) -> tuple[str, str, str, str, int]:
        """What stays the same while the file around it changes."""
        return self.file, self.function, self.before, self.after, self.occurrence


@dataclass(frozen=True)
class _Site:
    node: ast.AST
    index: int
    statement: ast.stmt
    owner: ast.AST  # holds `node` in one of its fields
    function: str


def mutants(file: str, text: str) -> list[Mutant]:
    """All mutants of a Python file, in the order of its text."""
    tree = ast.parse(text)
    found, seen, shown = [], Counter(), cache(_shown)
    for site in _sites(tree):
        for variant, (kind, edit) in enumerate(_edits(site)):
            before = shown(site.statement)
            after = _mutated_statement(site, edit)
            key = site.function, before, after
            seen[key] += 1
            line = getattr(site.node, "lineno", site.statement.lineno)
            place = file, line, site.statement.lineno, site.function
            found.append(Mutant(*place, kind, before, after, seen[key], site.index, variant))
    return found


def mutated(text: str, mutant: Mutant) -> ast.Module:
    """The tree of the file with the fault in it; line numbers are the file's."""
    tree = ast.parse(text)
    site = next(site for site in _sites(tree) if site.index == mutant.node)
    _, edit = list(_edits(site))[mutant.variant]
    edit(site.node, site.owner)
    return ast.fix_missing_locations(tree)


def _sites(tree: ast.Module) -> Iterator[_Site]:
    """Nodes that could be changed."""
    index = 0

    def visit(node: ast.AST, owner: ast.AST, statement: ast.stmt | None, function: str) -> Iterator[_Site]:
        nonlocal index
        if isinstance(node, ast.stmt):
            statement = node
        if statement is not None:
            index += 1
            yield _Site(node, index, statement, owner, function or MODULE)
        for field, child in _changeable(node):
            inside = function
            if field == "body" and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inside = f"{function}.{node.name}".lstrip(".")
            yield from visit(child, node, statement, inside)

    yield from visit(tree, tree, None, "")


def _changeable(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yields (field, child) for each child whose change could matter.

    An annotation never runs, a docstring says nothing to Python, and an assert that narrows a type says something to the type
    checker alone. zip(strict=True) states that lengths are equal: where that can be false, a comparison and an error message
    belong, and these are changed. field(repr=False) says what a debugger shows. numpy takes every negative size of a reshape for
    the size that is open, so -1 is not changed there.
    """
    is_reshape = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reshape"
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or isinstance(node, ast.keyword) and node.arg in ("strict", "repr"):
            continue
        for child in value if isinstance(value, list) else [value]:
            is_open_size = is_reshape and isinstance(child, ast.UnaryOp)
            is_annotation = isinstance(child, ast.Assert) and _narrows(child.test)
            if isinstance(child, ast.AST) and not is_open_size and not is_annotation:
                yield field, child


def _narrows(test: ast.expr) -> bool:
    """Whether the condition only excludes None or says a class: of a value, or of each of several."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and all(_narrows(value) for value in test.values)
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], ast.IsNot) and isinstance(test.comparators[-1], ast.Constant)
    is_class = isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance"
    return is_class or isinstance(test, (ast.Name, ast.Attribute))


Edit = Callable[[ast.AST, ast.AST], None]


def _edits(site: _Site) -> Iterator[tuple[str, Edit]]:
    node = site.node
    if isinstance(node, ast.Compare):
        for position in range(len(node.ops)):
            yield "comparison", _neighbour(position)
    elif isinstance(node, ast.BoolOp):
        yield "and/or", _other_connective
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", _set_value(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield "constant", _set_value(node.value + 1)
        yield "constant", _set_value(node.value - 1)
    elif _is_droppable(site):
        yield "statement", _leave_out


def _is_droppable(site: _Site) -> bool:
    node = site.node
    if not isinstance(node, ast.stmt) or isinstance(node, KEPT) or not _runs_in_a_function(site):
        return False
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_same = isinstance(node, ast.Return) and _is_false(node.value) and _ends(node, site.owner)
    return not is_text and not is_same and not (isinstance(node, ast.AnnAssign) and node.value is None)


def _ends(node: ast.stmt, owner: ast.AST) -> bool:
    return isinstance(owner, ast.FunctionDef) and owner.body[-1] is node


def _is_false(value: ast.expr | None) -> bool:
    """Whether the result is False, or None: a function that ends without it gives None, which is as false."""
    return isinstance(value, ast.Constant) and (value.value is False or value.value is None)


def _runs_in_a_function(site: _Site) -> bool:
    return site.function != MODULE and not isinstance(site.owner, ast.ClassDef)


def _neighbour(position: int) -> Edit:
    def edit(node: ast.AST, _: ast.AST) -> None:
        node.ops[position] = COMPARISONS[type(node.ops[position])]()

    return edit


def _other_connective(node: ast.AST, _: ast.AST) -> None:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _set_value(value: object) -> Edit:
    def edit(node: ast.AST, _: ast.AST) -> None:
        node.value = value

    return edit


def _leave_out(node: ast.AST, owner: ast.AST) -> None:
    for block in BLOCKS:
        statements = getattr(owner, block, None)
        if isinstance(statements, list) and any(statement is node for statement in statements):
            place = next(place for place, statement in enumerate(statements) if statement is node)
            statements[place] = ast.copy_location(ast.Pass(), node)


def _mutated_statement(site: _Site, edit: Edit) -> str:
    """The statement with the edit made in a copy of it, so that the tree stays as it is."""
    if isinstance(site.node, ast.stmt):
        return "pass"
    memory: dict[int, object] = {}
    head = copy.deepcopy(_head(site.statement), memory)
    edit(memory[id(site.node)], memory.get(id(site.owner), head))
    return _text(head)


def _shown(statement: ast.stmt) -> str:
    """The statement's own text: of a loop its head, of a function its arguments."""
    return _text(_head(statement))


def _head(statement: ast.stmt) -> ast.stmt:
    """The statement without the statements inside it."""
    alone = copy.copy(statement)
    for block in BLOCKS:
        if getattr(alone, block, None):
            setattr(alone, block, [ast.Expr(ast.Constant(...))] if block == "body" else [])
    if isinstance(alone, ast.Match):
        alone.cases = statement.cases
    return alone


def _text(head: ast.stmt) -> str:
    if isinstance(head, ast.Try):
        return "try:"
    return ast.unparse(ast.fix_missing_locations(head)).removesuffix("...").strip()
