# SPDX-License-Identifier: MIT
"""What a tool says about a line, and which of it is a deviation that is published with a reason."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("deviations.toml")


@dataclass(frozen=True, order=True)
class Finding:
    """`rule`: a number of MISRA C:2012 or the tool's own word; `place`: the file of a library, or the generated one."""

    tool: str
    rule: str
    place: str
    code: str  # the line, without the spaces around it


@dataclass(frozen=True)
class Deviation:
    """Findings of `rules` in lines that match `code`, in `places` (patterns of file names)."""

    name: str
    rules: tuple[str, ...]
    code: re.Pattern
    places: tuple[str, ...]
    where: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is one of these."""
        return (
            finding.rule in self.rules
            and any(fnmatch.fnmatchcase(finding.place, pattern) for pattern in self.places)
            and self.code.search(finding.code) is not None
        )


def deviations(text: str | None = None) -> tuple[Deviation, ...]:
    """Those of the table."""
    table = tomllib.loads(TABLE.read_text() if text is None else text)
    return tuple(
        Deviation(
            entry["name"],
            tuple(entry["rules"]),
            re.compile(entry.get("code", "")),
            tuple(entry.get("places", ["*"])),
            entry["where"],
            " ".join(entry["reason"].split()),
        )
        for entry in table["deviation"]
    )


def sort_out(found: list[Finding], known: tuple[Deviation, ...]) -> tuple[list[Finding], dict[str, int]]:
    """The findings that no deviation covers, and how many each one covers; the first that covers a finding counts it."""
    outside, covered = [], dict.fromkeys((deviation.name for deviation in known), 0)
    for finding in found:
        name = next((deviation.name for deviation in known if deviation.covers(finding)), None)
        if name is None:
            outside.append(finding)
        else:
            covered[name] += 1
    return outside, covered
