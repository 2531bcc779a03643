# SPDX-License-Identifier: MIT
"""What people read on a terminal: tables that fit its width, colour, a progress line. The only importer of rich.

Where the output is kept (a file, a pipe, a build's log) the same text has no colour and no line is broken, so that it can be
searched and compared. `NO_COLOR` and the other variables that rich knows are respected.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib.util import find_spec
from typing import TextIO, TypeVar

from aidge_build.errors import printable

Item = TypeVar("Item")

_UNLIMITED = 1 << 20  # columns of an output that is kept


def table(rows: Sequence[Sequence[str]], titles: Sequence[str] = (), numbers: Collection[int] = ()) -> str:
    """Rows in columns as wide as their cells; those in `numbers` are aligned to the right.

    On a terminal that is too narrow, cells of other columns are broken at words.
    """
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(titles))
    for index in range(len(titles) or max(map(len, rows), default=0)):
        drawn.add_column(
            titles[index] if titles else "",
            justify="right" if index in numbers else "left",
            overflow="fold",
            no_wrap=index in numbers,
        )
    for row in rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    return _rendered(drawn)


def _rendered(drawn) -> str:
    is_terminal = _is_shown(sys.stdout)
    console = _console(io.StringIO(), is_terminal)
    if not is_terminal:
        console.width = _UNLIMITED
    with console.capture() as capture:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def print_error(text: str) -> None:
    """One line on stderr, the word before the first colon in red where a terminal shows it."""
    if not _is_shown(sys.stderr) or find_spec("rich") is None:  # doctor runs where nothing is installed yet
        print(text, file=sys.stderr)
        return
    from rich.text import Text

    who, colon, what = text.partition(":")
    line = Text.assemble((who + colon, "bold red"), what)
    _console(sys.stderr, True).print(line, soft_wrap=True)


def with_progress(verb: str, work: Sequence[Item], title: Callable[[Item], str]) -> Iterator[Item]:
    """The items, one by one, each announced as `VERB   3/12  title` on stderr: on a terminal in a line that is written over."""
    if not _is_shown(sys.stderr):
        for index, item in enumerate(work, 1):
            print(_announced(verb, index, len(work), title(item)), file=sys.stderr, flush=True)
            yield item
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = BarColumn(bar_width=20), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=_console(sys.stderr, True), transient=True) as progress:
        task = progress.add_task("", total=len(work))
        for index, item in enumerate(work, 1):
            progress.update(task, description=_announced(verb, index, len(work), title(item)))
            yield item
            progress.advance(task)


def _is_shown(stream: TextIO) -> bool:
    """Whether people see the stream as it is written."""
    return stream.isatty()


def _announced(verb: str, index: int, count: int, title: str) -> str:
    return f"{verb:6} {index:{len(str(count))}}/{count}  {title}"


def _console(stream: TextIO, is_terminal: bool):
    from rich.console import Console

    return Console(file=stream, force_terminal=is_terminal, highlight=False, markup=False, emoji=False)
