# SPDX-License-Identifier: MIT
"""Nodes of one step of a recurrent layer: which cell they are, with which weights.

Each tensor gets a formula of the step's data x and its states: an affine map of these, a curve of a formula, a sum or a product
of formulas. The formulas of the next states are then compared with the known cells:

1. RNN: h = f(W x + R h + b).
2. GRU: z and r = sigmoid(...); n = tanh(W x + b + r (R h + c)) or tanh(W x + R (r h) + b); h = z h + (1 - z) n.
3. LSTM: i, f, o = sigmoid(...); c = f c + i tanh(...); h = o tanh(c).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy

from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node
from aidge_build.operators.activation import ReLU, Sigmoid, Tanh
from aidge_build.operators.binary import Add, Mul, Sub
from aidge_build.operators.matmul import FC
from aidge_build.operators.rearrange import Slice, Split
from aidge_build.operators.recurrent import GRU, LSTM, RNN, Recurrent
from aidge_build.operators.view import Identity, Reshape

CURVES = {Sigmoid: "sigmoid", Tanh: "tanh", ReLU: "relu"}
Formula = Any  # ("leaf", name), ("curve", name, formula), ("sum" | "product", formulas), ("rest", formula) = 1 - it, or an Affine


@dataclass(frozen=True, eq=False)
class Affine:
    """The sum of `matrix` @ formula over the terms, and `bias`: rows are outputs."""

    terms: Mapping[Formula, numpy.ndarray]
    bias: numpy.ndarray

    def plus(self, other: Affine) -> Affine | None:
        """The sum of both."""
        if self.bias.shape != other.bias.shape:
            return None
        terms = dict(self.terms)
        for formula, matrix in other.terms.items():
            terms[formula] = terms[formula] + matrix if formula in terms else matrix
        return Affine(terms, self.bias + other.bias)

    def rows(self, first: int, count: int) -> Affine:
        """Returns the map to some of the outputs."""
        some = slice(first, first + count)
        return Affine({formula: matrix[some] for formula, matrix in self.terms.items()}, self.bias[some])


@dataclass(frozen=True, eq=False)
class Cell:
    """A recurrent operator with its weights [1, gates * hidden, inputs], recurrence and bias, as ONNX orders them."""

    operator: Recurrent
    weights: numpy.ndarray
    recurrence: numpy.ndarray
    bias: numpy.ndarray


def formulas(nodes: Iterable[Node], tensors: Mapping[str, Tensor], leaves: Mapping[str, str]) -> dict[str, Formula]:
    """The formula of each tensor that has one; `leaves` names the data and the states."""
    found: dict[str, Formula] = {tensor: ("leaf", name) for tensor, name in leaves.items()}
    for node in nodes:
        for name, formula in zip(node.outputs, _formulas_of(node, tensors, found), strict=False):
            if formula is not None:
                found[name] = formula
    return found


def recognised(made: Sequence[Formula], width: int) -> Cell | None:
    """Returns the cell with these formulas of its next states, "h" and maybe "c"; `width` is the number of features of "x"."""
    if None in made:  # a state without a formula
        return None
    found = _rnn(made) or _gru(made) if len(made) == 1 else _lstm(made)
    if found is None:
        return None
    operator, gates, inner = found
    hidden = len(gates[0].bias)
    sizes = {("leaf", "x"): width, ("leaf", "h"): hidden}
    if any(len(gate.bias) != hidden or gate.terms.keys() - sizes.keys() for gate in gates):
        return None
    parts = [[gate.terms.get(leaf, numpy.zeros((hidden, size), numpy.float32)) for gate in gates] for leaf, size in sizes.items()]
    if any(matrix.shape != (hidden, size) for matrices, size in zip(parts, sizes.values()) for matrix in matrices):
        return None
    weights, recurrence = (numpy.concatenate(matrices)[None].astype(numpy.float32) for matrices in parts)
    added = numpy.concatenate([gate.bias for gate in gates])
    second = numpy.zeros_like(added)
    second[len(added) - len(inner) :] = inner
    return Cell(operator, weights, recurrence, numpy.concatenate([added, second])[None].astype(numpy.float32))


def _formulas_of(node: Node, tensors: Mapping[str, Tensor], known: Mapping[str, Formula]) -> Sequence[Formula]:
    operator, given = node.operator, [known.get(name) for name in node.inputs]
    if isinstance(operator, (Identity, Reshape)):
        same = tensors[node.inputs[0]].dims[-1:] == tensors[node.outputs[0]].dims[-1:]
        return [given[0] if same else None]
    if type(operator) in CURVES:
        return [given[0] and ("curve", CURVES[type(operator)], given[0])]
    if isinstance(operator, (FC, Add, Mul, Sub)):
        constants = [tensors[name].data if name else None for name in node.inputs]
        made = _fully_connected(given[0], constants[1:]) if isinstance(operator, FC) else _pair(operator, given, constants)
        clamp = (operator.minimum, operator.maximum)
        fused = made and ("curve", "relu", made) if clamp == (0, numpy.inf) else None
        return [made if clamp == (-numpy.inf, numpy.inf) else fused]
    return _cut(operator, tensors[node.inputs[0]], given[0]) if isinstance(operator, (Split, Slice)) else [None]


def _cut(operator: Split | Slice, data: Tensor, formula: Formula) -> Sequence[Formula]:
    """Returns the formulas of the parts along the last axis."""
    if not isinstance(formula, Affine):
        return [None]
    if isinstance(operator, Slice):
        rest = all((first, count) == (0, size) for first, count, size in zip(operator.starts, operator.counts, data.dims[:-1]))
        if not rest or operator.steps[-1] != 1 and operator.counts[-1] > 1:
            return [None]
        return [formula.rows(operator.starts[-1], operator.counts[-1])]
    if operator.axis % data.rank != data.rank - 1:
        return [None]
    starts = numpy.cumsum([0, *operator.sizes])
    return [formula.rows(int(first), size) for first, size in zip(starts, operator.sizes)]


def _fully_connected(given: Formula, constants: Sequence[numpy.ndarray | None]) -> Formula:
    if given is None or isinstance(given, Affine) or constants[0] is None or len(constants) > 1 and constants[1] is None:
        return None
    bias = constants[1] if len(constants) > 1 else numpy.zeros(len(constants[0]), numpy.float32)
    return Affine({given: constants[0]}, bias)


def _pair(operator: Add | Sub | Mul, given: Sequence[Formula], constants: Sequence[numpy.ndarray | None]) -> Formula:
    """Returns the formula of a sum or product of two formulas, of an affine map plus a constant, or of 1 - formula."""
    if isinstance(operator, Sub):
        return _rest(given[1], constants[0])
    is_sum = isinstance(operator, Add)
    shifted = _shifted(given, constants) if is_sum else None
    if shifted is not None or None in given:
        return shifted
    if is_sum and all(isinstance(one, Affine) for one in given):
        return given[0].plus(given[1])
    return ("sum" if is_sum else "product", frozenset(given)) if given[0] != given[1] else None


def _rest(formula: Formula, constant: numpy.ndarray | None) -> Formula:
    """1 - formula, where the constant is 1."""
    is_one = constant is not None and bool((constant == 1).all())
    return ("rest", formula) if is_one and formula is not None and not isinstance(formula, Affine) else None


def _shifted(given: Sequence[Formula], constants: Sequence[numpy.ndarray | None]) -> Affine | None:
    """The sum of an affine map and a constant; None of anything else."""
    for one, constant in zip(given, reversed(constants)):
        if isinstance(one, Affine) and constant is not None and constant.size in (1, len(one.bias)):
            return Affine(one.terms, one.bias + constant.reshape(-1))
    return None


def _parts(formula: Formula, kind: str) -> Iterable[tuple[Formula, Formula]]:
    """The two members of a sum or product, in both orders; none of another formula."""
    return permutations(formula[1]) if isinstance(formula, tuple) and formula[0] == kind else ()


def _curve(formula: Formula) -> tuple[str, Formula] | None:
    return formula[1:] if isinstance(formula, tuple) and formula[0] == "curve" else None


def _gate(formula: Formula) -> tuple[str, Affine] | None:
    """Returns the curve's name and its argument for a curve of an affine map; None for another formula."""
    found = _curve(formula)
    return found if found is not None and isinstance(found[1], Affine) else None


_Found = tuple[Recurrent, list[Affine], numpy.ndarray] | None
_NOTHING = numpy.zeros(0, numpy.float32)


def _rnn(made: Sequence[Formula]) -> _Found:
    found = _gate(made[0])
    if found is None:
        return None
    return RNN(hidden=len(found[1].bias), functions=(found[0],)), [found[1]], _NOTHING


def _gru(made: Sequence[Formula]) -> _Found:
    for kept, new in _parts(made[0], "sum"):
        for update, state in _parts(kept, "product"):
            for rest, inner in _parts(new, "product"):
                if state == ("leaf", "h") and rest == ("rest", update):
                    found = _gru_of(_gate(update), _curve(inner))
                    if found is not None:
                        return found
    return None


def _gru_of(update: tuple[str, Affine] | None, new: tuple[str, Formula] | None) -> _Found:
    if update is None or new is None:
        return None
    (function, gate), (curve, inside) = update, new
    is_before = isinstance(inside, Affine)
    found = _reset_before(inside) if is_before else _reset_after(inside)
    third = _gate(found[0]) if found is not None else None
    if third is None or third[0] != function:
        return None
    _, sums, added = found
    return GRU(hidden=len(gate.bias), functions=(function, curve), reset_after=not is_before), [gate, third[1], sums], added


_Reset = (
    tuple[Formula, Affine, numpy.ndarray] | None
)  # the reset gate, the sums with h in the place of its product, an inner bias


def _reset_before(inside: Affine) -> _Reset:
    """W x + R (r h) + b."""
    resets = [reset for one in inside.terms for reset, state in _parts(one, "product") if state == _H]
    products = [one for one in inside.terms if isinstance(one, tuple) and one[0] == "product"]
    if len(products) != 1 or not resets:
        return None
    terms = {(_H if one in products else one): matrix for one, matrix in inside.terms.items()}
    return resets[0], Affine(terms, inside.bias), _NOTHING


def _reset_after(inside: Formula) -> _Reset:
    """W x + b + r (R h + c)."""
    for own, product in _parts(inside, "sum"):
        for reset, after in _parts(product, "product"):
            are_maps = isinstance(own, Affine) and isinstance(after, Affine)
            if are_maps and _H not in own.terms and set(after.terms) <= {_H}:
                return reset, Affine({**own.terms, **after.terms}, own.bias), after.bias
    return None


_H = ("leaf", "h")


def _lstm(made: Sequence[Formula]) -> _Found:
    state, cell = made
    for out, curved in _parts(state, "product"):
        outer = _curve(curved)
        if outer is None or outer[1] != cell:
            continue
        for kept, new in _parts(cell, "sum"):
            for forget, old in _parts(kept, "product"):
                for into, inner in _parts(new, "product"):
                    gates = [_gate(one) for one in (into, out, forget, inner)]
                    found = _lstm_of(gates, outer[0]) if old == ("leaf", "c") else None
                    if found is not None:
                        return found
    return None


def _lstm_of(gates: Sequence[tuple[str, Affine] | None], outer: str) -> _Found:
    if None in gates:
        return None
    names = [name for name, _ in gates]
    if len({*names[:3]}) > 1 or names[3] != outer:
        return None
    operator = LSTM(hidden=len(gates[0][1].bias), functions=(names[0], names[3], outer))
    return operator, [one for _, one in gates], _NOTHING
