# SPDX-License-Identifier: MIT
"""The text of a small graph with one difference: what a recipe that knows the graph must tell from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

STEP = re.compile(r"(\w+) = (\w+)\(([^)]*)\)")
OTHERS = {"Mul": "Add", "Add": "Sub", "Sub": "Add", "Div": "Mul", "Erf": "Tanh", "Tanh": "Erf", "Sigmoid": "Tanh", "Max": "Min"}
OTHERS |= {"Min": "Max", "Round": "Neg", "Pow": "Mul"}


def swapped(nodes: str) -> Iterator[str]:
    """The same graph with two operands of one sum or product in the other order."""
    for found in STEP.finditer(nodes):
        name, kind, (*operands,) = found[1], found[2], found[3].split(", ")
        if kind in ("Add", "Mul", "Max", "Min"):
            yield _with(nodes, found, f"{name} = {kind}({', '.join(operands[::-1])})")


def changed(nodes: str, data: str, *numbers: str) -> Iterator[str]:
    """Other graphs: one operator is another one, the operands of a difference or quotient are swapped, or one operand is the
    data, the result of the step before or one of the numbers."""
    before = data
    for found in STEP.finditer(nodes):
        name, kind, (*own,) = found[1], found[2], found[3].split(", ")
        if kind in OTHERS:
            yield _with(nodes, found, f"{name} = {OTHERS[kind]}({found[3]})")
        if kind in ("Sub", "Div", "Pow"):
            yield _with(nodes, found, f"{name} = {kind}({', '.join(own[::-1])})")
        for place, old in enumerate(own[:1] if kind == "Clip" else own):
            computed = {data, before} & {*own[:place], *own[place + 1 :]}
            for other in sorted({data, before, *(numbers if computed else ())} - {old}):
                yield _with(nodes, found, f"{name} = {kind}({', '.join([*own[:place], other, *own[place + 1 :]])})")
        before = name


def results(nodes: str) -> list[str]:
    """The names of all results but the last."""
    return [found[1] for found in STEP.finditer(nodes)][:-1]


def _with(nodes: str, found: re.Match, step: str) -> str:
    return nodes[: found.start()] + step + nodes[found.end() :]
