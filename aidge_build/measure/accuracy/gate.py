# SPDX-License-Identifier: MIT
"""Limits for the figures: a build with a model below a limit fails, and names the figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.measure.accuracy.figures import Figures


@dataclass(frozen=True)
class Verdict:
    """A limit and the figure that was reached; `name` is the name of the option."""

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
    """Compares each limit with the figures of the last stage. `max-loss` compares with the float model, in parts of 1.

    AidgeError for a limit of a figure that these answers do not have, or that no share can have.
    """
    for name in [name for name in _SHARES if limits.get(name, 0) > 1]:
        hint = f"a share in parts of 1: --{name} {limits[name] / 100:g} for {limits[name]:g} %"
        raise AidgeError(f"is {limits[name]:g}", where=f"--{name}", hint=hint, code="USAGE")
    return tuple(Verdict(name, limit, _reached(name, figures, float_figures)) for name, limit in limits.items())


def _reached(name: str, figures: Figures, float_figures: Figures | None) -> float:
    found = _loss(figures, float_figures) if name == "max-loss" else _FIGURES[name](figures)
    if found is None:
        raise AidgeError("these answers have no such figure", where=f"--{name}", hint=_MEANT[name], code="USAGE")
    return found


def _loss(figures: Figures, float_figures: Figures | None) -> float | None:
    if float_figures is None:
        raise AidgeError("there is no float model to compare with", where="--max-loss", hint="add --float F.onnx", code="USAGE")
    if not figures.top1 or not float_figures.top1:
        return None
    # The difference of counts, because 0.99 - 0.98 is not 0.01 in binary.
    return (float_figures.top1.correct - figures.top1.correct) / figures.top1.count


def _least_explained(figures: Figures) -> float | None:
    explained = [errors.r2 for _, errors in figures.errors if errors.r2 is not None]
    return min(explained, default=None) if len(explained) == len(figures.errors) else None


_SHARES = ("min-top1", "max-loss", "min-auc", "min-r2")
_FIGURES: Mapping[str, Callable[[Figures], float | None]] = {
    "min-top1": lambda figures: figures.top1.share if figures.top1 else None,
    "min-auc": lambda figures: figures.auc,
    "max-mae": lambda figures: max((errors.mae for _, errors in figures.errors), default=None),
    "max-rmse": lambda figures: max((errors.rmse for _, errors in figures.errors), default=None),
    "min-r2": _least_explained,
}
_MEANT = {
    "min-top1": "top-1 is a figure of classes, and of scores with labels",
    "min-auc": "an area under the curve needs scores, and labels 0 and 1, both of them",
    "max-mae": "errors need targets",
    "max-rmse": "errors need targets",
    "min-r2": "R2 needs targets that vary",
    "max-loss": "a loss is one of top-1",
}
