# SPDX-License-Identifier: MIT
"""How much was tried, over days: ranges of seeds of each kind, at which commit, and what was found."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

PATH = Path(__file__).with_name("record.json")


def read(path: Path = PATH) -> list[dict]:
    """Runs in the order in which they were made: kind, first, count, commit, outcomes, faults."""
    return json.loads(path.read_text())["runs"] if path.exists() else []


def next_seed(runs: list[dict], kind: str) -> int:
    """The first one behind all that were tried."""
    return max((run["first"] + run["count"] for run in runs if run["kind"] == kind), default=0)


def add(kind: str, first: int, outcomes: Mapping[str, int], faults: list[str], path: Path = PATH) -> None:
    """Appends a run, or makes the last one of this kind and commit longer where this one goes on from it."""
    runs, commit, count = read(path), _commit(), sum(outcomes.values())
    last = next((run for run in reversed(runs) if run["kind"] == kind), None)
    if last and last["commit"] == commit and last["first"] + last["count"] == first:
        last["count"] += count
        for name, number in outcomes.items():
            last["outcomes"][name] = last["outcomes"].get(name, 0) + number
        last["outcomes"], last["faults"] = dict(sorted(last["outcomes"].items())), last["faults"] + faults
    else:
        outcomes = dict(sorted(outcomes.items()))
        runs.append({"kind": kind, "first": first, "count": count, "commit": commit, "outcomes": outcomes, "faults": faults})
    lines = ",\n".join(f"  {json.dumps(run)}" for run in runs)
    path.write_text(f'{{"runs": [\n{lines}\n]}}\n')


def totals(runs: list[dict]) -> dict[str, tuple[int, int]]:
    """Of each kind: inputs that were tried, and faults that were found."""
    found: dict[str, tuple[int, int]] = {}
    for run in runs:
        count, faults = found.get(run["kind"], (0, 0))
        found[run["kind"]] = count + run["count"], faults + len(run["faults"])
    return dict(sorted(found.items()))


def _commit() -> str:
    said = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=PATH.parent, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "unknown"
