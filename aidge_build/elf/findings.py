# SPDX-License-Identifier: MIT
"""What a check has to say about a program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True)
class Finding:
    """One fact about the program; `code` is stable (MEM01, STK01, ...), `severity` is "error", "warning" or "note"."""

    code: str
    severity: str
    text: str


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, in the order of their codes."""
    order = (ERROR, WARNING, NOTE)
    return tuple(sorted(findings, key=lambda finding: (order.index(finding.severity), finding.code)))
