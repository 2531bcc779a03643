# SPDX-License-Identifier: MIT
"""Which rules of MISRA C:2012 (with amendments 1 and 2) are advisory. Their texts are not free: numbers only."""

from __future__ import annotations

# All others are required or mandatory.
ADVISORY = frozenset(
    """
    1.2 2.3 2.4 2.5 2.6 2.7 4.2 5.9 8.7 8.9 8.11 8.13 10.5 11.4 11.5 12.1 12.3 12.4 13.3 13.4 15.1 15.4 15.5 17.5 17.8
    18.4 18.5 19.2 20.1 20.5 20.10 21.12
    """.split()
)
MANDATORY = frozenset("9.1 12.5 13.6 17.3 17.4 17.6 19.1 21.13 21.17 21.18 21.19 21.20 22.2 22.4 22.5 22.6".split())


def is_binding(rule: str) -> bool:
    """Whether a rule is required or mandatory."""
    return rule not in ADVISORY
