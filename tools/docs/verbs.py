# SPDX-License-Identifier: MIT
"""The page of the verbs, from their parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from aidge_build.cli.groups import GROUPS
from aidge_build.cli.parsing import verb_parser
from aidge_build.cli.verbs import FORMS, VERBS, forms_of, module_of, summary_of, typed
from tools.docs.markdown import cell, code


def verb_page() -> Iterator[str]:
    yield from (
        "# Verbs",
        "",
        "Each verb of `aidge-build`, with its words and options. `aidge-build VERB --help` prints the most used options,",
        "`aidge-build VERB --help all` all of them. The options of models, checks and budgets have names in SCons and CMake,",
        "too: [options.md](options.md).",
        "",
        "Exit codes: 0 ok, 1 a check failed, 2 bad input or usage, 3 something is missing on this machine, 70 a fault of",
        "aidge-build itself.",
        "",
    )
    yield from ("A form of a verb is chosen by one word, and is a command alone, too:", "", "| form | alone |", "|---|---|")
    yield from (f"| [`{typed(form.module)}`](#{_anchor(typed(form.module))}) | `{form.alias}` |" for form in FORMS)
    yield ""
    for group in GROUPS:
        yield from (f"## {group}", "")
        for name, listed in VERBS.items():
            if listed.group == group:
                for module in (name, *(form.module for form in forms_of(name))):
                    yield from verb(typed(module), summary_of(module), module_of(module).EXAMPLES, verb_parser(module))


def _anchor(title: str) -> str:
    return title.replace(" ", "-")


def verb(word: str, summary: str, examples, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from (
        f"### {word}",
        "",
        f"{cell(summary[0].upper() + summary[1:])}.",
        "",
        "<!-- not run: tests/docs/test_reference.py has the verb's parser read each line -->",
        "```sh",
    )
    width = max((len(line) for line, _ in examples), default=0)
    yield from (f"aidge-build {line:<{width}}  # {about}" for line, about in examples)
    yield from ("```", "", "| word | meaning |", "|---|---|")
    yield from (row(action) for action in parser._actions if action.dest != "help" and action.help != argparse.SUPPRESS)
    yield ""


def row(action: argparse.Action) -> str:
    value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
    names = value if isinstance(value, str) else " ".join(value)
    if action.choices and not action.metavar:
        names = ", ".join(map(str, action.choices))
    words = ", ".join(action.option_strings)
    shown = f"{words} {names}".strip() if words else names
    text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    return f"| {code(shown)} | {cell(text)} |"
