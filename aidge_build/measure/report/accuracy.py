# SPDX-License-Identifier: MIT
"""The figures that `accuracy --out` wrote, as lines and as a section of the page."""

from __future__ import annotations

from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import fits, read_json
from aidge_build.base.render import escaped
from aidge_build.measure.accuracy.texts import about, deviation_text, figure_text, limit_line
from aidge_build.measure.report.inputs import ACCURACY, ERRORS, TOP1

_HINT = "what `accuracy --out` wrote"
_MOST_CLASSES = 100  # of a matrix that is drawn


def read_accuracy(path: Path) -> dict:
    """Returns the figures in a file; AidgeError (REPORT) if it holds something else."""
    data = read_json(path, ACCURACY, "REPORT", _HINT)
    for stage in data["stages"]:
        numbers = all(fits(value, (int, float)) for value in stage["mean_deviation"].values())
        square = all(len(row) == len(stage["confusion"]) for row in stage["confusion"])
        right = stage["top1"] is None or fits(stage["top1"], TOP1)
        if not (square and numbers and right and all(fits(one, ERRORS) for one in stage["errors"].values())):
            raise AidgeError(
                f"the figures of stage {stage['name']!r:.40} are damaged", where=str(path), code="REPORT", hint=_HINT
            )
    if not data["stages"]:
        raise AidgeError("holds no stage", where=str(path), code="REPORT", hint=_HINT)
    return data


def accuracy_lines(data: dict) -> list[str]:
    """A line for each stage and each limit."""
    stages = [f"  {stage['name']}: {figure_text(stage)}" for stage in data["stages"]]
    return [f"accuracy of {data['model']}: {about(data)}", *stages, *(f"  {limit_line(limit)}" for limit in data["limits"])]


def accuracy_section(data: dict) -> dict:
    """Returns the values of the page's template, with every text escaped."""
    last = data["stages"][-1]["confusion"]
    return {
        "model": escaped(data["model"]),
        "about": escaped(about(data)),
        "stages": [
            {
                "name": escaped(stage["name"]),
                "where": escaped(stage["where"]),
                "figures": escaped(figure_text(stage)),
                "deviation": escaped(deviation_text(stage)),
            }
            for stage in data["stages"]
        ],
        "limits": [escaped(limit_line(limit)) for limit in data["limits"]],
        "confusion": [_cells(row, index) for index, row in enumerate(last)] if len(last) <= _MOST_CLASSES else [],
    }


def _cells(row: list[int], label: int) -> list[dict]:
    """Returns the cells of a row: right answers in one colour, wrong ones in another, deeper for a larger part of the row."""
    whole = sum(row) or 1
    return [
        {
            "text": f"{number:,}" if number else "",
            "color": "--layers" if index == label else "--library",
            "percent": 100 * number // whole,
        }
        for index, number in enumerate(row)
    ]
