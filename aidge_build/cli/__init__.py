# SPDX-License-Identifier: MIT
"""The command `aidge-build`: every build system and every test uses it."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
import traceback

from aidge_build.cli.outcome import SCHEMA, Outcome
from aidge_build.debug import log, log_command
from aidge_build.errors import AidgeError
from aidge_build.terminal import print_error

# Each verb is a module of this package with SUMMARY, add_arguments(parser) and run(arguments) -> Outcome.
VERBS = (
    "compile",
    "plan",
    "explain",
    "export",
    "verify",
    "check",
    "run",
    "bench",
    "report",
    "flash",
    "boards",
    "kernels",
    "ops",
    "options",
    "conformance",
    "link_script",
    "explain_link",
    "cmake_dir",
    "new",
    "doctor",
)

EXIT_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are our errors."""

    def error(self, message: str):
        unknown = re.match(r"argument VERB: invalid choice: '(.*?)'", message)
        if unknown:
            raise _no_verb(unknown[1])
        raise AidgeError(message, where=self.prog.removeprefix("aidge-build").strip(), hint=f"{self.prog} --help", code="USAGE")


def _no_verb(word: str) -> AidgeError:
    import difflib

    verbs = [name.replace("_", "-") for name in VERBS]
    near = difflib.get_close_matches(word, verbs, n=1)
    return AidgeError(
        f"there is no verb '{word}'", hint=f"did you mean '{near[0]}'?" if near else f"verbs: {', '.join(verbs)}", code="USAGE"
    )


def main(argv: list[str] | None = None) -> int:
    """Run one verb; returns the exit code: 0 ok, 1 a check failed, 2 bad input or usage, 3 something is missing."""
    argv = list(sys.argv[1:] if argv is None else argv)
    wants_json = "--json" in argv
    log_command(argv)
    try:
        outcome = _run(argv)
        _print_line(_json(outcome.exit_code == 0, outcome.data) if wants_json else outcome.text)
        if outcome.exit_code:
            log(f"exit code {outcome.exit_code}", outcome.text)
        return outcome.exit_code
    except AidgeError as error:
        if os.environ.get("AIDGE_DEBUG", "0") not in ("", "0"):
            traceback.print_exc()
        if wants_json:
            _print_line(_json(False, {"error": error.as_json()}))
        print_error(f"aidge-build: {error}")
        log(f"error {error.code}, exit code {error.exit_code}", error)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _json(ok: bool, data: dict) -> str:
    return json.dumps({"schema": SCHEMA, "ok": ok, **data}, indent=1)


def _print_line(text: str) -> None:
    """Prints now, so that a reader who went away (`| head`) is met here and not while Python ends; that is no error."""
    try:
        if text:
            sys.stdout.write(text + "\n")  # at once: lines of checks that run side by side do not mix
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: list[str]) -> Outcome:
    if argv[:1] == ["--version"]:
        from aidge_build.version import VERSION

        return Outcome(f"aidge-build {VERSION}")
    verb = next((word for word in argv if not word.startswith("-")), None)
    parser = _Parser(prog="aidge-build", description="Put a neural network into firmware.")
    parser.add_argument("--version", action="store_true", help="print the version")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser)
    for name in VERBS:
        module = importlib.import_module(f"aidge_build.cli.{name}") if name.replace("_", "-") == verb or verb is None else None
        command = verbs.add_parser(
            name.replace("_", "-"), help=module.SUMMARY if module else None, description=module.SUMMARY if module else None
        )
        if module:
            module.add_arguments(command)
            command.add_argument("--json", action="store_true", help="print exactly one JSON object")
            command.set_defaults(run=module.run)
    arguments = parser.parse_args(argv)
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
