# SPDX-License-Identifier: MIT
"""Rounds weights up or down so that the results of their layer change least, instead of each to the nearest integer."""

from __future__ import annotations

import numpy

PASSES = 4  # over all weights; few change in the third
DAMPING = 0.01  # of the mean diagonal: terms that the samples hardly excite keep their nearest integer


def rounded(rows: numpy.ndarray, scales: numpy.ndarray, products: numpy.ndarray, largest: int) -> numpy.ndarray:
    """Returns integers for rows [output, term] with a scale each, given the second moments [term, term] of the terms.

    Coordinate descent on (w - w')^T H (w - w'), the mean squared error of the sums, from the nearest integers: one term after
    the other takes the better of its two neighbours while all others stay, so that the error never grows. The choice between the
    neighbours is from Nagel et al., Up or down? Adaptive rounding for post-training quantization (2020); the search is not.
    """
    steps = scales.reshape(-1, 1)
    real = rows / steps
    damped = products + numpy.eye(len(products)) * (DAMPING * numpy.trace(products) / len(products) + numpy.finfo(float).tiny)
    lower = numpy.floor(real)
    chosen = numpy.clip(numpy.rint(real), -largest, largest)
    errors = chosen - real
    gradients = errors @ damped
    for _ in range(PASSES):
        changed = False
        for term in range(rows.shape[1]):
            best = real[:, term] + errors[:, term] - gradients[:, term] / damped[term, term] - lower[:, term]
            wanted = numpy.clip(lower[:, term] + (best > 0.5), -largest, largest)
            moved = wanted - chosen[:, term]
            if moved.any():
                changed = True
                chosen[:, term], errors[:, term] = wanted, errors[:, term] + moved
                gradients += moved[:, None] * damped[term]
        if not changed:
            break
    return chosen
