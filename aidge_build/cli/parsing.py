# SPDX-License-Identifier: MIT
"""The words of a command: a parser for each verb, and the help that lists all verbs."""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
from collections.abc import Sequence
from types import ModuleType

from aidge_build.cli.groups import GROUPS
from aidge_build.errors import AidgeError
from aidge_build.terminal import emphasized, print_lines

PROGRAM = "aidge-build"
_OPTIONAL = ("?", "*")
_FOOT = (
    "aidge-build VERB --help has the options of a verb, and examples. Shell completion: aidge-build completion --help",
    "Exit codes: 0 ok, 1 a check failed, 2 bad input or usage, 3 something is missing on this machine.",
)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are our errors."""

    given: Sequence[str] = ()

    def error(self, message: str):
        hint = f"{self._near()}{self.prog} --help"
        raise AidgeError(message, where=self.prog.removeprefix(PROGRAM).strip(), hint=hint, code="USAGE")

    def _near(self) -> str:
        """`did you mean --out? ` for the first option given that is none: near by its letters, or by its one letter."""
        options = sorted(
            (word for word in self._option_string_actions if word.startswith("--")), key=lambda word: (len(word), word)
        )
        for word in (word.partition("=")[0] for word in self.given):
            if word == "--":
                break
            if re.fullmatch(r"--?[A-Za-z][\w-]*", word) and not any(
                known.startswith(word) for known in self._option_string_actions
            ):
                same = [option for option in options if option.startswith(f"-{word}")] if len(word) == 2 else []
                near = same or difflib.get_close_matches(word, options, n=1)
                return f"did you mean {near[0]}? " if near else ""
        return ""

    def _print_message(self, message: str, file=None) -> None:
        print_lines(message.rstrip("\n").split("\n"))


def word_of(name: str) -> str:
    """What a user types for the module `name`."""
    return name.replace("_", "-")


def module_of(name: str) -> ModuleType:
    """The verb: SUMMARY, GROUP, EXAMPLES (command line without the program, what it does), add_arguments and run."""
    return importlib.import_module(f"aidge_build.cli.{name}")


def verb_parser(name: str) -> Parser:
    """All words that a verb takes; also for those who list them."""
    module = module_of(name)
    parser = Parser(
        prog=f"{PROGRAM} {word_of(name)}",
        description=f"{module.SUMMARY[0].upper()}{module.SUMMARY[1:]}.",
        epilog=_examples(module),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    if "-v" not in parser._option_string_actions:
        about = "show on stderr what becomes of a model: graphs; -vv: plans, too; -vvv: calls of kernels"
        parser.add_argument("-v", dest="verbosity", action="count", default=0, help=about)
    parser.add_argument("-q", dest="is_quiet", action="store_true", help="print nothing where all is well, and no progress")
    return parser


def _examples(module: ModuleType) -> str:
    lines = [f"{PROGRAM} {words}" for words, _ in module.EXAMPLES]
    width = min(max(map(len, lines)), 72)
    return "\n".join(
        ["examples:", *(f"  {line:<{width}}  # {about}" for line, (_, about) in zip(lines, module.EXAMPLES, strict=True))]
    )


def parse(name: str, words: Sequence[str]) -> argparse.Namespace:
    """Options may stand between the words of a verb; behind `--` all are words."""
    parser = verb_parser(name)
    parser.given = words
    mixes = any(not action.option_strings and action.nargs in _OPTIONAL for action in parser._actions)
    return parser.parse_intermixed_args(words) if mixes and "--" not in words else parser.parse_args(words)


def unknown_verb(word: str, names: Sequence[str]) -> AidgeError:
    """For a verb that is none."""
    verbs = [word_of(name) for name in names]
    near = difflib.get_close_matches(word, verbs, n=1)
    return AidgeError(
        f"there is no verb '{word}'", hint=f"did you mean '{near[0]}'?" if near else f"verbs: {', '.join(verbs)}", code="USAGE"
    )


def overview(names: Sequence[str]) -> list[str]:
    """All verbs, in groups."""
    modules = {name: module_of(name) for name in names}
    width = max(map(len, names))
    lines = [f"usage: {PROGRAM} VERB ...", "", "Put a neural network into firmware."]
    for group in GROUPS:
        lines += ["", emphasized(group)]
        lines += [f"  {word_of(name):<{width}}  {module.SUMMARY}" for name, module in modules.items() if module.GROUP == group]
    return [*lines, "", *_FOOT]
