# SPDX-License-Identifier: MIT
"""tanh, the logistic function and the error function as a quotient of two polynomials, for float32.

f(x) = x P(x^2) / Q(x^2) up to a limit, where f is 1 within half of the last place; the first coefficient of Q is 1. The quotient
is a fit of the least largest relative error, and its coefficients are rounded one after the other so that the error stays small:
it is at most half of the last place, near 0, too. Roundings make it two (docs/arithmetic.md). The logistic function is
1/2 + tanh(x / 2) / 2, as exact as a number near 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from aidge_build.contract.spec import NodeView, Predicate

TANH, LOGISTIC = 0, 1
SHORT, LONG = 5, 6  # coefficients of P of the two lengths of curves


@dataclass(frozen=True)
class Quotient:
    """x P(x^2) / Q(x^2) up to |x| = `limit`; coefficients from power 0 on, the last one of Q, 1, left out."""

    p: Sequence[float]
    q: Sequence[float]
    limit: float

    def numbers(self, by: float, height: float, shift: float) -> numpy.ndarray:
        """Returns the constants of shift + height * f(by * x) as kit/cells.h reads them: P and Q from the highest power on,
        shift, limit; float32."""
        scale = by ** (-2 * len(self.q))
        over = [value * height * scale * by ** (2 * power + 1) for power, value in enumerate(self.p)]
        under = [value * scale * by ** (2 * power) for power, value in enumerate(self.q)]
        return numpy.array([*over[::-1], *under[::-1], shift, self.limit / abs(by)], numpy.float32)


_TANH = Quotient(
    (1288414.25, 172385.59375, 4501.6904296875, 26.518831253051758, 0.017158787697553635),
    (1288414.25, 601856.8125, 33332.3828125, 422.9862976074219),
    9.02,
)
_ERF = Quotient(
    (29692.416015625, 5020.09716796875, 1389.0985107421875, 99.44591522216797, 7.4939751625061035, 0.053731027990579605),
    (26314.21875, 13220.3359375, 3006.49658203125, 394.6229553222656, 30.65833282470703),
    3.93,
)
_GELU = Quotient(  # tanh(sqrt(2 / pi) (x + 0.044715 x^3))
    (618818.875, 47648.5078125, 5651.587890625, 210.37844848632812, 10.836835861206055, 0.0361623540520668),
    (775574.4375, 189620.984375, 19009.806640625, 1016.1520385742188, 58.97829818725586),
    5.2,
)


def curve(kind: int) -> numpy.ndarray:
    """Returns the constants of tanh or of the logistic function (`Quotient.numbers`)."""
    return _TANH.numbers(*((1.0, 1.0, 0.0) if kind == TANH else (0.5, 0.5, 0.5)))


@dataclass(frozen=True)
class ElementCurve:
    """An element-wise operator: its constants (`Quotient.numbers`), and whether its result is the curve times x."""

    numbers: numpy.ndarray
    times: bool

    @property
    def terms(self) -> int:
        """The coefficients of P."""
        return (len(self.numbers) - 1) // 2

    @property
    def limit(self) -> float:
        """The size from which on the curve is constant."""
        return float(self.numbers[-1])

    @classmethod
    def of(cls, operator: Any) -> ElementCurve:
        """Returns the curve of an operator of `CURVES`, `TIMES_CURVES`, or a Sigmoid."""
        match operator.type:
            case "Tanh":
                return cls(curve(TANH), False)
            case "Sigmoid":
                return cls(curve(LOGISTIC), False)
            case "Swish":
                return cls(_TANH.numbers(operator.alpha / 2, 0.5, 0.5), True)
            case "Erf":
                return cls(_ERF.numbers(1.0, 1.0, 0.0), False)
        if operator.with_tanh:  # Gelu
            return cls(_GELU.numbers(1.0, 0.5, 0.5), True)
        return cls(_ERF.numbers(math.sqrt(0.5), 0.5, 0.5), True)


def _no_curve(view: NodeView) -> str:
    alpha = getattr(view.operator, "alpha", 1.0)
    return "" if view.node.type != "Swish" or 1e-2 < abs(alpha) < 1e3 else "alpha is near 0, or large"


# Sigmoid alone is no curve: far below 0 it is smaller than the curve's error, and a network may have nothing but such scores.
CURVES, TIMES_CURVES = ("Tanh", "Erf"), ("Gelu", "Swish")
HAS_CURVE = Predicate("the function is a curve, or x times one", _no_curve)
