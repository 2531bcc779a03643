# SPDX-License-Identifier: MIT
"""A verdict on a dump in words, and as data."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.base.naming import counted
from aidge_build.base.terminal import table
from aidge_build.measure.field.counts import Bins
from aidge_build.measure.field.verdict import Finding, Verdict

FEW = 50
TITLES = ("what", "usual", "field", "chance", "")
_CAUSES = {
    ("mean", "higher"): "the values are higher: an offset, or more light",
    ("mean", "lower"): "the values are lower: an offset, or less light",
    ("spread", "higher"): "the values differ more from their usual mean: more gain, or other surroundings",
    ("spread", "lower"): "the values differ less from their usual mean: less gain, or a sensor that is covered or dead",
    ("step", "higher"): "neighbouring values differ more: noise, or more gain",
    ("step", "lower"): "neighbouring values differ less: less gain, a lost focus, or a sensor that is covered or dead",
}
_WORDS = {
    "mean": "neither higher nor lower, but of another distribution",
    "spread": "distances from the usual mean have another distribution",
    "step": "differences of neighbours have another distribution",
    "saturation": "another share of inferences has values at an end of their type: gain, offset, or a wrong scale",
    "beyond the range": "values that the samples do not have: gain, noise, a wrong scale, or a new place of use",
    "class": "the answers are of another mixture",
    "margin": "the first answer leads the second by another distance",
    "value": "the answers are other values",
}


def verdict_line(file: str, verdict: Verdict) -> str:
    """Returns the line about a dump."""
    flagged = verdict.flagged
    names = ", ".join(dict.fromkeys(f"{one.what} of '{one.of}'" for one in flagged))
    few = f", but fewer than {FEW} independent inferences show large changes only" if verdict.independent < FEW else ""
    said = f"CHANGED: {names}" if flagged else f"as usual{few}"
    of = f" of {verdict.inferences:,}" if verdict.inferences != verdict.counted else ""
    worth = f", worth {verdict.independent:,} independent ones" if verdict.independent < verdict.counted else ""
    alarms = f"false alarms at most {100 * verdict.false_alarms:g} %"
    return f"{file}: {said} ({counted(verdict.counted, 'inference')}{of}{worth}; {alarms})"


def verdict_table(verdict: Verdict) -> list[str]:
    """Returns a row for each test: shares of inferences in percent, and the probability of such a difference by chance."""
    rows = [
        [f"{one.what} of '{one.of}'", _shares(one, one.reference), _shares(one, one.field), _chance(one), _flag(one)]
        for one in verdict.findings
    ]
    return table(rows, TITLES, numbers=(3,))


def reasons(verdict: Verdict) -> list[str]:
    """Returns a line for each change: what it looks like."""
    return [f"{one.what} of '{one.of}': {_CAUSES.get((one.what, one.direction), _WORDS[one.what])}" for one in verdict.flagged]


def verdict_data(file: str, verdict: Verdict) -> dict:
    """Returns the verdict as JSON has it."""
    return {
        "file": file,
        "inferences": verdict.inferences,
        "counted": verdict.counted,
        "independent": verdict.independent,
        "false_alarms": verdict.false_alarms,
        "changed": bool(verdict.flagged),
        "tests": [
            {
                "what": one.what,
                "of": one.of,
                "reference": list(one.reference),
                "field": list(one.field),
                "chance": one.chance,
                "changed": one.is_flagged,
            }
            for one in verdict.findings
        ],
    }


def _shares(one: Finding, bins: Bins) -> str:
    total = max(1, sum(bins))
    shown: Sequence[int] = bins[1:] if one.what in ("saturation", "beyond the range") else bins
    return " ".join(f"{100 * count / total:.0f}" for count in shown) + " %"


def _chance(one: Finding) -> str:
    return "< 0.0001" if one.chance < 1e-4 else f"{one.chance:.4f}"


def _flag(one: Finding) -> str:
    return "CHANGED" if one.is_flagged else ""
