# SPDX-License-Identifier: MIT
"""The rows of a sweep as one HTML file: a picture, filters and a table. It loads nothing, and its script is its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files

from aidge_build.base.errors import printable
from aidge_build.base.render import escaped, render
from aidge_build.measure.report.plan_page import page_style
from aidge_build.measure.sweep.rows import COLUMNS, Row
from aidge_build.measure.sweep.summary import counted

_AXES = (("model", "model"), ("board", "board"), ("options", "option set"))
_HIDDEN = ("evaluation",)


def sweep_page(rows: Sequence[Row]) -> str:
    """Returns the page. Texts from foreign files are data of the script, which shows them as text."""
    sizes = [(len({getattr(row, name) for row in rows}), word) for name, word in _AXES]
    title = "Sweep: " + ", ".join(f"{size:,} {word}{'' if size == 1 else 's'}" for size, word in sizes)
    names = [name for name, _ in COLUMNS if name not in _HIDDEN]
    table = [[_shown(getattr(row, name)) for name in names] for row in rows]
    return render(
        _own("page.html.j2"),
        title=escaped(title),
        about=escaped(counted(rows)),
        style=page_style() + _own("page.css"),
        script=_own("page.js"),
        data=_as_script({"columns": names, "rows": table}),
    )


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text()


def _shown(value: object) -> object:
    return printable(value, None) if isinstance(value, str) else value


def _as_script(value: object) -> str:
    """Returns JSON in ASCII that no text in it can end: neither a tag nor a comment begins inside a script."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").replace("\x7f", "\\u007f")
