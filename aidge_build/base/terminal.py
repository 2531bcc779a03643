# SPDX-License-Identifier: MIT
"""Output to a terminal: lines, tables that fit its width, colour, progress. The only importer of rich, and the only
way to stdout and stderr: names of a model, a note or a board come from files of strangers, and `printable` escapes all of them.

In output that is kept (a file, a pipe, a build's log) the same text has no colour and no line is broken, so that it can be
searched and compared. `NO_COLOR` and the other variables that rich knows are respected.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from types import MappingProxyType
from typing import TextIO, TypeVar

from aidge_build.base.errors import MissingTool, printable

Item = TypeVar("Item")

_UNLIMITED = 1 << 20  # columns of an output that is kept
_ROOM_FOR_TIMES = 60  # columns of a terminal


# Words of results, and the colours that they have: the first that is found in a line.
_VERDICTS = (
    (r"^(FAILED|WORSE)\b", "1;31"),
    (r": (error [A-Z]+\d+):", "1;31"),
    (r": (warning [A-Z]+\d+(?:,[A-Z]+\d+)*):", "33"),
    (r": (note [A-Z]+\d+):", "36"),
    (r"^(kept):", "32"),
    (r"(= plan)$", "32"),
    (r"^(Nothing is missing\.)$", "32"),
    (r"\b(MISSING|too old|too new)\b", "1;31"),
)

_PATIENCE_SECONDS = 2.0  # how long a command may say nothing on a terminal
_KEPT_SECONDS = 10.0  # and where its output is kept, each line twice as late as the one before
_waiting: Waiting | None = None
_quiet = False  # whether the command that runs was told to be


@contextlib.contextmanager
def saying(is_quiet: bool) -> Iterator[None]:
    """Shows no progress inside the context, if the command `is_quiet`."""
    global _quiet
    before, _quiet = _quiet, is_quiet
    try:
        yield
    finally:
        _quiet = before


class Waiting(threading.Thread):
    """A line on a terminal's stderr that says how long a command has been at work; it goes away before anything else is shown.

    If stderr `is_kept` and is no terminal, it writes a few lines that stay, and only if the work says how far it is.
    """

    def __init__(self, verb: str, is_kept: bool = False):
        super().__init__(daemon=True)
        self._verb, self._over, self._began, self._is_kept = verb, threading.Event(), time.monotonic(), is_kept
        self._shown, self._lock = False, threading.Lock()
        self.how_far: Callable[[], str] | None = None

    def run(self) -> None:
        """Every second, from the third one on."""
        delay = _KEPT_SECONDS if self._is_kept else _PATIENCE_SECONDS
        while not self._over.wait(delay):
            delay = time.monotonic() - self._began if self._is_kept else 1.0
            with self._lock, contextlib.suppress(OSError, ValueError):
                if not self._over.is_set() and (self.how_far or not self._is_kept):
                    said = f", {printable(self.how_far())}" if self.how_far else ""
                    line = f"{self._verb:6} {time.monotonic() - self._began:.0f} s{said}"
                    sys.stderr.write(f"{line}\n" if self._is_kept else f"\r\x1b[2K{line}")
                    sys.stderr.flush()
                    self._shown = not self._is_kept

    def end(self) -> None:
        """Removes the line that is shown; no more lines are shown."""
        self._over.set()
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._shown:
                sys.stderr.write("\r\x1b[2K")
                sys.stderr.flush()
                self._shown = False


@contextlib.contextmanager
def waited_for(verb: str) -> Iterator[None]:
    """Shows on stderr, inside the context and until other output, for how long `verb` has been at work."""
    global _waiting
    if _quiet or sys.stderr is None:
        yield
        return
    _waiting = Waiting(verb, is_kept=not _is_shown(sys.stderr) or os.environ.get("TERM") == "dumb")
    _waiting.start()
    try:
        yield
    finally:
        _end_waiting()


@contextlib.contextmanager
def telling(how_far: Callable[[], str]) -> Iterator[None]:
    """Adds to the line of `waited_for`, inside the context, how far the work is. Another thread calls `how_far`."""
    line = _waiting
    if line is not None:
        line.how_far = how_far
    try:
        yield
    finally:
        if line is not None:
            line.how_far = None


def _end_waiting() -> None:
    global _waiting
    if _waiting is not None:
        _waiting.end()
        _waiting = None


class Drawn(str):
    """A line that this module made of printable text and colours."""


def print_lines(lines: Iterable[str]) -> None:
    """Each on a line of stdout, whatever is in it; MissingTool where they cannot be written.

    All at once, so that lines of checks that run side by side do not mix; and now, so that a reader who went away (`| head`) is
    met here and not while Python ends: that is no error.
    """
    try:
        _write(sys.stdout, lines)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left of it fails no more
        if not isinstance(error, BrokenPipeError):
            raise MissingTool(
                f"cannot be written: {error.strerror}",
                where="the output",
                hint="the work itself is done; make room, or send the output elsewhere",
                code="OUTPUT",
            ) from error


def print_notes(lines: Iterable[str]) -> None:
    """Each on a line of stderr; nobody learns of it where that cannot be written."""
    with contextlib.suppress(OSError):
        _write(sys.stderr, lines)


def _write(stream: TextIO | None, lines: Iterable[str]) -> None:
    """Writes the lines, if the process has the stream; characters outside of the stream's encoding are escaped, too."""
    _end_waiting()
    if stream is None:
        return
    text = "".join(f"{line if isinstance(line, Drawn) else printable(line, None)}\n" for line in lines)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def table(
    rows: Sequence[Sequence[str]],
    titles: Sequence[str] = (),
    numbers: Collection[int] = (),
    styles: Mapping[tuple[int, int], str] = MappingProxyType({}),
) -> list[str]:
    """Returns rows in columns as wide as their cells; the columns in `numbers` are aligned to the right. `styles` are the colours
    of some cells (row, column), if a terminal shows them.

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
    for number, row in enumerate(rows):
        drawn.add_row(*(Text(printable(cell), styles.get((number, column), "")) for column, cell in enumerate(row)))
    return _rendered(drawn)


def fitted(lines: Iterable[str]) -> list[str]:
    """The lines, broken at words where they are wider than the terminal, or than COLUMNS where that is set for a kept output."""
    width = _width()
    if width is None:
        return list(lines)
    found: list[str] = []
    for line in lines:
        shown = line if isinstance(line, Drawn) else printable(line, None)  # before words are told apart by what separates them
        found += [shown] if isinstance(line, Drawn) or len(shown) <= width else _broken(shown, width)
    return found


def _broken(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, width, subsequent_indent=f"{indent}    ", break_long_words=False, break_on_hyphens=False)


def _width() -> int | None:
    """The columns that there are; None where an output is kept as it is."""
    if _is_shown(sys.stdout):
        return shutil.get_terminal_size().columns
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) > 0 else None


def _rendered(drawn) -> list[str]:
    is_terminal = _is_shown(sys.stdout)
    console = _console(io.StringIO(), is_terminal)
    console.width = _width() or _UNLIMITED
    with console.capture() as capture:
        console.print(drawn)
    return [Drawn(line.rstrip()) for line in capture.get().split("\n")[:-1]]


def print_error(text: str) -> None:
    """One line on stderr, the word before the first colon in red where a terminal shows it."""
    if not _is_shown(sys.stderr) or find_spec("rich") is None:  # doctor runs where nothing is installed yet
        print_notes([text])
        return
    from rich.text import Text

    who, colon, what = printable(text, None).partition(":")
    line = Text.assemble((who + colon, "bold red"), what)
    with contextlib.suppress(OSError):
        _console(sys.stderr, True).print(line, soft_wrap=True)


def with_progress(verb: str, work: Sequence[Item], title: Callable[[Item], str]) -> Iterator[Item]:
    """The items, one by one, each announced as `VERB   3/12  title` on stderr: on a terminal in a line that is written over."""
    if _quiet:
        yield from work
        return
    if not _is_shown(sys.stderr):
        for index, item in enumerate(work, 1):
            print_notes([_announced(verb, index, len(work), title(item))])
            yield item
        return
    with _progress() as progress:
        task = progress.add_task("", total=len(work))
        for index, item in enumerate(work, 1):
            progress.update(task, description=_announced(verb, index, len(work), title(item)))
            yield item
            progress.advance(task)


def _progress():
    """A line that is written over: a bar, what is done, how long it took so far, and how long the rest takes at this pace."""
    _end_waiting()
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    console = _console(sys.stderr, True)
    words = TextColumn("{task.description}", markup=False, table_column=Column(overflow="fold"))
    times = (TimeElapsedColumn(), TimeRemainingColumn()) if console.width >= _ROOM_FOR_TIMES else ()
    bar = (BarColumn(bar_width=12),) if times else ()
    return Progress(*bar, words, *times, console=console, transient=True)


def emphasized(text: str) -> str:
    """A heading: bold where a terminal shows it."""
    return _styled(printable(text, None), "1") if _has_colours(sys.stdout) else text


def with_verdicts(lines: Iterable[str]) -> list[str]:
    """Returns results with verdicts in colour, if a terminal shows it: failures, warnings, and results as planned."""
    if not _has_colours(sys.stdout):
        return list(lines)
    return [line if isinstance(line, Drawn) else _with_verdict(printable(line, None)) for line in lines]


def _with_verdict(line: str) -> Drawn:
    for words, style in _VERDICTS:
        found = re.search(words, line)
        if found:
            begin, end = found.span(1)
            return Drawn(line[:begin] + _styled(line[begin:end], style) + line[end:])
    return Drawn(line)


def _styled(text: str, style: str) -> Drawn:
    return Drawn(f"\x1b[{style}m{text}\x1b[0m")


def _has_colours(stream: TextIO | None) -> bool:
    """Whether the terminal shows colours: not with a NO_COLOR that is not empty (no-color.org), nor on a dumb terminal."""
    return _is_shown(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _is_shown(stream: TextIO | None) -> bool:
    """Whether people see the stream as it is written."""
    return stream is not None and stream.isatty()


def _announced(verb: str, index: int, count: int, title: str) -> str:
    return f"{verb:6} {index:{len(str(count))}}/{count}  {printable(title)}"


def _console(stream: TextIO, is_terminal: bool):
    from rich.console import Console

    return Console(file=stream, force_terminal=is_terminal, highlight=False, markup=False, emoji=False)


@contextlib.contextmanager
def counting(verb: str, is_kept: bool = True) -> Iterator[Callable[[str, int, int], None]]:
    """A function of (what, how many, of how many) that shows on stderr how far long work is.

    On a terminal a line that is written over; else the lines of `waited_for`, and where that `is_kept` a line for each tenth of a
    hundred or more.
    """
    if _quiet or not _is_shown(sys.stderr):
        how_far = "beginning"

        def announce(what: str, done: int, total: int) -> None:
            nonlocal how_far
            how_far = f"{done}/{total}  {what}"
            if is_kept and not _quiet and total >= 100 and done * 10 // total > (done - 1) * 10 // total:
                print_notes([_announced(verb, done, total, what)])

        with contextlib.ExitStack() as lines:
            if _waiting is None:
                lines.enter_context(waited_for(verb))
            lines.enter_context(telling(lambda: how_far))
            yield announce
        return
    with _progress() as shown:
        task = shown.add_task("")

        def show(what: str, done: int, total: int) -> None:
            shown.update(task, description=_announced(verb, done, total, what), completed=done, total=total)

        yield show
