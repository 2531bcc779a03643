# SPDX-License-Identifier: MIT
"""tanh and the logistic function as a quotient of two polynomials, for float32.

tanh x = x P(x^2) / Q(x^2) up to |x| = 8.1, where tanh is 1 - 1.9e-7; the error is 2.2e-7 at most (a least-squares fit, its points
weighted anew until the largest error stood still), 5e-7 with the roundings of float32. The logistic function is
1/2 + tanh(x / 2) / 2.
"""

from __future__ import annotations

import numpy

_P = (0.9999989646190718, 0.12690772981993265, 0.0026754140728005938, 7.0164121152333e-06, -5.901930643647579e-09)
_Q = (1.0, 0.4602373196874274, 0.022758500699367242, 0.00019414171467556205)
_LIMIT = 8.1
TANH, LOGISTIC = 0, 1
COUNT = 11  # numbers of a curve


def curve(kind: int) -> numpy.ndarray:
    """{p4, p3, p2, p1, p0, q3, q2, q1, q0, shift, limit} of kit/cells.h, float32."""
    by = 1.0 if kind == TANH else 0.5
    p = [value * by * by ** (2 * power + 1) for power, value in enumerate(_P)]
    q = [value * by ** (2 * power) for power, value in enumerate(_Q)]
    return numpy.array([*p[::-1], *q[::-1], 0.0 if kind == TANH else 0.5, _LIMIT / by], numpy.float32)
