# SPDX-License-Identifier: MIT
"""tanh and the logistic function as a quotient of two polynomials, for float32.

tanh x = x P(x^2) / Q(x^2) up to |x| = 8.1, where tanh is 1 - 1.9e-7; the error is 2.2e-7 at most (a least-squares fit; its points
are reweighted until the largest error is constant), 5e-7 with the roundings of float32. The logistic function is 1/2 + tanh(x /
2) / 2.

The error function is approximated in the same way up to |x| = 3.6, where it is 1 - 3.6e-7; the error is 2.4e-6 at most, 2.6e-6
with roundings. The tanh of Gelu, tanh(sqrt(2 / pi) (x + 0.044715 x^3)), is approximated up to |x| = 4.6; the error is 2.2e-6 at
most, 2.5e-6 with roundings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from aidge_build.contract.spec import NodeView, Predicate

_P = (0.9999989646190718, 0.12690772981993265, 0.0026754140728005938, 7.0164121152333e-06, -5.901930643647579e-09)
_Q = (1.0, 0.4602373196874274, 0.022758500699367242, 0.00019414171467556205)
_LIMIT = 8.1
TANH, LOGISTIC = 0, 1
COUNT = 11  # numbers of a curve


_ERF_P = (1.1283970530552159, 0.15998513099391512, 0.046364879907768546, 0.001008326674971852, -3.5576403733402458e-06)
_ERF_Q = (1.0, 0.4752656049541937, 0.09911288642137753, 0.010701678850932097)
_ERF_LIMIT = 3.6
_GELU_P = (0.7978965602757444, 0.04956431066918154, 0.005780473244406502, 1.4401673201247645e-05, 2.595987009943996e-07)
_GELU_Q = (1.0, 0.22968284094442679, 0.02004587062290585, 0.0006788726417997625)
_GELU_LIMIT = 4.6


def curve(kind: int) -> numpy.ndarray:
    """Returns {p4, p3, p2, p1, p0, q3, q2, q1, q0, shift, limit} of kit/cells.h, float32."""
    return _numbers(_P, _Q, _LIMIT, *((1.0, 1.0, 0.0) if kind == TANH else (0.5, 0.5, 0.5)))


def _numbers(p: Sequence[float], q: Sequence[float], limit: float, by: float, height: float, shift: float) -> numpy.ndarray:
    """Returns the constants of shift + height * f(by * x), in the order of `curve`, float32."""
    over = [value * height * by ** (2 * power + 1) for power, value in enumerate(p)]
    under = [value * by ** (2 * power) for power, value in enumerate(q)]
    return numpy.array([*over[::-1], *under[::-1], shift, limit / abs(by)], numpy.float32)


def element_curve(operator: Any) -> tuple[numpy.ndarray, bool]:
    """Returns the constants of an element-wise operator, and whether its result is the curve times x."""
    match operator.type:
        case "Tanh":
            return curve(TANH), False
        case "Sigmoid":
            return curve(LOGISTIC), False
        case "Swish":
            return _numbers(_P, _Q, _LIMIT, operator.alpha / 2, 0.5, 0.5), True
        case "Erf":
            return _numbers(_ERF_P, _ERF_Q, _ERF_LIMIT, 1.0, 1.0, 0.0), False
    if operator.with_tanh:  # Gelu
        return _numbers(_GELU_P, _GELU_Q, _GELU_LIMIT, 1.0, 0.5, 0.5), True
    return _numbers(_ERF_P, _ERF_Q, _ERF_LIMIT, math.sqrt(0.5), 0.5, 0.5), True


def _no_curve(view: NodeView) -> str:
    return "alpha is near 0" if view.node.type == "Swish" and abs(view.operator.alpha) < 1e-3 else ""


# Sigmoid alone is no curve: far below 0 it is smaller than the curve's error, and a network may have nothing but such scores.
CURVES, TIMES_CURVES = ("Tanh", "Erf"), ("Gelu", "Swish")
HAS_CURVE = Predicate("the function is a curve, or x times one", _no_curve)
