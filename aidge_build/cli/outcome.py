# SPDX-License-Identifier: MIT
"""The result that a verb of the command line returns for printing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

SCHEMA = 1


@dataclass(frozen=True)
class Outcome:
    """`lines` are printed for people, each as one line whatever is in it; `data` by `--json`; `exit_code` is 0, 1 when a check
    failed, or 2 where a part of many was refused."""

    lines: Sequence[str] = ()
    data: dict = field(default_factory=dict)
    exit_code: int = 0
