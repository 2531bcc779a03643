# SPDX-License-Identifier: MIT
"""The words of a command: a parser for each verb, and for each form of one."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from aidge_build.base.errors import AidgeError
from aidge_build.base.terminal import print_lines
from aidge_build.cli.help import PROGRAM
from aidge_build.cli.outputs import refuse_inputs
from aidge_build.cli.verbs import FIRST, FORMS, VERBS, module_of, summary_of, typed

_OPTIONAL = ("?", "*")
# The options that other verbs have for the file with samples.
_ELSEWHERE = {"--io-data": ("--labels", "--quantize"), "--calibration": ("--quantize",), "--quantize": ("--calibration",)}


class Parser(argparse.ArgumentParser):
    """An argument parser that reports AidgeErrors; `called` is the verb as it was typed, `words` is what follows it."""

    called = ""
    words: Sequence[str] = ()

    def error(self, message: str):
        gone = [word for before, word in zip(("", *self.words), self.words, strict=False) if _is_gone(before, word)]
        if gone:  # whatever else is missing: the first thing to know
            raise AidgeError("cannot be read: No such file or directory", where=gone[0], hint="check the path", code="INPUT")
        remedy = _one_of(message) or _with_dash(message, self.words) or self._near() or self._lacking(message)
        hint = f"{remedy}{PROGRAM} {self.called} --help"
        raise AidgeError(message, where=self.called, hint=hint, code="USAGE")

    def _lacking(self, message: str) -> str:
        """`add --out DIR; ` for the options that the message says are required."""
        names = message.partition("arguments are required: ")[2].split(", ")
        lacking = [action for name, action in self._option_string_actions.items() if name in names]
        return f"add {' '.join(f'{one.option_strings[-1]} {one.metavar}' for one in lacking)}; " if lacking else ""

    def _near(self) -> str:
        """`did you mean --out? ` for the first option given that is none: the name in this verb, or near by letters."""
        options = sorted(
            (word for word in self._option_string_actions if word.startswith("--")), key=lambda word: (len(word), word)
        )
        for word in (word.partition("=")[0] for word in self.words):
            if word == "--":
                break
            if self._is_unknown(word):
                same = [option for option in options if len(word) == 2 and option.startswith(f"-{word}")]
                same += [option for option in _ELSEWHERE.get(word, ()) if option in options]
                near = same or difflib.get_close_matches(word, options, n=1)
                return f"did you mean {near[0]}? " if near else ""
        return ""

    def _is_unknown(self, word: str) -> bool:
        """Whether it looks like an option, and no option begins so."""
        is_option = re.fullmatch(r"--?[A-Za-z][\w-]*", word) is not None
        return is_option and not any(known.startswith(word) for known in self._option_string_actions)

    def _print_message(self, message: str, file=None) -> None:
        print_lines(message.rstrip("\n").split("\n"))


def _one_of(message: str) -> str:
    """`leave out --cpu or --board; ` for two options that the message says exclude each other."""
    found = re.fullmatch(r"argument (\S+): not allowed with argument (\S+)", message)
    return f"leave out {found[1]} or {found[2]}; " if found else ""


def _with_dash(message: str, words: Sequence[str]) -> str:
    """Returns `type --least-sqnr=-inf; ` if the value of an option begins with a dash, because it looks like an option."""
    name = "".join(re.findall(r"argument (--\S+): expected one argument", message))
    value = next((word for before, word in zip(words, words[1:], strict=False) if before == name), "")
    return f"type {name}={value}; " if re.match(r"-\w", value) else ""


def _is_gone(before: str, word: str) -> bool:
    """Whether the word is a model's file that is not there, and no value of an option."""
    from aidge_build.sources.formats import suffixes  # loads numpy, which help does without

    return word.endswith(suffixes()) and not before.startswith("-") and not Path(word).exists()


def verb_parser(name: str) -> Parser:
    """Returns the parser of all words that a verb, or a form of a verb, takes; help and completion list them."""
    module, summary = module_of(name), summary_of(name)
    parser = Parser(
        prog=f"{PROGRAM} {typed(name)}",
        description=f"{summary[0].upper()}{summary[1:]}.",
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


def parse(name: str, words: Sequence[str], called: str = "") -> argparse.Namespace:
    """Returns the parsed words. Options may be between the words of a verb; all after `--` are words. Errors name `called`."""
    parser = verb_parser(name)
    parser.called, parser.words = called or typed(name), words
    mixes = any(not action.option_strings and action.nargs in _OPTIONAL for action in parser._actions)
    found = parser.parse_intermixed_args(words) if mixes and "--" not in words else parser.parse_args(words)
    refuse_inputs(found, parser._actions)
    return found


def unknown_verb(word: str) -> AidgeError:
    """For a verb that is none."""
    known = {name: name for name in VERBS} | {form.alias: typed(form.module) for form in FORMS}
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean '{known[near[0]]}'?" if near else f"verbs: {', '.join(FIRST)}"
    return AidgeError(f"there is no verb '{word}'", hint=hint, code="USAGE")
