# SPDX-License-Identifier: MIT
"""What a verb of the command line hands back to be printed."""

from __future__ import annotations

from dataclasses import dataclass, field

SCHEMA = 1


@dataclass(frozen=True)
class Outcome:
    """`text` is printed for people, `data` by `--json`; `exit_code` is 0, or 1 when a check failed."""

    text: str
    data: dict = field(default_factory=dict)
    exit_code: int = 0
