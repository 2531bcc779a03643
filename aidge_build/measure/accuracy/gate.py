# SPDX-License-Identifier: MIT
"""Limits for the figures: a build whose model is worse than it may be fails, with the figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.measure.accuracy.figures import Figures


@dataclass(frozen=True)
class Verdict:
    """A limit and what was reached; `name` is that of the option."""

    name: str
    limit: float
    reached: float

    @property
    def kept(self) -> bool:
        """Whether the figure is on the right side."""
        return self.reached >= self.limit if self.name.startswith("min") else self.reached <= self.limit

    def as_json(self) -> dict:
        """The same for programs."""
        return {"name": self.name, "limit": self.limit, "reached": self.reached, "kept": self.kept}


def verdicts(limits: Mapping[str, float], figures: Figures, float_figures: Figures | None) -> tuple[Verdict, ...]:
    """Each limit against the figures of what runs in the end. `max-loss` compares with the float model, in parts of 1.

    AidgeError for a limit of a figure that these answers do not have.
    """
    return tuple(Verdict(name, limit, _reached(name, figures, float_figures)) for name, limit in limits.items())


def _reached(name: str, figures: Figures, float_figures: Figures | None) -> float:
    worst = [errors for _, errors in figures.errors]
    explained = [one.r2 for one in worst if one.r2 is not None]
    found: float | None = None
    if name == "min-top1":
        found = figures.top1.share if figures.top1 else None
    elif name == "min-auc":
        found = figures.auc
    elif name == "max-mae":
        found = max((one.mae for one in worst), default=None)
    elif name == "max-rmse":
        found = max((one.rmse for one in worst), default=None)
    elif name == "min-r2":
        found = min(explained) if len(explained) == len(worst) and worst else None
    elif name == "max-loss":
        if float_figures is None:
            raise AidgeError(
                "there is no float model to compare with", where="--max-loss", hint="add --float F.onnx", code="USAGE"
            )
        if figures.top1 and float_figures.top1:
            # Of the counts: 0.99 - 0.98 is not 0.01 in binary.
            found = (float_figures.top1.correct - figures.top1.correct) / figures.top1.count
    if found is None:
        raise AidgeError("these answers have no such figure", where=f"--{name}", hint=_MEANT[name], code="USAGE")
    return found


_MEANT = {
    "min-top1": "top-1 is a figure of classes, and of scores with labels",
    "min-auc": "an area under the curve needs labels 0 and 1, both of them",
    "max-mae": "errors need targets",
    "max-rmse": "errors need targets",
    "min-r2": "R2 needs targets that vary",
    "max-loss": "a loss is one of top-1",
}
