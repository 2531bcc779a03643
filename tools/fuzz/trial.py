# SPDX-License-Identifier: MIT
"""One damaged input: a verb is run on it in this process, within limits of time and memory, and judged by how it ends."""

from __future__ import annotations

import contextlib
import io
import re
import resource
import signal
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from aidge_build import cli
from aidge_build.base.errors import EXIT_OUR_FAULT

MOST_SECONDS = 10
MOST_BYTES = 1 << 30  # more than before the trials
PACKAGE = Path(cli.__file__).resolve().parents[2]


class Hang(BaseException):
    """The alarm went off. No Exception: nothing may catch it on its way."""


@dataclass(frozen=True)
class Verdict:
    """`kind` is "" where the verb ended as it should; `fault` names the place of what is wrong, the same for the same fault."""

    exit_code: int
    kind: str = ""
    fault: str = ""
    detail: str = ""


def limit_memory() -> None:
    """This process gets no more than `MOST_BYTES` from now on."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def run(words: list[str]) -> Verdict:
    """`aidge-build words...` in this process."""
    out, err = io.StringIO(), io.StringIO()
    foreseen = cli.internal_error
    causes: list[BaseException] = []

    def noted(error: BaseException):
        causes.append(error)
        return foreseen(error)

    cli.internal_error = noted
    signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = cli.main(words)
    except Hang as error:
        return Verdict(-1, "hang", _place(error), "")
    except BaseException as error:
        return Verdict(-1, "uncaught", f"{type(error).__name__} {_place(error)}", traceback.format_exc())
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        cli.internal_error = foreseen
    if code == EXIT_OUR_FAULT:
        cause = causes[0]
        text = "".join(traceback.format_exception(cause))
        return Verdict(code, "our fault", f"{type(cause).__name__} {_place(cause)}", text)
    return _judged(code, out.getvalue(), err.getvalue())


def _judged(code: int, out: str, err: str) -> Verdict:
    raised = re.search(r"(raised \w+|ended the program).*?\((\w+\.py, line \d+)\)", err)
    if raised:
        return Verdict(code, "masked", f"{raised[1]} {raised[2]}", err)
    if "Traceback" in out + err:
        return Verdict(code, "traceback", "", out + err)
    if code not in (0, 1, 2, 3):
        return Verdict(code, "exit code", str(code), err)
    if code == 2 and (err.count("\n") != 1 or out):
        return Verdict(code, "not one line", err[:80], err)
    wrong = {character for character in out + err if not character.isprintable()} - {"\n"}
    if wrong:
        return Verdict(code, "not printable", repr(sorted(wrong)), out + err)
    return Verdict(code, "", "", err)


def _alarm(number: int, frame) -> None:
    raise Hang


def _place(error: BaseException) -> str:
    """The innermost place in this project where it was raised."""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if str(PACKAGE) in frame.filename and "tools" not in frame.filename
    ]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
