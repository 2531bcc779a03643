# SPDX-License-Identifier: MIT
"""Predictions beside what the emulator counts, as a line of the table in docs/prediction.md."""

from __future__ import annotations

from pathlib import Path

from aidge_build.build.compile import build_program
from aidge_build.plan.prediction.predict import predict
from tools.prediction.measure import Measuring

OF_A_LAYER, OF_THE_WHOLE = 0.15, 0.01  # how far off a layer may be; the share from which on it counts among the worst


def judged(model: Path, how: Measuring) -> str:
    """The model, board, instructions measured and predicted, by how much the prediction is off, its stated error, layers within
    15 %, and the worst layer of at least 1 %."""
    request = how.request(model)
    program = build_program(request)
    found, counts = predict(program, request.libraries, request.target), how.counts(program)
    measured = counts["total"]
    layers = [
        (one.instructions / count - 1 if one.instructions is not None else float("inf"), count, one)
        for one, count in zip(found.layers, counts["layers"], strict=True)
        if count
    ]
    within = sum(abs(off) <= OF_A_LAYER for off, _, _ in layers)
    large = [one for one in layers if one[1] >= OF_THE_WHOLE * measured]
    worst = max(large, key=lambda one: abs(one[0]))
    said = "not known" if found.instructions is None else f"{found.instructions:,}"
    off = "" if found.instructions is None else f"{found.instructions / measured - 1:+.1%}"
    names = " ".join([model.stem, *how.words, *([how.objective] if how.objective != "balanced" else [])])
    numbers = f"{measured:,} | {said} | {off} | {found.error:.1%} | {within} of {len(layers)}"
    return f"| {names} | {how.board} | {numbers} | {worst[0]:+.0%} {worst[2].library} {worst[2].kernel} |".replace("%", " %")
