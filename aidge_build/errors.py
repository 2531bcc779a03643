# SPDX-License-Identifier: MIT
"""The errors that a user sees: where, what, what was tried, and a hint."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

EXIT_CHECK_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_MISSING = 3
EXIT_OUR_FAULT = 70  # EX_SOFTWARE of sysexits.h


class AidgeError(Exception):
    """A refusal with a reason; prints as one line, and ends the command with `exit_code`.

    `where` names the file, node and operator; `what` the fact; `tried` the alternatives that were rejected;
    `hint` the next step; `code` is a stable identifier for scripts (`IMPORT`, `PLAN01`, ...).
    """

    exit_code = EXIT_BAD_INPUT

    def __init__(self, what: str, *, where: str = "", tried: Sequence[str] = (), hint: str = "", code: str = "INPUT"):
        super().__init__(what)
        self.what = what
        self.where = where
        self.tried = tuple(tried)
        self.hint = hint
        self.code = code

    def within(self, where: str) -> AidgeError:
        """The same error, seen from further outside: `where` is put in front."""
        if not self.where.startswith(where):
            self.where = f"{where}: {self.where}" if self.where else where
        return self

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.tried:
            text = f"{text.rstrip('.')}. Tried: {'; '.join(self.tried)}"
        if self.hint:
            text = f"{text.rstrip('.')}. Hint: {self.hint}"
        return printable(text)

    def as_json(self) -> dict:
        """The error object of `--json`."""
        return {
            "code": self.code,
            "where": printable(self.where),
            "what": printable(self.what),
            "tried": [printable(text) for text in self.tried],
            "hint": printable(self.hint),
        }


class CheckFailed(AidgeError):
    """Something that was built does not keep its promise (exit code 1)."""

    exit_code = EXIT_CHECK_FAILED


class MissingTool(AidgeError):
    """A program or package that this machine lacks (exit code 3)."""

    exit_code = EXIT_MISSING


class InternalError(AidgeError):
    """What nobody foresaw: a fault of aidge_build itself (exit code 70)."""

    exit_code = EXIT_OUR_FAULT


def internal_error(error: BaseException) -> InternalError:
    """The refusal that stands for an exception that should not have happened."""
    refused = InternalError(
        f"{failure(error)}; that is a fault of aidge-build, whatever is in your files",
        where=": ".join(["internal error", *getattr(error, "__notes__", ())]),
        hint="report it to whom you have aidge-build from, with the command, its files, and what AIDGE_DEBUG=1 shows",
        code="INTERNAL",
    )
    refused.__cause__ = error
    return refused


@contextmanager
def located(where: str) -> Iterator[None]:
    """What is refused inside is refused there; any other exception, of an operator that somebody writes, gets the place as a
    note."""
    try:
        yield
    except AidgeError as error:
        raise error.within(where)
    except Exception as error:
        error.add_note(f"at {where}")
        raise


@contextmanager
def plugged_in(what: str, where: str = "", code: str = "LIBRARY") -> Iterator[None]:
    """Runs code of a plug-in, which may raise anything: what is no refusal becomes one, with `what` as its subject.

    A plug-in that ends the program (`sys.exit`, `os._exit`) is refused like one that fails: with exit code 0 a build would go on
    with the files of the last time. Only the user's interrupt passes.
    """
    try:
        with _Survived():
            yield
    except AidgeError:
        raise
    except (Exception, SystemExit) as error:
        raise AidgeError(f"{what} {failure(error)}", where=where, code=code, hint="AIDGE_DEBUG=1 shows the traceback") from error


class _Survived:
    """`os._exit` is an exception meanwhile, but in processes that the code inside forks. A class is quick."""

    def __enter__(self) -> None:
        self._leave, self._process = os._exit, os.getpid()
        os._exit = _SYSTEM._exit = self._refuse  # type: ignore[assignment]

    def __exit__(self, *raised: object) -> None:
        os._exit = _SYSTEM._exit = self._leave

    def _refuse(self, status: int) -> NoReturn:
        if os.getpid() != self._process:
            self._leave(status)
        raise SystemExit(status)


_SYSTEM: Any = sys.modules[os.name]  # posix or nt, where `os` has the function from


def failure(error: BaseException) -> str:
    """What an exception says, and the line of the file that raised it: "raised ValueError: no (mine.py, line 3)"."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None and last.tb_next.tb_frame.f_code.co_filename != __file__:
        last = last.tb_next
    place = "" if last is None else f" ({os.path.basename(last.tb_frame.f_code.co_filename)}, line {last.tb_lineno})"
    if isinstance(error, SystemExit):
        return f"ended the program with {error.code!r}{place}"
    text = str(error)
    return f"raised {type(error).__name__}{': ' if text else ''}{text}{place}"


def printable(text: str, limit: int | None = 4000) -> str:
    """`text` on one line, safe for a terminal: control and formatting characters are escaped, long text is cut."""
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]}... ({len(text)} characters)"
    return (
        "".join(
            character
            if unicodedata.category(character)[0] != "C"
            else character.encode("unicode_escape", "surrogatepass").decode()
            for character in text
        )
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
