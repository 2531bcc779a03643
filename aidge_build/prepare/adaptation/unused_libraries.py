# SPDX-License-Identifier: MIT
"""A notice about libraries that the user fetched for nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from aidge_build.contract.library import Library
from aidge_build.prepare.adaptation.assignment import Assignment


def unused_checkouts(assignment: Assignment, libraries: Sequence[Library]) -> tuple[str, ...]:
    """Returns a line for each library with sources of a checkout that no layer takes, with the most frequent reason."""
    choices = assignment.choices.values()
    taken = {choice.kernel.library for choice in choices if choice.kernel}
    unused = [library.name for library in libraries if library.checkout and library.name not in taken]
    lines = []
    for name in unused:
        reasons = Counter(
            f"{kernel}: {reason}" for choice in choices for kernel, reason in choice.rejected if kernel.split()[0] == name
        )
        most = min(reasons, key=lambda reason: (-reasons[reason], reason), default="it has no kernel for these layers")
        lines.append(f"no layer takes a kernel of {name}, which --checkout names: {most}")
    return tuple(lines)
