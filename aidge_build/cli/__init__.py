# SPDX-License-Identifier: MIT
"""The command `aidge-build`: every build system and every test uses it."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import sys
import traceback
from collections.abc import Sequence

from aidge_build.base.debug import level as debug_level
from aidge_build.base.debug import log, log_command, shown_from
from aidge_build.base.errors import AidgeError, InternalError, internal_error
from aidge_build.base.installed import with_pages
from aidge_build.base.kept_code import kept_methods
from aidge_build.base.terminal import print_error, print_lines, print_notes, saying, waited_for, with_verdicts
from aidge_build.cli.outcome import SCHEMA, Outcome

EXIT_INTERRUPTED = 130
# Verbs that people type, and that may be long at work on one thing. Steps of builds run side by side, and share a terminal.
_TYPED = ("plan", "explain", "verify", "run", "export", "package")


def main(argv: list[str] | None = None) -> int:
    """Run one verb; returns the exit code: 0 ok, 1 a check failed, 2 bad input or usage, 3 something is missing, 70 our fault."""
    is_command = argv is None
    if is_command:
        gc.disable()  # what a command makes it needs until it ends: looking for cycles in it is a fifth of the time
    # Sums of long rows in one order, however many cores there are; and threads that wait for each other cost more than they give.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    argv = [*(sys.argv[1:] if argv is None else argv)]  # `list` is a module of this package, once that is loaded
    wants_json = "--json" in argv
    _occupy_closed_streams()
    log_command(argv)
    try:
        _refuse_nul(argv)
        argv = _with_zoo(argv)
        with kept_methods() if is_command else contextlib.nullcontext():
            outcome = _run(argv)
        print_lines(_json(outcome.exit_code == 0, outcome.data) if wants_json else with_verdicts(map(with_pages, outcome.lines)))
        if outcome.exit_code:
            log(f"exit code {outcome.exit_code}", "\n".join(outcome.lines))
        return outcome.exit_code
    except KeyboardInterrupt as stopped:
        if stopped.args:
            print_error(f"aidge-build: interrupted in {stopped.args[0]}")
        return EXIT_INTERRUPTED
    except Exception as error:
        return _refused(error if isinstance(error, AidgeError) else _unforeseen(error), wants_json)
    finally:
        if is_command:
            gc.freeze()  # or the end of the process would search all that is left once more: up to a quarter of the time


def _unforeseen(error: Exception) -> AidgeError:
    from aidge_build.cli.environment_errors import lacking_folder, lacking_package

    return lacking_folder(error) or lacking_package(error) or internal_error(error)


def _occupy_closed_streams() -> None:
    """A file that is opened while stdin, stdout or stderr is closed would get its number, and what a compiler prints."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _refuse_nul(argv: Sequence[str]) -> None:
    """No path of this system holds NUL; callers of `main` can pass one all the same."""
    for word in argv:
        if "\0" in word:
            raise AidgeError("the word holds a NUL character", where=word, hint="leave it out", code="USAGE")


def _with_zoo(argv: list[str]) -> list[str]:
    """Puts the path of a file in place of `zoo:NAME`, for every verb."""
    if not any("zoo:" in word for word in argv):
        return argv
    from aidge_build.base.zoo import resolved
    from aidge_build.cli.outputs import refuse_zoo

    found = [*map(resolved, argv)]
    for before, word, path in zip(["", *argv], argv, found):
        if path != word:
            option, is_one_word, value = word.partition("=")
            refuse_zoo(*((option, value) if is_one_word else (before, word)))
    return found


def _refused(error: AidgeError, wants_json: bool) -> int:
    """Prints the reason in one line, also for an internal error, and returns the exit code."""
    if debug_level():
        print_notes(
            "".join(traceback.format_exception(error.__cause__ if isinstance(error, InternalError) else error)).split("\n")
        )
    if wants_json:
        with contextlib.suppress(AidgeError):  # stdout is what cannot be written: the line on stderr says it
            print_lines(_json(False, {"error": error.as_json()}))
    error.hint = with_pages(_as_typed(error.hint))
    print_error(f"aidge-build: {error}")
    log(f"error {error.code}, exit code {error.exit_code}", error)
    return error.exit_code


def _as_typed(hint: str) -> str:
    from aidge_build.base.options.wording import as_typed

    return as_typed(hint)


def _json(ok: bool, data: dict) -> list[str]:
    """Its lines, in ASCII; DEL alone is not escaped by JSON itself."""
    return json.dumps({"schema": SCHEMA, "ok": ok, **data}, indent=1).replace("\x7f", "\\u007f").split("\n")


def _run(argv: list[str]) -> Outcome:
    from aidge_build.cli.help import asked, overview, verb_page
    from aidge_build.cli.parsing import parse, unknown_verb, verb_parser
    from aidge_build.cli.verbs import VERBS, chosen, module_of, typed

    first = argv[0] if argv else ""
    if first == "--version":
        from aidge_build.base.version import VERSION

        return Outcome([f"aidge-build {VERSION}"])
    wants_help, in_full = asked(argv)
    if first in ("-h", "--help"):
        return Outcome(overview(in_full))
    if not first or first.startswith("-"):
        what = f"a verb comes first, not {first}" if first else "the following arguments are required: VERB"
        raise AidgeError(what, hint="aidge-build --help lists the verbs", code="USAGE")
    found = chosen(argv)
    if found is None:
        raise unknown_verb(first)
    name, words = found
    if wants_help:
        return Outcome(verb_page(verb_parser(name), name, module_of(name), in_full))
    arguments = parse(name, words, typed(name) if first in VERBS else first)
    try:
        with saying(arguments.is_quiet), shown_from(getattr(arguments, "verbosity", 0)):
            with waited_for(name.upper()) if name in _TYPED else contextlib.nullcontext():
                outcome = module_of(name).run(arguments)
    except AidgeError as error:
        if error.code == "KERNEL":
            _name_library(error, arguments)
        raise
    return Outcome([], outcome.data, 0) if arguments.is_quiet and outcome.exit_code == 0 else outcome


def _name_library(error: AidgeError, arguments: argparse.Namespace) -> None:
    """Changes the hint of the error if another library of this machine has the kernel that the named libraries lack."""
    from aidge_build.build.inputs import library_that_helps
    from aidge_build.prepare.adaptation.adapt import NoKernel

    if isinstance(error, NoKernel) and hasattr(arguments, "kernel_path"):
        error.hint = library_that_helps(error, arguments.kernel_path) or error.hint


if __name__ == "__main__":
    sys.exit(main())
