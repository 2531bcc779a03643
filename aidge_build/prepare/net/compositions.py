# SPDX-License-Identifier: MIT
"""Functions that put several nodes into a graph under construction: operators of other opsets, and operators of deepx_core.

The names come from ONNX or from deepx_core (`BatchCos`, `SigmoidBCELoss`). All nodes are standard operators with gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce, wraps

import numpy

from aidge_build.prepare.net.builder import builder, fitting
from aidge_build.prepare.net.graph import Value

COMPOSITIONS: dict[str, Callable[..., Value]] = {}
_Composition = Callable[..., Value]


def _composition(function: _Composition) -> _Composition:
    """Registers the function under its name; wrong arguments raise AidgeError, as in the builder of an operator."""
    name = function.__name__

    @wraps(function)
    def build(*values, **keywords):
        with fitting(name):
            return function(*values, **keywords)

    COMPOSITIONS[name] = build
    return build


def _node(name: str, *inputs, **attributes) -> Value:
    made = builder(name)(*inputs, **attributes)
    assert isinstance(made, Value)
    return made


def _mul(*factors) -> Value:
    return reduce(partial(_node, "Mul"), factors)


def _sum(value: Value, axis: int, keep: bool = False) -> Value:
    return _node("ReduceSum", value, numpy.array([axis]), keepdims=int(keep))


@_composition
def Swish(x: Value, *, alpha: float = 1.0) -> Value:
    """y = x * Sigmoid(alpha * x). Source: ONNX operator Swish, which files of opset 23 and below do not have."""
    return _mul(x, _node("Sigmoid", x if alpha == 1 else _mul(x, float(alpha))))


@_composition
def Upsample(x: Value, scales: Value, *, mode: str = "nearest") -> Value:
    """Returns the data with each axis longer by its scale. Source: ONNX operator Upsample, which became Resize in opset 10."""
    return _node("Resize", x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@_composition
def Scatter(data: Value, indices: Value, updates: Value, *, axis: int = 0) -> Value:
    """Returns data with updates at indices along an axis. Source: ONNX operator Scatter, ScatterElements since opset 11."""
    return _node("ScatterElements", data, indices, updates, axis=axis)


@_composition
def SigmoidBCELoss(x: Value, y: Value) -> Value:
    """Binary cross entropy of Sigmoid(x) and targets y from 0 to 1, element by element: Softplus(x) - x * y."""
    return _node("Sub", _node("Softplus", x), _mul(x, y))


@_composition
def BCELoss(x: Value, y: Value) -> Value:
    """Binary cross entropy of probabilities x and targets y from 0 to 1, element by element: -y log(x) - (1 - y) log(1 - x)."""
    ones, zeros = _mul(y, _node("Log", x)), _mul(_node("Sub", 1.0, y), _node("Log", _node("Sub", 1.0, x)))
    return _node("Neg", _node("Add", ones, zeros))


@_composition
def FocalLoss(x: Value, y: Value, *, alpha: float = 0.25, gamma: float = 2.0) -> Value:
    """Focal loss of probabilities x and targets y from 0 to 1, element by element.

    -alpha (1 - x)^gamma y log(x) - (1 - alpha) x^gamma (1 - y) log(1 - x). Source: Lin et al., "Focal loss for dense object
    detection", 2017.
    """
    other = _node("Sub", 1.0, x)
    return _focal((x, _node("Log", x)), (other, _node("Log", other)), y, -float(alpha), float(alpha) - 1, float(gamma))


@_composition
def SigmoidFocalLoss(x: Value, y: Value, *, alpha: float = 0.25, gamma: float = 2.0) -> Value:
    """`FocalLoss` of Sigmoid(x); large scores do not become log(0): Softplus(-x) is -log(Sigmoid(x))."""
    negative = _node("Neg", x)
    ones, zeros = ((_node("Sigmoid", one), _node("Softplus", other)) for one, other in ((x, negative), (negative, x)))
    return _focal(ones, zeros, y, float(alpha), 1 - float(alpha), float(gamma))


def _focal(ones: tuple[Value, Value], zeros: tuple[Value, Value], y: Value, first: float, second: float, gamma: float) -> Value:
    """`first` (1 - p)^gamma y l(p) + `second` p^gamma (1 - y) l(1 - p), given (p, l(p)) and (1 - p, l(1 - p))."""
    (chance, of_one), (other, of_zero) = ones, zeros
    of_ones = _mul(_node("Pow", other, gamma), y, of_one, first)
    return _node("Add", of_ones, _mul(_node("Pow", chance, gamma), _node("Sub", 1.0, y), of_zero, second))


@_composition
def BatchDot(x: Value, y: Value) -> Value:
    """Returns the scalar product of each row of x [batch, size] and the same row of y: [batch, 1]."""
    return _sum(_mul(x, y), 1, keep=True)


@_composition
def BatchCos(x: Value, y: Value) -> Value:
    """Returns the cosine of the angle between each row of x [batch, size] and the same row of y: [batch, 1]."""
    lengths = [_node("ReduceL2", value, numpy.array([1])) for value in (x, y)]
    return _node("Div", BatchDot(x, y), _mul(*lengths))


@_composition
def BatchFMInteraction(x: Value) -> Value:
    """Returns the products of each two vectors of x [batch, fields, size], field i with fields j > i: [batch, pairs, size]."""
    pairs = numpy.triu_indices(x.dims[1], 1)
    return _mul(*(_node("Gather", x, places.astype(numpy.int64), axis=1) for places in pairs))


@_composition
def BatchFMInteraction2(x: Value, y: Value) -> Value:
    """Returns the products of all vectors of x [batch, m, size] with all of y [batch, n, size]: [batch, m * n, size]."""
    batch, _, size = x.dims
    products = _mul(_node("Unsqueeze", x, numpy.array([2])), _node("Unsqueeze", y, numpy.array([1])))
    return _node("Reshape", products, numpy.array([batch, -1, size]))


@_composition
def BatchGroupFMQuadratic2(x: Value) -> Value:
    """Returns half of (the square of the sum of the vectors x [batch, fields, size], less the sum of their squares): [batch,
    size]. This is the sum of the products of each two vectors. Source: Rendle, "Factorization machines", 2010, lemma 3.1.
    """
    total = _sum(x, 1)
    return _mul(_node("Sub", _mul(total, total), _sum(_mul(x, x), 1)), 0.5)


@_composition
def BatchGroupFMQuadratic(x: Value) -> Value:
    """Returns the sum of `BatchGroupFMQuadratic2` over each vector, the quadratic term of a factorization machine: [batch, 1]."""
    return _sum(BatchGroupFMQuadratic2(x), 1, keep=True)


@_composition
def BatchFMQuadratic(ids: Value, values: Value, table: Value) -> Value:
    """Returns `BatchGroupFMQuadratic` of the rows of a table [rows, size] at ids [batch, fields], each times its value."""
    rows = _node("Gather", table, ids, axis=0)
    return BatchGroupFMQuadratic(_mul(rows, _node("Unsqueeze", values, numpy.array([2]))))
