# SPDX-License-Identifier: MIT
"""The table of the targets of packages, from their descriptions: a part of docs/packages.md."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.base.errors import AidgeError
from aidge_build.measure.packages import load_target, targets

_BEGIN, _END = "<!-- <targets> Written by `./sconsw docs`: do not edit. -->\n", "<!-- </targets> -->\n"


def with_targets(page: str) -> str:
    """Returns the page with the table written again; AidgeError if the marks around it are missing."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise AidgeError("has no region <targets>", where="docs/packages.md", code="USAGE", hint=f"two lines: {_BEGIN}{_END}")
    return before + begin + "\n" + "".join(f"{row}\n" for row in _rows()) + "\n" + end + after


def _rows() -> Iterator[str]:
    yield "| `--for` | what comes out | how to import it | checked with |"
    yield "|---|---|---|---|"
    for name in targets():
        target = load_target(name)
        yield f"| `{name}` | {target.title} | {target.use} | {target.tool or 'experimental'} |"
