# SPDX-License-Identifier: MIT
"""Figures as phrases, from the document that `accuracy` writes: the command and the report say the same."""

from __future__ import annotations

from aidge_build.base.naming import counted


def figure_text(stage: dict) -> str:
    """Returns the figures of a stage: `top-1 98.9 % (445 of 450; 95 % interval 97.4 to 99.5 %); ROC-AUC 0.9990`."""
    found = [top1_text(stage["top1"])] if stage["top1"] else []
    if stage["auc"] is not None:
        found.append(f"ROC-AUC {stage['auc']:.4f}")
    return "; ".join([*found, *(_errors_text(name, one) for name, one in stage["errors"].items())])


def top1_text(top1: dict) -> str:
    """Returns the share of right answers with its interval."""
    interval = f"95 % interval {100 * top1['low']:.1f} to {100 * top1['high']:.1f} %"
    return f"top-1 {100 * top1['share']:.1f} % ({top1['correct']:,} of {top1['count']:,}; {interval})"


def limit_line(limit: dict) -> str:
    """Returns a limit and the figure that was reached."""
    state = "kept" if limit["kept"] else "FAILED"
    return f"{state}: --{limit['name']} {limit['limit']:g}, reached {limit['reached']:.6g}"


def about(data: dict) -> str:
    """Returns a line about the samples and the output that were measured."""
    return f"{counted(data['samples'], 'sample')}, {task_text(data['task'])} of output '{data['output']}'{seen_text(data)}"


def task_text(task: str) -> str:
    """Returns the task, with a word about figures that it cannot have."""
    return "decisions (class numbers without scores: no ROC-AUC, no mean difference)" if task == "decisions" else task


def seen_text(data: dict) -> str:
    """Returns how many of the samples calibration saw; "" if that is not known."""
    shared = data["calibration_samples"]
    return f"; calibration saw {shared:,} of them" if shared else "; none of them was in calibration" if shared == 0 else ""


def deviation_text(stage: dict) -> str:
    """Returns how far real outputs are from the outputs of the first stage."""
    return "; ".join(f"mean difference of {name} {value:.4g}" for name, value in stage["mean_deviation"].items())


def _errors_text(name: str, one: dict) -> str:
    explained = "" if one["r2"] is None else f", R2 {one['r2']:.4f}"
    return f"{name}: mean error {one['mean_error']:.4g}, absolute {one['mae']:.4g}, RMSE {one['rmse']:.4g}{explained}"
