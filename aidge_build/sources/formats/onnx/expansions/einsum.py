# SPDX-License-Identifier: MIT
"""Einsum as transpositions, sums along axes and matrix products, two operands at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.operators.base import require
from aidge_build.sources.formats.onnx.expansion import Draft, expands

_OTHERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # the letters that the equation lacks name the axes of an ellipsis, from the last on


@expands("Einsum")
def einsum(draft: Draft) -> Sequence[str]:
    """Sums of products over the letters that the result lacks. Source: ONNX operator Einsum."""
    names = list(draft.source.input_names)
    terms, result = _terms(draft, draft.source.text("equation"), names)
    sizes: dict[str, int] = {}
    for name, term in zip(names, terms):
        for letter, size in zip(term, draft.tensor(name).dims):
            require(sizes.setdefault(letter, size) == size, f"axis '{letter}' has the sizes {sizes[letter]} and {size}")
    name, term = names[0], terms[0]
    for position, (other, behind) in enumerate(zip(names[1:], terms[1:]), 2):
        wanted = set(result).union(*terms[position:])
        name, term = _product(draft, (name, term), (other, behind), wanted, sizes)
    name, term = _summed(draft, name, term, set(result))
    require(set(result) <= set(term), "the result has an axis that no operand has")
    return (_ordered(draft, name, term, result),)


def _terms(draft: Draft, equation: str, names: Sequence[str]) -> tuple[list[str], str]:
    """The letters of each operand and of the result."""
    text = equation.replace(" ", "")
    free = [letter for letter in _OTHERS if letter not in text]
    left, arrow, right = text.partition("->")
    written = left.split(",")
    require(len(written) == len(names), f"the equation {equation!r} has {len(written)} operands, the node {len(names)}")
    counts = [draft.tensor(name).rank - len(term.replace("...", "")) for name, term in zip(names, written)]
    most = max((count for count, term in zip(counts, written) if "..." in term), default=0)
    others = "".join(free[:most])[::-1]
    terms = [term.replace("...", others[most - count :]) for count, term in zip(counts, written)]
    for name, term in zip(names, terms):
        require(len(term) == draft.tensor(name).rank, f"the equation {equation!r} does not fit {draft.tensor(name)}")
        require(len(set(term)) == len(term), f"the equation {equation!r} repeats an axis within an operand")
    if not arrow:
        once = sorted(letter for letter in set(left) - {".", ","} if left.count(letter) == 1)
        right = ("..." if "..." in left else "") + "".join(once)
    return terms, right.replace("...", others)


def _product(
    draft: Draft, first: tuple[str, str], second: tuple[str, str], wanted: set[str], sizes: dict[str, int]
) -> tuple[str, str]:
    """Returns the product of two operands, summed over the letters that both have and that nothing after it needs."""
    (one, left), (two, right) = (
        _summed(draft, *mine, wanted | set(other[1])) for mine, other in ((first, second), (second, first))
    )
    both = [letter for letter in left if letter in right]
    batch, inner = [letter for letter in both if letter in wanted], [letter for letter in both if letter not in wanted]
    rows, columns = [letter for letter in left if letter not in right], [letter for letter in right if letter not in left]
    factors = [
        _matrix(draft, _ordered(draft, name, term, "".join((*batch, *parts[0], *parts[1]))), [batch, *parts], sizes)
        for name, term, parts in ((one, left, (rows, inner)), (two, right, (inner, columns)))
    ]
    term = "".join((*batch, *rows, *columns))
    return _shaped(draft, draft.one("MatMul", *factors), [sizes[letter] for letter in term]), term


def _matrix(draft: Draft, name: str, groups: Sequence[Sequence[str]], sizes: dict[str, int]) -> str:
    """Returns the operand with each group of axes as one axis; an empty batch gets no axis."""
    dims = [math.prod(sizes[letter] for letter in group) for group in groups]
    return _shaped(draft, name, dims if groups[0] else dims[1:])


def _shaped(draft: Draft, name: str, dims: Sequence[int]) -> str:
    same = draft.tensor(name).dims == tuple(dims)
    return name if same else draft.one("Reshape", name, draft.constant(list(dims), numpy.int64))


def _summed(draft: Draft, name: str, term: str, wanted: set[str]) -> tuple[str, str]:
    """Returns the operand summed over the axes that nothing needs."""
    axes = [axis for axis, letter in enumerate(term) if letter not in wanted]
    if not axes:
        return name, term
    kept = "".join(letter for letter in term if letter in wanted)
    return draft.one("ReduceSum", name, draft.constant(axes, numpy.int64), keepdims=0), kept


def _ordered(draft: Draft, name: str, term: str, wanted: str) -> str:
    return name if term == wanted else draft.one("Transpose", name, perm=tuple(term.index(letter) for letter in wanted))
